#!/usr/bin/env bash
# functions.sh: what the job scripts share; they source it. README.md has the
# variables. shellcheck disable=SC2034
set -euo pipefail

# sbatch runs a copy of a script, so the tree is where sbatch was called.
tree=${JOB_TREE:-$SLURM_SUBMIT_DIR} # epdx, built; all nodes see it
bin=${JOB_BIN:-$tree/build/release/bin}
launcher=${JOB_LAUNCHER:-srun} # or mpirun, for the prefill ranks
patience=${JOB_PATIENCE:-300}  # seconds until encode nodes must be there
: "${JOB_IFACE:?set it to the interface that nodes reach each other by}"
export JOB_IFACE

# What both programs must be told alike, and what each is told beside it.
read -r -a rows <<<"${JOB_ROWS:---workload $tree/workloads/mm-image-2000.jsonl --hidden 3584}"
read -r -a encode_options <<<"${JOB_ENCODE:---ring-mb 2048}"
read -r -a prefill_options <<<"${JOB_PREFILL:---pool-mb 4096 --collective-timeout 120}"

say() {
    printf '%s: %s\n' "${SLURM_JOB_NAME:-job}" "$1" >&2
}

# expect_encode DIR COUNT: so many encode nodes will leave their addresses in
# DIR, and nobody has yet.
expect_encode() {
    mkdir -p "$1"
    rm -f "$1"/encode-*.out
    printf '%s\n' "$2" >"$1/encode-count"
}

# encode_nodes DIR SRUN_FLAG...: one encode node a task, each of one rank, until
# it is ended. Each leaves its one line, its address, in DIR/encode-I.out. No MPI
# is wanted, so --rank 0 says that each is alone; which node it is, SLURM_PROCID,
# is known in the task only.
# shellcheck disable=SC2016
encode_nodes() {
    local dir=$1
    shift
    exec srun "$@" --cpu-bind=cores --output="$dir/encode-%t.out" \
        "$tree/slurm/on_node.sh" bash -c \
        'exec "$0" --rank 0 --tp 1 --node "$SLURM_PROCID/$SLURM_NTASKS" "$@"' \
        "$bin/epdx_encode" "${rows[@]}" "${encode_options[@]}"
}

# find_encode DIR: the encode nodes' addresses into the array encode, in order:
# node I of K must be the I-th --encode. False: not all have printed theirs.
find_encode() {
    local dir=$1 count node line
    encode=()
    count=$(cat "$dir/encode-count" 2>/dev/null) || return 1
    for ((node = 0; node < count; node++)); do
        line=$(sed -n 's/^epdx_encode: bootstrap //p' \
            "$dir/encode-$node.out" 2>/dev/null) || return 1
        [[ -n $line ]] || return 1
        encode+=(--encode "$line")
    done
}

# wait_for_encode DIR [PID]: until all of them are there. PID: their srun, which
# must not end before.
wait_for_encode() {
    local until=$((SECONDS + patience))
    until find_encode "$1"; do
        if [[ -n ${2:-} ]] && ! kill -0 "$2" 2>/dev/null; then
            say "the encode nodes ended: see $1/encode-*.out"
            return 1
        fi
        if ((SECONDS > until)); then
            say "no encode nodes in $1 after $patience s"
            return 1
        fi
        sleep 0.5
    done
}

# prefill: the ranks of one engine over this job's tasks, which pull all of the
# trace and check every byte. Without --mpi=pmix each task would be an MPI job
# of one rank. A rank that gives up ends by itself; --kill-on-bad-exit, as
# mpirun does, ends the others with it. PE=2 gives each rank two cores: Open
# MPI's own choice for one or two ranks is one core a rank, which both threads
# of a rank would share. srun does not take --cpus-per-task over from the job
# (Slurm 22.05 and later).
prefill() {
    local cores=${SLURM_CPUS_PER_TASK:-2}
    local command=("$tree/slurm/on_node.sh" "$bin/epdx_prefill" "${rows[@]}"
        --verify "${prefill_options[@]}" "${encode[@]}")
    case $launcher in
    srun)
        srun --mpi=pmix --kill-on-bad-exit=1 --cpu-bind=cores \
            --cpus-per-task="$cores" "$@" "${command[@]}"
        ;;
    mpirun)
        local flags=()
        read -r -a flags <<<"${JOB_MPIRUN:---bind-to core --map-by slot:PE=$cores}"
        mpirun -n "$SLURM_NTASKS" "${flags[@]}" -x JOB_IFACE "${command[@]}"
        ;;
    *)
        say "JOB_LAUNCHER is $launcher; it takes srun or mpirun"
        return 2
        ;;
    esac
}
