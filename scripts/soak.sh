#!/usr/bin/env bash
# soak.sh [SECONDS]: runs srlg for SECONDS (5,400 by default) under load and faults, and writes docs/soak. This requires
# root on Debian. SRLG_SEED selects another schedule of faults, and SRLG_DATA the folder with recorded traffic.
set -euo pipefail
cd "$(dirname "$0")/.."

export SRLG_SECONDS=${1:-5400} SRLG_SOAK=$PWD/docs/soak
export SRLG_REQUIRE_NATS=1 SRLG_REQUIRE_FAKETIME=1

[ "$(id -u)" = 0 ] || { echo "soak.sh: run it as root, because it mounts small disks" >&2; exit 1; }
scripts/nats.sh
scripts/faketime.sh
cargo test --release --locked -p srlg-cli --test soak -- --ignored --nocapture
scripts/soak_plot.py docs/soak/series.csv docs/soak/soak.svg
