#!/usr/bin/env bash
# Installs the tools of `cargo xtask ptx` on Debian 12, without a GPU and without CUDA:
#   - Debian's rustc, cargo, Rust sources and LLVM, with apt-get if run as root;
#   - llvm-bitcode-linker, built from those sources;
#   - NVIDIA's assembler ptxas from its Python package, only for `cargo xtask ptx --check`.
# The last two are installed in target/gpu-toolchain/bin, independently of CARGO_TARGET_DIR and the
# current folder. Existing tools are kept. With a nightly tool chain from rustup, only the assembler
# is missing, which `scripts/gpu-toolchain.sh ptxas` installs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

home=$PWD/target/gpu-toolchain
linker_source=/usr/lib/rustlib/src/rust/src/tools/llvm-bitcode-linker
nightly="rustup toolchain install nightly -c rust-src -c llvm-tools -c llvm-bitcode-linker"
# The assembler supports sm_75 to sm_120. The hashes are for x86_64 and aarch64.
ptxas_package="nvidia-cuda-nvcc==13.0.88
    --hash=sha256:56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03
    --hash=sha256:c7ff28f86a24effdc6c034fa15230c549a273e4771b10a7fec14996f8cf3307f"

fail() {
    echo "gpu-toolchain: $*" >&2
    exit 1
}

# Runs a command without output. If it fails, its output is printed before the error.
quietly() {
    local reason=$1 log=$home/log
    shift
    "$@" >"$log" 2>&1 || { cat "$log" >&2; fail "$reason"; }
}

missing() {
    for package in "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    done
}

install_packages() {
    local wanted
    wanted=$(missing "$@" | tr '\n' ' ')
    [ -n "$wanted" ] || return 0
    [ "$(id -u)" = 0 ] || fail "install these packages as root: apt-get install $wanted"
    echo "installing $wanted"
    quietly "cannot update the package lists" scripts/retry.sh apt-get update
    # Another script may be installing packages at the same time.
    # shellcheck disable=SC2086 # each word is the name of a package
    DEBIAN_FRONTEND=noninteractive quietly "cannot install $wanted: use Debian 12, or run $nightly" \
        scripts/retry.sh apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $wanted
}

build_linker() {
    local version build=$home/llvm-bitcode-linker
    version=$(/usr/bin/rustc --version)
    if [ -x "$home/bin/llvm-bitcode-linker" ] && [ "$(cat "$build/version" 2>/dev/null)" = "$version" ]; then
        return
    fi
    echo "building llvm-bitcode-linker"
    rm -rf "$build"
    cp -rL "$linker_source" "$build" 2>/dev/null || fail "$linker_source is missing: reinstall rust-web-src"
    printf '\n[workspace]\n' >>"$build/Cargo.toml" # so that it is not a member of the workspace of srlg
    quietly "cannot build llvm-bitcode-linker" \
        scripts/retry.sh env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS -u RUSTC_WRAPPER \
        RUSTC=/usr/bin/rustc CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS=fallback \
        /usr/bin/cargo install --no-track --force --path "$build" --target-dir "$build/target" --root "$home"
    rm -rf "$build/target"
    echo "$version" >"$build/version"
}

fetch_ptxas() {
    local python=python3 wheels=$home/wheels
    if [ "$(cat "$wheels/version" 2>/dev/null)" = "$ptxas_package" ] && [ -x "$home/bin/ptxas" ]; then
        return
    fi
    if ! "$python" -m pip --version >/dev/null 2>&1; then
        command -v dpkg-query >/dev/null || fail "python3 with pip is missing: it downloads ptxas"
        install_packages python3-pip
        python=/usr/bin/python3
    fi
    echo "downloading ptxas, 40 MB"
    rm -rf "$wheels" && mkdir -p "$wheels"
    echo "${ptxas_package//$'\n'/ }" >"$wheels/requirements"
    quietly "pip cannot download ${ptxas_package%%$'\n'*}" \
        scripts/retry.sh "$python" -m pip download --no-deps --only-binary=:all: --require-hashes \
        -r "$wheels/requirements" -d "$wheels"
    quietly "the wheel has no ptxas" "$python" -c '
import glob, sys, zipfile
wheel = zipfile.ZipFile(*glob.glob(sys.argv[1] + "/*.whl"))
(name,) = [name for name in wheel.namelist() if name.endswith("/bin/ptxas")]
open(sys.argv[2], "wb").write(wheel.read(name))' "$wheels" "$home/bin/ptxas"
    chmod +x "$home/bin/ptxas"
    rm "$wheels"/*.whl
    quietly "ptxas does not run here" "$home/bin/ptxas" --version
    echo "$ptxas_package" >"$wheels/version"
}

mkdir -p "$home/bin"
case ${1-all} in
all)
    command -v apt-get >/dev/null || fail "this is not Debian: run $nightly, and then scripts/gpu-toolchain.sh ptxas"
    install_packages rustc-web cargo-web rust-web-src
    # The LLVM tools must have the LLVM version of this rustc, because bitcode of other versions is not compatible.
    install_packages "llvm-$(/usr/bin/rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')"
    build_linker
    ;;
ptxas) ;;
*) fail "unknown argument $1: must be ptxas, or absent" ;;
esac
fetch_ptxas
echo "GPU tool chain: $home/bin"
