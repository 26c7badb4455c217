#!/usr/bin/env bash
# Builds target/gpu-suite/ with tests, benchmarks and run.sh, for a machine with an NVIDIA GPU. That machine needs only
# the driver, x86-64 Linux and glibc 2.36 or newer, and neither Rust nor CUDA. The previous contents of the folder are
# deleted, including results. Copy the folder to the machine, and start run.sh in it. `CARGO_TARGET_DIR` applies only to
# the build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

suite=$PWD/target/gpu-suite
newest_glibc=2.36
most_megabytes=60

fail() {
    echo "gpu-suite: $*" >&2
    exit 1
}

# Runs cargo with the remaining arguments, and copies the executable of target $2 into the suite as $1.
put() {
    local name=$1 target=$2 built
    shift 2
    echo "building $name"
    built=$(cargo "$@" --release --locked --message-format=json-render-diagnostics |
        sed -n "s/.*\"name\":\"$target\".*\"executable\":\"\([^\"]*\)\".*/\1/p")
    [ -x "$built" ] || fail "cargo $* did not build $target"
    strip -o "$suite/$name" "$built"
}

# Rejects programs that would not start on the machine with the GPU.
check() {
    local binary=$1 needed
    needed=$(objdump -T "$binary" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
    needed=${needed#GLIBC_}
    [ "$(printf '%s\n' "$needed" "$newest_glibc" | sort -V | tail -n 1)" = "$newest_glibc" ] ||
        fail "$binary needs glibc $needed, newer than $newest_glibc: build on an older system"
    if ldd "$binary" | grep -qiE 'libcuda|libnvrtc|not found'; then
        ldd "$binary" >&2
        fail "$binary links libraries that the machine with the GPU may not have"
    fi
    echo "$binary: glibc $needed"
}

[ "$(uname -sm)" = "Linux x86_64" ] || fail "the suite is for x86-64 Linux: build it there"
for tool in strip objdump ldd; do
    command -v "$tool" >/dev/null || fail "$tool is missing: install binutils and libc-bin"
done
rm -rf "$suite"
mkdir -p "$suite"
put devices devices test -p srlg-tests --test devices --no-run
put srlg-host srlg_host test -p srlg-host --lib --no-run
put srlg-lab srlg-lab build --manifest-path lab/Cargo.toml
put gpu_model gpu_model build -p srlg-benches --bin gpu_model
cp scripts/gpu-suite/{run,bars}.sh "$suite/"
# run.sh finds the names of the kernels in the output of the profiler.
sed -n 's/^\.visible \.entry \([a-z0-9_]*\)(.*/\1/p' srlg-host/ptx/srlg.ptx >"$suite/kernels"
[ -s "$suite/kernels" ] || fail "srlg-host/ptx/srlg.ptx has no entry point"
git describe --always --dirty >"$suite/version" 2>/dev/null || echo unknown >"$suite/version"
for binary in "$suite"/{devices,srlg-host,srlg-lab,gpu_model}; do
    check "$binary"
done
megabytes=$(($(du -sk "$suite" | cut -f1) / 1024))
[ "$megabytes" -lt "$most_megabytes" ] || fail "$suite has $megabytes MB, more than $most_megabytes"
echo "$suite: $megabytes MB; copy it to a machine with a GPU and start run.sh"
