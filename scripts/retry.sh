#!/usr/bin/env bash
# retry.sh COMMAND [ARGUMENT...]: runs a command that downloads something. If it fails, it is run again, up to five times
# in 75 seconds, because a network or a server may fail for a moment.
set -euo pipefail

for pause in 5 10 20 40; do
    if "$@"; then exit 0; fi
    echo "retry: $1 failed; next attempt in $pause s" >&2
    sleep "$pause"
done
exec "$@"
