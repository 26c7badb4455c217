#!/usr/bin/env bash
# gobgp.sh [OPTION]... STATE blackhole|flowspec NEXTHOP [OPTION OF gobgp]...
#
# Announces a route to the target of each severe flood with GoBGP while its alert is active, and withdraws it at the end.
# An exec sink of srlg runs this script for each notification, which the script reads from standard input. STATE is a
# folder for the routes of active alerts.
#   blackhole   a route for the host to NEXTHOP with the community of RFC 7999
#   flowspec    a rule that discards packets to the host, or only those to the port that receives most of the flood
# Options:
#   --severity major    minimum severity: warning, major or critical
#   --least-pps 10000   minimum number of packets per second; while the rate is unknown, no route is announced
#   --most-routes 10    maximum number of routes at the same time
#   --never FILE        a file with one address or network per line, for which no route is announced; one that exists is
#                       withdrawn
# The script ignores alerts of whole networks, of outside hosts, and of kinds other than floods and reflections. It writes
# one line about each decision to standard error. It requires jq and gobgp.
set -euo pipefail

declare -A rank=([info]=0 [warning]=1 [major]=2 [critical]=3)
severity=major least_pps=10000 most_routes=10 never=''
while [[ ${1-} == --* ]]; do
    [ -n "${2-}" ] || { echo "gobgp.sh: $1 needs a value" >&2 && exit 2; }
    case $1 in
        --severity) severity=$2 ;;
        --least-pps) least_pps=$2 ;;
        --most-routes) most_routes=$2 ;;
        --never) never=$2 ;;
        *) echo "gobgp.sh: unknown option $1" >&2 && exit 2 ;;
    esac
    shift 2
done
[ -n "${rank[$severity]-}" ] || { echo "gobgp.sh: --severity: unknown severity $severity" >&2 && exit 2; }
[[ $least_pps =~ ^[0-9]+$ ]] || { echo "gobgp.sh: --least-pps: not a number: $least_pps" >&2 && exit 2; }
[[ $most_routes =~ ^[0-9]+$ ]] || { echo "gobgp.sh: --most-routes: not a number: $most_routes" >&2 && exit 2; }
state=$1 way=$2 nexthop=$3
shift 3
notification=$(cat)

field() {
    jq -r "$1 // empty" <<<"$notification"
}

id=$(field .id)
host=$(field .host)

say() {
    echo "gobgp.sh: $host, incident $id: $*" >&2
}
trap '[ $? = 0 ] || say "the script has failed; a later notification is tried again"' EXIT

refuse() {
    say "no route: $*"
    exit 0
}

