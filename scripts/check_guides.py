#!/usr/bin/env python3
"""The guides are of this source: every text of docs/operate.md's tables of error
texts is one that the source can say ("..." stands for what varies), docs/tune.md
has every setting once, and the blocks of the guides are in order (docs_test.py,
which runs them)."""
import re
import sys

from docs_test import DOCUMENTS, blocks_of, check
from source import TOP, is_test, read, report, sources

OPERATE = "docs/operate.md"
TUNE = "docs/tune.md"
HEADING = "## What each text means"
ROW = re.compile(r"^\| `([^`]+)` \|")
SETTING = re.compile(r'"(EPDX_[A-Z0-9_]+)"')
# Adjacent C literals are one text; a PRI macro between two is a conversion.
LITERALS = re.compile(
    r'"(?:\\.|[^"\\\n])*"(?:\s*(?:PRI\w+|"(?:\\.|[^"\\\n])*"))*')
PIECE = re.compile(r'PRI\w+|"((?:\\.|[^"\\\n])*)"')
CONVERSION = re.compile(
    r"%[-+ #0-9.*]*(?:\0|(?:hh|h|ll|l|z|j|t)?[diouxXeEfgGcsp])")


def texts():
    """What the source can say, "..." for each conversion."""
    found = []
    for path in sources():
        if path.parts[0] != "src" or is_test(path):
            continue
        for literals in LITERALS.findall(read(path)):
            text = "".join("\0" if piece.group(0).startswith("PRI")
                           else piece.group(1)
                           for piece in PIECE.finditer(literals))
            text = text.replace('\\"', '"')
            found.append(CONVERSION.sub("...", text))
    return found


def fits(text, said):
    """Whether said has text, where "..." in it stands for anything."""
    return re.search(".*".join(map(re.escape, text.split("..."))), said)


def error_texts():
    lines = (TOP / OPERATE).read_text(encoding="utf-8").splitlines()
    known = texts()
    at = lines.index(HEADING)
    count = 0
    for number, line in enumerate(lines[at:], at + 1):
        row = ROW.match(line)
        if row is None:
            continue
        count += 1
        if not any(fits(row.group(1), said) for said in known):
            yield f"{OPERATE}:{number}: nothing says `{row.group(1)}`"
    if count == 0:
        yield f"{OPERATE}: has no error texts"


def settings():
    known = SETTING.findall(
        (TOP / "src/base/options.c").read_text(encoding="utf-8"))
    lines = (TOP / TUNE).read_text(encoding="utf-8").splitlines()
    rows = [match.group(1) for match in map(ROW.match, lines)
            if match and match.group(1).startswith("EPDX_")]
    for name in sorted(set(known) | set(rows)):
        if name not in known:
            yield f"{TUNE}: {name} is no setting"
        elif rows.count(name) != 1:
            yield f"{TUNE}: {name} is there {rows.count(name)} times, not once"


def main():
    findings = [*error_texts(), *settings()]
    for name in DOCUMENTS:
        text = (TOP / name).read_text(encoding="utf-8")
        findings += check(name, blocks_of(text))
    return report("guides", findings)


if __name__ == "__main__":
    sys.exit(main())
