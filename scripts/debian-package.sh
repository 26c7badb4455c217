#!/usr/bin/env bash
# debian-package.sh PROGRAM ELSEWHERE [PACKAGE]: installs a program from PACKAGE of Debian, by default the package with
# the same name, with apt-get. This requires root. An existing program stays. ELSEWHERE names what to install on other
# systems.
set -euo pipefail

program=$1 elsewhere=$2 package=${3:-$1}

fail() {
    echo "$program: $*" >&2
    exit 1
}

install_package() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package"
}

# Runs a command without output. If it fails, its output is printed before the error.
quietly() {
    local reason=$1 said
    shift
    said=$("$@" 2>&1) || { echo "$said" >&2; fail "$reason"; }
}

# Debian has servers in a folder that is not in the PATH of most users.
PATH=$PATH:/usr/sbin
if ! command -v "$program" >/dev/null; then
    command -v apt-get >/dev/null || fail "this is not Debian: install $elsewhere"
    [ "$(id -u)" = 0 ] || fail "install it as root: apt-get install $package"
    echo "installing $package"
    # The lists of packages are downloaded if they are missing or old.
    if ! install_package >/dev/null 2>&1; then
        quietly "apt-get update fails" apt-get update
        quietly "apt-get cannot install $package" install_package
    fi
fi
# Some programs have no such option.
version=$("$program" --version 2>/dev/null) || version="$program is $(command -v "$program")"
echo "$version" | head -n 1
