#!/usr/bin/env bash
# c.sh [--measure]: checks the C library. The header and the golden lists must match the sources. The C programs must
# pass with gcc and clang, under ASan and under valgrind, and pkg-config must find the installed library. Missing
# programs are installed if root runs this script. Skipped checks are printed, and are an error with SRLG_REQUIRE_C=1.
# --measure only compares the speed of ingest from C and from Rust.
set -euo pipefail
cd "$(dirname "$0")/.."

export CARGO_TARGET_DIR=$PWD/srlg-c/target
target=$CARGO_TARGET_DIR
cargo() { (cd srlg-c && command cargo "$@"); }

# Installs a build of profile $1 for the checks below.
install_library() {
    PROFILE=$1 scripts/install-c.sh "$target/installed" >/dev/null
    export PKG_CONFIG_PATH=$target/installed/lib/pkgconfig LD_LIBRARY_PATH=$target/installed/lib
}

# Compiles the example $1 against the installed library. The other arguments are compiler flags.
compile() {
    local name=$1
    shift
    # shellcheck disable=SC2046 # flags are words
    cc -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror "srlg-c/examples/$name.c" -o "$target/$name" \
        $(pkg-config --cflags srlg) "$@"
}

if [ "${1:-}" = --measure ]; then
    install_library release
    # shellcheck disable=SC2046
    compile ingest $(pkg-config --libs srlg)
    cargo run --quiet --release --locked --example ingest -- "$target/ingest"
    exit
fi

skipped=()
# Succeeds if the program $1 exists, or if the other arguments install it.
has() {
    local program=$1 said
    shift
    said=$("$@" 2>&1) && return
    echo "$said" >&2
    [ "${SRLG_REQUIRE_C:-}" != 1 ] || exit 1
    skipped+=("$program")
    return 1
}

echo "== lints"
cargo fmt --check
cargo clippy --quiet --all-targets --locked -- -D warnings
cargo clippy --quiet --no-default-features --locked -- -D warnings

echo "== tests with cc"
cargo test --quiet --locked

# ASan checks the C programs, and the calls from srlg to the C standard library.
echo "== tests with gcc, ASan and UBSan"
if has gcc scripts/debian-package.sh gcc gcc; then
    SRLG_CC=gcc SRLG_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all" cargo test --quiet --locked --test c
fi

echo "== tests with clang"
if has clang scripts/debian-package.sh clang clang; then
    SRLG_CC=clang cargo test --quiet --locked --test c
fi

echo "== tests under valgrind"
if has valgrind scripts/valgrind.sh; then
    SRLG_RUNNER="valgrind --quiet --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite" \
        cargo test --quiet --locked --test c
fi

echo "== the header in C99, C++11 and C++17"
cc -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c srlg-c/include/srlg.h
if has c++ scripts/debian-package.sh g++ g++; then
    for standard in c++11 c++17; do
        c++ -std=$standard -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ srlg-c/include/srlg.h
    done
fi

echo "== the installed library, shared and static"
if has pkg-config scripts/debian-package.sh pkg-config pkg-config; then
    # The debug build already exists, and its flags and files are the same as those of a release build.
    install_library dev
    # shellcheck disable=SC2046
    compile detect $(pkg-config --libs srlg)
    "$target/detect" | grep -x '10.0.0.1 [0-9]*, at least [0-9]*'
    # shellcheck disable=SC2046
    compile detect "$target/installed/lib/libsrlg.a" $(pkg-config --static --libs-only-l srlg | sed 's/-lsrlg//')
    LD_LIBRARY_PATH='' "$target/detect" | grep -x '10.0.0.1 [0-9]*, at least [0-9]*'
fi

for program in "${skipped[@]}"; do
    echo "skipped: the checks with $program, which is missing and cannot be installed"
done
echo "the C library passes${skipped:+, except for the skipped checks}"
