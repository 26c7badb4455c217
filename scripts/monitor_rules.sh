#!/usr/bin/env bash
# Checks the Prometheus rules about srlg with promtool, and tests them with made-up series. promtool is installed with
# apt-get if root runs this script. Without promtool a message is printed, or the script fails with
# SRLG_REQUIRE_PROMTOOL=1.
set -euo pipefail
cd "$(dirname "$0")/../apps/srlg/service"

if ! ../../../scripts/debian-package.sh promtool "promtool 2.42 or later, of Prometheus" prometheus; then
    [ "${SRLG_REQUIRE_PROMTOOL:-}" != 1 ] || exit 1
    echo "skipped: promtool is missing, so rules are not checked" >&2
    exit 0
fi
promtool check rules alerts.rules.yml
promtool test rules alerts.test.yml
