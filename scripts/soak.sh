#!/usr/bin/env bash
# The soak: a whole system under random faults, every landed byte checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'EOT'
usage: scripts/soak.sh [options]

Two encode nodes behind proxies that lose, delay, repeat, garble and forge
control frames, encode ranks that restart, items that fail or do not come,
cancels from any rank, late releases: and prefill ranks that check every byte.
Ends with one line of JSON; exit status 0 only when no byte was wrong and
nothing was left at the end.

  --requests N   how many (100000)
  --ranks R      prefill ranks (4)
  --seed S       of all that is random; printed (the time)
  --minutes M    stage no more after so long (0: no such end)
  --build DIR    built tree (build/dev)
  --help         this text
EOT
}

requests=100000
ranks=4
seed=$(date +%s)
minutes=0
build=build/dev
while (($# > 0)); do
    case $1 in
    --help) usage && exit 0 ;;
    --requests | --ranks | --seed | --minutes | --build)
        if (($# < 2)); then
            printf 'soak.sh: %s needs a value; see --help\n' "$1" >&2
            exit 2
        fi
        printf -v "${1#--}" '%s' "$2"
        shift 2
        ;;
    *) printf 'soak.sh: no option %s; see --help\n' "$1" >&2 && exit 2 ;;
    esac
done

program=$build/mpi_tests/mpi_soak
if [[ ! -x $program ]]; then
    cmake -S . -B "$build" -G Ninja --log-level=WARNING \
        -DCMAKE_BUILD_TYPE=RelWithDebInfo >&2
    cmake --build "$build" --target mpi_soak -- --quiet >&2
fi
# Small tables are full, and their memory touched, after the warm-up. One arena:
# the threads of encode ranks that restart would leave theirs behind, and that
# is no leak.
export MALLOC_ARENA_MAX=1
export EPDX_ASK_INTERVAL_S=0.1 EPDX_LOOKUP_TIMEOUT_S=0.5 EPDX_MAX_ROOMS=2048
export EPDX_LOG_LEVEL=${EPDX_LOG_LEVEL:-error}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# At least 10 requests a second, and an hour at most: the program ends itself.
limit=$((requests / 10 + 120))
mpirun -n "$ranks" --oversubscribe --bind-to none \
    --mca mpi_yield_when_idle 1 --mca btl self,vader \
    --mca oob_tcp_if_include lo \
    "$program" $((limit < 3600 ? limit : 3600)) "$requests" "$seed" "$minutes" |
    { grep '^{' || { printf 'soak.sh: no report\n' >&2 && false; }; }
