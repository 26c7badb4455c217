#!/usr/bin/env bash
# Installs Debian's valgrind for `cargo xtask instructions` and the memory checks of scripts/c.sh and scripts/python.sh.
set -euo pipefail

exec "$(dirname "$0")/debian-package.sh" valgrind "valgrind 3.19 or later"
