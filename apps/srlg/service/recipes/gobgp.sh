#!/usr/bin/env bash
# gobgp.sh STATE blackhole|flowspec NEXTHOP [OPTION OF gobgp]...
#
# Announces a route for the target of each flood by GoBGP while its alert is active, and withdraws it at the end. An exec sink
# of srlg starts this program for each notice, which is on standard input. STATE is a folder for the routes of active alerts.
#   blackhole   the host, to NEXTHOP, with the community of RFC 7999
#   flowspec    a rule that discards packets to the host; only those to the port of the flood if most contacts went to one
# Alerts of networks, of hosts that are not inside, and of anything but floods announce nothing. Needs jq and gobgp.
set -euo pipefail

state=$1 way=$2 nexthop=$3
shift 3
notice=$(cat)

field() {
    jq -r "$1 // empty" <<<"$notice"
}

id=$(field .id)
# A count of notices that were suppressed has no id.
[ -n "$id" ] || exit 0

mkdir -p "$state"
exec 9>"$state/lock"
flock 9
file=$state/$id.route

if [ "$(field .status)" = end ]; then
    [ -e "$file" ] || exit 0
    read -ra route <"$file"
    # Another alert may have the same route.
    same=$(grep -lxF -- "${route[*]}" "$state"/*.route | wc -l)
    [ "$same" -gt 1 ] || gobgp "$@" global rib del "${route[@]}"
    rm "$file"
    exit 0
fi

if [ ! -e "$file" ]; then
    [ "$(field '[.kind, .direction, .is_inside, .hosts] == ["flood", "fan-in", true, 1]')" = true ] || exit 0
    host=$(field .host)
    case $host in
        *[!0-9a-fA-F.:]* | "") echo "$host is no address" >&2 && exit 1 ;;
        *:*) family=ipv6 prefix=$host/128 ;;
        *) family=ipv4 prefix=$host/32 ;;
    esac
    if [ "$way" = flowspec ]; then
        # As tcp/443, of the port that has four fifths of the contacts.
        port=$(field '.top_ports[0]? | select(.[1] >= 0.8) | .[0] | select(test("^(tcp|udp)/[0-9]+$"))')
        match=()
        [ -z "$port" ] || match=(protocol "${port%/*}" destination-port "==${port#*/}")
        route=(-a "$family-flowspec" match destination "$prefix" "${match[@]}" then discard)
    else
        route=(-a "$family" "$prefix" community 65535:666 nexthop "$nexthop")
    fi
    # First of all: what was announced must be withdrawn.
    echo "${route[*]}" >"$file"
fi
read -ra route <"$file"
# Again with each notice, because gobgpd forgets routes when it is restarted.
gobgp "$@" global rib add "${route[@]}"
