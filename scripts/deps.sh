#!/usr/bin/env bash
# Installs the Debian packages that epdx needs, where they are missing: with
# --run what building and running needs, else also what tests and checks need.
# On a system without Debian's packages it only says what is needed: CMake
# finds the libraries, or names the one that it does not find.
set -euo pipefail

run_packages=(
    build-essential cmake ninja-build pkg-config python3 procps
    libopenmpi-dev openmpi-bin libucx-dev libcurl4-openssl-dev libcjson-dev
    libzmq3-dev libmicrohttpd-dev libdlpack-dev)
check_packages=(
    libcmocka-dev openssl clang clang-14 clang-tidy-14 clang-format-14
    libclang-rt-14-dev pmccabe curl iproute2 nftables
    valgrind gnuplot-nox
    man-db mandoc lmod lintian mmdebstrap
    slurm-wlm slurm-wlm-basic-plugins munge)

usage() {
    cat <<'EOF'
usage: scripts/deps.sh [--run] [--list]

Installs the Debian packages that epdx needs, as root or with sudo.

  --run    only what building and running needs, not tests and checks
  --list   print the packages, one a line, and install nothing
  --help   this text
EOF
}

packages=("${run_packages[@]}" "${check_packages[@]}")
list=0
for argument in "$@"; do
    case $argument in
    --run) packages=("${run_packages[@]}") ;;
    --list) list=1 ;;
    --help) usage && exit 0 ;;
    *) printf 'deps.sh: no option %s; see --help\n' "$argument" >&2 && exit 2 ;;
    esac
done

if ((list)); then
    printf '%s\n' "${packages[@]}"
    exit 0
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    printf 'deps: not a Debian system; nothing installed. epdx needs: %s\n' \
        "${packages[*]}"
    exit 0
fi

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || :)
    if [[ $state != installed ]]; then
        missing+=("$package")
    fi
done
if ((${#missing[@]} == 0)); then
    printf 'deps: all %d packages are there\n' "${#packages[@]}"
    exit 0
fi

as_root=()
if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
        printf 'deps: run this as root, or install sudo; missing: %s\n' \
            "${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
printf 'deps: installing %s\n' "${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
"${apt[@]}" update
"${apt[@]}" install --no-install-recommends "${missing[@]}"
printf 'deps: installed %d packages\n' "${#missing[@]}"
