#!/usr/bin/env python3
"""Every public call has a comment: a sentence, then what it says of Shapes,
Units, Owns, Threads and Errors, in this order."""
import re
import sys

from source import read, report, sources

LABELS = ("Shapes", "Units", "Owns", "Threads", "Errors")
CALL = re.compile(r"^EPDX_API\b[^;{]*?(epdx_\w+)\s*\(", re.M)


def comment_before(text, start):
    """The /** comment that ends right before start, or None."""
    before = text[:start].rstrip()
    if not before.endswith("*/"):
        return None
    begin = before.rfind("/*")
    return before[begin:] if before.startswith("/**", begin) else None


def wrong(comment):
    if comment is None:
        return "has no /** comment right before it"
    lines = [re.sub(r"^\s*/?\*+/? ?", "", line).rstrip()
             for line in comment.splitlines()]
    if not any(lines[:2]) or any(lines[0].startswith(f"{label}:")
                                 for label in LABELS):
        return "does not begin with a sentence"
    found = [label for line in lines for label in LABELS
             if re.match(rf"{label}:\s+\S", line)]
    missing = [label for label in LABELS if label not in found]
    if missing:
        return f"does not say: {', '.join(missing)}"
    if found != list(LABELS):
        return f"must have its lines once each, in order: {', '.join(LABELS)}"
    return None


def main():
    findings = []
    count = 0
    for path in sources():
        if path.parts[0] != "include":
            continue
        text = read(path)
        for match in CALL.finditer(text):
            count += 1
            rule = wrong(comment_before(text, match.start()))
            if rule:
                line = text.count("\n", 0, match.start()) + 1
                findings.append(f"{path}:{line}: {match.group(1)} {rule}")
    if count == 0:
        findings.append("include/epdx: no EPDX_API call was found")
    return report("docs", findings)


if __name__ == "__main__":
    sys.exit(main())
