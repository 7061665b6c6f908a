#!/usr/bin/env python3
"""src/libepdx.map exports every call of the public headers, each once, and
nothing else."""
import re
import sys

from check_docs import CALL
from source import TOP, read, report, sources

MAP = "src/libepdx.map"
NAME = re.compile(r"^\s*(\w+);", re.M)


def main():
    listed = NAME.findall((TOP / MAP).read_text(encoding="utf-8"))
    calls = set()
    for path in sources():
        if path.parts[0] == "include":
            calls.update(CALL.findall(read(path)))
    findings = [f"{MAP}: {name} is there more than once"
                for name in sorted(set(listed)) if listed.count(name) > 1]
    findings += [f"{MAP}: {name} of include/epdx/ is missing; it goes into "
                 "the node of the next release"
                 for name in sorted(calls - set(listed))]
    findings += [f"{MAP}: {name} is in no public header"
                 for name in sorted(set(listed) - calls)]
    return report("exports", findings)


if __name__ == "__main__":
    sys.exit(main())
