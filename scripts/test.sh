#!/usr/bin/env bash
# Installs what is missing, builds, checks and tests. CTest speaks last: of the
# last preset, or of the first one that failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'EOF'
usage: scripts/test.sh [options]

Installs missing packages, then builds, checks and tests: dev with scripts/
check.sh, and the whole suite again under the sanitizers (asan, tsan).

  --preset NAME   only this preset of CMakePresets.json: dev, clang, asan or
                  tsan; may be given more than once
  --long          also the tests labelled long, and each fuzz program for a
                  minute
  --no-check      without scripts/check.sh
  --help          this text

Exit status 1 when a check or a test failed, or when no test ran.
EOF
}

presets=()
long=0
check=1
while (($# > 0)); do
    case $1 in
    --preset)
        if (($# < 2)); then
            printf 'test.sh: --preset needs a name; see --help\n' >&2
            exit 2
        fi
        presets+=("$2")
        shift
        ;;
    --long) long=1 ;;
    --no-check) check=0 ;;
    --help) usage && exit 0 ;;
    *) printf 'test.sh: no option %s; see --help\n' "$1" >&2 && exit 2 ;;
    esac
    shift
done
if ((${#presets[@]} == 0)); then
    presets=(dev asan tsan)
fi

# step TITLE COMMAND...: the command's output, under a title with the time.
step() {
    printf -- '--- %s (%ds)\n' "$1" "$SECONDS"
    shift
    "$@"
}

build() {
    step "configure $1" cmake --preset "$1" --log-level=WARNING
    step "build $1" cmake --build --preset "$1" -- --quiet
}

# Tests of several ranks run alone (cmake/EpdxHelpers.cmake), the others two
# at a time.
run_tests() {
    local selection=(--label-exclude '^long$')
    if ((long)); then
        selection=()
    fi
    step "test $1" ctest --preset "$1" --output-on-failure --no-tests=error \
        --parallel 2 "${selection[@]}"
}

# Each fuzz program for a minute, from the texts kept beside its source. What
# it says is shown only when it found something. Called in a condition, where
# set -e rests.
fuzz() {
    local program name kept scratch
    step 'configure fuzz' cmake -S . -B build/fuzz -G Ninja \
        --log-level=WARNING -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_C_COMPILER=clang -DEPDX_BUILD_FUZZERS=ON \
        -DEPDX_BUILD_TESTS=OFF || return 1
    step 'build fuzz' cmake --build build/fuzz -- --quiet || return 1
    while read -r program; do
        name=$(basename "$program")
        case $name in
        fuzz_wire_*) kept=src/wire/corpus/${name#fuzz_wire_} ;;
        fuzz_tools_*) kept=src/tools/corpus/${name#fuzz_tools_} ;;
        *) kept=src/discovery/corpus ;;
        esac
        scratch=build/fuzz/corpus/$name
        mkdir -p "$scratch"
        printf -- '--- %s (%ds)\n' "$name" "$SECONDS"
        if ! "$program" -max_total_time=60 -artifact_prefix="$scratch/" \
            "$scratch" "$kept" >"$scratch.log" 2>&1; then
            tail -n 60 "$scratch.log"
            return 1
        fi
    done < <(find build/fuzz -type f -name 'fuzz_*' -perm -u+x)
}

step packages scripts/deps.sh
status=0
if ((check)); then
    step 'configure dev' cmake --preset dev --log-level=WARNING
    if ! step checks scripts/check.sh build/dev; then
        printf 'test.sh: checks failed; the tests run all the same\n' >&2
        status=1
    fi
fi
if ((long)) && ! fuzz; then
    printf 'test.sh: fuzzing failed; the tests run all the same\n' >&2
    status=1
fi
for preset in "${presets[@]}"; do
    build "$preset"
    run_tests "$preset" || exit 1
done
exit "$status"
