#!/usr/bin/env bash
# targets.sh [TARGET...]: runs tests as on other processors. Requires Debian 12 on x86-64. If root runs this script,
# missing packages are installed. By default, all targets are tested:
#   s390x    big-endian, emulated by QEMU
#   i686     32 bits, not emulated
#   aarch64  emulated by QEMU; also runs the program srlg, and compares its reports with those on x86-64
# Everything is built in target/targets, including the standard library from Debian's sources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Without optimisation of the standard library, emulated tests would take several times longer.
options=(-Z "build-std=std,panic_unwind")
for crate in std core alloc compiler_builtins; do
    options+=(--config "profile.dev.package.$crate.opt-level=3")
done

# Timing tests fail under emulation, so only the library, its parsers and its behaviour are tested.
tests=(-p srlg-core -p srlg-kernels -p srlg-host -p srlg-input -p srlg-tests
    --lib --test bodies --test behaviour --test inputs)

# Under emulation, these tests of statistics and of large floods would take an hour.
slow=()
for name in adversary:: dev_traces:: intervals:: overload:: full_cells_are_searched_as_on_the_cpu \
    ghosts_are_missed_with_the_stated_probability tags_of_two_hosts_match_like_chance; do
    slow+=(--skip "$name")
done

fail() {
    echo "targets: $*" >&2
    exit 1
}

install_packages() {
    local log
    if dpkg --status "$@" >/dev/null 2>&1; then return; fi
    [ "$(id -u)" = 0 ] || fail "install these packages as root: apt-get install $*"
    echo "installing $*"
    log=$({ scripts/retry.sh apt-get update && DEBIAN_FRONTEND=noninteractive scripts/retry.sh apt-get install -y --no-install-recommends "$@"; } 2>&1) ||
        fail "cannot install the packages: $log"
}

# Runs a command of Debian's cargo for the current target. The sources of its standard library are installed.
cross() {
    local command=$1 variable=CARGO_TARGET_${triple^^}
    variable=${variable//-/_}
    shift
    env CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false CARGO_TARGET_DIR=target/targets \
        RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
        "${variable}_LINKER=$gnu-gcc" "${variable}_RUSTFLAGS=$flags" "${variable}_RUNNER=$runner" \
        /usr/bin/cargo "$command" --locked --target "$triple" "${options[@]}" "$@"
}

# Writes 20 seconds of contacts. In each second, one host contacts 3,000 peers and 500 hosts contact 20 peers each.
write_contacts() {
    awk 'BEGIN {
        print "time_ms,src,dst"
        for (second = 0; second < 20; second++) {
            for (peer = 0; peer < 3000; peer++)
                printf "%d,10.0.0.1,198.%d.%d.%d\n", second * 1000, second, peer / 256, peer % 256
            for (host = 0; host < 500; host++)
                for (peer = 0; peer < 20; peer++)
                    printf "%d,10.1.%d.%d,203.%d.%d.%d\n", second * 1000 + 500, host / 256, host % 256, second, host % 256, peer
        }
    }'
}

# Compares the reports of the program with those of the same program on this machine.
compare_reports() {
    local folder=target/targets/reports
    mkdir -p "$folder"
    write_contacts >"$folder/contacts.csv"
    cross build -p srlg-cli --bin srlg
    cargo build --locked -p srlg-cli --bin srlg
    local detect=(detect --input "$folder/contacts.csv" --seed 1 --window 5 --threshold 64 --output ndjson)
    $runner "target/targets/$triple/debug/srlg" "${detect[@]}" >"$folder/$triple"
    "${CARGO_TARGET_DIR:-target}/debug/srlg" "${detect[@]}" >"$folder/x86_64"
    # From the fourth second on, all hosts exceed the threshold.
    [ "$(wc -l <"$folder/x86_64")" -ge 8000 ] || fail "the program on x86-64 reported too few hosts"
    cmp "$folder/$triple" "$folder/x86_64"
    # The demo runs in real time, so it fails on a busy machine.
    $runner "target/targets/$triple/debug/srlg" demo
}

[ $# != 0 ] || set -- s390x i686 aarch64
for target in "$@"; do
    flags='' started=$SECONDS
    case $target in
    s390x) triple=s390x-unknown-linux-gnu gnu=s390x-linux-gnu libc=s390x ;;
    # The programs are static, because this machine has no 32-bit loader.
    i686) triple=i686-unknown-linux-gnu gnu=i686-linux-gnu libc=i386 flags="-C target-feature=+crt-static" ;;
    aarch64) triple=aarch64-unknown-linux-gnu gnu=aarch64-linux-gnu libc=arm64 ;;
    *) fail "unknown target $target: must be s390x, i686 or aarch64" ;;
    esac
    runner="qemu-$target-static -L /usr/$gnu"
    [ "$target" != i686 ] || runner='env'
    install_packages rustc-web cargo-web rust-web-src "gcc-$gnu" "libc6-dev-$libc-cross" qemu-user-static
    left_out=("${slow[@]}")
    # On 32 bits, a configuration of 8 GB is too large, a contact is smaller, and there is no GPU driver.
    [ "$target" != i686 ] || left_out=(--skip sampling_never_reaches_the_bits_of_the_slot
        --skip a_contact_has_96_bytes --skip gpu::cuda::)
    # On big-endian processors, pcap-parser, which this test compares with, cannot read big-endian pcapng files.
    [ "$target" != s390x ] || left_out+=(--skip every_capture_reads_like_the_oracle)
    # QEMU 7.2 leaks 280 kB per thread of an ARM program, and the simulated GPU starts tens of thousands of threads.
    [ "$target" != aarch64 ] || left_out+=(--skip gpu::tests::)
    cross test --no-fail-fast "${tests[@]}" -- "${left_out[@]}"
    [ "$target" != aarch64 ] || compare_reports
    echo "targets: $target: $((SECONDS - started)) s"
done
