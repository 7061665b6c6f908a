#!/usr/bin/env bash
# programs_test.sh CASE BIN NPY_MAKE: the programs together, over 127.0.0.1.
# Every process that it starts is ended by its id; nothing waits for ever.
set -euo pipefail

case_name=$1
bin=$2
npy_make=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/epdx-programs-XXXXXX")
started=()
DEADLINE=60

finish() {
    local status=$? pid
    for pid in ${started[@]+"${started[@]}"}; do
        kill -KILL "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    if ((status != 0)); then
        tail -n 40 "$work"/*.log >&2 2>/dev/null || true
    fi
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT

fail() {
    printf 'programs_test: %s: %s\n' "$case_name" "$1" >&2
    exit 1
}

lines=() # by process, where its output is read

launcher=(--oversubscribe --bind-to none --mca mpi_yield_when_idle 1
    --mca btl "self,vader" --mca oob_tcp_if_include lo)
if ((EUID == 0)); then
    launcher+=(--allow-run-as-root)
fi
launcher=(mpirun "${launcher[@]}")

# encode LOG ARGUMENTS...: starts one and sets address and pid; under the words
# of $under, where there are some.
under=()
ring_mb=8
encode() {
    local log=$work/$1.log line fd
    shift
    mkfifo "$work/line"
    # The line comes through a pipe, so that reading it waits for it.
    ${under[@]+"${under[@]}"} "$bin/epdx_encode" "$@" --host 127.0.0.1 \
        --ring-mb "$ring_mb" >"$work/line" 2>"$log" </dev/null &
    pid=$!
    started+=("$pid")
    exec {fd}<"$work/line"
    lines[pid]=$fd
    rm "$work/line"
    read -r -t "$DEADLINE" -u "$fd" line || fail "no line from epdx_encode"
    [[ $line =~ ^epdx_encode:\ bootstrap\ 127\.0\.0\.1:[0-9]+$ ]] ||
        fail "not the bootstrap line: $line"
    address=${line##* }
}

# ended PID STATUS: wait for a process and check its exit status; its last line
# of output is in $last.
ended() {
    local status=0
    IFS= read -r -t "$DEADLINE" -u "${lines[$1]}" last || fail "no JSON from epdx_encode"
    wait "$1" || status=$?
    ((status == $2)) || fail "epdx_encode ended with $status, not $2"
}

# prefill RANKS ARGUMENTS...: run it; its output is in prefill.log.
prefill() {
    local ranks=$1
    shift
    timeout -k 5 "$DEADLINE" "${launcher[@]}" -np "$ranks" "$bin/epdx_prefill" "$@" \
        --host 127.0.0.1 --pool-mb 8 --timeout 30 >"$work/prefill.log" 2>"$work/prefill.err.log"
}

# holds TEXT: the last line of prefill has it.
holds() {
    tail -n 1 "$work/prefill.log" | grep -qF -- "$1" ||
        fail "the JSON does not hold $1: $(tail -n 1 "$work/prefill.log")"
}

# Arrays in, arrays out: spans around and below the group's size.
round_trip() {
    local dtype=$1 levels=$2 ranks=$3 file
    local in=$work/in-$dtype-$levels out=$work/out-$dtype-$levels-$ranks
    if [[ ! -d $in ]]; then
        mkdir "$in"
        "$npy_make" "$in" "$dtype" 24 "$levels" 1 2 3 5 64 129
    fi
    encode "encode-$dtype-$ranks" --npy "$in" --once
    prefill "$ranks" --npy "$in" --encode "$address" --out "$out" --verify ||
        fail "epdx_prefill of $dtype, $ranks ranks"
    holds '"failed":0,"mismatched_bytes":0}'
    ended "$pid" 0
    [[ $last == *'"delivered":6,"failed":0,'* ]] || fail "encode: $last"
    for file in "$in"/*.npy; do
        cmp "$file" "$out/${file##*/}"
    done
}

