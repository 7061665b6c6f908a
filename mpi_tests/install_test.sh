#!/usr/bin/env bash
# install_test.sh CASE BUILD [COMMAND...]: what `cmake --install` makes of the
# build folder BUILD is whole and usable from outside. CASE install comes first
# and fills BUILD/install_test; each other case looks at that. COMMAND starts
# ranks: the number of ranks and a program are put behind it. Exit status 77,
# with the reason, where a tool is missing.
set -euo pipefail

case=$1
build=$2
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$build/install_test
prefix=$top/prefix
work=$top/$case

fail() {
    printf 'install_test: %s: %s\n' "$case" "$*" >&2
    exit 1
}

need() {
    if ! command -v "$1" >/dev/null; then
        printf 'skipped: %s is not there (Debian: %s)\n' "$1" "$2"
        exit 77
    fi
}

libdir() {
    dirname "$(find "$prefix" -name libepdx.so)"
}

use_pkg_config() {
    need pkg-config pkg-config
    PKG_CONFIG_PATH=$(libdir)/pkgconfig
    export PKG_CONFIG_PATH
}

# The two programs of the README, built in $work, at 1 and at 2 ranks.
run_readme() {
    local ranks said
    for ranks in 1 2; do
        said=$("$here/readme_test.sh" "$work/encode" "$@" "$ranks" \
            "$work/prefill" 2>&1) || fail "$ranks ranks: $said"
        printf '%s\n' "$said"
        [[ $(grep -c "^r1: 4194304 bytes at .*'e'$" <<<"$said") == "$ranks" &&
            $said == *'room 42: EPDX_OK'* ]] || fail "$ranks ranks: $said"
    done
}

# Installed in one place and moved to another: nothing may hang on the first.
case_install() {
    rm -rf "$top"
    cmake --install "$build" --prefix "$top/first" >"$build/install.log" ||
        fail "$(tail -n 5 "$build/install.log")"
    mv "$top/first" "$prefix"
    [[ -L $(libdir)/libepdx.so ]] || fail "libepdx.so is no link"
}

case_headers() {
    local header compiler flags mpi
    use_pkg_config
    need mpicc libopenmpi-dev
    read -r -a flags <<<"$(pkg-config --cflags epdx)"
    for header in "$prefix"/include/epdx/*.h; do
        mpi=()
        if [[ $header == */group_mpi.h ]]; then
            read -r -a mpi <<<"$(mpicc --showme:compile)"
            mpi=("${mpi[@]/#-I/-isystem}")
        fi
        for compiler in 'cc -x c -std=c11' 'c++ -x c++ -std=c++17'; do
            read -r -a compiler <<<"$compiler"
            need "${compiler[0]}" build-essential
            printf '#include <epdx/%s>\ntypedef int used;\n' "${header##*/}" |
                "${compiler[@]}" -Wall -Wextra -Werror -pedantic \
                    -fsyntax-only "${flags[@]}" "${mpi[@]}" - ||
                fail "$header does not compile alone with ${compiler[*]}"
        done
    done
}

# Exactly the calls of the headers, each of a release, under the right name.
case_symbols() {
    local library exported declared soname
    need readelf binutils
    library=$(libdir)/libepdx.so
    mkdir -p "$work"
    readelf -W --dyn-syms "$library" |
        awk '$5 ~ /GLOBAL|WEAK/ && $7 ~ /^[0-9]/ { print $8 }' |
        sort >"$work/exported"
    exported=$(sed 's/@@EPDX_[0-9.]*$//' "$work/exported")
    declared=$(sed -n '/^#if defined(DLPACK_MAJOR/,/^#endif/d; p' \
        "$prefix"/include/epdx/*.h | tr -s '\n ' ' ' |
        grep -oE 'EPDX_API [^;{()]*epdx_[a-z0-9_]+ ?\(' |
        grep -oE 'epdx_[a-z0-9_]+ ?\($' | tr -d ' (' | sort)
    diff <(printf '%s\n' "$declared") \
        <(grep -v '_versioned$' <<<"$exported") >"$work/difference" ||
        fail "declared (<) is not exported (>): $(cat "$work/difference")"
    if grep -v '@@EPDX_[0-9]*\.[0-9]*$' "$work/exported"; then
        fail 'these have no version'
    fi
    soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    [[ $soname =~ ^libepdx\.so\.[0-9]+$ ]] || fail "the SONAME is '$soname'"
    [[ -e $(libdir)/$soname ]] || fail 'no file has the SONAME'
}

# Nothing looks for anything in the build or the source tree.
case_paths() {
    local file
    need readelf binutils
    while read -r file; do
        if readelf -d "$file" 2>/dev/null | grep -E 'R(UN)?PATH' |
            grep -F -e "$build" -e "$top"; then
            fail "$file has a run path into the build"
        fi
    done < <(find "$prefix" -type f \( -perm -u+x -o -name '*.so*' \))
    if grep -rIl -F -e "$build" -e "$(dirname "$here")" "$prefix"; then
        fail 'these files name the build or the source tree'
    fi
}

case_programs() {
    local program name
    for program in "$prefix"/bin/*; do
        name=${program##*/}
        "$program" --version >/dev/null || fail "$name does not run"
        [[ -f $prefix/share/man/man1/$name.1 ]] || fail "$name has no page"
    done
    "$prefix/bin/epdx_info" | grep '^EPDX_HOST=' || fail 'epdx_info says little'
}

