#!/usr/bin/env bash
# Tests and measures srlg on this machine: ./run.sh [--without-cuda] [--small] [FOLDER]
#
# Writes tests, checks, kernels, metrics and bars to FOLDER/results.jsonl. FOLDER is $OUT or ./out by default. Prints a
# table of the metrics and a table of the bars. The exit status is 1 if a test or a check failed or was interrupted, or
# if nothing could be measured. A missing tool or a missed bar is not a failure.
# --without-cuda runs everything on the CPU, without the GPU.
# --small checks quickly that the suite works. It runs a few tests, and measures so few pairs that the metrics have no
# meaning.
# SRLG_DATA names a folder of recorded traffic. Without it, the test of recorded traffic is skipped.
# SRLG_SUITE_SECONDS limits the whole run, by default to 505 seconds. Without --small, the limits of all steps add up to
# 495 seconds.
set -uo pipefail
here=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

cuda=yes small=no out=${OUT:-out}
for argument in "$@"; do
    case $argument in
    --without-cuda) cuda=no ;;
    --small) small=yes ;;
    -*) echo "run.sh: unknown option $argument: must be --without-cuda, --small, or a folder" >&2 && exit 2 ;;
    *) out=$argument ;;
    esac
done
mkdir -p "$out" || exit 2
results=$out/results.jsonl
: >"$results" || exit 2
end=$((SECONDS + ${SRLG_SUITE_SECONDS:-505}))
failures=0

say() { printf '\n== %s\n' "$*"; }

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Runs a command for at most the given number of seconds, and no longer than the remaining time of the suite.
bounded() {
    local seconds=$1 left=$((end - SECONDS))
    shift
    [ "$left" -gt 0 ] || { echo "skipped: no time left" && return 124; }
    # The command runs in the foreground, so that an interrupt reaches it.
    timeout --foreground --kill-after=5 "$((seconds < left ? seconds : left))" "$@"
}

# Prints the value of a field in a line of JSON. A text with a comma is cut off there.
field() {
    [[ $2 =~ \"$1\":\"?([^,\"}]*) ]] && echo "${BASH_REMATCH[1]}"
}

# Adds the tests in a log to the results. A test without an outcome in the log was interrupted.
collect() {
    local binary=$1 log=$2 line name outcome
    shift 2
    declare -A outcomes=() skipped=()
    while read -r name; do
        outcomes[$name]=unfinished
    done < <("$here/$binary" --list "$@" 2>/dev/null | sed -n 's/: test$//p')
    while IFS= read -r line; do
        if [[ $line =~ ^test\ ([^ ]+)\ \.\.\.\ (ok|FAILED|ignored) ]]; then
            name=${BASH_REMATCH[1]}
            outcomes[$name]=${BASH_REMATCH[2]}
        elif [[ $line =~ ^skipped:\ ([^ ]+):\  ]]; then
            skipped[${BASH_REMATCH[1]}]=1
        fi
    done <"$log"
    for name in "${!outcomes[@]}"; do
        outcome=${outcomes[$name]}
        [ -z "${skipped[$name]-}" ] || outcome=${outcome/ok/skipped}
        echo "{\"test\":\"$name\",\"binary\":\"$binary\",\"outcome\":\"${outcome/FAILED/failed}\"}"
    done | sort >"$log.jsonl"
    cat "$log.jsonl" >>"$results"
    rm "$log.jsonl"
}

# Runs the tests of a binary for at most the given number of seconds. Further arguments select tests by parts of names.
tests() {
    local binary=$1 seconds=$2 status
    shift 2
    say "tests of $binary"
    bounded "$seconds" "$here/$binary" --show-output "$@" 2>&1 | tee "$out/$binary.log"
    status=${PIPESTATUS[0]}
    collect "$binary" "$out/$binary.log" "$@"
    case $status in
    0) ;;
    124 | 137) fail "tests of $binary: not finished in time" ;;
    *) fail "tests of $binary: exit status $status" ;;
    esac
}

