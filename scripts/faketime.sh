#!/usr/bin/env bash
# Installs Debian's libfaketime for tests of apps/srlg that set the system clock.
set -euo pipefail

"$(dirname "$0")/debian-package.sh" faketime "libfaketime 0.9.10 or later"