case_npy() {
    local ranks
    for ranks in 1 2 3 4; do
        round_trip float16 0 "$ranks"
        round_trip float32 0 "$ranks"
        round_trip bfloat16 2 "$ranks"
    done
}

# one_group_a_drain: what NCCL did, beside the drains that admitted something.
one_group_a_drain() {
    local said groups drains
    said=$(tail -n 1 "$work/prefill.log")
    groups=$(sed 's/.*"nccl_groups":\([0-9]*\),.*/\1/' <<<"$said")
    drains=$(sed 's/.*"drains_admitting":\([0-9]*\),.*/\1/' <<<"$said")
    [[ $groups == "$drains" && $groups != 0 ]] ||
        fail "$groups NCCL groups in $drains drains: $said"
}

# The same with all rows in device memory. BIN holds the programs over the
# fakes, which say so.
case_cuda() {
    local ranks
    export EPDX_MEMORY=cuda EPDX_CUDA_STAGING_MB=4
    for ranks in 1 2; do
        round_trip bfloat16 2 "$ranks"
        holds '"memory":"cuda","gpu":"fake","bytes_direct":0,'
        [[ $last == *'"memory":"cuda","gpu":"fake",'* ]] || fail "encode: $last"
    done
    one_group_a_drain # of the two ranks
    unset EPDX_MEMORY
    trace
    encode own --workload "$work/trace" --hidden 40 --once --chunk-own --memory cuda
    prefill 2 --workload "$work/trace" --hidden 40 --encode "$address" --verify \
        --no-shard --memory cuda || fail "epdx_prefill"
    holds '"memory":"cuda"'
    holds '"failed":0,"mismatched_bytes":0}'
    ended "$pid" 0
    # One side alone: rows do not care where the other has them.
    rm "$work/prefill.log"
    encode one --workload "$work/trace" --hidden 40 --once --memory cuda
    prefill 1 --workload "$work/trace" --hidden 40 --encode "$address" --verify \
        --memory host || fail "epdx_prefill"
    holds '"memory":"host","bytes_direct":0,"bytes_staged":0,'
    holds '"failed":0,"mismatched_bytes":0}'
    ended "$pid" 0
}

trace() {
    printf '{"t": 0, "id": "a", "images": [3, 1, 40]}\n{"t": 0.01, "id": "b", "images": [7]}\n{"t": 0.02, "id": "c", "images": [1, 2, 3, 4, 5]}\n' >"$work/trace"
}

# Two nodes, one in own memory; the trace's own times.
case_nodes() {
    local first first_address
    trace
    encode node-0 --workload "$work/trace" --hidden 40 --node 0/2 --once
    first=$pid
    first_address=$address
    encode node-1 --workload "$work/trace" --hidden 40 --node 1/2 --once --chunk-own
    prefill 3 --workload "$work/trace" --hidden 40 --encode "$first_address" \
        --encode "$address" --verify --realtime || fail "epdx_prefill"
    holds '"ranks":3,"requests":3,"admitted":3,"items":9,"rows":66,'
    holds '"encode_nodes":2,'
    holds '"failed":0,"mismatched_bytes":0}'
    ended "$pid" 0
    ended "$first" 0
}

