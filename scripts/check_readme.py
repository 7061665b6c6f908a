#!/usr/bin/env python3
"""The programs that README.md shows are those that are compiled: each C block
equals its file in mpi_tests/ from the first #include on. What stands before
that is the file's own comment. The first difference is printed. And README's
table of settings has every setting of src/base/options.c, and none else."""
import itertools
import re
import sys

from source import TOP, report

README = "README.md"
EXAMPLES = ("mpi_tests/readme_example.c", "mpi_tests/readme_encode.c")
OPTIONS = "src/base/options.c"
SETTING = re.compile(r'"(EPDX_[A-Z0-9_]+)"')
ROW = re.compile(r"\| `(EPDX_[A-Z0-9_]+)` \|")


def lines_of(path):
    return (TOP / path).read_text(encoding="utf-8").splitlines()


def readme_blocks():
    """Of each C block: the index of its first line, and its lines."""
    lines = lines_of(README)
    blocks = []
    start = None
    for index, line in enumerate(lines):
        if start is None and line == "```c":
            start = index + 1
        elif start is not None and line == "```":
            blocks.append((start, lines[start:index]))
            start = None
    return blocks


def program_of(path):
    lines = lines_of(path)
    for index, line in enumerate(lines):
        if line.startswith("#include"):
            return index, lines[index:]
    return len(lines), []


def difference(shown, path, compiled):
    pairs = itertools.zip_longest(shown[1], compiled[1])
    for index, (left, right) in enumerate(pairs):
        if left != right:
            return [f"{README}:{shown[0] + index + 1}: {left!r}",
                    f"{path}:{compiled[0] + index + 1}: {right!r}"]
    return []


def programs():
    blocks = readme_blocks()
    if len(blocks) != len(EXAMPLES):
        return [f"{README}: has {len(blocks)} closed blocks that begin with "
                f"```c, not {len(EXAMPLES)}"]
    findings = []
    for shown, path in zip(blocks, EXAMPLES):
        findings += difference(shown, path, program_of(path))
    return findings


def settings():
    known = SETTING.findall("\n".join(lines_of(OPTIONS)))
    rows = [match.group(1) for match in map(ROW.match, lines_of(README))
            if match]
    findings = [f"{README}: {name} is in the table more than once"
                for name in sorted(set(rows)) if rows.count(name) > 1]
    findings += [f"{README}: {name} of {OPTIONS} is not in the table"
                 for name in sorted(set(known) - set(rows))]
    findings += [f"{README}: {name} is in the table, not in {OPTIONS}"
                 for name in sorted(set(rows) - set(known))]
    return findings


def main():
    return report("readme", programs() + settings())


if __name__ == "__main__":
    sys.exit(main())
