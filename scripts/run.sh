#!/usr/bin/env bash
# The main job: encode nodes and prefill ranks on this machine, over 127.0.0.1.
# They replay a request trace, and every byte is checked on every rank. Installs
# what is missing, builds, runs, and ends every process that it started. The
# last line of its output is a JSON object.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$top/build/run
bin=$build/bin
fakes=OFF

# What all processes may take together, in MiB, and each beside pool and ring.
BUDGET_MB=8192
PROCESS_MB=64
RING_LEAST_MB=64
START_SECONDS=60
STOP_SECONDS=10

usage() {
    cat <<'EOF'
usage: scripts/run.sh [options]

Starts encode nodes and prefill ranks on this machine, replays a request trace
through them and checks every byte on every rank. The last line is JSON.

  --ranks N           prefill ranks (4)
  --encode-nodes K    encode nodes, each with its own bootstrap server (1)
  --encode-tp M       ranks of each encode node (1); N must be a multiple of M
  --requests R        the first R requests of the trace (200)
  --hidden H          elements of a row (3584)
  --dtype NAME        bfloat16, float16 or float32 (bfloat16)
  --levels L          deepstack levels (0)
  --no-shard          every rank pulls all rows
  --workload FILE     trace of JSON lines (workloads/mm-image-2000.jsonl)
  --memory KIND       where rows are on both sides: host or cuda (host). Without
                      a GPU, cuda is run over fakes of the GPU libraries
  --help              this text
  --version           the version
EOF
}

# One line, and exit status 2: an argument is wrong.
wrong() {
    printf 'run.sh: %s; see --help\n' "$1" >&2
    exit 2
}

# number OPTION VALUE MIN MAX
number() {
    if [[ ! $2 =~ ^(0|[1-9][0-9]{0,8})$ ]] || (($2 < $3 || $2 > $4)); then
        wrong "$1: \"$2\" is not a number from $3 to $4"
    fi
}

ranks=4
nodes=1
tp=1
requests=200
hidden=3584
dtype=bfloat16
levels=0
shard=1
workload=$top/workloads/mm-image-2000.jsonl
memory=host

set_option() {
    case $1 in
    --ranks) number "$1" "$2" 1 1024 && ranks=$2 ;;
    --encode-nodes) number "$1" "$2" 1 64 && nodes=$2 ;;
    --encode-tp) number "$1" "$2" 1 1024 && tp=$2 ;;
    --requests) number "$1" "$2" 1 100000000 && requests=$2 ;;
    --hidden) number "$1" "$2" 1 1048576 && hidden=$2 ;;
    --levels) number "$1" "$2" 0 64 && levels=$2 ;;
    --dtype)
        [[ $2 =~ ^(torch\.)?(bfloat16|float16|float32)$ ]] ||
            wrong "$1: \"$2\" is not bfloat16, float16 or float32"
        dtype=$2
        ;;
    --workload)
        [[ -f $2 && -r $2 ]] || wrong "$1: \"$2\" is not a file that can be read"
        workload=$2
        ;;
    --memory)
        [[ $2 =~ ^(host|cuda)$ ]] || wrong "$1: \"$2\" is not host or cuda"
        memory=$2
        ;;
    esac
}

parse() {
    while (($# > 0)); do
        case $1 in
        --help)
            usage
            exit 0
            ;;
        --version)
            sed -n 's/^project(epdx VERSION \([0-9.]*\).*/run.sh \1/p' \
                "$top/CMakeLists.txt"
            exit 0
            ;;
        --no-shard) shard=0 ;;
        --ranks | --encode-nodes | --encode-tp | --requests | --hidden | \
            --dtype | --levels | --workload | --memory)
            if (($# < 2)) || [[ $2 == --* ]]; then
                wrong "$1: needs a value"
            fi
            set_option "$1" "$2"
            shift
            ;;
        --*=*) # as --name VALUE
            set -- "${1%%=*}" "${1#*=}" "${@:2}"
            continue
            ;;
        *) wrong "unknown option \"$1\"" ;;
        esac
        shift
    done
    ((ranks % tp == 0)) ||
        wrong "--ranks $ranks: is not a multiple of --encode-tp, which is $tp"
}

# --- processes -------------------------------------------------------------

