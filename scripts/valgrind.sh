#!/usr/bin/env bash
# Sets up what `cargo xtask instructions` needs: Debian's valgrind.
set -euo pipefail

exec "$(dirname "$0")/debian-package.sh" valgrind "valgrind 3.19 or later"
