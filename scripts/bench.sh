#!/usr/bin/env bash
# What epdx costs, beside the raw parts it is made of, on this machine over
# loopback: every subject of epdx_bench, and the targets of docs/performance.md.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$top/build/bench
SUBJECT_SECONDS=900

usage() {
    cat <<'EOF'
usage: scripts/bench.sh [options]

Builds and runs every subject of epdx_bench over loopback, and says which targets
are met. Only ratios within a run mean anything; run it where nothing else does.

  --quick      fewer cases and smaller rounds: within two minutes
  --json       the last line is one object with the targets
  --page       write docs/performance.md's tables and docs/figures/*.svg
  --keep DIR   keep the results of each subject in DIR, as JSON
  --only NAME  this subject alone: transfer, control, drain, reassemble, trace,
               scale or counts; may be repeated
  --help       this text

Exit status 0: all was measured, whether or not a target is met.
EOF
}

wrong() {
    printf 'bench.sh: %s; see --help\n' "$1" >&2
    exit 2
}

quick=0
json=0
page=0
keep=
only=()
while (($# > 0)); do
    case $1 in
    --quick) quick=1 ;;
    --json) json=1 ;;
    --page) page=1 ;;
    --keep | --only)
        (($# > 1)) || wrong "$1: needs a value"
        if [[ $1 == --keep ]]; then keep=$2; else only+=("$2"); fi
        shift
        ;;
    --help) usage && exit 0 ;;
    *) wrong "unknown option \"$1\"" ;;
    esac
    shift
done

results=${keep:-$(mktemp -d "${TMPDIR:-/tmp}/epdx-bench-XXXXXX")}
mkdir -p "$results"
running=

# Of the script, however it ends.
# shellcheck disable=SC2317
finish() {
    local status=$?
    trap '' INT TERM HUP
    if [[ -n $running ]]; then
        kill -TERM "$running" 2>/dev/null || true
        wait "$running" 2>/dev/null || true
    fi
    [[ -n $keep ]] || rm -rf "$results"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# quietly NAME COMMAND...: its output only where it fails.
quietly() {
    local log=$results/$1.log
    shift
    if ! "$@" >"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        exit 1
    fi
}

wanted() {
    local name
    ((${#only[@]} > 0)) || return 0
    for name in "${only[@]}"; do
        [[ $name != "$1" ]] || return 0
    done
    return 1
}

flags=()
if ((quick)); then
    flags+=(--quick)
fi

# measure RESULT COMMAND...: what it says is shown; its last line is kept.
measure() {
    local out=$results/$1.out result=$results/$1.json status=0
    printf -- '--- %s (%ds)\n' "$1" "$SECONDS"
    shift
    timeout "$SUBJECT_SECONDS" "$@" --json >"$out" 2>"$out.err" </dev/null &
    running=$!
    wait "$running" || status=$?
    running=
    if ((status != 0)); then
        cat "$out" "$out.err" >&2
        printf 'bench.sh: %s ended with status %d\n' "$1" "$status" >&2
        exit 1
    fi
    sed '$d' "$out"
    tail -n 1 "$out" >"$result"
}

bench=$build/bin/epdx_bench
# ranks N: the launcher of so many.
ranks() {
    launcher=(mpirun --oversubscribe --bind-to none --mca mpi_yield_when_idle 1
        --mca btl "self,vader" --mca oob_tcp_if_include lo -np "$1")
    if ((EUID == 0)); then
        launcher+=(--allow-run-as-root)
    fi
}

build_all() {
    local targets=(epdx_bench bench_steady_test)
    quietly deps "$top/scripts/deps.sh"
    quietly configure cmake -S "$top" -B "$build" -G Ninja \
        -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEPDX_BUILD_TESTS=ON
    if command -v valgrind >/dev/null; then
        targets+=(gate_drain)
    fi
    quietly build cmake --build "$build" --target "${targets[@]}"
}

# One transport for all ways of a run, so that they are comparable.
run_transfer() {
    measure transfer_tcp env UCX_TLS=tcp "$bench" transfer --own \
        "${flags[@]}"
    measure transfer_host "$bench" transfer "${flags[@]}"
    if ! ((quick)); then
        measure transfer_ranks env UCX_TLS=tcp "$bench" transfer --own --ranks 4 \
            --window 4 --size 4194304
    fi
}

run_drain() {
    local count
    for count in 2 4 8; do
        ranks "$count"
        measure "drain_$count" env EPDX_ASK_INTERVAL_S=5 \
            EPDX_LOG_LEVEL=error "${launcher[@]}" "$bench" drain "${flags[@]}"
    done
}

run_reassemble() {
    local count
    for count in 2 4; do
        ranks "$count"
        measure "reassemble_$count" "${launcher[@]}" "$bench" reassemble \
            "${flags[@]}"
    done
}

# Counts that do not vary: of the tests, which print them.
run_counts() {
    printf -- '--- counts (%ds)\n' "$SECONDS"
    "$build/src/bench/bench_steady_test" 2>/dev/null |
        grep -E '^(an item|a byte):' | tee "$results/counts.txt"
    if command -v valgrind >/dev/null; then
        "$top/src/bench/instructions_test.sh" "$build/src/bench/gate_drain" \
            any any --show | tee "$results/instructions.txt"
    fi
}

build_all
if wanted transfer; then run_transfer; fi
if wanted control; then
    measure control env UCX_TLS=tcp "$bench" control "${flags[@]}"
fi
if wanted drain; then run_drain; fi
if wanted reassemble; then run_reassemble; fi
if wanted trace; then
    measure trace "$bench" trace "${flags[@]}" \
        --workload "$top/workloads/mm-image-2000.jsonl"
fi
if wanted scale; then
    measure scale env EPDX_LOG_LEVEL=error "$bench" scale "${flags[@]}"
fi
if wanted counts; then run_counts; fi
if ((page)); then
    "$top/scripts/bench_page.py" "$results" "$top/docs"
fi
"$top/scripts/bench_targets.py" "$results"
if ((json)); then
    "$top/scripts/bench_targets.py" --json "$results"
fi
