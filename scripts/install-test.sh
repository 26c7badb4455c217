#!/usr/bin/env bash
# Tests the files that `cargo xtask dist` has written. In a fresh Debian 12 with systemd, it installs, runs, upgrades,
# removes and purges the .deb, starts a network of one site, and follows the commands of the Containerfile. It runs the
# static program in a folder without libraries, and prints the metadata of the .rpm. If the machine has an NVIDIA GPU,
# the service also runs on it. Requires root.
set -euo pipefail
cd "$(dirname "$0")/.."

PATH=$PATH:/usr/sbin:/sbin
dist=$PWD/target/dist work=$PWD/target/install-test
root=$work/root config=$work/root/etc/srlg/srlg.toml
cgroups=$(findmnt --first-only --noheadings --types cgroup2 --output TARGET) || {
    echo "install-test: mount cgroup2 first" >&2
    exit 1
}
cgroup=$cgroups/srlg-install-test

case ${1:-} in
--inside) ;;
# Starts systemd as process 1 of the fresh Debian.
--boot)
    mount --make-rprivate /
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    # systemd would change settings of the whole machine.
    mount --bind "$root/proc/sys" "$root/proc/sys"
    mount -o remount,bind,ro "$root/proc/sys"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    for folder in dev run tmp; do
        mount -t tmpfs "$folder" "$root/$folder"
    done
    chmod 755 "$root/dev" "$root/run"
    for device in /dev/{null,zero,full,random,urandom,tty} /dev/nvidia*; do
        [ -c "$device" ] || continue
        touch "$root$device"
        mount --bind "$device" "$root$device"
    done
    # PrivateDevices=yes copies this link into the /dev of the unit.
    ln -s pts/ptmx "$root/dev/ptmx"
    # In a chroot, the kernel would not create the user namespace of PrivateUsers=yes.
    mkdir "$root/run/old"
    cd "$root"
    pivot_root . run/old
    # The mounts of credentials reach the units only if the root is shared.
    exec chroot . env -i container=test PATH="$PATH" \
        sh -c 'umount -l /run/old && rmdir /run/old && mount --make-rshared / && exec /lib/systemd/systemd'
    ;;
*)
    mkdir -p "$work"
    if [ ! -e "$work/base.tar" ]; then
        scripts/debian-package.sh mmdebstrap mmdebstrap
        # Timers could write files during the test.
        # shellcheck disable=SC2016 # mmdebstrap expands the variable.
        mmdebstrap --variant=minbase --include=systemd,man-db,nats-server \
            --customize-hook='chroot "$1" systemctl disable nats-server apt-daily.timer \
                apt-daily-upgrade.timer dpkg-db-backup.timer' \
            bookworm "$work/new.tar" http://deb.debian.org/debian
        mv "$work/new.tar" "$work/base.tar"
    fi
    scripts/debian-package.sh rpm rpm
    exec 9>/run/lock/srlg-install-test
    flock --nonblock 9 || { echo "install-test: another run has not ended yet" >&2; exit 1; }
    # The ports of the configuration are free in a new network, and all processes end with this script.
    exec unshare --net --mount-proc --pid --fork --kill-child scripts/install-test.sh --inside
    ;;
esac
deb=$(echo "$dist"/srlg_*.deb) machine=''

say() { printf '\n== %s\n' "$*"; }
fail() { echo "install-test: $*" >&2; exit 1; }

