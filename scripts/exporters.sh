#!/usr/bin/env bash
# Installs the exporters for apps/srlg/tests/exporters: Debian's softflowd, pmacctd and fprobe, and tcpreplay, which
# sends packets to fprobe. Their services are not started.
set -euo pipefail

package=$(dirname "$0")/debian-package.sh
policy=/usr/sbin/policy-rc.d
if [ "$(id -u)" = 0 ] && [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
"$package" softflowd "softflowd 1.1"
"$package" pmacctd "pmacct 1.7" pmacct
"$package" fprobe "fprobe 1.1"
"$package" tcpreplay "tcpreplay 4.4 or later"
"$package" ss "iproute2 6 or later" iproute2
