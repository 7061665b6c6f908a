#!/usr/bin/env python3
"""The files and tests that README.md, docs/ and slurm/ name are there. A word
in backticks that looks like a path of this tree must be one, from the top or
from src/, or a file of mpi_tests/faults/. A word in backticks after a *_test.c
on the same line must be the name of something in it, one after a file of
faults/ a case in it that CTest runs. A test's own line names its file. Where a
table ends in the test that shows a row, every row names one, or says "not shown
by a test"."""
import re
import sys

from source import TOP, report

WORD = re.compile(r"`([^`]+)`")
PATH = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+/?")
NAME = re.compile(r"[a-z][a-z0-9_]*")
FAULTS = TOP / "mpi_tests" / "faults"
FAULT = re.compile(r"(?:faults/)?([a-z_]+\.py)")
CASES = re.compile(r"epdx_fault_tests\((\w+)([^)]*)\)")
SHOWN = re.compile(r"\| (shown by|test) \|$")
TESTS = re.compile(r"`[^`]+(_test\.c|\.py)`|`mpi_tests/|not shown by a test")
ROOTS = ("cmake", "docs", "include", "man", "mpi_tests", "scripts", "slurm",
         "src", "workloads")


def resolve(word):
    """Where a path of this tree lies; None of another."""
    first = word.split("/")[0]
    if first in ROOTS:
        return TOP / word
    if (TOP / "src" / first).is_dir():
        return TOP / "src" / word
    return None


def fault_names(path):
    """The cases of a file of faults/ that are written and registered."""
    lists = (TOP / "mpi_tests" / "CMakeLists.txt").read_text(encoding="utf-8")
    written = re.findall(r"^def case_(\w+)\(", path.read_text(encoding="utf-8"),
                         re.M)
    run = [name for file, names in CASES.findall(lists) if file == path.stem
           for name in names.split()]
    return " ".join(name for name in written if name in run)


def missing_in(line):
    test = None
    text = ""
    for word in WORD.findall(line):
        fault = FAULT.fullmatch(word)
        if fault and (FAULTS / fault.group(1)).exists():
            test = word
            text = fault_names(FAULTS / fault.group(1))
        elif fault and word.startswith("faults/"):
            yield f"{word} is not there"
        elif PATH.fullmatch(word):
            path = resolve(word)
            test = None
            if path is not None and not path.exists():
                yield f"{word} is not there"
            elif path is not None and word.endswith("_test.c"):
                test = word
                text = path.read_text(encoding="utf-8")
        elif test and NAME.fullmatch(word):
            if not re.search(rf"\b{word}\b", text):
                yield f"{test} has no {word}"


def unshown(lines):
    """Numbers of table rows that name no test where their table has one."""
    shown = False
    for number, line in enumerate(lines, 1):
        shown = line.startswith("|") and (shown or bool(SHOWN.search(line)))
        if (shown and not SHOWN.search(line) and not line.startswith("|---")
                and not TESTS.search(line.rstrip("| ").rpartition("| ")[2])):
            yield number


def main():
    findings = []
    documents = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md")),
                 *sorted((TOP / "slurm").glob("*.md")),
                 TOP / "scripts" / "packaging" / "README.md"]
    for document in documents:
        name = document.relative_to(TOP)
        text = document.read_text(encoding="utf-8")
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            findings += [f"{name}:{number}: {words}"
                         for words in missing_in(line)]
        findings += [f"{name}:{number}: the row names no test that shows it"
                     for number in unshown(lines)]
    return report("doc names", findings)


if __name__ == "__main__":
    sys.exit(main())
