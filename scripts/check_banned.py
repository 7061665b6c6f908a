#!/usr/bin/env python3
"""Calls that the library does not make: unbounded copies, lax numbers, the
environment, processes; and in the library the clock, which base/clock.c alone
asks."""
import re
import sys

from source import code, is_test, read, report, sources

BANNED = (
    (r"strcpy|strcat|sprintf|vsprintf|gets",
     "does not know the size of its target; use epi_text_copy or snprintf"),
    (r"strtok|atoi|atol|atoll|atof",
     "hides errors; use base/text.h"),
    (r"setenv|putenv|unsetenv|clearenv",
     "changes the environment of the host program and its libraries"),
    (r"system|popen|fork|vfork",
     "starts processes, which neither MPI nor UCX survive"),
)
CLOCK = r"clock_gettime|gettimeofday|time|clock|sleep|usleep|nanosleep"
CLOCK_FILE = "src/base/clock.c"


def main():
    findings = []
    rules = [(re.compile(rf"(?<![\w.>])({names})\s*\("), why)
             for names, why in BANNED]
    clock = re.compile(rf"(?<![\w.>])({CLOCK})\s*\(")
    for path in sources():
        if is_test(path):
            continue
        for number, line in enumerate(code(read(path)).splitlines(), 1):
            for pattern, why in rules:
                for match in pattern.finditer(line):
                    findings.append(
                        f"{path}:{number}: {match.group(1)}() {why}")
            match = clock.search(line)
            if (match and str(path) != CLOCK_FILE
                    and not {"tools", "bench"} & set(path.parts)):
                findings.append(f"{path}:{number}: {match.group(1)}(): time is "
                                "base/clock.h's, waiting is a deadline's")
    return report("banned calls", findings)


if __name__ == "__main__":
    sys.exit(main())
