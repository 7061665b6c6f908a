#!/usr/bin/env python3
"""trace_merge.py [-o OUT] TRACE...: one trace of those that the ranks of a
system wrote (EPDX_TRACE_FILE), on one clock. docs/tracing.md says how the
clocks are compared and how far each may be off."""
import argparse
import json
import sys

from chrome_trace import Unreadable, load, names


class Source:
    """One file: its events, and which clock their times are of."""

    def __init__(self, path):
        self.path = path
        trace, self.complete = load(path)
        self.events = trace["traceEvents"]
        self.about = trace.get("otherData", {})
        # Processes of one boot of one machine share a clock.
        self.clock = self.about.get("boot_id") or path
        wall, own = (self.about.get(key) for key in ("realtime_ns",
                                                     "monotonic_ns"))
        self.wall = int(wall) - int(own) if wall and own else None

    def metadata(self, name):
        return [event for event in self.events
                if event["ph"] == "M" and event["name"] == name]


def ns(event):
    return round(event["ts"] * 1000)


def group_bounds(sources):
    """What the groups measured: (clock, clock of its rank 0, offset, error)."""
    measured = []
    roots = {}
    for source in sources:
        for event in source.metadata("epdx_clock"):
            if event["args"]["rank"] == 0:
                roots[event["args"]["group"]] = source.clock
    for source in sources:
        for event in source.metadata("epdx_clock"):
            args = event["args"]
            if args["group"] in roots and args["rank"] != 0:
                measured.append((source.clock, roots[args["group"]],
                                 int(args["offset_ns"]), args["error_ns"]))
    return measured


def flows_between(sources):
    """(clock and time of its start, clock and time of its end) of each flow
    that has both."""
    starts, ends = {}, {}
    for source in sources:
        for event in source.events:
            if event["ph"] == "s":
                starts.setdefault(event["id"], (source.clock, ns(event)))
            elif event["ph"] == "f":
                ends.setdefault(event["id"], (source.clock, ns(event)))
    return [(*starts[key], *ends[key]) for key in starts.keys() & ends.keys()]


def by_group(clock, known, measured):
    """From a measurement with a clock that is known; None without one."""
    best = None
    for one, root, offset, error in measured:
        if one == clock and root in known:
            found = (known[root][0] + offset, known[root][1] + error)
        elif root == clock and one in known:
            found = (known[one][0] - offset, known[one][1] + error)
        else:
            continue
        if best is None or found[1] < best[1]:
            best = found
    return None if best is None else (*best, "measured by the group")


def by_flows(clock, known, flows):
    """Between what must be: nothing comes in before it was sent."""
    least, most = None, None
    for from_clock, sent, to_clock, came in flows:
        if to_clock == clock and from_clock in known:
            bound = sent + known[from_clock][0] - came
            least = bound if least is None else max(least, bound)
        elif from_clock == clock and to_clock in known:
            bound = came + known[to_clock][0] - sent
            most = bound if most is None else min(most, bound)
    return least, most


def by_wall(clock, reference, sources):
    """From the clocks of the wall, as well as those are set."""
    walls = {source.clock: source.wall for source in sources}
    if walls.get(clock) is None or walls.get(reference) is None:
        return 0, "not known: clocks taken as one"
    return walls[clock] - walls[reference], "by the clocks of the wall"


def place(clock, reference, known, sources):
    """(offset, error or None, how) of a clock."""
    measured = by_group(clock, known, group_bounds(sources))
    if measured is not None:
        return measured
    least, most = by_flows(clock, known, flows_between(sources))
    if least is not None and most is not None:
        return ((least + most) // 2, abs(most - least) // 2 + 1,
                "between asks and rows")
    offset, how = by_wall(clock, reference, sources)
    if least is not None and offset < least:
        offset, how = least, how + ", moved behind what it received"
    if most is not None and offset > most:
        offset, how = most, how + ", moved ahead of what it sent"
    return offset, None, how


def clocks_of(sources):
    """By clock: (ns to add, largest error in ns or None, how it is known)."""
    roots = [source.clock for source in sources
             for event in source.metadata("epdx_clock")
             if event["args"]["rank"] == 0]
    reference = roots[0] if roots else sources[0].clock
    known = {reference: (0, 0, "reference")}
    # Those that a group measured first: others may then be compared to them.
    waiting = sorted({source.clock for source in sources} - {reference},
                     key=lambda clock: by_group(clock, known,
                                                group_bounds(sources)) is None)
    for clock in waiting:
        known[clock] = place(clock, reference, known, sources)
    return known


def order(name):
    """Prefill ranks first, each kind by rank."""
    kind, _, rank = name.partition(" rank ")
    return (kind != "prefill", kind, int(rank) if rank.isdigit() else 0)


def renumber(sources):
    """A number for each track of each file, in the order of their names."""
    tracks = [(order(name), index, pid)
              for index, source in enumerate(sources)
              for (pid, _), name in names(source.events,
                                          "process_name").items()]
    return {(index, pid): number
            for number, (_, index, pid) in enumerate(sorted(tracks), 1)}


def merge(sources):
    known = clocks_of(sources)
    numbers = renumber(sources)
    times = [ns(event) + known[source.clock][0] for source in sources
             for event in source.events if "ts" in event]
    start = min(times, default=0)
    merged = []
    for (index, pid), number in numbers.items():
        merged.append({"name": "process_sort_index", "ph": "M", "pid": number,
                       "tid": 0, "args": {"sort_index": number}})
    for index, source in enumerate(sources):
        for event in source.events:
            event = dict(event)
            if event["ph"] == "M" and event["name"] == "epdx_clock":
                continue  # of the clocks before the merge
            event["pid"] = numbers[(index, event["pid"])]
            if "ts" in event:
                shifted = ns(event) + known[source.clock][0] - start
                event["ts"] = shifted / 1000
            merged.append(event)
    clocks = [{"clock": clock, "offset_ns": offset, "error_ns": error,
               "how": how, "files": [source.path for source in sources
                                     if source.clock == clock]}
              for clock, (offset, error, how) in known.items()]
    return {"displayTimeUnit": "ns",
            "otherData": {"files": len(sources), "clocks": clocks},
            "traceEvents": merged}


def report(trace, sources):
    for clock in trace["otherData"]["clocks"]:
        error = ("unknown" if clock["error_ns"] is None
                 else f"{clock['error_ns'] / 1000:.1f} us")
        print(f"clock {clock['clock']}: {clock['offset_ns'] / 1000:+.1f} us, "
              f"error {error} ({clock['how']}): {len(clock['files'])} file(s)",
              file=sys.stderr)
    for source in sources:
        if not source.complete:
            print(f"{source.path}: its end is missing", file=sys.stderr)
        dropped = sum(event["args"]["events"]
                      for event in source.metadata("epdx_dropped"))
        if dropped:
            print(f"{source.path}: {dropped} events are missing; raise "
                  "EPDX_TRACE_EVENTS or EPDX_TRACE_MB", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", default="-", help="default: stdout")
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    options = parser.parse_args()
    sources = []
    for path in options.traces:
        try:
            sources.append(Source(path))
        except (OSError, UnicodeDecodeError, Unreadable) as error:
            sys.exit(f"trace_merge: {path}: {error}")
    trace = merge(sources)
    report(trace, sources)
    text = json.dumps(trace, separators=(",", ":"))
    if options.out == "-":
        print(text)
    else:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
