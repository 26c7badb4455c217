#!/usr/bin/env bash
# gobgp.sh STATE blackhole|flowspec NEXTHOP [OPTION OF gobgp]...
#
# Announces a route to the target of each flood with GoBGP while its alert is active, and withdraws it at the end. An exec
# sink of srlg runs this script for each notification, which the script reads from standard input. STATE is a folder for
# the routes of active alerts.
#   blackhole   a route for the host to NEXTHOP with the community of RFC 7999
#   flowspec    a rule that discards packets to the host, or only those to the port that receives most of the flood
# The script ignores alerts of networks, of outside hosts, and of kinds other than floods. It requires jq and gobgp.
set -euo pipefail

state=$1 way=$2 nexthop=$3
shift 3
notice=$(cat)

field() {
    jq -r "$1 // empty" <<<"$notice"
}

id=$(field .id)
# The summary of suppressed notifications has no id.
[ -n "$id" ] || exit 0

mkdir -p "$state"
exec 9>"$state/lock"
flock 9
file=$state/$id.route

if [ "$(field .status)" = end ]; then
    [ -e "$file" ] || exit 0
    read -ra route <"$file"
    # Another active alert may use the same route.
    same=$(grep -lxF -- "${route[*]}" "$state"/*.route | wc -l)
    [ "$same" -gt 1 ] || gobgp "$@" global rib del "${route[@]}"
    rm "$file"
    exit 0
fi

if [ ! -e "$file" ]; then
    [ "$(field '[.kind, .direction, .is_inside, .hosts] == ["flood", "fan-in", true, 1]')" = true ] || exit 0
    host=$(field .host)
    case $host in
        *[!0-9a-fA-F.:]* | "") echo "host is not an IP address: $host" >&2 && exit 1 ;;
        *:*) family=ipv6 prefix=$host/128 ;;
        *) family=ipv4 prefix=$host/32 ;;
    esac
    if [ "$way" = flowspec ]; then
        # This is the port that receives at least 80 % of the contacts, such as tcp/443, if there is one.
        port=$(field '.top_ports[0]? | select(.[1] >= 0.8) | .[0] | select(test("^(tcp|udp)/[0-9]+$"))')
        match=()
        [ -z "$port" ] || match=(protocol "${port%/*}" destination-port "==${port#*/}")
        route=(-a "$family-flowspec" match destination "$prefix" "${match[@]}" 'then' discard)
    else
        route=(-a "$family" "$prefix" community 65535:666 nexthop "$nexthop")
    fi
    # The route is stored before it is announced, so that it can always be withdrawn.
    echo "${route[*]}" >"$file"
fi
read -ra route <"$file"
# The route is announced again with each notification, because gobgpd forgets routes when it restarts.
gobgp "$@" global rib add "${route[@]}"
