#!/usr/bin/env python3
"""exposition.py FILE...: whether each file (- is standard input) is what
Prometheus' text format 0.0.4 and its conventions want: names, types, help,
labels, values, buckets. Exit status 1 where one is not. parse() gives the
values."""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
COMMENT = re.compile(rf"# (HELP|TYPE) ({NAME}) (.+)")
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
VALUE = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?Inf|NaN")
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")
# Base units only: https://prometheus.io/docs/practices/naming/
UNITS = re.compile(r"_(milliseconds|microseconds|nanoseconds|minutes|hours|"
                   r"kilobytes|megabytes|mib|gib|percent|ms|us|ns)(_|$)")


class Malformed(Exception):
    """The text is not of the format; the words say where and why."""


class Family:
    def __init__(self):
        self.help = None
        self.type = None
        self.samples = []  # (name, labels, value)
        self.closed = False  # another one has begun


def labels_of(text, line):
    found, at = {}, 0
    while text and at < len(text):
        match = LABEL.match(text, at)
        if not match or match[1] in found:
            raise Malformed(f"line {line}: labels are malformed or double")
        found[match[1]] = match[2]
        at = match.end()
        if match[3] == "," and at == len(text):
            raise Malformed(f"line {line}: labels end with a comma")
    return found


def family_of(name, families):
    """A histogram's samples have longer names than itself."""
    for ending in ("_bucket", "_sum", "_count", ""):
        if name.endswith(ending):
            family = families.get(name[:len(name) - len(ending)])
            if family and (family.type == "histogram") == bool(ending):
                return name[:len(name) - len(ending)]
    return None


def take_comment(match, families, line):
    kind, name, text = match.groups()
    family = families.setdefault(name, Family())
    if family.samples or getattr(family, kind.lower()) is not None:
        raise Malformed(f"line {line}: {kind} of {name} comes late or twice")
    if kind == "TYPE" and text not in TYPES:
        raise Malformed(f"line {line}: type {text} is none")
    setattr(family, kind.lower(), text)


def take_sample(match, families, line):
    name, labels, value = match.groups()
    owner = family_of(name, families)
    if owner is None or families[owner].type is None:
        raise Malformed(f"line {line}: {name} has no TYPE")
    if families[owner].closed:
        raise Malformed(f"line {line}: samples of {owner} are not together")
    if not VALUE.fullmatch(value):
        raise Malformed(f"line {line}: {value} is no value")
    for other, family in families.items():
        family.closed = family.closed or other != owner and bool(
            family.samples)
    families[owner].samples.append((name, labels_of(labels, line),
                                    float(value)))


def check_histogram(name, family):
    series = {}
    for sample, labels, value in family.samples:
        rest = tuple(sorted((key, text) for key, text in labels.items()
                            if key != "le"))
        part = series.setdefault(rest, {"bucket": []})
        if sample == name + "_bucket":
            part["bucket"].append((float(labels["le"]), value))
        else:
            part[sample[len(name) + 1:]] = value
    for rest, part in series.items():
        bounds = [bound for bound, _ in part["bucket"]]
        counts = [count for _, count in part["bucket"]]
        if (bounds != sorted(set(bounds)) or bounds[-1:] != [float("inf")]
                or counts != sorted(counts)):
            raise Malformed(f"{name} {dict(rest)}: buckets are not in order")
        if "sum" not in part or part.get("count") != counts[-1]:
            raise Malformed(f"{name} {dict(rest)}: sum or count is missing, or "
                            "is not that of the buckets")


def check_family(name, family):
    if family.help is None or family.type is None or not family.samples:
        raise Malformed(f"{name} lacks its help, its type or its samples")
    if (family.type == "counter") != name.endswith("_total"):
        raise Malformed(f"{name}: _total is the ending of counters alone")
    if UNITS.search(name):
        raise Malformed(f"{name}: units are seconds and bytes")
    if family.type != "gauge" and any(value < 0 for *_, value
                                      in family.samples):
        raise Malformed(f"{name}: below 0")
    if family.type == "histogram":
        check_histogram(name, family)


def parse(text):
    """By name and labels, sorted, as a tuple of pairs: the values."""
    if text and not text.endswith("\n"):
        raise Malformed("the last line has no end")
    families, values = {}, {}
    for number, line in enumerate(text.splitlines(), 1):
        comment, sample = COMMENT.fullmatch(line), SAMPLE.fullmatch(line)
        if comment:
            take_comment(comment, families, number)
        elif sample and not line.startswith("#"):
            take_sample(sample, families, number)
        else:
            raise Malformed(f"line {number}: neither comment nor sample")
    for name, family in families.items():
        check_family(name, family)
        for sample, labels, value in family.samples:
            key = (sample, tuple(sorted(labels.items())))
            if key in values:
                raise Malformed(f"{sample} {labels} is there twice")
            values[key] = value
    return values


def main():
    failed = False
    for path in sys.argv[1:]:
        try:
            with (sys.stdin if path == "-" else
                  open(path, encoding="utf-8")) as file:
                values = parse(file.read())
            print(f"{path}: ok: {len(values)} values")
        except (OSError, UnicodeDecodeError, Malformed) as error:
            print(f"{path}: {error}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