# Runs a command in the fresh Debian.
inside() {
    nsenter --target "$machine" --all --root --wd env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# Repeats a command until it succeeds.
retry() {
    for _ in $(seq 120); do
        ! "$@" 2>/dev/null || return 0
        sleep 0.5
    done
    fail "this still fails after a minute: $*"
}

# Unpacks Debian into a folder, and starts it.
start_debian() {
    stop_debian
    mkdir "$root" "$cgroup"
    tar -xf "$work/base.tar" -C "$root"
    copy_driver
    # shellcheck disable=SC2016 # The shell in the new namespaces expands the variable.
    unshare --pid --mount --uts --ipc --fork --kill-child sh -c '
        echo 0 >"$0/cgroup.procs" && exec unshare --cgroup scripts/install-test.sh --boot' "$cgroup" \
        >"$work/boot.log" 2>&1 &
    starter=$!
    retry has_booted
    inside timeout 60 systemctl is-system-running --wait
}

# Checks that systemd is process 1 of the fresh Debian, and accepts commands.
has_booted() {
    machine=$(pgrep --parent "$starter") && [ "$(<"/proc/$machine/comm")" = systemd ] &&
        inside test -S /run/systemd/private
}

# Stops Debian, and deletes everything that was made for it.
stop_debian() {
    if [ -n "$machine" ]; then
        kill -9 "$machine" || true
        machine=''
    fi
    # A killed process stays in its cgroup for a moment.
    for _ in $(seq 50); do
        ! [ -e "$cgroup" ] || find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || { sleep 0.1 && continue; }
        break
    done
    rm -rf --one-file-system "$root" "$work/empty" "$work"/newer*
}

# Prints the log of the services after a failure, and deletes everything.
end() {
    local status=$?
    if [ "$status" != 0 ] && [ -n "$machine" ]; then
        cat "$work/boot.log" >&2
        inside systemctl --no-pager --failed >&2 || true
        inside journalctl --no-pager --unit srlg --unit srlg-probe --unit broker >&2 || true
        echo "install-test: exit status $status" >&2
    fi
    stop_debian
}
trap end EXIT

has_gpu() { [ -e /proc/driver/nvidia/version ]; }

# Copies the libraries of the NVIDIA driver into the fresh Debian, if this machine has a GPU.
copy_driver() {
    has_gpu || return 0
    local cuda library
    cuda=$(ldconfig -p | sed -n 's/.*libcuda\.so\.1 .*x86-64.* => //p' | head -n 1)
    [ -n "$cuda" ] || fail "the driver has no libcuda.so.1"
    for library in "${cuda%/*}"/lib{cuda.so.1,nvidia-ptxjitcompiler.so.1,nvidia-nvvm.so.4}; do
        [ ! -e "$library" ] || cp -L "$library" "$root/usr/lib/x86_64-linux-gnu"
    done
    chroot "$root" ldconfig 2>/dev/null
}

# Lists all files and users, except files of dpkg, caches of manual pages and backups of the list of users. The file
# systems that are mounted in the fresh Debian are not listed.
list() {
    (cd "$root" && find . -xdev ! -path './var/lib/dpkg/*' ! -path './var/log/*.log' ! -path './var/cache/man/*' \
        ! -path './etc/*-' ! -name .pwd.lock | sort && cat etc/passwd etc/group)
}

# Sends NetFlow v5 records about 3,000 peers of host $1 each second.
send_flows() {
    exec python3 - "$1" <<'PYTHON'
import ipaddress, socket, struct, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
host = int(ipaddress.ip_address(sys.argv[1]))
sequence = 0
while True:
    now = time.time()
    for start in range(0, 3000, 30):
        flows = b"".join(
            struct.pack("!IIIHHIIIIHHBBBBHHBBH", 0x0A000000 + start + i, host, 0, 1, 2, 1, 60, 999_000, 999_500,
                        40000, 445, 0, 2, 6, 0, 0, 0, 0, 0, 0)
            for i in range(30))
        header = struct.pack("!HHIIIIBBH", 5, 30, 1_000_000, int(now), int(now % 1 * 1e9), sequence, 0, 0, 0)
        sender.sendto(header + flows, ("127.0.0.1", 2055))
        sequence += 30
    time.sleep(1)
PYTHON
}

install_package() {
    cp "$1" "$root/root/srlg.deb"
    inside dpkg --install /root/srlg.deb
    rm "$root/root/srlg.deb"
}

# Restarts the service with a drop-in for its unit, which is read from standard input. $1 names what it adds.
restart_with() {
    local folder=$root/etc/systemd/system/srlg.service.d
    rm -rf "$folder" && mkdir "$folder"
    cat >"$folder/test.conf"
    inside systemctl daemon-reload
    local began
    began=$(date +%s%N)
    inside timeout 60 systemctl restart srlg
    echo "restarted with $1 in $((($(date +%s%N) - began) / 1000000)) ms"
}

# Prints the unit file number $1 in many-sites.md.
unit_of_many_sites() {
    awk -v number="$1" '/^```/ { shown = $0 == "```ini" && ++count == number; next } shown' docs/many-sites.md
}

main_process() { inside systemctl show --property MainPID --value srlg; }

# Checks that the service runs, and not as process $1.
has_restarted() {
    inside systemctl is-active --quiet srlg && [ "$(main_process)" != "$1" ]
}

# Kills the service, and waits until systemd has restarted it.
kill_service() {
    local process
    process=$(main_process)
    inside sh -c "kill -9 $process"
    retry has_restarted "$process"
}

log_has() { inside journalctl --no-pager --unit srlg | grep "$1" >/dev/null; }

# Fetches path $1 of the API, and evaluates the Python expression $2 with the result as `it`. Prints its value, which
# must be true.
ask() {
    python3 - "http://127.0.0.1:8462/api/v1/$1" "$2" <<'PYTHON'
import json, sys, urllib.request
it = json.load(urllib.request.urlopen(sys.argv[1], timeout=5))
if not (value := eval(sys.argv[2])):
    sys.exit(1)
print(value)
PYTHON
}

# Prints the ID of the alert on host $1.
wait_for_alert() { retry ask alerts "''.join(alert['id'] for alert in it if alert['host'] == '$1')"; }

# Waits until host $1 is a super point.
wait_for_host() { retry ask 'top?view=fan-in' "any(point['host'] == '$1' for point in it)" >/dev/null; }

# Compares the peak memory of the service with the limit that `srlg check` prints.
check_memory() {
    local limit peak
    limit=$(inside setpriv --reuid srlg --regid srlg --init-groups srlg check --config /etc/srlg/srlg.toml |
        sed -n 's/.*MemoryMax=\([0-9]*\)M.*/\1/p')
    # shellcheck disable=SC2016 # awk expands the variable.
    peak=$(($(inside awk '/^VmHWM:/ { print $2 }' "/proc/$(main_process)/status") / 1024))
    echo "peak memory: $peak MiB, MemoryMax: $limit MiB"
    [ "$peak" -lt "$limit" ] || fail "the service needs more memory than srlg check says"
}

say "the .deb in a fresh Debian"
start_debian
list >"$work/before"
began=$(date +%s%N)
install_package "$deb"
inside srlg --version
[ "$(inside stat -c %a:%U:%G /etc/srlg)" = 2750:root:srlg ] || fail "/etc/srlg has wrong permissions"

say "the units"
inside systemd-analyze verify --recursive-errors=no srlg.service srlg-probe.service
for unit in srlg srlg-probe; do
    inside systemd-analyze security --offline=true --threshold=20 "/usr/lib/systemd/system/$unit.service" | tail -n 1
done

say "the example configuration, and a first alert"
# The exporter and the sink are on this machine.
here='s|^exporters = .*|exporters = ["127.0.0.1"]|; s|/var/lib/srlg/alerts|/var/log/srlg/alerts|'
sed "$here" docs/srlg.example.toml >"$config"
restart_with "the example configuration" </dev/null
send_flows 198.51.100.7 &
sender=$!
first=$(wait_for_alert 198.51.100.7)
echo "first alert $((($(date +%s%N) - began) / 1000000)) ms after the start of the installation: $first"
retry grep "$first" "$root/var/log/srlg/alerts.ndjson" >/dev/null
check_memory
if grep -qw memory "$cgroups/cgroup.controllers"; then
    limit=$(inside cat /sys/fs/cgroup/system.slice/srlg.service/memory.max)
    [ "$limit" = 1073741824 ] || fail "MemoryMax has no effect"
else
    echo "skipped: MemoryMax, because this machine has the memory controller of cgroup v1"
fi

say "a reload, a kill and an upgrade keep the alert"
process=$(main_process)
inside systemctl reload srlg
retry log_has "configuration reloaded"
[ "$(main_process)" = "$process" ] || fail "the reload has restarted the service"
# After the kill, the window comes from a checkpoint, and one is written every 10 s.
sleep 11
kill "$sender"
kill_service
wait_for_host 198.51.100.7
[ "$(wait_for_alert 198.51.100.7)" = "$first" ] || fail "the alert has changed after a kill"
send_flows 198.51.100.7 &
senders=($!)
dpkg-deb -R "$deb" "$work/newer"
sed -i 's/^Version: .*/Version: 999/' "$work/newer/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -z1 -b "$work/newer" "$work/newer.deb"
process=$(main_process)
install_package "$work/newer.deb"
retry has_restarted "$process"
[ "$(wait_for_alert 198.51.100.7)" = "$first" ] || fail "the alert has changed after an upgrade"

say "the drop-in for a GPU"
if has_gpu; then
    sed -i '1i device = "cuda"' "$config"
    restart_with gpu.conf <"$root/usr/share/srlg/gpu.conf"
    restart_with "gpu.conf and a cache" <"$root/usr/share/srlg/gpu.conf"
    send_flows 198.51.100.8 &
    senders+=($!)
    second=$(wait_for_alert 198.51.100.8)
    kill_service
    [ "$(wait_for_alert 198.51.100.7)" = "$first" ] || fail "the alert has changed on a GPU"
    [ "$(wait_for_alert 198.51.100.8)" = "$second" ] || fail "the alert of a GPU has changed"
    nvidia-smi --query-compute-apps=used_memory --format=csv,noheader
    check_memory
else
    echo "skipped: this machine has no GPU"
fi

say "settings from the comments of srlg.service"
install -m 600 /dev/null "$root/etc/srlg/tokens"
echo "ada $(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" >"$root/etc/srlg/tokens"
sed "$here; 1i http-tokens = \"/run/credentials/srlg.service/tokens\"" docs/srlg.example.toml >"$config"
restart_with "a credential" <<<$'[Service]\nLoadCredential=tokens:/etc/srlg/tokens'
sed 's/^listen = .*/interface = "lo"/; /^exporters = /d; /^templates = /d' docs/srlg.example.toml >"$config"
restart_with "a capture" <<'UNIT'
[Service]
CapabilityBoundingSet=CAP_NET_RAW
AmbientCapabilities=CAP_NET_RAW
PrivateUsers=no
RestrictAddressFamilies=AF_PACKET AF_NETLINK
UNIT
retry ask status "it['input']['contacts']"

say "a network of one site, by docs/many-sites.md"
sed "s|^\[input\]|[network]|; s|^listen = .*|probes = [\"lisbon\"]|; s|^exporters = .*|folder = \"/etc/srlg/network\"|
     s|^templates = .*|broker = \"127.0.0.1:4222\"|" docs/srlg.example.toml >"$config"
inside srlg setup --config /etc/srlg/srlg.toml
inside install -d -o nats -g nats /var/lib/nats
inside install -o nats -g nats -m 600 /etc/srlg/network/nats.conf /etc/srlg/network/server.pem \
    /etc/srlg/network/server.key /var/lib/nats
mkdir -p "$root/etc/systemd/system/nats-server.service.d"
unit_of_many_sites 2 >"$root/etc/systemd/system/nats-server.service.d/override.conf"
inside systemctl daemon-reload
inside systemctl restart nats-server
inside chgrp srlg /etc/srlg/network/collector.nk
inside chmod 640 /etc/srlg/network/collector.nk
inside install -m 640 -g srlg /etc/srlg/network/ca.pem /etc/srlg/network/lisbon.nk /etc/srlg
cat >"$root/etc/srlg/probe.toml" <<'TOML'
state = "/var/lib/srlg-probe"

[probe]
name = "lisbon"
folder = "/etc/srlg"
broker = "127.0.0.1:4222"

[input]
listen = ["[::]:2055"]
exporters = ["127.0.0.1"]
templates = "/var/lib/srlg-probe/templates"
TOML
unit_of_many_sites 1 | restart_with "a collector"
inside systemctl start srlg-probe
[ "$(wait_for_alert 198.51.100.7)" = "$first" ] || fail "the collector does not keep the alert"
# The window of the collector starts empty, so this host comes from the probe.
wait_for_host 198.51.100.7
inside systemctl stop nats-server srlg-probe
rm -r "$root/etc/systemd/system"/{nats-server.service.d,srlg.service.d} "$root/var/lib/nats"
inside systemctl daemon-reload
kill "${senders[@]}"

say "a removal keeps the state, and a purge leaves nothing"
inside dpkg --remove srlg
for file in var/lib/srlg/srlg.sqlite etc/srlg/srlg.toml; do
    [ -e "$root/$file" ] || fail "the removal has deleted $file"
done
inside dpkg --purge srlg
list >"$work/after"
diff -u "$work/before" "$work/after" || fail "files are left"

say "the commands of the Containerfile, except those that need a container runtime or a compiler"
start_debian
# shellcheck disable=SC2016 # The shell in the root expands the variables.
inside sh -euxc "$(sed -n '/^FROM.*slim/,$ s/^RUN //p' apps/srlg/service/Containerfile)"
dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" ./usr/bin/srlg
id=$(sed -n 's/^USER //p' apps/srlg/service/Containerfile)
[ "$(inside id -u srlg)" = "$id" ] || fail "the Containerfile has made no user"
inside setpriv --reuid "$id" --regid "$id" --clear-groups srlg demo | tail -n 1

say "the static program in a folder without libraries"
empty=$work/empty
mkdir -p "$empty/etc" "$empty/dev"
mknod -m 444 "$empty/dev/random" c 1 8
mknod -m 444 "$empty/dev/urandom" c 1 9
tar -xzf "$dist"/srlg-*-linux.tar.gz -C "$empty" --strip-components=2 --wildcards '*/bin/srlg'
chroot "$empty" /srlg --version
echo "127.0.0.1 localhost" >"$empty/etc/hosts"
# The broker does not exist, but its name must be found. Without a timeout, the program would retry.
said=$(timeout 5 chroot "$empty" /srlg detect --url nats://localhost:1/flows 2>&1 || true)
grep "Connection refused" <<<"$said" || fail "the static program cannot look up names: $said"

say "the .rpm"
for query in --info --list --requires --scripts; do
    rpm --nodigest --nosignature -qp "$query" "$dist"/srlg-*.rpm
done
# Apart from the completions of zsh, it has the files of the .deb.
diff <(sed 's,/vendor-completions/,/site-functions/,' apps/srlg/service/files.txt) \
    <(rpm -qpl "$dist"/srlg-*.rpm | LC_ALL=C sort)
