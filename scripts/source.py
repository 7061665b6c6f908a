"""source.py: what the checks share: which files there are, and C without its
comments and texts."""
import re
import sys
from functools import cache
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "mpi_tests")


def sources():
    """Every .c and .h of the repository, as paths from its top."""
    found = []
    for folder in FOLDERS:
        for path in (TOP / folder).rglob("*.[ch]"):
            found.append(path.relative_to(TOP))
    return sorted(found)


@cache
def read(path):
    return (TOP / path).read_text(encoding="utf-8")


@cache
def is_test(path):
    """Tests, what only tests use (its .c or .h asserts with cmocka), and fuzz
    programs."""
    if ("_test" in path.name or path.name.startswith("fuzz_")
            or path.parts[0] == "mpi_tests"
            or path.parts[:2] == ("src", "testing")):
        return True
    pair = (path.with_suffix(".c"), path.with_suffix(".h"))
    return any((TOP / one).is_file() and "#include <cmocka.h>" in read(one)
               for one in pair)


TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code(text):
    """text with comments and the insides of texts blanked, lines kept."""
    def blank(match):
        piece = match.group(0)
        if piece[0] == "/":
            return re.sub(r"[^\n]", " ", piece)
        return piece[0] + " " * (len(piece) - 2) + piece[-1]
    return TOKENS.sub(blank, text)


def report(gate, findings):
    """One line for a clean gate, else each finding; the exit status."""
    if not findings:
        print(f"ok  {gate}")
        return 0
    for finding in findings:
        print(finding)
    print(f"{gate}: {len(findings)} finding(s)", file=sys.stderr)
    return 1
