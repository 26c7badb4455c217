#!/usr/bin/env bash
# Sets up what tests of apps/srlg need that set the system clock: Debian's libfaketime.
set -euo pipefail

"$(dirname "$0")/debian-package.sh" faketime "libfaketime 0.9.10 or later"
