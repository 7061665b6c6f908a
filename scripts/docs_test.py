#!/usr/bin/env python3
"""docs_test.py BUILD [DOCUMENT...]: runs the commands that the guides show. The
C that they show is in programs of the build.

A fence says what is done with its block:

    ```sh run            run in bash, from a folder that looks like the top of
                         the tree, with BUILD as build/release; it must end
                         with 0. Of a block that is to fail: ```sh run 1
    ```sh norun (why)    not run; the reason is in the parentheses
    ```text              right after a block that was run: what it printed. A
                         line of it must be a line of the output, where "..."
                         stands for anything; a line "..." says nothing
    ```c FILE            lines that stand in a row in FILE, whatever their
                         indentation; "..." alone on a line leaves some out

Blocks of a document run in order in one folder. What a block starts in the
background ends with it. Every ```sh block must say which it is."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from source import TOP, report

DOCUMENTS = ("docs/deploy.md", "docs/integrate.md", "docs/metrics.md",
             "docs/operate.md", "docs/tracing.md", "docs/tune.md",
             "slurm/README.md")
FENCE = re.compile(r"^```(\w*)\s*(.*)$")
RUN = re.compile(r"run( \d+)?")
NORUN = re.compile(r"norun \(.{10,}\)")
LIMIT_S = 120
# Ends what the block started, by the ids that bash keeps.
HEAD = """set -euo pipefail
finish() {
    local status=$? pid
    for pid in $(jobs -p); do kill -TERM "$pid" 2>/dev/null || true; done
    wait
    exit "$status"
}
trap finish EXIT
"""


class Block:
    """A fenced block: where it begins, what its fence says, its lines."""

    def __init__(self, line, language, words):
        self.line = line
        self.language = language
        self.words = words.strip()
        self.lines = []


def blocks_of(text):
    found, block = [], None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if block is None and fence:
            block = Block(number, *fence.groups())
            found.append(block)
        elif block is not None and line == "```":
            block = None
        elif block is not None:
            block.lines.append(line)
    return found


def pattern(line):
    return re.compile(".*".join(map(re.escape, line.split("..."))))


def missing_text(block, said):
    """The first line of a ```text block that was not printed."""
    printed = [line.rstrip() for line in said.splitlines()]
    for line in block.lines:
        if line.strip() in ("", "..."):
            continue
        wanted = pattern(line.rstrip())
        if not any(wanted.fullmatch(one) for one in printed):
            return line
    return None


def missing_code(block):
    """The first line of a ```c block that its file does not go on with."""
    path = TOP / block.words
    if not path.is_file():
        return f"{block.words} is not there"
    lines = [line.strip() for line in
             path.read_text(encoding="utf-8").splitlines()]
    at, free = 0, True
    for line in (line.strip() for line in block.lines):
        if line == "...":
            free = True
            continue
        try:
            place = lines.index(line, at)
        except ValueError:
            return f"{block.words} has no {line!r} there"
        if not free and place != at:
            return f"{block.words} does not go on with {line!r}"
        at, free = place + 1, False
    return None


def check(name, blocks):
    for block in blocks:
        where = f"{name}:{block.line}"
        if block.language == "sh" and not (RUN.fullmatch(block.words) or
                                           NORUN.fullmatch(block.words)):
            yield f"{where}: the fence must say run or norun (why)"
        if block.language == "c":
            words = missing_code(block)
            if words:
                yield f"{where}: {words}"


def tree_with(build, folder):
    """A folder that looks like the top of the tree, built."""
    for entry in TOP.iterdir():
        if entry.name not in ("build", ".git"):
            (folder / entry.name).symlink_to(entry)
    (folder / "build").mkdir()
    (folder / "build" / "release").symlink_to(build)


def environment(folder):
    """More ranks than cores, as root if need be; no settings of the caller, but
    UCX_MEM_..., without which nothing runs under the thread sanitizer."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("EPDX_", "SLURM_", "UCX_"))
            or name.startswith("UCX_MEM_")}
    kept.update({
        "PATH": f"{folder}/build/release/bin:{kept['PATH']}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader",
        "OMPI_MCA_oob_tcp_if_include": "lo"})
    return kept


def run_block(block, folder):
    """What it printed, and what was wrong."""
    wanted = int(block.words.split()[1]) if " " in block.words else 0
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(
            ["bash", "-c", HEAD + "\n".join(block.lines)], cwd=folder,
            env=environment(folder), stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            time.sleep(3)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = f"nothing after {LIMIT_S} s"
        out.seek(0)
        said = out.read()
    if status != wanted:
        return said, f"ended with {status}, not {wanted}:\n{said}"
    return said, None


def run(name, blocks, folder):
    said = None
    for block in blocks:
        where = f"{name}:{block.line}"
        if block.language == "sh" and block.words.startswith("run"):
            said, wrong = run_block(block, folder)
            print(f"{where}: {block.lines[0] if block.lines else ''}",
                  flush=True)
            if wrong:
                yield f"{where}: {wrong}"
                return
        elif block.language == "text" and said is not None:
            line = missing_text(block, said)
            if line is not None:
                yield f"{where}: {line!r} was not printed, but:\n{said}"
            said = None
        else:
            said = None


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    build = Path(sys.argv[1]).resolve()
    findings = []
    for name in sys.argv[2:] or DOCUMENTS:
        blocks = blocks_of((TOP / name).read_text(encoding="utf-8"))
        findings += check(name, blocks)
        if not findings:
            folder = Path(tempfile.mkdtemp(prefix="epdx-docs-"))
            try:
                tree_with(build, folder)
                findings += run(name, blocks, folder)
            finally:
                shutil.rmtree(folder)
    return report("doc commands", findings)


if __name__ == "__main__":
    sys.exit(main())
