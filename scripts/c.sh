#!/usr/bin/env bash
# c.sh [--measure]: checks the C library. The header and the golden lists are those of the sources, the programs in C
# pass by gcc and clang, under ASan and valgrind, and the installed library is found by pkg-config. Missing programs are
# installed if root runs it; what is skipped is said, and fails with SRLG_REQUIRE_C=1. --measure compares ingest from C and
# Rust, and does nothing else.
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

# Compiles the example $1 against the installed library, with more flags.
compile() {
    local name=$1
    shift
    # shellcheck disable=SC2046 # flags are words
    cc -std=c11 -O2 -Wall -Wextra -Werror "srlg-c/examples/$name.c" -o "$target/$name" \
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
# Whether the program $1 is there, or can be installed by the rest.
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

echo "== tests, by cc"
cargo test --quiet --locked

# ASan sees what programs in C do, and what the library does by functions of the C library.
echo "== tests, by gcc with ASan and UBSan"
if has gcc scripts/debian-package.sh gcc gcc; then
    SRLG_CC=gcc SRLG_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all" cargo test --quiet --locked --test c
fi

echo "== tests, by clang"
if has clang scripts/debian-package.sh clang clang; then
    SRLG_CC=clang cargo test --quiet --locked --test c
fi

echo "== tests, under valgrind"
if has valgrind scripts/valgrind.sh; then
    SRLG_RUNNER="valgrind --quiet --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite" \
        cargo test --quiet --locked --test c
fi

echo "== the header in C99 and C++11"
cc -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c srlg-c/include/srlg.h
if has c++ scripts/debian-package.sh g++ g++; then
    c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ srlg-c/include/srlg.h
fi

echo "== the installed library, shared and static"
if has pkg-config scripts/debian-package.sh pkg-config pkg-config; then
    # A build for debugging, which is there: the flags and files are the same.
    install_library dev
    # shellcheck disable=SC2046
    compile detect $(pkg-config --libs srlg)
    "$target/detect" | grep -x '10.0.0.1 [0-9]*, at least [0-9]*'
    # shellcheck disable=SC2046
    compile detect "$target/installed/lib/libsrlg.a" $(pkg-config --static --libs-only-l srlg | sed 's/-lsrlg//')
    LD_LIBRARY_PATH='' "$target/detect" | grep -x '10.0.0.1 [0-9]*, at least [0-9]*'
fi

for program in "${skipped[@]}"; do
    echo "skipped: the checks by $program, which is not here and cannot be installed"
done
echo "the C library passes${skipped:+, but for what was skipped}"
