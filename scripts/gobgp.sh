#!/usr/bin/env bash
# Installs Debian's gobgpd and jq for the test of the GoBGP recipe.
set -euo pipefail

"$(dirname "$0")/debian-package.sh" jq "jq 1.6 or later, https://jqlang.org"
exec "$(dirname "$0")/debian-package.sh" gobgpd "GoBGP 3 or later, https://github.com/osrg/gobgp"
