#!/usr/bin/env bash
# Sets up what a test of apps/srlg needs: Debian's prometheus-alertmanager. Its service is kept from starting.
set -euo pipefail

policy=/usr/sbin/policy-rc.d
if [ "$(id -u)" = 0 ] && [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
"$(dirname "$0")/debian-package.sh" prometheus-alertmanager "alertmanager 0.25 or later"
