#!/usr/bin/env bash
# Installs the programs that pack a release. Names of programs, such as `deb`, limit the installation to them.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- deb generate-rpm cyclonedx
for tool in "$@"; do
    # Debug builds take half the time of release builds, and packing is fast enough.
    command -v "cargo-$tool" >/dev/null || scripts/retry.sh cargo install --locked --debug "cargo-$tool"
done
# cargo-deb determines the libraries that a package needs with dpkg-shlibdeps.
scripts/debian-package.sh dpkg-shlibdeps dpkg-dev dpkg-dev
