#!/usr/bin/env bash
# Installs the packages for live capture: libpcap with its headers, to build the feature `live` of srlg-input, and
# tcpreplay and iproute2 for its tests.
set -euo pipefail

package=$(dirname "$0")/debian-package.sh
"$package" pcap-config "libpcap 1.5 or later with its headers" libpcap-dev
"$package" tcpreplay "tcpreplay 4.4 or later"
# The tests call `ip`. It is in the same package, but does not have the option --version.
"$package" ss "iproute2 6 or later" iproute2
