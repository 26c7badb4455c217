#!/usr/bin/env bash
# install-c.sh [PREFIX]: builds the C library, and installs it below PREFIX with its header and its pkg-config file.
# PREFIX is /usr/local and LIBDIR is PREFIX/lib by default. DESTDIR is prepended to both, as in make install.
# PROFILE=dev installs a debug build.
set -euo pipefail
cd "$(dirname "$0")/../srlg-c"

prefix=${1:-/usr/local}
libdir=${LIBDIR:-$prefix/lib}
for path in "$prefix" "$libdir"; do
    [[ $path == /* ]] || { echo "PREFIX and LIBDIR: must be absolute paths, got $path" >&2; exit 2; }
done
to_lib=${DESTDIR:-}$libdir to_include=${DESTDIR:-}$prefix/include

profile=${PROFILE:-release}
cargo build --profile "$profile" --locked
built=${CARGO_TARGET_DIR:-target}/${profile/#dev/debug}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
soname=$(sed -n 's/.*-soname,\(libsrlg.so.[0-9]*\)".*/\1/p' build.rs)
# The Rust standard library needs these system libraries. The crates of srlg link no others.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
private=$(rustc --print native-static-libs --crate-type staticlib --crate-name empty --out-dir "$scratch" - <<<'' 2>&1 |
    sed -n 's/.*native-static-libs: //p')

mkdir -p "$to_lib/pkgconfig" "$to_include"
install -m 755 "$built/libsrlg.so" "$to_lib/libsrlg.so.$version"
ln -sf "libsrlg.so.$version" "$to_lib/$soname"
ln -sf "$soname" "$to_lib/libsrlg.so"
install -m 644 "$built/libsrlg.a" "$to_lib/libsrlg.a"
install -m 644 include/srlg.h "$to_include/srlg.h"
cat >"$to_lib/pkgconfig/srlg.pc" <<END
prefix=$prefix
libdir=$libdir
includedir=\${prefix}/include

Name: srlg
Description: Detection of hosts with many distinct peers in a sliding window
Version: $version
Libs: -L\${libdir} -lsrlg
Libs.private: $private
Cflags: -I\${includedir}
END
echo "installed srlg $version in ${DESTDIR:-}$prefix"
