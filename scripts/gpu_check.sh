#!/usr/bin/env bash
# The tests that have a second program over the real GPU libraries, and the main
# job with its rows in CUDA memory, on the GPUs of this machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'EOT'
usage: scripts/gpu_check.sh [BUILD]

Builds the tests labelled gpu in BUILD (build/gpu-real) with the real CUDA
runtime and NCCL, says which GPU is here, and runs them on it; then run.sh with
--memory cuda, every byte checked. Ranks are as many as GPUs, at most 4; two on
one GPU where NCCL is 2.30 or later.

Exit status 77, with the reason, where there is no GPU; 1 when a test failed.
EOT
}
if [[ ${1:-} == --help ]]; then
    usage
    exit 0
fi
build=${1:-build/gpu-real}

cmake -S . -B "$build" -G Ninja --log-level=WARNING \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEPDX_CUDA=ON -DEPDX_NCCL=ON \
    -DEPDX_GPU_REAL_TESTS=ON

# Small, and first: without a GPU nothing else is built.
cmake --build "$build" --target gpu_device -- --quiet
status=0
devices=$("$build/src/testing/gpu_device") || status=$?
printf '%s\n' "$devices"
if ((status == 77)); then
    printf 'gpu_check: skipped: there is no GPU to run on\n' >&2
    exit 77
elif ((status != 0)); then
    exit 1
fi

cmake --build "$build" --target epdx_gpu_tests -- --quiet
if ! ctest --test-dir "$build" --label-regex '^gpu$' --no-tests=error \
    --output-on-failure; then
    exit 1
fi

ranks=$(grep -c '^device ' <<<"$devices")
nccl=$(sed -n 's/^NCCL //p' <<<"$devices")
if ((ranks < 2 && nccl >= 23000)); then
    ranks=2
    export NCCL_MULTI_RANK_GPU_ENABLE=1
fi
result=$(scripts/run.sh --memory cuda --ranks "$((ranks < 4 ? ranks : 4))" |
    tail -n 1) || exit 1
printf '%s\n' "$result"
for field in '"memory":"cuda"' '"gpu":"real"' '"mismatched_bytes":0'; do
    if [[ ! $result =~ ${field}[,}] ]]; then
        printf 'gpu_check: the JSON of run.sh has no %s\n' "$field" >&2
        exit 1
    fi
done
