#!/usr/bin/env bash
# Checks the Prometheus rules about srlg by promtool, which root gets by apt-get, and tries them on made-up series.
# Says what was skipped where there is no promtool, or fails there with SRLG_REQUIRE_PROMTOOL=1.
set -euo pipefail
cd "$(dirname "$0")/../apps/srlg/service"

if ! ../../../scripts/debian-package.sh promtool "promtool 2.42 or later, of Prometheus" prometheus; then
    [ "${SRLG_REQUIRE_PROMTOOL:-}" != 1 ] || exit 1
    echo "skipped: promtool checks no rules" >&2
    exit 0
fi
promtool check rules alerts.rules.yml
promtool test rules alerts.test.yml