case_pkgconfig() {
    local flags
    use_pkg_config
    need mpicc libopenmpi-dev
    mkdir -p "$work"
    read -r -a flags <<<"$(pkg-config --cflags --libs epdx)"
    flags+=(-Wl,-rpath,"$(pkg-config --variable=libdir epdx)")
    cc -o "$work/encode" "$here/readme_encode.c" "${flags[@]}"
    mpicc -o "$work/prefill" "$here/readme_example.c" "${flags[@]}"
    run_readme "$@"
}

build_by_cmake() {
    cmake -S "$here/install" -B "$work" -DCMAKE_PREFIX_PATH="$prefix" \
        -DEPDX_KIND="$1" >"$work.log" && cmake --build "$work" >>"$work.log" ||
        fail "$(tail -n 30 "$work.log")"
}

case_cmake() {
    build_by_cmake shared
    readelf -d "$work/encode" | grep 'NEEDED.*libepdx' ||
        fail 'libepdx is not linked'
    if readelf -d "$work/encode" | grep 'NEEDED.*libmpi'; then
        fail 'what needs no MPI is linked with it'
    fi
    run_readme "$@"
}

case_static() {
    build_by_cmake static
    if readelf -d "$work/prefill" | grep 'NEEDED.*libepdx'; then
        fail 'the shared library is linked'
    fi
    run_readme "$@"
}

case_man() {
    local page text
    need man man-db
    export MANPATH=$prefix/share/man MANWIDTH=80 LC_ALL=C
    text=$(man --warnings epdx 2>&1) || fail "man epdx: $text"
    [[ $text == *'EPDX_RECV_POOL_MB'* && $text != *warning* ]] ||
        fail "man epdx: $text"
    text=$(man 3 epdx_admission_drain) || fail 'man epdx_admission_drain'
    [[ $text == *'One step of all ranks'* ]] || fail "$text"
    for page in "$prefix"/share/man/man*/*; do
        text=$(head -n 1 "$page")
        if [[ $text == '.so '* ]]; then
            [[ -f $prefix/share/man/${text#.so } ]] || fail "$page leads nowhere"
        else
            man -l "$page" >/dev/null || fail "$page does not render"
        fi
    done
}

# The module is loaded by Lmod, in a shell that knows nothing of epdx.
case_module() {
    local lmod=/usr/share/lmod/lmod/init/bash
    if [[ ! -r ${LMOD_PKG:-/usr/share/lmod/lmod}/init/bash ]]; then
        printf 'skipped: Lmod is not there (Debian: lmod)\n'
        exit 77
    fi
    lmod=${LMOD_PKG:-/usr/share/lmod/lmod}/init/bash
    # shellcheck disable=SC1090,SC2016
    env -i HOME="$top" PATH=/usr/bin:/bin bash -c '
        source "$1" && module use "$2/share/modulefiles" &&
        module load epdx && epdx_info --version &&
        man -w epdx && [[ $(command -v epdx_info) == "$2"/* ]]' \
        _ "$lmod" "$prefix" || fail 'the module does not load'
}

"case_$case" "$@"
printf 'ok  %s\n' "$case"
