#!/usr/bin/env bash
# Sets up what the tests of networks need: Debian's nats-server. Every test starts a server of its own.
set -euo pipefail

exec "$(dirname "$0")/debian-package.sh" nats-server "nats-server 2.9 or later, https://nats.io/download"
