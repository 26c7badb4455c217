#!/usr/bin/env bash
# fuzz.sh [TARGET...]: runs fuzz targets, by default all, and prints a table of the results. Each target runs for
# SRLG_FUZZ_SECONDS seconds (240), and SRLG_FUZZ_JOBS targets run at the same time (1). The first inputs come from the
# repository and, if SRLG_DATA is set, from this folder. Inputs are kept in fuzz/corpus, logs in fuzz/target/logs, and
# inputs that cause a failure in fuzz/artifacts. Installs cargo-fuzz if it is missing. The exit
# status is 1 if a target fails.
set -euo pipefail
data=()
[ -z "${SRLG_DATA-}" ] || data=("$(realpath -m "$SRLG_DATA")")
cd "$(dirname "$0")/../fuzz"

# The address sanitizer needs the nightly features of the compiler.
export RUSTC_BOOTSTRAP=1
# Freed memory that the sanitizer keeps counts for the memory limit.
export ASAN_OPTIONS=quarantine_size_mb=16:detect_odr_violation=0

seconds=${SRLG_FUZZ_SECONDS:-240} jobs=${SRLG_FUZZ_JOBS:-1}
light="capture csv delta exporter_state exports frame framing logs pairs snapshot"
messages="messages schema" program="api config network report"
read -ra targets <<<"${*:-$light $messages $program}"
# Without features, only about 60 packages are compiled.
features=''
for target in "${targets[@]}"; do
    if [[ " $messages " = *" $target "* ]]; then
        features+=,messages
    elif [[ " $program " = *" $target "* ]]; then
        features+=,program
    elif [[ " $light " != *" $target "* ]]; then
        echo "unknown target $target; the targets are $light $messages $program" >&2
        exit 2
    fi
done

command -v cargo-fuzz >/dev/null || ../scripts/retry.sh cargo install --locked cargo-fuzz

# Runs one target, writes its row of the table, and minimises its corpus. The program is started directly, because cargo
# would let only one of several targets start at a time.
fuzz() {
    local target=$1 log=target/logs/$1.log small runs edges seen failures=0
    local run=("$programs/$target" -timeout=10 -max_len=65536 -rss_limit_mb=512 -malloc_limit_mb=128)
    rm -f "target/logs/$target".{row,failed}
    mkdir -p "artifacts/$target"
    "${run[@]}" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="artifacts/$target/" "corpus/$target" \
        >"$log" 2>&1 || failures=1
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    edges=$(grep -oE 'cov: [0-9]+' "$log" | tail -n 1 | tr -dc 0-9)
    seen=$(grep -oE 'ft: [0-9]+' "$log" | tail -n 1 | tr -dc 0-9)
    printf '| %s | %s | %s | %s | %s |\n' "$target" "$runs" "$edges" "$seen" "$failures" >"target/logs/$target.row"
    small=$(mktemp -d "target/corpus.XXXXXX")
    if "${run[@]}" -merge=1 "$small" "corpus/$target" >>"$log" 2>&1; then
        rm -r "corpus/$target"
        mv "$small" "corpus/$target"
    else
        echo "cannot minimise the corpus of $target; see fuzz/$log" >&2
        failures=1
    fi
    [ "$failures" = 0 ] || touch "target/logs/$target.failed"
}

programs=target/$(rustc -vV | sed -n 's/^host: //p')/release
mkdir -p target/logs
python3 seeds.py corpus "${data[@]}"
# With -O, cargo-fuzz leaves debug assertions and overflow checks to the profile, which excludes protox-parse.
cargo fuzz build -O ${features:+--features "${features#,}"}
for target in "${targets[@]}"; do
    [ "$(jobs -rp | wc -l)" -lt "$jobs" ] || wait -n
    fuzz "$target" &
done
wait

echo '| target | executions | edges | features | failures |'
echo '|---|---|---|---|---|'
for target in "${targets[@]}"; do
    cat "target/logs/$target.row"
done
for target in "${targets[@]}"; do
    if [ -e "target/logs/$target.failed" ]; then
        echo "$target has failed; see fuzz/target/logs/$target.log and fuzz/artifacts/$target" >&2
        exit 1
    fi
done