# Prints the hexadecimal digits of an address: 8 digits for IPv4, 32 for IPv6. Fails if it is not an address.
digits() {
    local address=${1,,} octet group left right
    # Other spellings of IPv4, such as octal numbers, are errors.
    if [[ $address =~ ^(.*:)?((0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3})$ ]]; then
        local before=${BASH_REMATCH[1]}
        IFS=. read -ra left <<<"${BASH_REMATCH[2]}"
        for octet in "${left[@]}"; do
            [ "$octet" -le 255 ] || return 1
        done
        if [ -z "$before" ]; then
            printf '%02x' "${left[@]}"
            return
        fi
        address=$before$(printf '%02x%02x:%02x%02x' "${left[@]}")
    fi
    [[ $address =~ ^[0-9a-f:]*$ && $address != *::*::* && $address != *:::* ]] || return 1
    local -i groups=8
    if [[ $address == *::* ]]; then
        groups=7
        IFS=: read -ra left <<<"${address%%::*}"
        IFS=: read -ra right <<<"${address##*::}"
    else
        [[ $address != :* && $address != *: ]] || return 1
        IFS=: read -ra left <<<"$address"
        right=()
    fi
    for group in "${left[@]}" "${right[@]}"; do
        [[ $group =~ ^[0-9a-f]{1,4}$ ]] || return 1
    done
    [ $((${#left[@]} + ${#right[@]})) -le $groups ] || return 1
    [ $groups = 7 ] || [ ${#left[@]} = 8 ] || return 1
    while [ $((${#left[@]} + ${#right[@]})) -lt 8 ]; do
        left+=(0)
    done
    printf '%04x' "${left[@]/#/0x}" "${right[@]/#/0x}"
}

# The digits with which an IPv6 address begins that stands for an IPv4 address.
mapped=00000000000000000000ffff

# Succeeds if a network of the list $1 contains the address with the digits $2. A line that is neither an address nor a
# network ends the script with an error.
lists() {
    local line network length whole rest
    while read -r line || [ -n "$line" ]; do
        line=${line%%#*} line=${line//[[:space:]]/}
        [ -n "$line" ] || continue
        network=$(digits "${line%/*}") || network=''
        [[ $line == */* ]] && length=${line##*/} || length=$((4 * ${#network}))
        if [ -z "$network" ] || [[ ! $length =~ ^(0|[1-9][0-9]?[0-9]?)$ ]] || [ "$length" -gt $((4 * ${#network})) ]; then
            say "no decision: the list $1 has a line that is neither an address nor a network: $line"
            exit 1
        fi
        if [[ $network == "$mapped"* && $length -ge 96 ]]; then
            network=${network#"$mapped"} length=$((length - 96))
        fi
        [ ${#network} = ${#2} ] || continue
        whole=$((length / 4)) rest=$((4 - length % 4))
        [ "${network:0:whole}" = "${2:0:whole}" ] || continue
        if [ $rest = 4 ] || [ $((0x${network:whole:1} >> rest)) = $((0x${2:whole:1} >> rest)) ]; then
            return 0
        fi
    done <"$1"
    return 1
}

mkdir -p "$state"
exec 9>"$state/lock"
flock 9
file=$state/$id.route

if [ "$(field .status)" = end ]; then
    [ -e "$file" ] || refuse "the alert has ended"
    read -ra route <"$file"
    # Another active alert may use the same route.
    same=$(grep -lxF -- "${route[*]}" "$state"/*.route | wc -l)
    if [ "$same" -gt 1 ]; then
        rm "$file"
        say "route kept for another alert: ${route[*]}"
    else
        gobgp "$@" global rib del "${route[@]}"
        rm "$file"
        say "route withdrawn: ${route[*]}"
    fi
    exit 0
fi

if [ -n "$never" ] && [[ $host != */* ]]; then
    [ -r "$never" ] || { say "no decision: cannot read the list $never" && exit 1; }
    address=$(digits "$host") || { say "no decision: $host is not an address" && exit 1; }
    address=${address#"$mapped"}
    if lists "$never" "$address"; then
        [ -e "$file" ] || refuse "$never lists the address"
        read -ra route <"$file"
        gobgp "$@" global rib del "${route[@]}"
        rm "$file"
        say "route withdrawn: $never lists the address"
        exit 0
    fi
fi

if [ ! -e "$file" ]; then
    [ "$(field .is_test)" != true ] || refuse "this is a test notification"
    flood='(.kind == "flood" or .kind == "reflection")'
    single='[.direction, .is_inside, .port] == ["fan-in", true, null]'
    [ "$(field "$flood and ($single)")" = true ] || refuse "not a flood of an inside host (kind $(field .kind))"
    case $host in
        *[!0-9a-fA-F.:]* | "") refuse "not the address of a single host" ;;
        *:*) family=ipv6 prefix=$host/128 ;;
        *) family=ipv4 prefix=$host/32 ;;
    esac
    now=$(field .severity) pps=$(field .packets_per_second)
    [ "${rank[${now:-none}]-0}" -ge "${rank[$severity]}" ] || refuse "severity $now is below $severity"
    [ -n "$pps" ] || refuse "the packet rate is not known yet"
    [ "$pps" -ge "$least_pps" ] || refuse "$pps packets/s are fewer than $least_pps"
    if [ "$way" = flowspec ]; then
        # This is the port that receives at least 80 % of the contacts, such as tcp/443, if there is one.
        port=$(field '.top_ports[0]? | select(.[1] >= 0.8) | .[0] | select(test("^(tcp|udp)/[0-9]+$"))')
        match=()
        [ -z "$port" ] || match=(protocol "${port%/*}" destination-port "==${port#*/}")
        route=(-a "$family-flowspec" match destination "$prefix" "${match[@]}" 'then' discard)
    else
        route=(-a "$family" "$prefix" community 65535:666 nexthop "$nexthop")
    fi
    routes=$(cat "$state"/*.route 2>/dev/null | sort -u) || true
    if ! grep -qxF -- "${route[*]}" <<<"$routes" && [ "$(grep -c . <<<"$routes")" -ge "$most_routes" ]; then
        refuse "there are already $most_routes routes in $state"
    fi
    # The route is stored before it is announced, so that it can always be withdrawn.
    echo "${route[*]}" >"$file"
fi
read -ra route <"$file"
# The route is announced again with each notification, because gobgpd forgets routes when it restarts.
gobgp "$@" global rib add "${route[@]}"
say "route announced: ${route[*]}"
