#!/usr/bin/env bash
# Builds target/libpcap/libpcap.a from Debian's source package, without D-Bus, RDMA and netlink. Debian's own static
# library needs static libraries that Debian does not provide. To build a static program:
#   scripts/libpcap.sh
#   LIBPCAP_LIBDIR=$PWD/target/libpcap RUSTFLAGS='-C target-feature=+crt-static' \
#       cargo build --release -p srlg-cli --features live --target x86_64-unknown-linux-gnu
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/target/libpcap retry=$PWD/scripts/retry.sh
mkdir -p "$folder/apt/partial"
scripts/debian-package.sh flex flex
scripts/debian-package.sh bison bison
cd "$folder"
echo 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main' >sources
options=(-q -o "Dir::Etc::SourceList=$folder/sources" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$folder/apt")
"$retry" apt-get "${options[@]}" update
rm -rf libpcap-*/
"$retry" apt-get "${options[@]}" source libpcap
cd libpcap-*/
./configure --quiet --disable-shared --disable-dbus --disable-rdma --disable-usb --disable-bluetooth --without-libnl
make --silent -j2 libpcap.a
cp libpcap.a ..
