#!/usr/bin/env bash
# Tests and measures srlg on this machine: ./run.sh [--without-cuda] [FOLDER]
#
# Writes tests, checks and metrics to FOLDER/results.jsonl, by default $OUT or ./out, and prints a
# table of the metrics last. Ends with 1 when a test or a check failed or was cut off, or nothing
# could be measured; a tool that is absent is no failure.
# --without-cuda leaves the GPU out: everything else runs, on the CPU.
# SRLG_DATA names a folder of recorded traffic, if there is one; without it its test is skipped.
# SRLG_SUITE_SECONDS bounds all of it.
set -uo pipefail
here=$(CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

cuda=yes out=${OUT:-out}
for argument in "$@"; do
    case $argument in
    --without-cuda) cuda=no ;;
    -*) echo "run.sh: unknown option $argument: give --without-cuda, or a folder" >&2 && exit 2 ;;
    *) out=$argument ;;
    esac
done
mkdir -p "$out" || exit 2
results=$out/results.jsonl
: >"$results" || exit 2
end=$((SECONDS + ${SRLG_SUITE_SECONDS:-480}))
failures=0

say() { printf '\n== %s\n' "$*"; }

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Runs a command for the seconds given, and no longer than there is time for all.
bounded() {
    local seconds=$1 left=$((end - SECONDS))
    shift
    [ "$left" -gt 0 ] || { echo "no time is left for this" && return 124; }
    # In the foreground, so that an interrupt reaches it.
    timeout --foreground --kill-after=5 "$((seconds < left ? seconds : left))" "$@"
}

# The value of a field in a line of JSON; text ends at a comma.
field() {
    [[ $2 =~ \"$1\":\"?([^,\"}]*) ]] && echo "${BASH_REMATCH[1]}"
}

# Adds the tests of a log to the results; those that neither passed nor failed were cut off.
collect() {
    local binary=$1 log=$2 line name outcome
    declare -A outcomes=()
    while read -r name; do
        outcomes[$name]=unfinished
    done < <("$here/$binary" --list 2>/dev/null | sed -n 's/: test$//p')
    while IFS= read -r line; do
        if [[ $line =~ ^test\ ([^ ]+)\ \.\.\.\ (ok|FAILED|ignored) ]]; then
            name=${BASH_REMATCH[1]}
            outcomes[$name]=${BASH_REMATCH[2]}
        elif [[ $line =~ ^----\ ([^ ]+)\ std(out|err)\ ----$ ]]; then
            name=${BASH_REMATCH[1]}
        elif [[ $line == skipped:* && ${outcomes[$name]-} == ok ]]; then
            outcomes[$name]=skipped
        fi
    done <"$log"
    for name in "${!outcomes[@]}"; do
        outcome=${outcomes[$name]}
        echo "{\"test\":\"$name\",\"binary\":\"$binary\",\"outcome\":\"${outcome/FAILED/failed}\"}"
    done | sort >"$log.jsonl"
    cat "$log.jsonl" >>"$results"
    rm "$log.jsonl"
}

# Runs the tests of a binary, for the seconds given at most.
tests() {
    local binary=$1 seconds=$2 status
    say "tests of $binary"
    bounded "$seconds" "$here/$binary" --show-output 2>&1 | tee "$out/$binary.log"
    status=${PIPESTATUS[0]}
    collect "$binary" "$out/$binary.log"
    case $status in
    0) ;;
    124 | 137) fail "tests of $binary: not finished in time" ;;
    *) fail "tests of $binary: exit status $status" ;;
    esac
}

# Measures on a device, for the seconds given at most.
speed() {
    local device=$1 seconds=$2 status
    shift 2
    say "speed on $device"
    bounded "$seconds" "$here/srlg-evaluation" speed --device "$device" --json "$@" |
        tee -a "$results"
    status=${PIPESTATUS[0]}
    [ "$status" = 0 ] || fail "speed on $device: exit status $status"
}

