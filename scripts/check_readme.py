#!/usr/bin/env python3
"""The program that README.md shows is the one that is compiled: its first C
block equals mpi_tests/readme_example.c from the first #include on. What stands
before that is the file's own comment. The first difference is printed."""
import itertools
import sys

from source import TOP, report

README = "README.md"
EXAMPLE = "mpi_tests/readme_example.c"


def lines_of(path):
    return (TOP / path).read_text(encoding="utf-8").splitlines()


def readme_block():
    """The index of its first line and the lines of the block, or None."""
    lines = lines_of(README)
    try:
        start = lines.index("```c") + 1
        return start, lines[start:lines.index("```", start)]
    except ValueError:
        return None


def example_program():
    lines = lines_of(EXAMPLE)
    for index, line in enumerate(lines):
        if line.startswith("#include"):
            return index, lines[index:]
    return None


def difference(shown, compiled):
    pairs = itertools.zip_longest(shown[1], compiled[1])
    for index, (left, right) in enumerate(pairs):
        if left != right:
            return [f"{README}:{shown[0] + index + 1}: {left!r}",
                    f"{EXAMPLE}:{compiled[0] + index + 1}: {right!r}"]
    return []


def main():
    shown = readme_block()
    compiled = example_program()
    if shown is None:
        findings = [f"{README}: has no closed block that begins with ```c"]
    elif compiled is None:
        findings = [f"{EXAMPLE}: has no #include"]
    else:
        findings = difference(shown, compiled)
    return report("readme", findings)


if __name__ == "__main__":
    sys.exit(main())
