#!/usr/bin/env bash
# Sets up what the tests of Kafka need: Debian's kcat, in which librdkafka has brokers for tests. Every test starts its own.
set -euo pipefail

exec "$(dirname "$0")/debian-package.sh" kcat "kcat 1.7 or later, https://github.com/edenhill/kcat"