# The path of a tool of CUDA.
tool() {
    command -v "$1" && return
    local path
    for path in /usr/local/cuda*/bin/"$1" /opt/nvidia/nsight-compute/*/"$1"; do
        [ -x "$path" ] && echo "$path" && return
    done
    return 1
}

# Adds what became of a check to the results.
checked() {
    echo "{\"check\":\"$1\",\"outcome\":\"$2\"}" >>"$results"
    echo "$1: $2"
}

# Runs a tool of compute-sanitizer over a few short tests.
sanitize() {
    local check=$1 sanitizer status
    say "compute-sanitizer $check"
    sanitizer=$(tool compute-sanitizer) || { checked "$check" absent && return; }
    bounded 45 "$sanitizer" --tool "$check" --error-exitcode 42 "$here/devices" --test-threads 1 \
        hosts_leave_after_exactly_k_slices::cuda long_silences::cuda saturated_arrays::cuda \
        2>&1 | tee "$out/$check.log" | tail -n 30
    status=${PIPESTATUS[0]}
    case $status in
    0)
        # A test that is not there does not fail.
        if grep -q 'test result: ok. 3 passed' "$out/$check.log"; then
            checked "$check" ok
        else
            checked "$check" failed
            fail "compute-sanitizer $check: not the three tests"
        fi
        ;;
    124 | 137)
        checked "$check" unfinished
        fail "compute-sanitizer $check: not finished in time"
        ;;
    *)
        checked "$check" failed
        fail "compute-sanitizer $check: exit status $status"
        ;;
    esac
}

# Profiles two launches of each of the kernels that take the most time.
profile() {
    local profiler kernel status=0
    say "profile of the kernels"
    profiler=$(tool ncu) || { checked profile absent && return; }
    : >"$out/profile.log"
    for kernel in touch_rsra8 touch_lines survey8 count16 regain tally age16; do
        bounded 15 "$profiler" --clock-control none --kernel-name "$kernel" --launch-count 2 \
            "$here/srlg-evaluation" speed --device cuda --json --repeat 1 \
            --pairs 1M --loads 1M --capture 1M >>"$out/profile.log" 2>&1 || status=$?
    done
    ! grep -q 'No kernels were profiled' "$out/profile.log" || status=1
    grep -E '^ *[a-z0-9_]+ \(|Duration|Throughput|Registers Per|Achieved Occ' "$out/profile.log"
    if [ "$status" = 0 ]; then checked profile ok; else checked profile "incomplete, exit status $status"; fi
}

# What tells metrics of one name apart, and what is beside the value.
details() {
    local name value
    for name in kind of traffic search estimate age candidates super_points; do
        value=$(field "$name" "$1") && printf '%s %s  ' "$name" "${value:0:24}"
    done
}

# All metrics in the results.
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
        echo "nvidia-smi says nothing"
    export SRLG_REQUIRE_CUDA=1
    # Every detector loads the kernels: the driver shall compile them once, also where it may not
    # write to the home folder.
    if cache=$(mktemp -d); then
        export CUDA_CACHE_PATH=$cache
        trap 'rm -rf "$cache"' EXIT
    else
        echo "no folder for compiled kernels: the driver may compile them again and again"
    fi
else
    unset SRLG_REQUIRE_CUDA
fi
tests devices 120
tests srlg-host 80
if [ "$cuda" = yes ]; then
    speed cuda 100
    # So few pairs that most touch a recorder that none touched before: each writes.
    speed cuda 40 --pairs 4M --loads 100k --capture 1M
fi
if [ "$cuda" = yes ]; then
    sanitize memcheck
    sanitize initcheck
    sanitize racecheck
    profile
fi
# What users have today is slow: fewer rounds.
speed cpu 150 --repeat 3 --loads 1M,5M --capture 32M
say "tests"
for outcome in ok skipped ignored failed unfinished; do
    echo "$outcome: $(grep -c "\"test\".*\"outcome\":\"$outcome\"" "$results")"
done
sed -n 's/.*"test":"\([^"]*\)".*"outcome":"\(failed\|unfinished\)".*/\2: \1/p' "$results"
say "benchmarks"
table
[ "$failures" = 0 ] || { say "$failures steps failed" && exit 1; }
