#!/usr/bin/env bash
# install-c.sh [PREFIX]: builds the C library, and installs it below PREFIX with its header, its pkg-config and CMake
# files, and suppressions for ThreadSanitizer.
# PREFIX is /usr/local and LIBDIR is PREFIX/lib by default. DESTDIR is prepended to both, as in make install.
# PROFILE=dev installs a debug build.
set -euo pipefail
cd "$(dirname "$0")/../srlg-c"

prefix=${1:-/usr/local}
if [ "$prefix" = --help ]; then
    sed -n '2,/^set /s/^# //p' "../scripts/${0##*/}"
    exit
fi
libdir=${LIBDIR:-$prefix/lib}
for path in "$prefix" "$libdir"; do
    [[ $path == /* && $path != *[[:space:]]* ]] || {
        echo "PREFIX and LIBDIR: must be absolute paths without spaces, got $path" >&2
        exit 2
    }
done
to_lib=${DESTDIR:-}$libdir to_include=${DESTDIR:-}$prefix/include to_share=${DESTDIR:-}$prefix/share/srlg

profile=${PROFILE:-release}
cargo build --profile "$profile" --locked
built=${CARGO_TARGET_DIR:-target}/${profile/#dev/debug}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
soname=$(sed -n 's/.*-soname,\(libsrlg.so.[0-9]*\)".*/\1/p' build.rs)
# The Rust standard library needs these system libraries. The crates of srlg link no others.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
libraries=$(rustc --print native-static-libs --crate-type staticlib --crate-name empty --out-dir "$scratch" - <<<'' 2>&1 |
    sed -n 's/.*native-static-libs: //p')
# Unlike libgcc_s, libgcc_eh also exists for programs that link all libraries statically.
libraries=${libraries/-lgcc_s/-lgcc_eh}

mkdir -p "$to_lib/pkgconfig" "$to_lib/cmake/srlg" "$to_include" "$to_share"
install -m 755 "$built/libsrlg.so" "$to_lib/libsrlg.so.$version"
ln -sf "libsrlg.so.$version" "$to_lib/$soname"
ln -sf "$soname" "$to_lib/libsrlg.so"
install -m 644 "$built/libsrlg.a" "$to_lib/libsrlg.a"
install -m 644 include/srlg.h "$to_include/srlg.h"
install -m 644 tsan.supp "$to_share/tsan.supp"

# Writes the pkg-config file of the package $1, which links $2.
write_pc() {
    cat >"$to_lib/pkgconfig/$1.pc" <<END
prefix=$prefix
libdir=$libdir
includedir=\${prefix}/include

Name: $1
Description: Detection of hosts with many distinct peers in a sliding window
Version: $version
Libs: $2
Cflags: -I\${includedir}
END
}
# shellcheck disable=SC2016 # pkg-config expands the variable
write_pc srlg '-L${libdir} -lsrlg'
write_pc srlg-static "\${libdir}/libsrlg.a $libraries"

cat >"$to_lib/cmake/srlg/srlg-config.cmake" <<END
if(TARGET srlg::srlg)
  return()
endif()
add_library(srlg::srlg SHARED IMPORTED)
set_target_properties(srlg::srlg PROPERTIES
  IMPORTED_LOCATION "$libdir/libsrlg.so"
  IMPORTED_SONAME $soname
  INTERFACE_INCLUDE_DIRECTORIES "$prefix/include")
add_library(srlg::static STATIC IMPORTED)
set_target_properties(srlg::static PROPERTIES
  IMPORTED_LOCATION "$libdir/libsrlg.a"
  INTERFACE_INCLUDE_DIRECTORIES "$prefix/include"
  INTERFACE_LINK_LIBRARIES "${libraries// /;}")
END
cat >"$to_lib/cmake/srlg/srlg-config-version.cmake" <<END
set(PACKAGE_VERSION $version)
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
END
echo "installed srlg $version in ${DESTDIR:-}$prefix"
