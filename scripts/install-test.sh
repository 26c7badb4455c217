#!/usr/bin/env bash
# Tests the files that `cargo xtask dist` has written: installs, runs, upgrades, removes and purges the .deb in a fresh
# Debian 12, runs the static program in a folder without libraries, follows the commands of the Containerfile, and prints the
# metadata of the .rpm. Requires root. Services are started without systemd, because a chroot has none.
set -euo pipefail
cd "$(dirname "$0")/.."

dist=$PWD/target/dist work=$PWD/target/install-test
if [ "${1:-}" != --inside ]; then
    scripts/debian-package.sh mmdebstrap mmdebstrap
    scripts/debian-package.sh rpm rpm
    mkdir -p "$work"
    [ -e "$work/base.tar" ] ||
        mmdebstrap --variant=minbase --include=systemd,man-db bookworm "$work/base.tar" http://deb.debian.org/debian
    # The ports of the configuration are free in a new network, and all processes end with this script.
    exec unshare --net --mount-proc --pid --fork --kill-child scripts/install-test.sh --inside
fi
ip link set lo up
deb=$(echo "$dist"/srlg_*.deb) root=$work/root

user=(setpriv --reuid srlg --regid srlg --init-groups --no-new-privs)

say() { printf '\n== %s\n' "$*"; }
fail() { echo "install-test: $*" >&2; exit 1; }
inside() { chroot "$root" "$@"; }
as_service() { inside "${user[@]}" "$@"; }

fresh_root() {
    if [ -e "$root" ]; then
        for mount in proc dev; do
            ! mountpoint -q "$root/$mount" || umount --recursive "$root/$mount"
        done
        rm -rf --one-file-system "$root"
    fi
    mkdir "$root"
    tar -xf "$work/base.tar" -C "$root"
    mount -t proc proc "$root/proc"
    mount -t tmpfs dev "$root/dev"
    for device in null urandom; do
        touch "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
}

# Lists all files and users, except files of dpkg, caches of manual pages and backups of the list of users.
list() {
    (cd "$root" && find . -xdev ! -path './var/lib/dpkg/*' ! -path './var/log/*.log' ! -path './var/cache/man/*' ! -path './run/*' ! -path './etc/*-' ! -name .pwd.lock |
        sort && cat etc/passwd etc/group)
}

# Sends NetFlow v5 records about 3,000 peers of 198.51.100.7 each second.
send_flows() {
    python3 - <<'PYTHON'
import socket, struct, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sequence = 0
while True:
    now = time.time()
    for start in range(0, 3000, 30):
        flows = b"".join(
            struct.pack("!IIIHHIIIIHHBBBBHHBBH", 0x0A000000 + start + i, 0xC6336407, 0, 1, 2, 1, 60, 999_000, 999_500,
                        40000, 445, 0, 2, 6, 0, 0, 0, 0, 0, 0)
            for i in range(30))
        header = struct.pack("!HHIIIIBBH", 5, 30, 1_000_000, int(now), int(now % 1 * 1e9), sequence, 0, 0, 0)
        sender.sendto(header + flows, ("127.0.0.1", 2055))
        sequence += 30
    time.sleep(1)
PYTHON
}

install_package() {
    cp "$1" "$root/tmp/srlg.deb"
    inside dpkg --install /tmp/srlg.deb
    rm "$root/tmp/srlg.deb"
}

# Runs the commands of the unit as its user, after creating the folders that systemd creates.
start_service() {
    inside install -d -m 700 -o srlg -g srlg /var/lib/srlg
    inside install -d -m 750 -o srlg -g srlg /var/log/srlg
    local unit=$root/usr/lib/systemd/system/srlg.service
    # shellcheck disable=SC2046 # The commands of the unit consist of words.
    as_service $(sed -n 's/^ExecStartPre=//p' "$unit")
    # A function in the background would be a process of its own.
    # shellcheck disable=SC2046
    chroot "$root" "${user[@]}" $(sed -n 's/^ExecStart=//p' "$unit") >>"$work/service.log" 2>&1 &
    service=$!
}

stop_service() {
    kill "$service"
    wait "$service"
}

# Prints the ID of the first active alert as soon as the API shows one.
wait_for_alert() {
    for _ in $(seq 120); do
        curl -sf http://127.0.0.1:8462/api/v1/alerts | grep -o '"id":"[0-9a-f]*"' | head -n 1 | grep . && return
        sleep 0.5
    done
    cat "$work/service.log" >&2
    fail "no alert within a minute"
}

