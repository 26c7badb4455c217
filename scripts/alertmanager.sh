#!/usr/bin/env bash
# Installs Debian's prometheus-alertmanager for a test of apps/srlg. Its service is not started.
set -euo pipefail

policy=/usr/sbin/policy-rc.d
if [ "$(id -u)" = 0 ] && [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
"$(dirname "$0")/debian-package.sh" prometheus-alertmanager "alertmanager 0.25 or later"
