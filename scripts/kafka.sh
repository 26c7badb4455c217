#!/usr/bin/env bash
# Installs Debian's kcat for the tests of Kafka. Its librdkafka includes mock brokers, and every test starts its own.
set -euo pipefail

exec "$(dirname "$0")/debian-package.sh" kcat "kcat 1.7 or later, https://github.com/edenhill/kcat"
