#!/usr/bin/env python3
"""The .c files of a compile_commands.json that are no tests, one a line."""
import json
import sys
from pathlib import Path

from source import TOP, is_test


def main():
    files = set()
    for entry in json.loads(Path(sys.argv[1]).read_text()):
        path = Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(TOP) and path.suffix == ".c":
            path = path.relative_to(TOP)
            if path.parts[0] == "src" and not is_test(path):
                files.add(str(path))
    if not files:
        print("tidy: no source in compile_commands.json", file=sys.stderr)
        return 1
    print("\n".join(sorted(files)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