# Measures the speed of a device for at most the given number of seconds.
speed() {
    local device=$1 seconds=$2 status
    shift 2
    say "speed on $device"
    bounded "$seconds" "$here/srlg-lab" speed --device "$device" --json "$@" |
        tee -a "$results"
    status=${PIPESTATUS[0]}
    [ "$status" = 0 ] || fail "speed on $device: exit status $status"
}

# Prints the path of a CUDA tool.
tool() {
    command -v "$1" && return
    local path
    for path in /usr/local/cuda*/bin/"$1" /opt/nvidia/nsight-compute/*/"$1"; do
        [ -x "$path" ] && echo "$path" && return
    done
    return 1
}

# Adds the outcome of a check to the results, with its number of errors if there is one.
checked() {
    echo "{\"check\":\"$1\",\"outcome\":\"$2\"${3:+,\"errors\":$3}}" >>"$results"
    echo "$1: $2"
}

# These short tests for the sanitizer run the kernels of both schemes, both address families and both hashes.
sanitized=(windows::hosts_leave_after_exactly_k_slices::cuda overload::saturated_arrays::cuda
    sizes::odd_numbers_of_lines::cuda sizes::hosts_that_use_up_their_fine_region::cuda)

# Runs these tests under a tool of compute-sanitizer for at most the given number of seconds.
sanitize() {
    local check=$1 seconds=$2 sanitizer status errors
    say "compute-sanitizer $check"
    sanitizer=$(tool compute-sanitizer) || { checked "$check" absent && return; }
    bounded "$seconds" "$sanitizer" --tool "$check" --error-exitcode 42 "$here/devices" --test-threads 1 \
        --exact "${sanitized[@]}" 2>&1 | tee "$out/$check.log" | tail -n 30
    status=${PIPESTATUS[0]}
    errors=$(sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p' "$out/$check.log" | tail -n 1)
    case $status in
    0)
        # A test that does not exist is not an error, so the number of tests is checked.
        if grep -q "test result: ok. ${#sanitized[@]} passed" "$out/$check.log"; then
            checked "$check" ok "$errors"
        else
            checked "$check" failed "$errors"
            fail "compute-sanitizer $check: expected ${#sanitized[@]} tests"
        fi
        ;;
    124 | 137)
        checked "$check" unfinished
        fail "compute-sanitizer $check: not finished in time"
        ;;
    *)
        checked "$check" failed "$errors"
        fail "compute-sanitizer $check: exit status $status"
        ;;
    esac
}

# Profiles a workload of gpu_model for at most the given number of seconds. Further arguments go to ncu.
ncu_of() {
    local seconds=$1 work=$2
    shift 2
    echo "work $work"
    bounded "$seconds" "$profiler" --clock-control none "$@" "$here/gpu_model" "$work" 1 2>&1
}

# Prints the total time of each kernel in a few workloads, and all details of the slowest kernel.
profile() {
    local profiler status=0 work kernel launches ns slowest='' slowest_work=''
    say "profile of the kernels"
    profiler=$(tool ncu) || { checked profile absent && return; }
    : >"$out/times.log"
    for work in distinct ip6 close; do
        ncu_of 15 "$work" --print-units base --metrics gpu__time_duration.sum >>"$out/times.log" || status=$?
    done
    # In the output of ncu, each launch starts with the name of its kernel, followed by the shape of the launch.
    while read -r ns launches kernel work; do
        echo "{\"kernel\":\"$kernel\",\"work\":\"$work\",\"launches\":$launches,\"ns\":$ns}" >>"$results"
        printf '%12d ns  %5d launches  %s of %s\n' "$ns" "$launches" "$kernel" "$work"
        [ -n "$slowest" ] || slowest=$kernel slowest_work=$work
    done < <(awk '
        NR == FNR { known[$1] = 1; next }
        $1 == "work" { work = $2; next }
        { name = $1; sub(/[,(].*/, "", name) }
        name in known { kernel = name; next }
        # Commas may separate thousands.
        /gpu__time_duration\.sum/ { ns = $NF; gsub(",", "", ns); sum[kernel " " work] += ns; count[kernel " " work]++ }
        END { for (name in sum) printf "%.0f %d %s\n", sum[name], count[name], name }
    ' "$here/kernels" "$out/times.log" | sort -rn)
    if [ -z "$slowest" ]; then
        tail -n 5 "$out/times.log"
        checked profile "failed, exit status $status"
        return
    fi
    ncu_of 20 "$slowest_work" --set full --kernel-name "$slowest" --launch-count 5 >"$out/profile.log" || status=$?
    grep -E "^ *$slowest|Duration|Throughput|Registers Per|Achieved Occ" "$out/profile.log"
    if [ "$status" = 0 ]; then checked profile ok; else checked profile "incomplete, exit status $status"; fi
}

