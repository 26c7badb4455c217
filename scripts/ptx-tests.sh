#!/usr/bin/env bash
# Runs the device tests (tests/devices) on the committed kernels without a GPU. ptxrun provides a libcuda.so that
# interprets the PTX. The tests take about fifteen minutes. --quick runs a few tests in less than a minute, which execute
# every kernel with little traffic. --build only builds the interpreter. A test fails if a kernel reads memory that was
# never written.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

quick=(anything::anything_in_any_order::cuda merging::last_recorder_of_an_odd_array::cuda
    windows::hosts_leave_after_exactly_k_slices::cuda)

case "$*" in
"") tests=(cuda) ;;
--quick) tests=(--exact "${quick[@]}") ;;
--build) ;;
*)
    echo "usage: scripts/ptx-tests.sh [--quick | --build]" >&2
    exit 2
    ;;
esac

CARGO_TARGET_DIR=target/ptxrun cargo build --release --locked --manifest-path ptxrun/Cargo.toml
[ "$*" != --build ] || exit 0
export PTXRUN_QUEUES=${PTXRUN_QUEUES:-deferred} PTXRUN_CHECK=${PTXRUN_CHECK:-init}
SRLG_REQUIRE_CUDA=1 LD_LIBRARY_PATH=$PWD/target/ptxrun/release \
    cargo test --workspace --locked --test devices -- "${tests[@]}" | tee target/ptx-tests.log
if [ "$*" = --quick ] && ! grep -q "^test result: ok. ${#quick[@]} passed" target/ptx-tests.log; then
    echo "--quick did not run all of its ${#quick[@]} tests" >&2
    exit 1
fi
