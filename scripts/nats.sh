#!/usr/bin/env bash
# Sets up what the tests of examples/cluster need: Debian's nats-server, by apt-get when run as root.
# What is there stays. Every test starts a server of its own.
set -euo pipefail

fail() {
    echo "nats: $*" >&2
    exit 1
}

# Runs a command in silence; when it fails, its output comes before the line of the failure.
quietly() {
    local reason=$1 said
    shift
    said=$("$@" 2>&1) || { echo "$said" >&2; fail "$reason"; }
}

# Debian has it where the PATH of most users does not look.
PATH=$PATH:/usr/sbin
if ! command -v nats-server >/dev/null; then
    command -v apt-get >/dev/null || fail "this is not Debian: install nats-server 2.9 or later, https://nats.io/download"
    [ "$(id -u)" = 0 ] || fail "install it as root: apt-get install nats-server"
    echo "installing nats-server"
    quietly "apt-get update fails" apt-get update
    DEBIAN_FRONTEND=noninteractive quietly "apt-get cannot install nats-server" \
        apt-get install -y --no-install-recommends nats-server
fi
nats-server --version
