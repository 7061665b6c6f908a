#!/usr/bin/env bash
# deb_test.sh [--packages FOLDER]: builds the Debian packages (or takes those of
# FOLDER), looks at them with lintian, installs them in a clean Debian root that
# it makes and drops, runs the programs there, builds the README's programs
# against the library and runs those, and removes the packages again. Exit
# status 77, with the reason, where that cannot be done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

fail() {
    printf 'deb_test: %s\n' "$*" >&2
    exit 1
}

# Inside: everything from here to `# Outside` runs as root, $root being the
# clean root, called by mmdebstrap while its apt can still install.
inside() {
    chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C HOME=/root \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        EPDX_RECV_POOL_MB=256 EPDX_ENCODE_RING_MB=256 "$@"
}

run_programs() {
    local said
    said=$(inside epdx_info)
    printf '%s\n' "${said%%EPDX_*}"
    said=$(inside man epdx)
    [[ $said == *EPDX_RECV_POOL_MB* ]] || fail 'man epdx'
    inside man epdx_job_state >/dev/null || fail 'man epdx_job_state'
    # shellcheck disable=SC2016
    inside bash -euc '
        cd /tmp/epdx
        exec {lines}< <(exec epdx_encode --workload trace.jsonl --requests 8 \
            --once --listen 127.0.0.1:0)
        encode=$!
        read -r -t 30 -u "$lines" line
        mpirun --oversubscribe --mca btl self,vader -n 2 epdx_prefill \
            --workload trace.jsonl --requests 8 --verify \
            --encode "${line##* }"
        wait "$encode"'
}

build_and_run() {
    local said
    # shellcheck disable=SC2016
    said=$(inside bash -euc '
        cd /tmp/epdx
        read -r -a flags <<<"$(pkg-config --cflags --libs epdx)"
        cc -o encode readme_encode.c "${flags[@]}"
        mpicc -o prefill readme_example.c "${flags[@]}"
        ./readme_test.sh ./encode \
            mpirun --oversubscribe --mca btl self,vader -n 2 ./prefill') ||
        fail "the README's programs: $said"
    printf '%s\n' "$said"
    [[ $said == *'room 42: EPDX_OK'* ]] || fail "the README's programs"
}

test_inside() {
    root=$1
    files=$2
    touch "$files/started"
    mkdir -p "$root/tmp/epdx" "$root/dev/shm"
    cp "$files"/*.deb mpi_tests/readme_{test.sh,encode.c,example.c} \
        "$root/tmp/epdx"
    head -n 100 workloads/mm-image-2000.jsonl >"$root/tmp/epdx/trace.jsonl"
    mountpoint -q "$root/dev/shm" || mount -t tmpfs none "$root/dev/shm"

    # By the package manager alone: what a package needs, it must say itself.
    inside sh -euc 'apt-get -qq -y install --no-install-recommends \
        /tmp/epdx/libepdx0_*.deb /tmp/epdx/epdx-tools_*.deb' >/dev/null
    inside epdx_info --version
    inside sh -euc 'apt-get -qq -y install --no-install-recommends \
        /tmp/epdx/libepdx-dev_*.deb \
        openmpi-bin libopenmpi-dev man-db gcc libc6-dev pkg-config' >/dev/null
    run_programs
    build_and_run
    inside apt-get -qq -y purge libepdx0 libepdx-dev epdx-tools >/dev/null
    left=$(find "$root"/{usr,etc,var/lib} -path "$root/var/lib/apt" -prune -o \
        -name '*epdx*' -print)
    [[ -z $left ]] || fail "left after purge: $left"
    printf 'ok  the packages install, run and go in a clean root\n'
}

if [[ ${1:-} == --inside ]]; then
    test_inside "$2" "$3" >"$3/said"
    exit 0
fi

# Outside
folder=
while (($# > 0)); do
    case $1 in
    --packages) folder=$(cd "${2:?--packages needs a folder}" && pwd) && shift ;;
    *) fail "no option $1" ;;
    esac
    shift
done
((EUID == 0)) || skip 'a clean root is made by root only'
[[ -r /etc/os-release ]] || skip 'no /etc/os-release'
# shellcheck disable=SC1091
suite=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
grep -q '^ID=debian' /etc/os-release || skip 'this system is not Debian'
for tool in mmdebstrap dpkg-shlibdeps; do
    command -v "$tool" >/dev/null || skip "$tool is not there; apt-get install it"
done
unshare --mount true 2>/dev/null || skip 'a mount namespace is not allowed here'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ -z $folder ]]; then
    folder=$work
    scripts/deb.sh "$work" >"$work/deb.log" 2>&1 ||
        fail "$(tail -n 20 "$work/deb.log")"
else
    cp "$folder"/*.deb "$work"
fi

# The maintainer's address is for whoever publishes packages: see DEBEMAIL.
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning --suppress-tags \
        bogus-mail-host,bogus-mail-host-in-debian-changelog "$work"/*.deb ||
        fail 'lintian found something'
    printf 'ok  lintian\n'
fi

# From where this machine has its own packages.
sources=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    if [[ -s $file ]]; then
        sources+=("$file")
    fi
done
status=0
mmdebstrap --quiet --variant=apt --format=null \
    --customize-hook="'$PWD/scripts/deb_test.sh' --inside \"\$1\" '$work'" \
    "$suite" /dev/null "${sources[@]}" 2>"$work/root.log" || status=$?
if ((status != 0)) && [[ ! -e $work/started ]]; then
    skip "no clean root of $suite: $(tail -n 3 "$work/root.log")"
fi
cat "$work/said"
((status == 0)) || fail "$(tail -n 30 "$work/root.log")"
