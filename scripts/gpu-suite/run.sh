#!/usr/bin/env bash
# Tests and measures srlg on this machine: ./run.sh [--without-cuda] [--small] [FOLDER]
#
# Writes tests, checks, kernels, metrics and bars to FOLDER/results.jsonl, by default in $OUT or ./out. Prints a table
# of the metrics and a table of the bars. The exit status is 1 if a test or a check failed or was interrupted, or if
# nothing could be measured. A missing tool or a missed bar is not a failure.
# --without-cuda runs everything on the CPU, without the GPU.
# --small tests the folder with a few tests. The metrics have so few pairs that they have no meaning.
# SRLG_DATA names a folder of recorded traffic. Without it, the test of recorded traffic is skipped.
# SRLG_SUITE_SECONDS limits the whole run. The limits of all steps together are 470 seconds.
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
end=$((SECONDS + ${SRLG_SUITE_SECONDS:-480}))
failures=0

say() { printf '\n== %s\n' "$*"; }

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Runs a command for at most the given seconds, and at most for the remaining time of the suite.
bounded() {
    local seconds=$1 left=$((end - SECONDS))
    shift
    [ "$left" -gt 0 ] || { echo "skipped: no time is left" && return 124; }
    # The command runs in the foreground, so that an interrupt reaches it.
    timeout --foreground --kill-after=5 "$((seconds < left ? seconds : left))" "$@"
}

# Prints the value of a field in a line of JSON. Text ends at a comma.
field() {
    [[ $2 =~ \"$1\":\"?([^,\"}]*) ]] && echo "${BASH_REMATCH[1]}"
}

# Adds the tests of a log to the results. Tests that neither passed nor failed were interrupted.
collect() {
    local binary=$1 log=$2 line name outcome
    shift 2
    declare -A outcomes=()
    while read -r name; do
        outcomes[$name]=unfinished
    done < <("$here/$binary" --list "$@" 2>/dev/null | sed -n 's/: test$//p')
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

# Runs the tests of a binary for at most the given seconds. With names, only tests that contain them run.
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

# Measures on a device for at most the given seconds.
speed() {
    local device=$1 seconds=$2 status
    shift 2
    say "speed on $device"
    bounded "$seconds" "$here/srlg-evaluation" speed --device "$device" --json "$@" |
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

# The tests for the sanitizer: short ones that run the kernels of both schemes, both families and both hashes.
sanitized=(windows::hosts_leave_after_exactly_k_slices::cuda overload::saturated_arrays::cuda
    sizes::odd_numbers_of_lines::cuda sizes::hosts_that_use_up_their_fine_region::cuda)

# Runs a tool of compute-sanitizer over them for at most the given seconds.
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
        # A missing test does not fail.
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

# Profiles a work of gpu_model for at most the given seconds, with the arguments for ncu.
ncu_of() {
    local seconds=$1 work=$2
    shift 2
    echo "work $work"
    bounded "$seconds" "$profiler" --clock-control none "$@" "$here/gpu_model" "$work" 1 2>&1
}

# Prints the time of each kernel in every launch of a few works, and all details of the slowest kernel.
profile() {
    local profiler status=0 work kernel launches ns slowest='' slowest_work=''
    say "profile of the kernels"
    profiler=$(tool ncu) || { checked profile absent && return; }
    : >"$out/times.log"
    for work in distinct ip6 close; do
        ncu_of 15 "$work" --print-units base --metrics gpu__time_duration.sum >>"$out/times.log" || status=$?
    done
    # A launch starts with the name of the kernel, which is followed by its shape.
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

# The fields that distinguish metrics of one name, and further fields.
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
        echo "nvidia-smi prints nothing"
    export SRLG_REQUIRE_CUDA=1
    # Every detector loads the kernels. The driver should compile them once, even if it cannot write to the home folder.
    if cache=$(mktemp -d); then
        export CUDA_CACHE_PATH=$cache
        trap 'rm -rf "$cache"' EXIT
    else
        echo "cannot create a folder for compiled kernels: the driver may compile them repeatedly"
    fi
else
    unset SRLG_REQUIRE_CUDA
fi
# Only the tests of srlg-host that use the driver run here. The others run the same everywhere.
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
        # There are so few pairs that most touch an untouched recorder and write. This metric comes first, because all
        # bars use it.
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
# Common alternatives are slow, so they have few rounds.
speed cpu 50 "${few[@]}"
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