# An encode node of two ranks, as two processes and as one mpirun.
case_encode_ranks() {
    local first first_address
    trace
    encode rank-0 --workload "$work/trace" --hidden 40 --levels 2 --tp 2 --rank 0
    first=$pid
    first_address=$address
    "$bin/epdx_encode" --workload "$work/trace" --hidden 40 --levels 2 --tp 2 --rank 1 \
        --bootstrap "$address" --host 127.0.0.1 --ring-mb 8 >"$work/rank-1.log" 2>&1 </dev/null &
    pid=$!
    started+=("$pid")
    prefill 4 --workload "$work/trace" --hidden 40 --levels 2 --encode "$first_address" \
        --verify || fail "epdx_prefill of two processes"
    holds '"failed":0,"mismatched_bytes":0}'
    kill -TERM "$first" "$pid"
    ended "$first" 0
    wait "$pid" || fail "rank 1 failed"
    grep -q '"rank":1,"tp":2,"items":9,"sent":9,"delivered":9,"failed":0,' "$work/rank-1.log" ||
        fail "rank 1 did not send all"

    under=("${launcher[@]}" -np 2)
    encode mpirun --workload "$work/trace" --hidden 40 --levels 2 --once
    prefill 4 --workload "$work/trace" --hidden 40 --levels 2 --encode "$address" \
        --verify || fail "epdx_prefill of one mpirun"
    holds '"failed":0,"mismatched_bytes":0}'
    ended "$pid" 0
}

# A prefill engine of another shape is refused, by name, and the node goes on.
case_other_shape() {
    local status=0
    trace
    encode encode --workload "$work/trace" --hidden 40
    prefill 2 --workload "$work/trace" --requests 1 --hidden 48 --encode "$address" || status=$?
    ((status == 1)) || fail "exit status $status"
    holds '"failed":1,"mismatched_bytes":0}'
    grep -q '^request a failed: .*hidden' "$work/prefill.log" || fail "the cause is not named"
    # The rooms of the first request are over with it.
    prefill 2 --workload "$work/trace" --skip 1 --hidden 40 --encode "$address" --verify ||
        fail "epdx_prefill of the right shape"
    holds '"failed":0,"mismatched_bytes":0}'
    kill -TERM "$pid"
    ended "$pid" 0
    [[ $last == *'"delivered":6,'* ]] || fail "encode: $last"
}

# Items that the ring can never hold, between one that it can.
case_large_items() {
    ring_mb=1
    printf '{"t": 0, "id": "a", "images": [3000, 10, 2000]}\n' >"$work/trace"
    printf '{"t": 0, "id": "b", "images": [3000]}\n' >>"$work/trace"
    encode encode --workload "$work/trace" --hidden 512 --once
    prefill 2 --workload "$work/trace" --hidden 512 --encode "$address" --verify \
        --no-shard || fail "epdx_prefill"
    holds '"rows":8010,"bytes_received_per_rank":[8202240,8202240],'
    holds '"failed":0,"mismatched_bytes":0}'
    ended "$pid" 0
}

# Bytes that are not the expected ones are counted and named.
case_mismatch() {
    local status=0
    mkdir "$work/a" "$work/b"
    "$npy_make" "$work/a" float32 8 0 5
    "$npy_make" "$work/b" float32 8 0 5
    # One byte of the data differs.
    printf 'X' | dd of="$work/b/a.npy" bs=1 seek=200 conv=notrunc status=none
    encode encode --npy "$work/a"
    prefill 2 --npy "$work/b" --encode "$address" --verify || status=$?
    ((status == 1)) || fail "exit status $status of wrong bytes"
    holds '"failed":0,"mismatched_bytes":2}'
    grep -q 'request a item 0: 1 wrong bytes, the first in row 2, column 2' \
        "$work/prefill.err.log" || fail "the wrong byte is not named"
    kill -TERM "$pid"
    ended "$pid" 0
    [[ $last == *'"delivered":1,"failed":0,'* ]] || fail "encode: $last"
}

# A request that can never fit fails, by name, and the others are received.
case_too_large() {
    local status=0
    printf '{"t": 0, "id": "big", "images": [9000]}\n{"t": 0, "id": "ok", "images": [4]}\n' >"$work/trace"
    encode encode --workload "$work/trace" --hidden 512
    prefill 2 --workload "$work/trace" --hidden 512 --encode "$address" --verify || status=$?
    ((status == 1)) || fail "exit status $status"
    holds '"admitted":1,'
    holds '"failed":1,"mismatched_bytes":0}'
    grep -q '^request big failed: .*EPDX_RECV_POOL_MB' "$work/prefill.log" ||
        fail "the failed request is not named with its cure"
    kill -INT "$pid"
    ended "$pid" 0
}