logs=
started=() # ids of the processes that are to be stopped, oldest first

alive() { kill -0 "$1" 2>/dev/null; }

# Wait until a process is gone, for at most so many seconds.
gone_within() {
    local end=$((SECONDS + $2))
    while alive "$1"; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}

# stop ID...: all are told first, then waited for.
stop() {
    local pid
    kill -TERM "$@" 2>/dev/null || true
    for pid in "$@"; do
        gone_within "$pid" "$STOP_SECONDS" || kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
}

# The last to be started goes first: prefill ranks before the nodes they use.
stop_all() {
    local count=${#started[@]}
    ((count > 0)) || return 0
    stop "${started[@]:count-1}"
    ((count == 1)) || stop "${started[@]:0:count-1}"
    started=()
}

# Of the script, however it ends. A wrong argument leaves one line only.
# shellcheck disable=SC2317
finish() {
    local status=$?
    trap '' INT TERM HUP
    stop_all
    if [[ -n $logs ]]; then
        if ((status == 0 || status == 2 || status > 128)); then
            rm -rf "$logs"
        else
            printf 'run.sh: failed with status %d; logs are in %s\n' \
                "$status" "$logs" >&2
        fi
    fi
    exit "$status"
}

# Say why it ends, with the end of a log, and end.
fail() {
    printf 'run.sh: %s\n' "$1" >&2
    [[ -z ${2:-} || ! -s $2 ]] || tail -n 20 "$2" >&2
    exit 1
}

# Wait for the last process to be started; its exit status. A signal to this
# script ends the wait, which it would not do to a process in the foreground.
wait_last() {
    local status=0
    wait "${started[-1]}" || status=$?
    unset 'started[-1]'
    return "$status"
}

# quietly NAME COMMAND...: its output only where it fails.
quietly() {
    local name=$1
    shift
    "$@" >"$logs/$name.log" 2>&1 </dev/null &
    started+=("$!")
    wait_last || fail "$name failed:" "$logs/$name.log"
}

build_all() {
    quietly deps "$top/scripts/deps.sh" --run
    local gpu=()
    if [[ $memory == cuda ]]; then
        gpu=(-DEPDX_CUDA=ON -DEPDX_BUILD_FAKES="$fakes")
    fi
    if [[ ! -f $build/build.ninja || $memory == cuda ]]; then
        quietly configure cmake -S "$top" -B "$build" -G Ninja \
            -DCMAKE_BUILD_TYPE=Release -DEPDX_BUILD_TESTS=OFF \
            ${gpu[@]+"${gpu[@]}"}
    fi
    quietly build cmake --build "$build"
}

# With CUDA memory: whether there is a device for it, or only the fakes.
choose_gpu() {
    local devices=(/dev/nvidia[0-9]*)
    [[ $memory == cuda ]] || return 0
    if [[ -e ${devices[0]} ]]; then
        printf 'run.sh: --memory cuda: %d GPUs\n' "${#devices[@]}" >&2
        return 0
    fi
    printf 'run.sh: --memory cuda: no GPU here, so over fakes of CUDA and NCCL\n' >&2
    fakes=ON
    bin=$build/bin/fakes
}

# --- memory ----------------------------------------------------------------

shape=()
pool_mb=0
ring_mb=0

# field NAME: a number out of the line of --sizes on standard input.
field() { sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }

mb_of() { echo $((($1 + 1048575) / 1048576)); }

# The pool holds the largest request, the ring the largest item; several of them
# where there is room, so that transfers overlap.
size_memory() {
    local sizes request_mb item_mb encoders=$((nodes * tp)) available budget
    local least pool process=$PROCESS_MB
    sizes=$("$bin/epdx_prefill" --sizes "${shape[@]}") || exit "$?"
    request_mb=$(mb_of "$(field largest_request_bytes <<<"$sizes")")
    item_mb=$(mb_of "$(field largest_item_bytes <<<"$sizes")")
    available=$(awk '$1 == "MemAvailable:" { print int($2 / 1024 * 0.9) }' \
        /proc/meminfo)
    budget=$BUDGET_MB
    if [[ -n $available ]] && ((available < budget)); then
        budget=$available
    fi
    if [[ $memory == cuda ]]; then # what rows are staged through, on each side
        export EPDX_CUDA_STAGING_MB=$((item_mb * 2 > 64 ? item_mb * 2 : 64))
        process=$((process + EPDX_CUDA_STAGING_MB))
    fi
    ring_mb=$((item_mb * 4 > RING_LEAST_MB ? item_mb * 4 : RING_LEAST_MB))
    if ((ring_mb * encoders > budget / 4)); then
        ring_mb=$((budget / 4 / encoders > item_mb ? budget / 4 / encoders : item_mb))
    fi
    budget=$((budget - encoders * (ring_mb + process) - ranks * process))
    least=$((request_mb + 1))
    pool=$((budget / ranks))
    if ((pool < least)); then
        wrong "does not fit: the largest request takes $least MiB on each of $ranks ranks, and $((pool > 0 ? pool : 0)) MiB are left; lower --ranks, --hidden, --levels or --requests"
    fi
    pool_mb=$((pool < least * 2 ? pool : least * 2))
}

# --- encode nodes and prefill ranks ----------------------------------------

addresses=()

# start_encode NODE RANK [ADDRESS]: one encode rank.
start_encode() {
    local log=$logs/encode-$1-$2.log
    local where=(--bootstrap "${3:-}")
    if (($2 == 0)); then
        where=(--listen 127.0.0.1:0)
    fi
    : >"$log" # wait_address reads it, maybe before the process has begun
    "$bin/epdx_encode" "${shape[@]}" --node "$1/$nodes" --tp "$tp" \
        --rank "$2" "${where[@]}" --host 127.0.0.1 --ring-mb "$ring_mb" \
        --memory "$memory" \
        >"$log" 2>&1 </dev/null &
    started+=("$!")
}

# wait_address NODE: the line that rank 0 of an encode node prints.
wait_address() {
    local log=$logs/encode-$1-0.log end=$((SECONDS + START_SECONDS)) line
    local pid=${started[-1]}
    while true; do
        line=$(sed -n 's/^epdx_encode: bootstrap //p' "$log")
        [[ -z $line ]] || break
        alive "$pid" || fail "encode node $1 ended:" "$log"
        ((SECONDS < end)) ||
            fail "encode node $1 did not start within $START_SECONDS s:" "$log"
        sleep 0.05
    done
    addresses+=("$line")
}

start_nodes() {
    local node rank
    for ((node = 0; node < nodes; node++)); do
        start_encode "$node" 0
        wait_address "$node"
        for ((rank = 1; rank < tp; rank++)); do
            start_encode "$node" "$rank" "${addresses[node]}"
        done
    done
}

# The output of rank 0 is shown when all is over, so that its JSON is last.
run_prefill() {
    local flags=(--oversubscribe --bind-to none --mca mpi_yield_when_idle 1
        --mca btl "self,vader" --mca oob_tcp_if_include lo -np "$ranks")
    local options=(--verify --pool-mb "$pool_mb" --host 127.0.0.1
        --memory "$memory") address
    if ((EUID == 0)); then
        flags+=(--allow-run-as-root)
    fi
    if [[ -t 2 ]]; then
        options+=(--progress)
    fi
    if ((shard == 0)); then
        options+=(--no-shard)
    fi
    for address in "${addresses[@]}"; do
        options+=(--encode "$address")
    done
    mpirun "${flags[@]}" "$bin/epdx_prefill" "${shape[@]}" "${options[@]}" \
        >"$logs/prefill.out" </dev/null &
    started+=("$!")
    wait_last
}

main() {
    local status=0
    parse "$@"
    logs=$(mktemp -d "${TMPDIR:-/tmp}/epdx-run-XXXXXX")
    trap finish EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
    choose_gpu
    build_all
    shape=(--workload "$workload" --requests "$requests" --hidden "$hidden"
        --dtype "$dtype" --levels "$levels")
    size_memory
    printf 'run.sh: %d prefill ranks (pool %d MiB each), %d encode nodes of %d ranks (ring %d MiB each)\n' \
        "$ranks" "$pool_mb" "$nodes" "$tp" "$ring_mb"
    start_nodes
    run_prefill || status=$?
    # 2 is for this script's own arguments, which were right.
    ((status != 2)) || status=1
    stop_all
    cat "$logs/prefill.out"
    exit "$status"
}

main "$@"
