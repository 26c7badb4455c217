#!/usr/bin/env bash
# c.sh [--measure]: checks the C library. The header and the golden lists must match the sources. The C programs must
# pass with gcc and clang, under ASan, TSan and valgrind, and pkg-config and CMake must find the installed library. Missing
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

# Compiles the program $1 in srlg-c against the installed library. The other arguments are compiler flags.
compile() {
    local program
    program=$target/$(basename "$1" .c)
    # shellcheck disable=SC2046 # flags are words
    cc -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror "srlg-c/$1" -o "$program" $(pkg-config --cflags srlg) "${@:2}"
}

# Runs the example, which must find its host.
detect() {
    "$1" | grep -x '10.0.0.1 [0-9]*, at least [0-9]*'
}

if [ "${1:-}" = --measure ]; then
    install_library release
    # shellcheck disable=SC2046
    compile examples/ingest.c $(pkg-config --libs srlg)
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
    compile examples/detect.c $(pkg-config --libs srlg)
    detect "$target/detect"
    for static in -O2 -static; do
        # shellcheck disable=SC2046
        compile examples/detect.c "$static" $(pkg-config --libs srlg-static)
        LD_LIBRARY_PATH='' detect "$target/detect"
    done

    echo "== threads under TSan"
    # shellcheck disable=SC2046
    compile tests/threads.c -g -pthread -fsanitize=thread $(pkg-config --libs srlg)
    TSAN_OPTIONS=suppressions=$target/installed/share/srlg/tsan.supp "$target/threads"
fi

if has cmake scripts/debian-package.sh cmake cmake; then
    echo "== the lines of docs/c.md for CMake"
    install_library dev
    folder=$target/cmake
    # shellcheck disable=SC2016 # the marks of a block in Markdown
    lines=$(sed -n '/^```cmake$/,/^```$/{/^```/d;p}' docs/c.md)
    for library in srlg::srlg srlg::static; do
        rm -rf "$folder" && mkdir "$folder"
        {
            echo "cmake_minimum_required(VERSION 3.20)"
            echo "project(detect C)"
            echo "add_executable(detect $PWD/srlg-c/examples/detect.c)"
            echo "${lines/srlg::srlg/$library}"
        } >"$folder/CMakeLists.txt"
        cmake -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$target/installed" >/dev/null
        cmake --build "$folder/build" >/dev/null
        LD_LIBRARY_PATH='' detect "$folder/build/detect"
    done
fi

for program in "${skipped[@]}"; do
    echo "skipped: the checks with $program, which is missing and cannot be installed"
done
echo "the C library passes${skipped:+, except for the skipped checks}"