say "the .deb in a fresh Debian"
fresh_root
list >"$work/before"
began=$(date +%s%N)
install_package "$deb"
inside srlg --version
[ "$(inside stat -c %a:%U:%G /etc/srlg)" = 2750:root:srlg ] || fail "/etc/srlg has wrong permissions"

say "the units"
# Errors do not change the exit status. The units of the system are not checked.
verified=$(inside systemd-analyze verify srlg.service srlg-probe.service 2>&1 | grep srlg || true)
[ -z "$verified" ] || fail "$verified"
for unit in srlg srlg-probe; do
    inside systemd-analyze security --offline=true "/usr/lib/systemd/system/$unit.service" | tail -n 1
done

say "the example configuration, and a first alert"
# The exporter and the sink are on this machine.
sed 's|^exporters = .*|exporters = ["127.0.0.1"]|; s|/var/lib/srlg/alerts|/var/log/srlg/alerts|' docs/srlg.example.toml >"$root/etc/srlg/srlg.toml"
: >"$work/service.log"
start_service
send_flows &
sender=$!
first=$(wait_for_alert)
echo "first alert $(($(date +%s%N) / 1000000 - began / 1000000)) ms after the start of the installation: $first"
# The next checkpoint is written at most 10 s after the alert.
sleep 11
grep -q "${first:6:16}" "$root/var/log/srlg/alerts.ndjson" || fail "the file of alerts lacks the alert"
limit=$(as_service srlg check --config /etc/srlg/srlg.toml | sed -n 's/.*MemoryMax=\([0-9]*\)M.*/\1/p')
peak=$(($(awk '/^VmHWM:/ { print $2 }' "/proc/$service/status") / 1024))
echo "peak memory: $peak MiB, MemoryMax: $limit MiB"
[ "$peak" -lt "$limit" ] || fail "the service needs more memory than srlg check says"

say "an upgrade keeps the alert"
rm -rf "$work/newer" && dpkg-deb -R "$deb" "$work/newer"
sed -i 's/^Version: .*/Version: 999/' "$work/newer/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -z1 -b "$work/newer" "$work/newer.deb"
stop_service
install_package "$work/newer.deb"
start_service
[ "$(wait_for_alert)" = "$first" ] || fail "the alert has changed"
stop_service
kill "$sender"

say "a removal keeps the state, and a purge leaves nothing"
inside dpkg --remove srlg
for file in var/lib/srlg/srlg.sqlite etc/srlg/srlg.toml; do
    [ -e "$root/$file" ] || fail "the removal has deleted $file"
done
inside dpkg --purge srlg
list >"$work/after"
diff -u "$work/before" "$work/after" || fail "files are left"

say "the commands of the Containerfile, except those that need a container runtime or a compiler"
fresh_root
# shellcheck disable=SC2016 # The shell in the root expands the variables.
inside sh -euxc "$(sed -n '/^FROM.*slim/,$ s/^RUN //p' apps/srlg/service/Containerfile)"
dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" ./usr/bin/srlg
id=$(sed -n 's/^USER //p' apps/srlg/service/Containerfile)
inside setpriv --reuid "$id" --regid "$id" --clear-groups srlg demo >/dev/null

say "the static program in a folder without libraries"
empty=$work/empty
rm -rf "$empty" && mkdir -p "$empty/etc" "$empty/dev"
mknod -m 444 "$empty/dev/random" c 1 8
mknod -m 444 "$empty/dev/urandom" c 1 9
tar -xzf "$dist"/srlg-*-linux.tar.gz -C "$empty" --strip-components=2 --wildcards '*/bin/srlg'
chroot "$empty" /srlg --version
echo "127.0.0.1 localhost" >"$empty/etc/hosts"
# The broker does not exist, but its name must be found. Without a timeout, the program would retry.
said=$(timeout 5 chroot "$empty" /srlg detect --nats nats://localhost:1/flows 2>&1 || true)
grep "Connection refused" <<<"$said" || fail "the static program cannot look up names: $said"

say "the .rpm"
for query in --info --list --requires --scripts; do
    rpm --nodigest --nosignature -qp "$query" "$dist"/srlg-*.rpm
done
# Apart from the completions of zsh, it has the files of the .deb.
diff <(sed 's,/vendor-completions/,/site-functions/,' apps/srlg/service/files.txt) <(rpm -qpl "$dist"/srlg-*.rpm | LC_ALL=C sort)

umount --recursive "$root/proc"
umount --recursive "$root/dev"
rm -rf "$root" "$empty" "$work/newer" "$work/newer.deb"