# refused PROGRAM TEXT ARGUMENTS...: one line that holds TEXT, exit status 2.
refused() {
    local program=$1 text=$2 status=0
    shift 2
    "$bin/$program" "$@" >"$work/out.log" 2>"$work/err.log" || status=$?
    ((status == 2)) || fail "$program $*: exit status $status"
    [[ ! -s $work/out.log ]] || fail "$program $*: wrote to standard output"
    (($(wc -l <"$work/err.log") == 1)) || fail "$program $*: not one line"
    grep -qF -- "$text" "$work/err.log" || fail "$program $*: $(cat "$work/err.log")"
}

case_arguments() {
    local program
    for program in epdx_encode epdx_prefill epdx_info epdx_bootstrap; do
        refused "$program" "$program: unknown option \"--x\"; see --help" --x
        "$bin/$program" --help | grep -q "^usage: $program " || fail "$program --help"
        [[ $("$bin/$program" --version) =~ ^$program\ [0-9]+\.[0-9]+\.[0-9]+$ ]] ||
            fail "$program --version"
    done
    refused epdx_encode 'epdx_encode: --hidden: "12x" is not a number from 1 to 1048576; see --help' --hidden 12x
    refused epdx_encode "/none: No such file or directory" --workload "$work/none"
    refused epdx_prefill "/none: No such file or directory" --workload "$work/none" --sizes
    printf '{"t": 0, "id": "a", "images": [0]}\n' >"$work/trace"
    refused epdx_encode "/trace, line 1: image 0 is not" --workload "$work/trace"
    refused epdx_prefill "/trace, line 1: image 0 is not" --workload "$work/trace" --sizes
    printf '{"t": 0, "id": "a", "images": [1]}\n' >"$work/trace"
    refused epdx_prefill '--skip 1: leaves nothing of 1 requests' --workload "$work/trace" \
        --encode 127.0.0.1:1 --skip 1
    trace
    [[ $("$bin/epdx_prefill" --workload "$work/trace" --hidden 64 --levels 1 --sizes) == \
        '{"requests":3,"items":9,"rows":66,"largest_item_bytes":10240,"largest_request_bytes":11776}' ]] ||
        fail "--sizes"
}

# run_doctor STATUS ARGUMENTS...: its output is in $said.
run_doctor() {
    local status=0 expected=$1
    shift
    said=$(timeout -k 5 "$DEADLINE" "$bin/epdx_info" --doctor "$@" 2>"$work/err.log") || status=$?
    ((status == expected)) || fail "--doctor $*: exit status $status, not $expected: $said"
}

# told TEXT: the doctor said so.
told() {
    grep -qE -- "$1" <<<"$said" || fail "the doctor does not say \"$1\": $said"
}

# Versions, settings with their source, and what the doctor finds.
case_info() {
    said=$(EPDX_SPIN_US=7 "$bin/epdx_info")
    told '^EPDX_RECV_POOL_MB=4096 MiB$'
    told '\(default: 4096, source: default\)$'
    told '\(default: 0, source: environment\)$'
    told '^  within this node, from a ring: mapped/memory$'
    said=$("$bin/epdx_info" --json)
    told '\{"name":"EPDX_RECV_POOL_MB","value":"4096","unit":"MiB","default":"4096","source":"default",'
    told '"ring_within_node":"mapped/memory",'
    refused epdx_info '--encode: goes with --doctor' --encode 127.0.0.1:1
    refused epdx_info '--mpi: goes alone' --mpi --json
    [[ $("${launcher[@]}" -np 3 "$bin/epdx_info" --mpi | sort) == $'rank 0 of 3\nrank 1 of 3\nrank 2 of 3' ]] ||
        fail "--mpi"
}

