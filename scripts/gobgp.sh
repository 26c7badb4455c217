#!/usr/bin/env bash
# Sets up what the test of the recipe for GoBGP needs: Debian's gobgpd, and jq.
set -euo pipefail

"$(dirname "$0")/debian-package.sh" jq "jq 1.6 or later, https://jqlang.org"
exec "$(dirname "$0")/debian-package.sh" gobgpd "GoBGP 3 or later, https://github.com/osrg/gobgp"
