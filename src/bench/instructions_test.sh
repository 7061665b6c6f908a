#!/usr/bin/env bash
# Instructions of the caller's thread in a drain where nothing changed, counted
# by callgrind, against the values kept in instructions.txt: within 10 %, or the
# test fails. A count that fell by more is to be kept as the new value.
#
# instructions_test.sh GATE_DRAIN COMPILER BUILD_TYPE [--update | --show]
#
# --update keeps the counts of now; --show only prints them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kept=$here/instructions.txt
gate=$1
compiler=$2
build_type=$3
update=${4:-}
steps=20

skip() {
    printf 'skipped: %s\n' "$1"
    exit 77
}

command -v valgrind >/dev/null ||
    skip 'valgrind is not installed (Debian: valgrind)'
[[ $update == --show ]] || [[ $compiler == "GNU 12" && $build_type == RelWithDebInfo ]] ||
    skip "the values kept are of GNU 12, RelWithDebInfo, not of $compiler, $build_type"

# count PENDING STEPS: instructions in all drains.
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        --toggle-collect=epdx_admission_drain "$gate" "$1" "$2" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\)$/\1/p'
}

# a_drain PENDING: of one drain, the first and its reports left out.
a_drain() {
    local one many
    one=$(count "$1" 1)
    many=$(count "$1" $((steps + 1)))
    printf '%d' $(((many - one) / steps))
}

values=()
failed=0
while read -r pending value; do
    [[ -n $pending && $pending != \#* ]] || continue
    now=$(a_drain "$pending")
    values+=("$pending $now")
    printf 'drain with %d pending: %d instructions, %d kept\n' "$pending" \
        "$now" "$value"
    [[ $update != --show ]] || continue
    if ((now * 10 > value * 11 || now * 10 < value * 9)); then
        failed=1
    fi
done <"$kept"
if [[ $update == --update ]]; then
    {
        sed -n '/^#/p' "$kept"
        printf '%s\n' "${values[@]}"
    } >"$kept.new"
    mv "$kept.new" "$kept"
    exit 0
fi
if ((failed)); then
    printf 'a count moved by more than 10 %%: cure it, or keep it with\n'
    printf '%s\n' "$0 $gate '$compiler' $build_type --update"
    exit 1
fi