# It is clean here; each thing that is wrong is a failure with its cure.
case_doctor() {
    # As for the launcher above: Open MPI's TCP has threads and data races.
    export OMPI_MCA_btl=self,vader OMPI_MCA_oob_tcp_if_include=lo
    run_doctor 0
    told '^ok +launch\.start +mpirun starts a job of 2 ranks'
    told '^ok +ucx\.moves '
    told '^ok +ucx\.mapped '
    told '^ok +memory\.shared '
    told 'failures: 0$'
    EPDX_HOST=203.0.113.1 run_doctor 1
    told '^fail +network\.host .*no address of this node'
    told '^      cure: set EPDX_HOST'
    EPDX_HOST=127.0.0.9 run_doctor 1
    told '^fail +network\.first .*lo has 127\.0\.0\.1 before 127\.0\.0\.9'
    EPDX_HSOT=127.0.0.1 run_doctor 0
    told '^warn +settings\.names +EPDX_HSOT is set, .*; is it EPDX_HOST\?'
    UCX_TLS=tcp run_doctor 0
    told '^ok +ucx\.own_memory .* over tcp/lo '
    UCX_TLS=there_is_none run_doctor 1
    told '^fail +ucx\.moves '
    PATH=/there/is/none run_doctor_alone
    told '^warn +launch\.start +there is no mpirun in PATH'
    run_doctor 1 --json --encode 127.0.0.1:1
    told '"about":"encode.bootstrap","verdict":"fail"'
    told '"failures":1\}$'
    trace
    encode encode --workload "$work/trace" --hidden 40
    run_doctor 0 --encode "$address"
    told "^ok +encode\\.bootstrap +$address has 1 encode ranks in 1 DP groups"
    told '^ok +encode\.rank '
    kill -TERM "$pid"
    ended "$pid" 0
    # One process a node speaks for all.
    said=$("${launcher[@]}" -np 3 "$bin/epdx_info" --doctor 2>"$work/err.log")
    told '^ok +launch\.start +mpirun starts a job of 3 ranks'
    (($(grep -c launch.start <<<"$said") == 1)) || fail "not one of the ranks speaks: $said"
}

# Without PATH not even timeout is found.
run_doctor_alone() {
    said=$("$bin/epdx_info" --doctor 2>"$work/err.log") || fail "--doctor: $said"
}

# scripts/run.sh finds a wrong argument before it installs or builds anything.
case_run_arguments() {
    bin=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)
    refused run.sh 'run.sh: --ranks: "12x" is not a number from 1 to 1024; see --help' --ranks 12x
    refused run.sh 'run.sh: --ranks: needs a value' --ranks
    refused run.sh 'run.sh: --ranks: needs a value' --ranks --no-shard
    refused run.sh 'run.sh: --levels: "65" is not a number from 0 to 64' --levels=65
    refused run.sh 'run.sh: --dtype: "int8" is not' --dtype int8
    refused run.sh 'run.sh: --memory: "x" is not host' --memory x
    refused run.sh 'run.sh: --ranks 3: is not a multiple of --encode-tp, which is 2' --ranks 3 --encode-tp 2
    refused run.sh "/none\" is not a file that can be read" --workload "$work/none"
    refused run.sh 'run.sh: unknown option "word"' word
    "$bin/run.sh" --help | grep -q '^usage: scripts/run.sh ' || fail "run.sh --help"
}

# Under mpirun one rank speaks for all.
case_mpi_arguments() {
    local status=0
    prefill 3 --workload "$work/none" --encode 127.0.0.1:1 || status=$?
    ((status == 2)) || fail "exit status $status"
    (($(grep -c 'No such file' "$work/prefill.err.log") == 1)) || fail "not one line"
    status=0
    prefill 3 --nonsense || status=$?
    ((status == 2)) || fail "exit status $status"
    (($(grep -c 'unknown option' "$work/prefill.err.log") == 1)) || fail "not one line"
}

"case_$case_name"
