#!/usr/bin/env bash
# readme_test.sh ENCODE COMMAND...: the two programs of README.md against each
# other. ENCODE listens on a free port; COMMAND, which starts the prefill ranks,
# gets its address as the last argument. ENCODE is ended by its id.
set -euo pipefail

encode=$1
shift
exec {lines}< <(exec "$encode" 127.0.0.1:0)
pid=$!
trap 'kill -KILL "$pid" 2>/dev/null || true' EXIT
read -r -t 30 -u "$lines" line
"$@" "${line#bootstrap }"
cat <&"$lines" # up to its end
