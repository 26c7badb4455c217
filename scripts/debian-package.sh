#!/usr/bin/env bash
# debian-package.sh PROGRAM ELSEWHERE [PACKAGE]: sets up a program that Debian has in PACKAGE, or in a package of the
# same name, by apt-get when run as root. What is there stays. ELSEWHERE says what to install where there is no Debian.
set -euo pipefail

program=$1 elsewhere=$2 package=${3:-$1}

fail() {
    echo "$program: $*" >&2
    exit 1
}

install_package() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package"
}

# Runs a command in silence; when it fails, its output comes before the line of the failure.
quietly() {
    local reason=$1 said
    shift
    said=$("$@" 2>&1) || { echo "$said" >&2; fail "$reason"; }
}

# Debian has servers where the PATH of most users does not look.
PATH=$PATH:/usr/sbin
if ! command -v "$program" >/dev/null; then
    command -v apt-get >/dev/null || fail "this is not Debian: install $elsewhere"
    [ "$(id -u)" = 0 ] || fail "install it as root: apt-get install $package"
    echo "installing $package"
    # The lists of packages are fetched if there are none, or old ones.
    if ! install_package >/dev/null 2>&1; then
        quietly "apt-get update fails" apt-get update
        quietly "apt-get cannot install $package" install_package
    fi
fi
# Some have no such option, and say all they know.
version=$("$program" --version 2>/dev/null) || version="$program is $(command -v "$program")"
echo "$version" | head -n 1
