#!/usr/bin/env python3
"""docs/metrics.md has every metric of src/metrics/catalog.c, with its type and
labels, and none else; docs/tracing.md every span of src/trace/chrome.c; and the
dashboard's queries name only metrics and labels that there are."""
import json
import re
import sys

from source import TOP, report

CATALOG = "src/metrics/catalog.c"
CHROME = "src/trace/chrome.c"
DASHBOARD = "scripts/metrics/grafana.json"
FAMILY = re.compile(r'(ONE\((?:COUNTER|GAUGE)|AGE|BY|TIME)[(,]\s*'
                    r'"(epdx_\w+)",\s*\w+,(?:\s*"(\w+)",)?')
ROW = re.compile(r"\| `(epdx_\w+)` \| (\w+) \| (?:`(\w+)`)? ?\|")
SPAN = re.compile(r'\[EPI_NAME_\w+\] = \{"([^"]+)", "(\w+)"')
KINDS = {"ONE(COUNTER": "counter", "ONE(GAUGE": "gauge", "AGE": "gauge",
         "BY": "counter", "TIME": "histogram"}
COMMON = {"rank", "object"}
# Of the one metric that is not in the catalog.
BUILD = ("epdx_build_info", "gauge", "version")


def text_of(path):
    return (TOP / path).read_text(encoding="utf-8")


def catalog():
    """By name: type, and the label beside rank and object."""
    found = {BUILD[0]: BUILD[1:]}
    for kind, name, label in FAMILY.findall(text_of(CATALOG)):
        found[name] = (KINDS[kind], label)
    return found


def of_docs(known):
    page = "docs/metrics.md"
    listed = {name: (kind, label)
              for name, kind, label in ROW.findall(text_of(page))}
    for name in sorted(known.keys() - listed.keys()):
        yield f"{page}: {name} of {CATALOG} is not in its tables"
    for name in sorted(listed.keys() - known.keys()):
        yield f"{page}: {name} is not in {CATALOG}"
    for name in sorted(known.keys() & listed.keys()):
        if known[name] != listed[name]:
            yield f"{page}: {name} is {known[name]}, not {listed[name]}"


def of_tracing():
    page = "docs/tracing.md"
    text = text_of(page)
    for name, category in SPAN.findall(text_of(CHROME)):
        if not re.search(rf"^\| `{re.escape(name)}` \| {category} \|", text,
                         re.M):
            yield f"{page}: no row for `{name}` of {category}"


def queries(panel):
    for inner in panel.get("panels", []):
        yield from queries(inner)
    for target in panel.get("targets", []):
        yield panel.get("title", "?"), target["expr"]


def series(known):
    """Every name that a query may have, with its labels."""
    for name, (kind, label) in known.items():
        labels = COMMON | ({label} if label else set())
        if name == BUILD[0]:
            labels = {BUILD[2]}
        if kind != "histogram":
            yield name, labels
        for ending in ("_bucket", "_sum", "_count") * (kind == "histogram"):
            yield name + ending, labels | ({"le"} if ending == "_bucket"
                                           else set())


def of_dashboard(known):
    names = dict(series(known))
    # Those that Prometheus adds, and those of the dashboard's own variables.
    scraped = {"job", "instance"}
    dashboard = json.loads(text_of(DASHBOARD))
    found = [query for panel in dashboard["panels"]
             for query in queries(panel)]
    if not found:
        yield f"{DASHBOARD}: has no query"
    for title, query in found:
        used = re.findall(r"\bepdx_\w+", query)
        if not used:
            yield f"{DASHBOARD}: {title}: {query} names no metric"
        for name in used:
            if name not in names:
                yield f"{DASHBOARD}: {title}: there is no {name}"
        allowed = scraped.union(*(names.get(name, set()) for name in used))
        groups = re.findall(r"\bby \(([^)]*)\)", query)
        labels = re.findall(r"(\w+)\s*=~?\s*\"", query)
        labels += [label.strip() for group in groups
                   for label in group.split(",")]
        for label in labels:
            if label not in allowed:
                yield f"{DASHBOARD}: {title}: {label} is no label of {used}"


def main():
    known = catalog()
    findings = [] if len(known) > 40 else [f"{CATALOG}: is not read"]
    findings += of_docs(known)
    findings += of_tracing()
    findings += of_dashboard(known)
    return report("metrics", findings)


if __name__ == "__main__":
    sys.exit(main())
