#!/usr/bin/env bash
# Checks the Prometheus rules about srlg with promtool, and tests them with artificial series. promtool is installed with
# apt-get if root runs this script. If promtool is missing, the checks are skipped with a message. With
# SRLG_REQUIRE_PROMTOOL=1, the script fails instead.
set -euo pipefail
cd "$(dirname "$0")/../apps/srlg/service"

if ! ../../../scripts/debian-package.sh promtool "promtool 2.42 or later, a part of Prometheus" prometheus; then
    [ "${SRLG_REQUIRE_PROMTOOL:-}" != 1 ] || exit 1
    echo "skipped: promtool is missing, so rules are not checked" >&2
    exit 0
fi
promtool check rules alerts.rules.yml
promtool test rules alerts.test.yml
while read -r alert; do
    grep -q "alertname: $alert\$" alerts.test.yml || { echo "alerts.test.yml does not test that $alert fires" >&2; exit 1; }
done < <(sed -n 's/.*- alert: //p' alerts.rules.yml)
