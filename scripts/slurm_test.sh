#!/usr/bin/env bash
# slurm_test.sh BUILD [CASE...]: the job scripts of slurm/, under a Slurm of
# three nodes that this script starts on this machine: its own munged, slurmctld
# and slurmds, all in a temporary folder, on ports of 127.0.0.1 that are free.
# BUILD is a build folder with the programs. Cases: doctor het_srun het_mpirun
# two_jobs two_jobs_mpirun; all without one. It ends every process it began by
# its id and removes the folder. Exit status 77, with the reason, where Slurm is
# not there or cannot run.
set -euo pipefail

if (($# < 1)); then
    printf 'usage: scripts/slurm_test.sh BUILD [CASE...]\n' >&2
    exit 2
fi
build=$(cd "$1" && pwd)
shift
cases=("$@")
if ((${#cases[@]} == 0)); then
    cases=(doctor het_srun het_mpirun two_jobs two_jobs_mpirun)
fi
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
nodes=3
deadline=60
started=()
work=

skip() {
    printf 'skipped: %s\n' "$1"
    exit 77
}

fail() {
    printf 'slurm_test: %s\n' "$1" >&2
    exit 1
}

# Processes that this Slurm began, by its configuration in their environment:
# the daemon of a step leaves its parent.
ours() {
    env -u SLURM_CONF python3 - "SLURM_CONF=$work/slurm.conf" <<'EOF'
import pathlib
import sys

for folder in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        variables = (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        continue
    if sys.argv[1].encode() in variables:
        print(folder.name)
EOF
}

finish() {
    local status=$? pid
    trap - EXIT
    if [[ -z $work ]]; then
        exit "$status"
    fi
    if ((status != 0 && status != 77)); then
        tail -n 30 "$work"/*.log "$work"/jobs/*.log >&2 2>/dev/null || true
    fi
    scancel --state=RUNNING --user=root 2>/dev/null || true
    wait_until 15 no_jobs || true
    for pid in ${started[@]+"${started[@]}"}; do
        kill -TERM "$pid" 2>/dev/null || true
    done
    for pid in ${started[@]+"${started[@]}"}; do
        wait "$pid" 2>/dev/null || true
    done
    for pid in $(ours); do
        kill -KILL "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
    exit "$status"
}

# wait_until SECONDS COMMAND...: until it succeeds.
wait_until() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < until)) || return 1
        sleep 0.1
    done
}

no_jobs() {
    [[ -z $(squeue -h 2>/dev/null) ]]
}

need() {
    command -v "$1" >/dev/null ||
        skip "$1 is not there (scripts/deps.sh installs it; Debian: $2)"
}

((EUID == 0)) || skip "slurmd must be root to start steps"
PATH=$PATH:/usr/sbin:/sbin
need slurmctld slurm-wlm
need slurmd slurm-wlm
need munged munge
need srun slurm-wlm
need ip iproute2
for program in epdx_encode epdx_prefill epdx_info; do
    [[ -x $build/bin/$program ]] || fail "$build/bin/$program is not built"
done

work=$(mktemp -d "${TMPDIR:-/tmp}/epdx-slurm-XXXXXX")
trap finish EXIT
export SLURM_CONF=$work/slurm.conf
mkdir "$work/munge" "$work/state" "$work/jobs"
chmod 755 "$work" "$work/munge"

# Each node has a host name of its own, and a file of hosts that has it, where
# that can be had, so that MPI takes it for a host of its own. Else ranks of two
# nodes would take each other's shared memory for their own: then they get none.
# shellcheck disable=SC2016
own_name=(unshare --uts --mount bash -c
    'mount --bind "$0" /etc/hosts && hostname "$1" && shift && exec "$@"'
    "$work/hosts")
btl=self,vader,tcp
{
    cat /etc/hosts
    for ((node = 1; node <= nodes; node++)); do
        printf '127.0.0.1 n%d\n' "$node"
    done
} >"$work/hosts"
if ! "${own_name[@]}" n1 true 2>/dev/null; then
    # shellcheck disable=SC2016
    own_name=(bash -c 'shift && exec "$@"' -)
    btl=self,tcp
fi

read -r -a ports <<<"$(python3 -c "
import socket
held = [socket.create_server(('127.0.0.1', 0)) for _ in range($nodes + 1)]
print(*(one.getsockname()[1] for one in held))")"

# Each node takes more tasks than the machine has cores, and needs a TmpFS of
# its own: PMIx puts its files there.
configure() {
    local host node
    host=$(hostname -s)
    cat <<EOF
ClusterName=epdx
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SwitchType=switch/none
SlurmctldPort=${ports[0]}
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmdSpoolDir=$work/spool.%n
StateSaveLocation=$work/state
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.%n.log
TmpFS=$work/tmp.%n
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=5
EOF
    for ((node = 1; node <= nodes; node++)); do
        printf 'NodeName=n%d NodeAddr=127.0.0.1 Port=%d CPUs=8 RealMemory=65536 State=UNKNOWN\n' \
            "$node" "${ports[node]}"
    done
    printf 'PartitionName=p Nodes=n[1-%d] Default=YES MaxTime=INFINITE State=UP\n' \
        "$nodes"
}

munge_works() {
    munge -n -S "$work/munge/socket" 2>/dev/null |
        unmunge -S "$work/munge/socket" >/dev/null 2>&1
}

nodes_are_idle() {
    [[ $(sinfo -h -o '%T %D' 2>/dev/null) == "idle $nodes" ]]
}

start() {
    local node
    configure >"$SLURM_CONF"
    dd if=/dev/urandom of="$work/munge/key" bs=1024 count=1 status=none
    chmod 600 "$work/munge/key"
    munged --foreground --socket="$work/munge/socket" \
        --key-file="$work/munge/key" --pid-file="$work/munge/pid" \
        --log-file="$work/munge/log" --seed-file="$work/munge/seed" \
        >"$work/munged.log" 2>&1 &
    started+=($!)
    wait_until 10 munge_works || skip "munged does not run: $(tail -n 1 "$work/munged.log")"
    slurmctld -D -i -f "$SLURM_CONF" >"$work/slurmctld.out" 2>&1 &
    started+=($!)
    for ((node = 1; node <= nodes; node++)); do
        mkdir "$work/tmp.n$node"
        "${own_name[@]}" "n$node" slurmd -D -N "n$node" -f "$SLURM_CONF" \
            >"$work/slurmd.n$node.out" 2>&1 &
        started+=($!)
    done
    wait_until 30 nodes_are_idle ||
        skip "Slurm does not run here: $(grep -h error "$work"/slurm*.out "$work"/slurm*.log | tail -n 3)"
    srun --mpi=list 2>&1 | grep -q pmix ||
        skip "this Slurm has no pmix (Debian: slurm-wlm-basic-plugins)"
}

# Small rows; ranks that share cores must yield while they wait. What is the
# caller's stays out.
settings() {
    local name
    for name in ${!SLURM_*}; do
        [[ $name == SLURM_CONF ]] || unset "$name"
    done
    export JOB_TREE=$tree JOB_BIN=$build/bin JOB_IFACE=lo JOB_PATIENCE=30
    export JOB_ROWS="--workload $tree/workloads/mm-image-2000.jsonl --requests 20 --hidden 64"
    export JOB_ENCODE="--ring-mb 16"
    export JOB_PREFILL="--pool-mb 16 --collective-timeout 30 --timeout 30"
    export JOB_MPIRUN="--bind-to none --oversubscribe"
    export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_tcp_if_include=lo
    export OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_btl=$btl
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# holds LOG TEXT: the last line of a job's log has it.
holds() {
    tail -n 1 "$1" | grep -qF -- "$2" || fail "$1 does not end with $2"
}

# submit LOG ARGUMENTS...: and wait for its end; its exit status is the job's.
submit() {
    local log=$1
    shift
    timeout -k 5 "$deadline" sbatch --wait --chdir="$work/jobs" \
        --output="$log" "$@" >"$log.sbatch" 2>&1
}

# The two components ask for fewer ranks than slurm/job.sbatch does, and for as
# many nodes of prefill.
het() {
    local log=$work/jobs/$1.log
    export JOB_LAUNCHER=$1 JOB_DIR=$work/jobs/dir-$1
    submit "$log" --nodes=2 --ntasks-per-node=2 : \
        --nodes=1 --ntasks-per-node=1 "$tree/slurm/job.sbatch" ||
        fail "slurm/job.sbatch with $1: $(cat "$log.sbatch")"
    holds "$log" '{"ranks":4,"requests":20,"admitted":20,'
    holds "$log" '"encode_nodes":1,'
    holds "$log" '"failed":0,"mismatched_bytes":0}'
    holds "$JOB_DIR/encode-0.out" '"delivered":30,"failed":0,'
}

case_het_srun() { het srun; }
case_het_mpirun() { het mpirun; }

two_jobs() {
    local log=$work/jobs/two-$1.log encode_job
    export JOB_LAUNCHER=$1 JOB_DIR=$work/jobs/dir-two-$1
    encode_job=$(sbatch --parsable --chdir="$work/jobs" --nodes=2 \
        --output="$work/jobs/encode-$1.log" "$tree/slurm/encode.sbatch")
    submit "$log" --nodes=2 --ntasks-per-node=2 "$tree/slurm/prefill.sbatch" ||
        fail "slurm/prefill.sbatch with $1"
    holds "$log" '{"ranks":4,"requests":20,"admitted":20,'
    holds "$log" '"encode_nodes":2,'
    holds "$log" '"failed":0,"mismatched_bytes":0}'
    scancel "$encode_job"
    wait_until 30 no_jobs || fail "the encode job does not end"
}

case_two_jobs() { two_jobs srun; }
case_two_jobs_mpirun() { two_jobs mpirun; }

# doctor SRUN_FLAG... -- PREFIX...: its output into $said, its exit status into
# $status.
doctor() {
    local flags=()
    while [[ $1 != -- ]]; do
        flags+=("$1")
        shift
    done
    shift
    status=0
    said=$(timeout -k 5 "$deadline" srun "${flags[@]}" "$@" \
        "$tree/slurm/on_node.sh" "$build/bin/epdx_info" --doctor 2>&1) || status=$?
}

# told COUNT TEXT: so many nodes say so.
told() {
    (($(grep -cE -- "$2" <<<"$said") == $1)) ||
        fail "the doctor does not say \"$2\" $1 times: $said"
}

# Tasks that do not find each other are named with their cure: with PMIx they
# do. Open MPI that srun started without PMIx ends, unless it does not know of
# Slurm: then each task is alone, as with other MPIs. One task of a node speaks.
case_doctor() {
    local said status
    doctor --mpi=none -N2 -n4 --ntasks-per-node=2 --
    ((status == 1)) || fail "the doctor without PMIx ends with $status: $said"
    told 2 '^fail +launch\.start +a task of srun cannot start MPI: .*PMI'
    doctor --mpi=none -N1 -n3 -- env -u SLURM_NODELIST -u SLURM_STEPID
    ((status == 1)) || fail "the doctor of singletons ends with $status: $said"
    told 1 '^fail +launch\.start +srun started 3 tasks, and MPI made jobs of 1 rank'
    told 1 '^      cure: srun --mpi=pmix'
    doctor --mpi=pmix -N2 -n4 --ntasks-per-node=2 --
    ((status == 0)) || fail "the doctor under --mpi=pmix ends with $status: $said"
    told 2 '^ok +launch\.start +srun starts a job of 4 ranks'
    told 2 'failures: 0$'
}

settings
start
for one in "${cases[@]}"; do
    declare -F "case_$one" >/dev/null || fail "no case $one"
    "case_$one"
    printf 'ok  %s (%d s)\n' "$one" "$SECONDS"
done
