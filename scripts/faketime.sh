#!/usr/bin/env bash
# Installs Debian's libfaketime for the tests of apps/srlg that change the clock.
set -euo pipefail

"$(dirname "$0")/debian-package.sh" faketime "libfaketime 0.9.10 or later"
