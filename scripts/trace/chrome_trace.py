"""chrome_trace.py: what trace_merge.py, trace_check.py and trace_draw.py
share: reading a trace, also one whose end is missing, and whose tracks are
whose."""
import json


class Unreadable(Exception):
    """A file is no trace; the words say why."""


def whole(text):
    """The JSON of a trace whose process was killed while it wrote: what was
    written whole, closed."""
    lines = text.rstrip().splitlines()
    while len(lines) > 2:
        try:
            return json.loads("\n".join(lines).rstrip(",") + "\n]}")
        except json.JSONDecodeError:
            lines.pop()
    raise Unreadable("it has no event that is whole")


def load(path):
    """(trace, complete): a trace as JSON, and whether its end is there."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        trace, complete = json.loads(text), True
    except json.JSONDecodeError:
        trace, complete = whole(text), False
    if not isinstance(trace, dict) or not isinstance(
            trace.get("traceEvents"), list):
        raise Unreadable("it is no object with traceEvents")
    return trace, complete


def names(events, what):
    """What process_name or thread_name calls each (pid, tid)."""
    return {(event["pid"], event["tid"]): event["args"]["name"]
            for event in events
            if event.get("ph") == "M" and event.get("name") == what}
