#!/usr/bin/env bash
# Installs Debian's nats-server for tests with a NATS broker. Every test starts its own server.
set -euo pipefail

exec "$(dirname "$0")/debian-package.sh" nats-server "nats-server 2.9 or later, https://nats.io/download"
