#!/usr/bin/env bash
# debian-package.sh PROGRAM ELSEWHERE [PACKAGE]: installs PROGRAM from the Debian package PACKAGE, by default the package
# with the same name. This requires root. Nothing is installed if PROGRAM exists. ELSEWHERE names what to install on
# other systems.
set -euo pipefail

program=$1 elsewhere=$2 package=${3:-$1}

fail() {
    echo "$program: $*" >&2
    exit 1
}

retry=$(dirname "${BASH_SOURCE[0]}")/retry.sh
# Another script may be installing packages at the same time.
install=(env DEBIAN_FRONTEND=noninteractive
    apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$package")

# Runs a command without output. If it fails, its output is printed before the error.
quietly() {
    local reason=$1 said
    shift
    said=$("$@" 2>&1) || { echo "$said" >&2; fail "$reason"; }
}

# Debian installs servers in a folder that is not in the PATH of most users.
PATH=$PATH:/usr/sbin
if ! command -v "$program" >/dev/null; then
    command -v apt-get >/dev/null || fail "this is not Debian: install $elsewhere"
    [ "$(id -u)" = 0 ] || fail "install it as root: apt-get install $package"
    echo "installing $package"
    # If this fails, the package lists may be missing or out of date.
    if ! "${install[@]}" >/dev/null 2>&1; then
        quietly "cannot update the package lists" "$retry" apt-get update
        quietly "cannot install the package $package" "$retry" "${install[@]}"
    fi
fi
# Some programs do not have the option --version.
version=$("$program" --version 2>/dev/null) || version="$program is $(command -v "$program")"
echo "$version" | head -n 1
