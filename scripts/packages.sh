#!/usr/bin/env bash
# Packs all published crates, checks the contents of the packages, and builds four programs from only these packages,
# like a user without the repository, and the documentation of each package, like docs.rs. The packages are in
# target/package, the programs in target/packages, and the documentation in target/packages/target/doc.
set -euo pipefail
cd "$(dirname "$0")/.."

# The crates are in the order of publication, each before the crates that depend on it.
crates=(srlg-core srlg-kernels srlg-host srlg-input srlg)
[ "${1:-}" != --list ] || { printf '%s\n' "${crates[@]}"; exit; }

packages=()
for crate in "${crates[@]}"; do packages+=(-p "$crate"); done
# With --no-verify, cargo does not build the packages, because the programs below do. With --quiet, it does not warn that
# the address of the repository is missing (docs/releasing.md).
cargo package --locked --no-verify --allow-dirty --quiet "${packages[@]}"

folder=target/packages
rm -rf "$folder" && mkdir -p "$folder"
patches='' options=()
for crate in "${crates[@]}"; do
    package=$(echo target/package/"$crate"-[0-9]*.crate)
    tar -xzf "$package" -C "$folder"
    unpacked=$folder/$(basename "$package" .crate)
    for file in README.md LICENSE-MIT LICENSE-APACHE src/lib.rs; do
        [ -s "$unpacked/$file" ] || { echo "$package has no $file" >&2; exit 1; }
    done
    # Otherwise, cargo would look for the package in the workspace of the repository.
    printf '\n[workspace]\n' >>"$unpacked/Cargo.toml"
    kilobytes=$(($(stat -c %s "$package") / 1000))
    echo "$(basename "$package"): $kilobytes kB"
    patches+="$crate = { path = \"../$(basename "$unpacked")\" }"$'\n'
    options+=(--config "patch.crates-io.$crate.path=\"$PWD/$unpacked\"")
done

cp -r scripts/packages "$folder/programs"
printf '\n[patch.crates-io]\n%s' "$patches" >>"$folder/programs/Cargo.toml"
# These are the versions that the packages were tested with.
cp Cargo.lock "$folder/programs/Cargo.lock"
export CARGO_TARGET_DIR="$PWD/target/packages/target"
cd "$folder/programs"
cargo build --quiet --bins
for program in detector receivers sites ports; do
    echo "== $program"
    "$CARGO_TARGET_DIR/debug/$program"
done

# The server of docs.rs has no network, sets DOCS_RS, and enables the features that a package names.
cd ..
for crate in "${crates[@]}"; do
    manifest=$(echo "$crate"-[0-9]*/Cargo.toml)
    features=$(cargo metadata --quiet --no-deps --format-version 1 --manifest-path "$manifest" |
        python3 -c 'import json, sys; print(*(json.load(sys.stdin)["packages"][0]["metadata"] or {}).get("docs", {}).get("rs", {}).get("features", []), sep=",")')
    echo "== documentation of $crate with the features ${features:-by default}"
    cargo fetch --quiet "${options[@]}" --manifest-path "$manifest"
    DOCS_RS=1 cargo rustdoc --quiet --offline --lib "${options[@]}" --manifest-path "$manifest" --features "$features" -- -D warnings
done
