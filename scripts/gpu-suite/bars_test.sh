#!/usr/bin/env bash
# Tests bars.sh with artificial results.
set -euo pipefail
bars=$(dirname "${BASH_SOURCE[0]}")/bars.sh
results=$(mktemp)
trap 'rm -f "$results"' EXIT

# Asserts that results have the outcomes in the first argument, in the order of the bars. Each further argument is a
# line of results.
expect() {
    local expected=$1 found
    shift
    printf '%s\n' "$@" >"$results"
    "$bars" "$results" >/dev/null
    found=$(sed -n 's/.*"bar":.*"outcome":"\([^"]*\)".*/\1/p' "$results" | paste -sd,)
    [ "$found" = "$expected" ] || { echo "bars.sh printed $found instead of $expected for: $*" >&2 && exit 1; }
}

none='not measured'
metric() {
    echo "{\"device\":\"$4\",\"load\":$3,\"metric\":\"$1\",\"unit\":\"x\",\"value\":$2}"
}
passed='{"test":"odd::one::cuda","binary":"devices","outcome":"ok"}'

expect "$none,$none,$none,$none,$none,$none" ''
# Results from a CPU, or from a machine without a GPU, do not count as measurements.
expect "$none,$none,$none,$none,$none,$none" "$(metric close_slice_ms 0.5 5000000 cpu)" \
    "${passed/ok/skipped}" "${passed/cuda/cpu}" '{"check":"memcheck","outcome":"absent"}'
expect "holds,holds,holds,holds,holds,holds" "$passed" '{"check":"memcheck","outcome":"ok"}' \
    "$(metric ingest_resident_distinct 10000 64000000 cuda:0)" "$(metric ingest_resident_repeated 2.1e4 64000000 cuda:0)" \
    "$(metric pinned_share_of_copy 90.0 64000000 cuda:0)" "$(metric close_slice_ms 1.0 5000000 cuda:0)" \
    "$(metric close_slice_ms 3.0 10000000 cuda:0)" '{"test":"recorded::all::cuda","binary":"devices","outcome":"skipped"}'
# This case has two values of one metric, another load, an unfinished check, and a skipped test beside one that passed.
expect "missed,$none,$none,$none,$none,missed" "$(metric ingest_resident_distinct 12000 64000000 cuda:0)" \
    "$(metric ingest_resident_distinct 9999.9 4000000 cuda:0)" "$(metric close_slice_ms 0.1 15000000 cuda:0)" \
    '{"check":"memcheck","outcome":"unfinished"}' "$passed" '{"test":"odd::two::cuda","binary":"devices","outcome":"skipped"}'
expect "$none,$none,$none,missed,missed,missed" "$(metric close_slice_ms 1.001 5000000 cuda:0)" \
    '{"check":"memcheck","outcome":"failed","errors":3}' "${passed/ok/failed}"
echo "bars.sh: all tests passed"
