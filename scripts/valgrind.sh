#!/usr/bin/env bash
# Sets up what `cargo xtask instructions` needs: Debian's valgrind, by apt-get when run as root.
# What is there stays.
set -euo pipefail

fail() {
    echo "valgrind: $*" >&2
    exit 1
}

# Runs a command in silence; when it fails, its output comes before the line of the failure.
quietly() {
    local reason=$1 said
    shift
    said=$("$@" 2>&1) || { echo "$said" >&2; fail "$reason"; }
}

if ! command -v valgrind >/dev/null; then
    command -v apt-get >/dev/null || fail "this is not Debian: install valgrind 3.19 or later"
    [ "$(id -u)" = 0 ] || fail "install it as root: apt-get install valgrind"
    echo "installing valgrind"
    quietly "apt-get update fails" apt-get update
    DEBIAN_FRONTEND=noninteractive quietly "apt-get cannot install valgrind" \
        apt-get install -y --no-install-recommends valgrind
fi
valgrind --version
