#!/usr/bin/env python3
"""trace_check.py [--merged] TRACE...: whether each file has the form of a
Chrome trace, as Perfetto and chrome://tracing read it: the fields of every
event, spans that nest, flows that are tied to spans. With --merged also that
flows have both ends and lead forward, as far as the clocks allow. Exit status
1 where one has not."""
import argparse
import sys

from chrome_trace import Unreadable, load, names

FIELDS = {
    "X": {"name": str, "cat": str, "ts": (int, float), "dur": (int, float),
          "pid": int, "tid": int, "args": dict},
    "M": {"name": str, "pid": int, "tid": int, "args": dict},
    "s": {"name": str, "cat": str, "id": str, "ts": (int, float), "pid": int,
          "tid": int},
    "f": {"name": str, "cat": str, "id": str, "ts": (int, float), "pid": int,
          "tid": int, "bp": str},
}
SHOWN = 10
# Times are written to the nanosecond; sums of two of them may be off by one.
SLACK_US = 0.0021


def of_form(event):
    """What is wrong with an event's fields."""
    if not isinstance(event, dict) or event.get("ph") not in FIELDS:
        return f"ph is none of {', '.join(FIELDS)}"
    for field, kind in FIELDS[event["ph"]].items():
        if not isinstance(event.get(field), kind):
            return f"{field} is missing, or of the wrong kind"
        if field in ("ts", "dur") and event[field] < 0:
            return f"{field} is below 0"
    return None


def lanes(events):
    found = {}
    for event in events:
        if event["ph"] == "X":
            found.setdefault((event["pid"], event["tid"]), []).append(event)
    for spans in found.values():
        spans.sort(key=lambda span: (span["ts"], -span["dur"]))
    return found


def nesting(spans):
    """Spans of a lane that cross another."""
    open_until = []
    for span in spans:
        end = span["ts"] + span["dur"]
        while open_until and open_until[-1] <= span["ts"] + SLACK_US:
            open_until.pop()
        if open_until and end > open_until[-1] + SLACK_US:
            yield f"span {span['name']} at {span['ts']} crosses its neighbour"
        open_until.append(end)


def tied(event, spans):
    return any(span["ts"] - SLACK_US <= event["ts"] <=
               span["ts"] + span["dur"] + SLACK_US for span in spans)


def untied(events, by_lane):
    for event in events:
        if event["ph"] in "sf":
            spans = by_lane.get((event["pid"], event["tid"]), [])
            if not tied(event, spans):
                yield (f"flow {event['id']} ({event['ph']}) at {event['ts']} "
                       "is in no span")


def one_sided(events, error_us):
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    for key in sorted(ends.keys() - starts.keys()):
        yield f"flow {key} ends and never starts"
    for key in starts.keys() & ends.keys():
        back = starts[key]["ts"] - ends[key]["ts"]
        if back > error_us + SLACK_US:
            yield f"flow {key} leads {back:.3f} us back in time"


def unnamed(events):
    processes = names(events, "process_name")
    threads = names(events, "thread_name")
    for pid, tid in sorted({(event["pid"], event["tid"]) for event in events
                            if event["ph"] != "M"}):
        if (pid, 0) not in processes:
            yield f"process {pid} has no name"
        if (pid, tid) not in threads:
            yield f"lane {tid} of process {pid} has no name"


def clock_error_us(trace):
    clocks = trace.get("otherData", {}).get("clocks", [])
    errors = [clock["error_ns"] for clock in clocks]
    if None in errors:
        return float("inf")
    return 2 * max(errors, default=0) / 1000


def findings(trace, merged, complete):
    events = trace["traceEvents"]
    for index, event in enumerate(events):
        wrong = of_form(event)
        if wrong:
            yield f"event {index}: {wrong}"
            return
    dropped = sum(event["args"]["events"] for event in events
                  if event["ph"] == "M" and event["name"] == "epdx_dropped")
    by_lane = lanes(events)
    yield from unnamed(events)
    if dropped == 0:
        for spans in by_lane.values():
            yield from nesting(spans)
        if complete:  # else spans that had begun are not told
            yield from untied(events, by_lane)
        if merged:
            yield from one_sided(events, clock_error_us(trace))


def summary(trace):
    events = trace["traceEvents"]
    count = {ph: sum(event["ph"] == ph for event in events) for ph in FIELDS}
    pids = {event["pid"] for event in events}
    return (f"{len(pids)} tracks, {count['X']} spans, {count['s']} flows, of "
            f"which {count['f']} end here")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--merged", action="store_true")
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    options = parser.parse_args()
    failed = False
    for path in options.traces:
        try:
            trace, complete = load(path)
        except (OSError, UnicodeDecodeError, Unreadable) as error:
            print(f"{path}: {error}")
            failed = True
            continue
        found = list(findings(trace, options.merged, complete))
        found += [] if complete else ["its end is missing"]
        for finding in found[:SHOWN]:
            print(f"{path}: {finding}")
        failed = failed or bool(found)
        if not found:
            print(f"{path}: ok: {summary(trace)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
