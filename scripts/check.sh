#!/usr/bin/env bash
# Every gate that needs no test to run. Each prints "ok  <gate>" or what it
# found; exit status 1 when one of them found something.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    cat <<'EOF'
usage: scripts/check.sh [BUILD]

Runs every gate: format, layers, docs, budget, banned calls, doc names, readme, guides,
headers, exports, man, metrics, packaging, tidy.
BUILD is a configured build folder, for clang-tidy (build/dev).
EOF
}
if [[ ${1:-} == --help ]]; then
    usage
    exit 0
fi
build=${1:-build/dev}

# The tool of version 14, under either name; others format and warn otherwise.
tool_14() {
    local name
    for name in "$1-14" "$1"; do
        if command -v "$name" >/dev/null &&
            "$name" --version | grep -q 'version 14\.'; then
            printf '%s' "$name"
            return 0
        fi
    done
    printf '%s: version 14 is missing (Debian: %s-14)\n' "$1" "$1" >&2
    return 1
}

gate_format() {
    local tool files
    tool=$(tool_14 clang-format) || return 1
    files=$(find include src mpi_tests -name '*.[ch]' -print0 |
        xargs -0 "$tool" --dry-run 2>&1 |
        sed -n 's/^\([^ :]*\):[0-9:]* warning:.*/\1/p' | sort -u) || return 1
    if [[ -n $files ]]; then
        printf 'not as clang-format -i leaves them:\n%s\n' "$files"
        return 1
    fi
    printf 'ok  format\n'
}

# The library's and the programs' sources, as the build compiles them.
gate_tidy() {
    local tool files
    tool=$(tool_14 clang-tidy) || return 1
    if [[ ! -f $build/compile_commands.json ]]; then
        printf 'tidy: %s/compile_commands.json is missing; configure first\n' \
            "$build"
        return 1
    fi
    files=$(scripts/tidy_files.py "$build/compile_commands.json") || return 1
    # One file each: the analyzer of version 14 mistakes va_start in the second.
    xargs -P "$(nproc)" -n 1 "$tool" --quiet -p "$build" <<<"$files" \
        2> >(grep -v 'warnings\? generated\|^Suppressed\|^Use -' >&2) ||
        return 1
    printf 'ok  tidy (%d files)\n' "$(wc -l <<<"$files")"
}

failed=()
gate() {
    if ! "$@"; then
        failed+=("$1")
    fi
}
gate gate_format
gate scripts/check_layers.py
gate scripts/check_docs.py
gate scripts/check_budget.py
gate scripts/check_banned.py
gate scripts/check_doc_names.py
gate scripts/check_readme.py
gate scripts/check_guides.py
gate scripts/check_headers.sh
gate scripts/check_exports.py
gate scripts/check_man.py
gate scripts/check_metrics.py
gate scripts/check_packaging.py
gate gate_tidy
if ((${#failed[@]} > 0)); then
    printf 'check: failed: %s\n' "${failed[*]}" >&2
    exit 1
fi
