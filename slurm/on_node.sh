#!/usr/bin/env bash
# on_node.sh COMMAND...: run COMMAND with EPDX_HOST set to this node's own
# address. Every task needs the address of the node that it runs on, which is
# known only there; the default, 127.0.0.1, is of use on one node alone.
#
# JOB_IFACE names the interface whose IPv4 address peers can reach: ib0, eth0.
set -euo pipefail

: "${JOB_IFACE:?set it to the interface that peers reach this node by}"
EPDX_HOST=$(ip -4 -o addr show dev "$JOB_IFACE" |
    awk '{ split($4, address, "/"); print address[1]; exit }')
if [[ -z $EPDX_HOST ]]; then
    printf 'on_node.sh: %s: %s has no IPv4 address\n' \
        "$(hostname)" "$JOB_IFACE" >&2
    exit 1
fi
export EPDX_HOST
exec "$@"