# Prints the fields that distinguish metrics with the same name, and further fields.
details() {
    local name value
    for name in kind of traffic search estimate age candidates super_points; do
        value=$(field "$name" "$1") && printf '%s %s  ' "$name" "${value:0:24}"
    done
}

# Prints all metrics in the results.
table() {
    local line load
    printf '%-26s %-30s %-7s %7s %10s %12s %12s %12s  %-9s  %s\n' \
        metric system device threads pairs median least most unit details
    while IFS= read -r line; do
        [[ $line == *'"metric"'* ]] || continue
        load=$(field load "$line")
        LC_ALL=C printf '%-26s %-30s %-7s %7s %10s %12.3f %12.3f %12.3f  %-9s  %s\n' \
            "$(field metric "$line")" "$(field system "$line")" \
            "$(field device "$line")" "$(field threads "$line")" "${load/null/-}" \
            "$(field value "$line")" "$(field min "$line")" "$(field max "$line")" \
            "$(field unit "$line")" "$(details "$line")"
    done <"$results"
}

say "srlg $(<"$here/version") on $(uname -n), $(getconf _NPROCESSORS_ONLN) cores, results in $out"
if [ "$cuda" = yes ]; then
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null ||
        echo "nvidia-smi is missing or failed"
    export SRLG_REQUIRE_CUDA=1
    # Every detector loads the kernels. This cache lets the driver compile them once, even if the home is read-only.
    if cache=$(mktemp -d); then
        export CUDA_CACHE_PATH=$cache
        trap 'rm -rf "$cache"' EXIT
    else
        echo "cannot create a folder for compiled kernels, so the driver may compile them repeatedly"
    fi
else
    unset SRLG_REQUIRE_CUDA
fi
# Only those tests of srlg-host run that use the driver. The others do not depend on the machine.
if [ "$small" = yes ]; then
    few=(--repeat 1 --pairs 20k --loads 20k --capture 100k)
    tests devices 80 sizes:: refusals::
    tests srlg-host 20 cuda::
    [ "$cuda" = no ] || speed cuda 250 "${few[@]}"
else
    few=(--repeat 2 --pairs 1M --loads 1M --capture 8M)
    tests devices 80
    tests srlg-host 20 cuda::
    if [ "$cuda" = yes ]; then
        # With so few pairs, most pairs write to a recorder that no pair has touched yet. The bars use this measurement,
        # so it comes first.
        speed cuda 40 --pairs 4M --loads 5M --capture 1M
        speed cuda 110 --loads 1M,2M,10M --capture 32M
    fi
fi
if [ "$cuda" = yes ]; then
    sanitize memcheck 45
    sanitize initcheck 30
    sanitize racecheck 30
    profile
fi
# The CPU also measures common alternatives, which are slow, so there are few rounds.
speed cpu 75 "${few[@]}"
say "tests"
for outcome in ok skipped ignored failed unfinished; do
    echo "$outcome: $(grep -c "\"test\".*\"outcome\":\"$outcome\"" "$results")"
done
sed -n 's/.*"test":"\([^"]*\)".*"outcome":"\(failed\|unfinished\)".*/\2: \1/p' "$results"
say "benchmarks"
table
say "bars"
"$here/bars.sh" "$results" || fail "bars.sh: exit status $?"
[ "$failures" = 0 ] || { say "$failures steps failed" && exit 1; }
