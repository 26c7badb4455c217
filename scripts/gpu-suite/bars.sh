#!/usr/bin/env bash
# bars.sh RESULTS: checks the performance bars of a GPU. It reads the file that run.sh wrote, adds an object for each
# bar, and prints the bars as a table. A bar without a measurement does not hold. If a metric was measured several
# times, the worst value counts.
set -euo pipefail
export LC_ALL=C

results=${1:?give the file with the results}
[ -r "$results" ] || { echo "bars.sh: cannot read $results" >&2 && exit 2; }
lines=()

# Prints the values of the metric $1 on the GPU, one per line, in ascending order. $2 selects a load.
values() {
    local line='"metric":"'$1'"' load='"load":'${2:-.*}'[,}]'
    grep "$line" "$results" | grep '"device":"cuda' | grep "$load" |
        sed -n 's/.*"value":\([-+.0-9eE]*\).*/\1/p' | sort -g || true
}

# Adds a bar: its name, `least` or `most`, the bound, the unit, and the value if there is one.
bar() {
    local name=$1 side=$2 bound=$3 unit=$4 value=${5:-} outcome='not measured'
    if [ -n "$value" ]; then
        outcome=$(awk -v value="$value" -v bound="$bound" -v side="$side" \
            'BEGIN { holds = side == "least" ? value >= bound : value <= bound; print holds ? "holds" : "missed" }')
        value=$(awk -v value="$value" 'BEGIN { printf "%.4g", value }')
    fi
    lines+=("{\"bar\":\"$name\",\"value\":${value:-null},\"bound\":$bound,\"side\":\"$side\",\"unit\":\"$unit\",\"outcome\":\"$outcome\"}")
    printf '%-44s %12s  at %-5s %8s %-10s  %s\n' "$name" "${value:--}" "$side" "$bound" "$unit" "$outcome"
}

# Prints the number of tests that did not pass, or nothing if no test used the GPU. Skipped tests of recorded traffic do
# not count, because few machines have such traffic.
tests_that_did_not_pass() {
    local tests
    tests=$(grep '"test":' "$results") || return 0
    grep '::cuda"' <<<"$tests" | grep -qv '"outcome":"skipped"' || return 0
    grep -v '"outcome":"ok"' <<<"$tests" | grep -v '"outcome":"ignored"' |
        grep -cv '"test":"recorded::.*"outcome":"skipped"' || true
}

# Prints the number of errors that the check $1 found, or nothing if it did not finish.
errors_of() {
    local line
    line=$(grep '"check":"'"$1"'"' "$results" | tail -n 1) || return 0
    case $line in
    *'"outcome":"ok"'*) echo 0 ;;
    # A check that failed without a count found at least one error.
    *'"outcome":"failed"'*) sed -n 's/.*"errors":\([0-9]*\).*/\1/p; t; s/.*/1/p' <<<"$line" ;;
    esac
}

bar "resident distinct pairs" least 10000 "M pairs/s" "$(values ingest_resident_distinct | head -n 1)"
bar "resident repeated pairs" least 20000 "M pairs/s" "$(values ingest_resident_repeated | head -n 1)"
bar "pinned pairs, of the copy bandwidth" least 90 % "$(values pinned_share_of_copy | head -n 1)"
bar "close at 5 M pairs" most 1 ms "$(values close_slice_ms 5000000 | tail -n 1)"
bar "memcheck" most 0 errors "$(errors_of memcheck)"
bar "tests that did not pass" most 0 tests "$(tests_that_did_not_pass)"
printf '%s\n' "${lines[@]}" >>"$results"
