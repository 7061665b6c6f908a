#!/usr/bin/env python3
"""Who may include whom. A part includes only parts of a smaller row, and each
foreign library is known to one folder. Tests may also include src/testing."""
import re
import sys
from pathlib import Path

from source import is_test, read, report, sources

ROWS = (
    ("base",),
    ("shard", "wire", "pool", "metrics", "trace"),
    ("memory", "dataplane", "control", "discovery", "group"),
    ("io", "cudaplane", "observe"),
    ("receive", "sender", "reassembly", "bootstrap"),
    ("admission",),
    ("testing",),
    ("tools",),
    ("bench",),
)
ROW_OF = {part: row for row, parts in enumerate(ROWS) for part in parts}
# Within one row: a plane registers memory through the memory's operations.
BESIDE = {("dataplane", "memory")}

# Foreign header, whose it is, and whether a path (from the top) is there.
FOREIGN = (
    (r"uc[pstm]/", "src/dataplane, and src/bench",
     lambda p: part_of(p) in ("dataplane", "bench")),
    (r"zmq\.h", "src/control, and src/bench",
     lambda p: part_of(p) in ("control", "bench")),
    (r"curl/", "src/discovery", lambda p: part_of(p) == "discovery"),
    (r"(cjson/)?cJSON\.h", "src/discovery, and tools named *json*",
     lambda p: part_of(p) == "discovery" or is_test(p)
     or part_of(p) == "tools" and "json" in p.name),
    (r"microhttpd\.h", "src/bootstrap and src/observe",
     lambda p: part_of(p) in ("bootstrap", "observe")),
    (r"nvtx3/", "files named *nvtx*", lambda p: "nvtx" in p.name),
    (r"cuda", "src/memory", lambda p: part_of(p) == "memory"),
    (r"nccl\.h", "files named *nccl*", lambda p: "nccl" in p.name),
    (r"dlpack/", "include/epdx/dlpack.h", lambda p: p.name == "dlpack.h"),
    (r"mpi\.h", "files named *mpi*, and mpi_tests",
     lambda p: "mpi" in p.name or p.parts[0] == "mpi_tests"),
    (r"(cmocka|setjmp)\.h", "tests", is_test),
)
# C11, POSIX and Linux; anything else is a library that has no folder yet.
SYSTEM = re.compile(
    r"(sys|net|netinet|arpa|linux|sanitizer)/\w+\.h|(assert|ctype|dirent|dlfcn"
    r"|endian|errno|fcntl|getopt|ifaddrs|inttypes|limits|locale|malloc|math|netdb|poll|pthread|sched"
    r"|semaphore|signal|spawn|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib"
    r"|string|strings|time|unistd)\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]')


def part_of(path):
    return path.parts[1] if path.parts[0] == "src" else path.parts[0]


def foreign(path, header):
    for pattern, owner, allowed in FOREIGN:
        if re.match(pattern, header):
            if allowed(path) or part_of(path) == "testing":
                return None
            return f"<{header}> belongs to {owner}"
    if SYSTEM.fullmatch(header):
        return None
    return f"<{header}> is in no row of FOREIGN or SYSTEM in check_layers.py"


def own(path, header):
    mine, their = part_of(path), header.split("/")[0]
    if "/" not in header:
        return None if mine == "mpi_tests" else (
            f'"{header}" must be written "part/{header}"')
    if their == "epdx":
        return None
    if mine == "include":
        return f'"{header}" is internal; public headers include public ones'
    if their not in ROW_OF:
        return f'"{header}" is in no row of check_layers.py'
    if is_test(Path("src", header)):
        return None if is_test(path) else (
            f'"{header}" is for tests; nothing else may need it')
    if mine == "mpi_tests" or mine == their or (mine, their) in BESIDE:
        return None
    if mine not in ROW_OF:
        return f"src/{mine} is in no row of check_layers.py"
    if mine != "testing" and ROW_OF[their] >= ROW_OF[mine]:
        return (f'"{header}": {mine} (row {ROW_OF[mine] + 1}) includes only '
                f"smaller rows, {their} is in row {ROW_OF[their] + 1}")
    return None


def main():
    findings = []
    for path in sources():
        for number, line in enumerate(read(path).splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            rule = (foreign if match.group(1) == "<" else own)(path,
                                                               match.group(2))
            if rule:
                findings.append(f"{path}:{number}: {rule}")
    return report("layers", findings)


if __name__ == "__main__":
    sys.exit(main())
