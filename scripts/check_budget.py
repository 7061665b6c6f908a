#!/usr/bin/env python3
"""How large things may get. Tests and fuzz programs are held to their own
lines per file and to the columns only."""
import re
import shutil
import subprocess
import sys

from source import TOP, code, is_test, read, report, sources

FILE_LINES = 500
TEST_FILE_LINES = 800
FUNCTION_LINES = 60
COMPLEXITY = 15
PARAMETERS = 5
COLUMNS = 80

# Functions whose parameters a foreign library dictates.
DICTATED = {
    ("src/observe/metrics_http.c", "on_request"),  # libmicrohttpd
    ("src/bench/raw_ucx.c", "on_counted"),  # UCX
    ("src/bench/raw_ucx_am.c", "on_item"),  # UCX
    ("src/bootstrap/http_server.c", "on_query_field"),  # libmicrohttpd
    ("src/bootstrap/http_server.c", "on_request"),  # libmicrohttpd
    ("src/dataplane/ucx_transfer.c", "epi_ucx_on_first"),  # UCX
    ("src/dataplane/ucx_mapped.c", "epi_ucx_on_confirm"),  # UCX
    ("src/dataplane/ucx_transfer.c", "epi_ucx_on_offer"),  # UCX
    ("src/dataplane/ucx_transfer.c", "epi_ucx_on_placed"),  # UCX
}


def of_lines(path, text):
    limit = TEST_FILE_LINES if is_test(path) else FILE_LINES
    lines = text.splitlines()
    if len(lines) > limit:
        yield f"{path}:{limit + 1}: {len(lines)} lines, at most {limit}"
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            yield f"{path}:{number}: a tab; indent with spaces"
        if len(line) > COLUMNS:
            yield (f"{path}:{number}: {len(line)} columns, "
                   f"at most {COLUMNS}")


def parameter_count(text, line, name):
    """Parameters of the function whose head is at line."""
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    match = re.compile(rf"\b{name}\s*\(").search(text, start)
    if match is None:
        return 0
    depth, commas, end = 1, 0, match.end()
    while depth > 0 and end < len(text):
        character = text[end]
        depth += (character == "(") - (character == ")")
        commas += character == "," and depth == 1
        end += 1
    inside = text[match.end():end - 1].strip()
    if inside in ("", "void"):
        return 0
    return commas + 1 - inside.endswith("...")


def of_functions(paths):
    command = ["pmccabe", *map(str, paths)]
    listed = subprocess.run(command, cwd=TOP, capture_output=True, text=True,
                            check=True).stdout
    texts = {str(path): code(read(path)) for path in paths}
    for row in listed.splitlines():
        _, complexity, _, line, length, where = row.split("\t")
        path, name = re.fullmatch(r"(.*)\(\d+\): (\w+)", where).groups()
        head = f"{path}:{line}: {name}"
        if int(length) > FUNCTION_LINES:
            yield f"{head}: {length} lines, at most {FUNCTION_LINES}"
        if int(complexity) > COMPLEXITY:
            yield f"{head}: complexity {complexity}, at most {COMPLEXITY}"
        count = parameter_count(texts[path], int(line), name)
        if count > PARAMETERS and (path, name) not in DICTATED:
            yield (f"{head}: {count} parameters, at most {PARAMETERS}; "
                   "take a struct")


def main():
    if shutil.which("pmccabe") is None:
        print("budget: pmccabe is missing (Debian: pmccabe)")
        return 1
    findings = []
    for path in sources():
        findings += of_lines(path, read(path))
    findings += of_functions([path for path in sources()
                              if not is_test(path)])
    return report("budget", findings)


if __name__ == "__main__":
    sys.exit(main())
