#!/usr/bin/env bash
# Each public header compiles alone, in C11 and C++17. Only group_mpi.h may
# need MPI's flags.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

need() {
    if ! command -v "$1" >/dev/null; then
        printf 'headers: %s is missing (Debian: %s)\n' "$1" "$2"
        exit 1
    fi
}
need gcc build-essential
need g++ build-essential
need mpicc libopenmpi-dev

failed=0
alone() {
    local header=$1
    shift
    if ! printf '#include "%s"\n' "${header#include/}" |
        "$@" -Wall -Wextra -Werror -fsyntax-only -Iinclude -; then
        printf '%s: does not compile alone with %s\n' "$header" "$*"
        failed=1
    fi
}

for header in include/epdx/*.h; do
    flags=()
    if [[ $header == */group_mpi.h ]]; then
        read -r -a flags <<<"$(mpicc --showme:compile)"
        # MPI's own header is not ours to judge.
        flags=("${flags[@]/#-I/-isystem}")
    fi
    alone "$header" gcc -std=c11 -x c "${flags[@]}"
    alone "$header" g++ -std=c++17 -x c++ "${flags[@]}"
done
if ((failed == 0)); then
    printf 'ok  headers\n'
fi
exit "$failed"
