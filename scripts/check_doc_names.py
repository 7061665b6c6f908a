#!/usr/bin/env python3
"""The files and tests that README.md, docs/ and slurm/ name are there. A word
in backticks that looks like a path of this tree must be one, from the top or
from src/. A word in backticks after a *_test.c on the same line must be the
name of something in it. A test's own line names its file; `not shown by a
test yet` needs none."""
import re
import sys

from source import TOP, report

WORD = re.compile(r"`([^`]+)`")
PATH = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+/?")
NAME = re.compile(r"[a-z][a-z0-9_]*")
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


def missing_in(line):
    test = None
    text = ""
    for word in WORD.findall(line):
        if PATH.fullmatch(word):
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


def main():
    findings = []
    documents = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md")),
                 *sorted((TOP / "slurm").glob("*.md")),
                 TOP / "scripts" / "packaging" / "README.md"]
    for document in documents:
        name = document.relative_to(TOP)
        text = document.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            findings += [f"{name}:{number}: {words}"
                         for words in missing_in(line)]
    return report("doc names", findings)


if __name__ == "__main__":
    sys.exit(main())
