#!/usr/bin/env bash
# Tests the web page of srlg in a headless Chromium, with artificial data, in `srlg demo` and in `srlg run`. Screenshots
# are written to target/monitor-page. Requires chromium and python3-websockets, which are installed with apt-get if root
# runs this script.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/debian-package.sh chromium "chromium"
# Another script may be installing packages at the same time.
/usr/bin/python3 -c 'import websockets' 2>/dev/null ||
    scripts/retry.sh apt-get -o DPkg::Lock::Timeout=300 install -yq --no-install-recommends python3-websockets

# axe-core checks accessibility.
if command -v npm >/dev/null && scripts/retry.sh npm install --silent --no-save --prefix target/axe axe-core@4; then
    export AXE=$PWD/target/axe/node_modules/axe-core/axe.min.js
else
    echo "axe-core is missing: accessibility is not checked" >&2
fi

# The features are the same as in a build of the whole workspace, so dependencies are not built again.
cargo build --locked --workspace --bin srlg --example page
target=${CARGO_TARGET_DIR:-target}/debug
as_name="<b>Example Transit, Inc.</b>" # the page must show the tags as text
log=$(mktemp) shown=
trap 'kill $shown 2>/dev/null || true; rm -f "$log"' EXIT

# Starts a command in the background, and waits for the address that it prints.
show() {
    : >"$log" # before the command starts, so that no old address is found
    "$@" >"$log" &
    shown=$!
    until url=$(grep -o 'http://[^ ]*' "$log"); do
        kill -0 "$shown" || { echo "$1 stopped without printing the address of a page" >&2; exit 1; }
        sleep 0.1
    done
}

show "$target/examples/page"
sleep 8 # until lines have several points and rates are known
AS_NAME=$as_name AFTER_MINUTES=1 /usr/bin/python3 scripts/monitor_page.py "$url" target/monitor-page/made "$shown"
wait "$shown" || true

show "$target/examples/page" 127.0.0.1:0 network
sleep 3
AS_NAME=$as_name /usr/bin/python3 scripts/monitor_page.py "$url" target/monitor-page/network "$shown"
wait "$shown" || true

show "$target/examples/page" 127.0.0.1:0 site large
sleep 8
AS_NAME=$as_name AFTER_MINUTES=1 /usr/bin/python3 scripts/monitor_page.py "$url" target/monitor-page/large "$shown"
wait "$shown" || true

show "$target/srlg" demo --seconds 600
# By then, attacks have started. More attacks follow during the test.
sleep 8
/usr/bin/python3 scripts/monitor_page.py "$url" target/monitor-page/demo
kill "$shown"
wait "$shown" || true

# This configuration raises an alert to acknowledge, because a host is in contact with 200 peers every second.
state=$(mktemp -d) token=$(openssl rand -hex 32)
trap 'kill $shown 2>/dev/null || true; rm -rf "$log" "$state"' EXIT
install -m 600 /dev/stdin "$state/tokens" <<<"ann $token"
cat >"$state/srlg.toml" <<EOF
http = "127.0.0.1:0"
http-tokens = "$state/tokens"
inside = ["10.0.0.0/8"]
[input]
input = ["-"]
live = true
[[view]]
name = "fan-in"
role = "destination"
pairs = 10_000
[[rule]]
name = "default"
thresholds = { 5s = 100 }
EOF
contacts() {
    echo time_ms,src,dst
    while sleep 1; do
        seq -f "$(date +%s%3N),192.0.2.%.0f,10.0.0.1" 1 200 || break
    done
}
watched() {
    exec "$target/srlg" run --config "$state/srlg.toml" < <(contacts) 2>&1
}
show watched
TOKEN=$token /usr/bin/python3 scripts/monitor_page.py "$url" target/monitor-page/acting
# The lines that the page proposes for the incident are valid.
cat target/monitor-page/acting/rules.toml >>"$state/srlg.toml"
"$target/srlg" check --config "$state/srlg.toml"
