#!/usr/bin/env bash
# Checks licences, sources and known vulnerabilities of all dependencies with cargo-deny. Checks that no published
# package links two versions of a crate (procedural macros may use two). If the tag of the last release is given, also
# checks with cargo-semver-checks that the version of each published package matches its API changes.
#
#   scripts/audit.sh [--without-advisories] [TAG]
#
# Advisories are downloaded from GitHub, unless --without-advisories is given. Both programs are installed if they are
# missing, which takes a few minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

checks=(advisories bans licenses sources)
if [ "${1:-}" = --without-advisories ]; then
    checks=(bans licenses sources)
    shift
fi
tag=${1:-}
[ $# -le 1 ] || { echo "usage: scripts/audit.sh [--without-advisories] [TAG]" >&2; exit 2; }

need() {
    cargo "$1" --version >/dev/null 2>&1 || scripts/retry.sh cargo install --locked "cargo-$1"
}

need deny
cargo deny --locked check "${checks[@]}"
# The bindings are checked without their test dependencies. One of them is cbindgen (MPL-2.0), which is not distributed.
for binding in srlg-c srlg-python; do
    cargo deny --locked --manifest-path "./$binding/Cargo.toml" --exclude-dev check "${checks[@]}"
done

status=0
while read -r crate; do
    tree=$(cargo tree --locked --quiet -p "$crate" -e normal,no-proc-macro --duplicates)
    # Each line without indentation names a crate that is linked in two or more versions.
    if grep '^[a-z]' <<<"$tree"; then
        echo "$crate links the crates above in more than one version" >&2
        status=1
    fi
done < <(scripts/packages.sh --list)

if [ -n "$tag" ]; then
    need semver-checks
    # The build script of the crate cust needs the folder of a CUDA toolkit. Documentation needs only an empty one.
    mkdir -p target/no-cuda/lib64
    export CUDA_LIBRARY_PATH=$PWD/target/no-cuda
    while read -r crate; do
        cargo semver-checks check-release -p "$crate" --baseline-rev "$tag" || status=1
    done < <(scripts/packages.sh --list)
fi
exit $status
