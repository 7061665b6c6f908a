#!/usr/bin/env python3
"""trace_draw.py [--rooms N] [--skip N] -o PICTURE TRACE: a picture (.png or
.svg) of N rooms of a merged trace: a row for each lane on which one of them
is, spans in colours, arrows from where rows were offered to where they were
pulled. Needs gnuplot; exit status 77 without it."""
import argparse
import shutil
import subprocess
import sys

from chrome_trace import Unreadable, load, names

# In the order of the legend. The whole of an item or a room is a frame.
COLOURS = {
    "chunk": "#c5b0d5", "fan-out wait": "#9467bd", "deliver": "#5c2d91",
    "look-up": "#c7c7c7", "lease wait": "#dbdb8d", "ask": "#ffbb78",
    "pull": "#2ca02c", "agreement": "#aec7e8", "reassembly": "#1f77b4",
    "ending": "#d62728", "drain": "#e377c2", "vote": "#8c564b",
    "reasons": "#d62728",
}
WHOLE = ("item", "room")
ROW_PIXELS = 22


def chosen_rooms(events, skip, count):
    """Rooms in the order in which their rows were offered."""
    rooms = []
    for event in sorted((event for event in events
                         if event["ph"] == "s" and event["name"] == "rows"),
                        key=lambda event: event["ts"]):
        if event["args"]["room"] not in rooms:
            rooms.append(event["args"]["room"])
    return set(rooms[skip:skip + count])


def room_of(event):
    return event.get("args", {}).get("room")


def chosen_spans(events, rooms):
    """The spans of the rooms, and the drains that admitted them."""
    own = [event for event in events
           if event["ph"] == "X" and room_of(event) in rooms]
    votes = [(span["pid"], span["ts"], span["ts"] + span["dur"])
             for span in own if span["name"] == "agreement"]
    drains = [event for event in events
              if event["ph"] == "X" and event["tid"] == 0
              and event["name"] in ("drain", "vote", "reasons", "reassembly")
              and any(pid == event["pid"] and event["ts"] - 1 <= end <=
                      event["ts"] + event["dur"] + 1 or
                      event["name"] != "drain" and pid == event["pid"]
                      and abs(event["ts"] - end) <= 50
                      for pid, _, end in votes)]
    return own, drains


def rows_of(spans, events):
    """A row for each lane, from the top: encode ranks, then prefill ranks."""
    processes = names(events, "process_name")
    lanes = sorted({(span["pid"], span["tid"]) for span in spans},
                   key=lambda lane: (not processes[(lane[0], 0)].startswith(
                       "encode"), lane))
    threads = names(events, "thread_name")
    return [(lane, f"{processes[(lane[0], 0)]}, {threads[lane]}")
            for lane in lanes]


def boxes(spans, place, start):
    for span in sorted(spans, key=lambda span: -span["dur"]):
        y = place[(span["pid"], span["tid"])]
        x0 = (span["ts"] - start) / 1000
        x1 = x0 + span["dur"] / 1000
        if span["name"] in WHOLE:
            yield (f"set object rect from {x0:.6f},{y - 0.44} to {x1:.6f},"
                   f"{y + 0.44} fs empty border rgb '#555555' lw 0.8")
        elif span["name"] in COLOURS:
            half = 0.42 if span["name"] == "drain" else 0.32
            yield (f"set object rect from {x0:.6f},{y - half} to {x1:.6f},"
                   f"{y + half} fc rgb '{COLOURS[span['name']]}' fs solid "
                   "noborder")


def arrows(events, rooms, place, start):
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    for event in events:
        if (event["ph"] != "s" or event["name"] != "rows"
                or room_of(event) not in rooms or event["id"] not in ends):
            continue
        end = ends[event["id"]]
        points = [((one["ts"] - start) / 1000, place[(one["pid"], one["tid"])])
                  for one in (event, end)]
        yield (f"set arrow from {points[0][0]:.6f},{points[0][1]} to "
               f"{points[1][0]:.6f},{points[1][1]} size graph 0.006,20 filled "
               "lw 0.7 lc rgb '#333333' front")


def script(out, events, rooms):
    spans, drains = chosen_spans(events, rooms)
    if not spans:
        sys.exit("trace_draw: no rows were offered in this trace")
    spans += drains
    rows = rows_of(spans, events)
    place = {lane: len(rows) - index for index, (lane, _) in enumerate(rows)}
    start = min(span["ts"] for span in spans)
    end = max(span["ts"] + span["dur"] for span in spans)
    height = 130 + ROW_PIXELS * len(rows)
    terminal = ("svg size 1200,{h} font 'sans,11' background 'white'"
                if out.endswith(".svg") else
                "pngcairo size 1200,{h} font 'sans,10'").format(h=height)
    used = [name for name in COLOURS
            if any(span["name"] == name for span in spans)]
    ticks = ", ".join(f"'{name}' {place[lane]}" for lane, name in rows)
    keys = ", ".join(f"NaN with lines lw 8 lc rgb '{COLOURS[name]}' "
                     f"title '{name}'" for name in used)
    return "\n".join([
        f"set terminal {terminal}", f"set output '{out}'",
        "set key outside top center horizontal samplen 1.5",
        f"set ytics ({ticks}) scale 0", "set xlabel 'milliseconds'",
        f"set xrange [0:{(end - start) / 1000:.6f}]",
        f"set yrange [0.4:{len(rows) + 0.6}]", "set border 3",
        "set xtics nomirror", *boxes(spans, place, start),
        *arrows(events, rooms, place, start), f"plot {keys}", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", type=int, default=3)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("trace")
    options = parser.parse_args()
    if shutil.which("gnuplot") is None:
        print("trace_draw: gnuplot is missing (Debian: gnuplot-nox)")
        return 77
    try:
        trace, _ = load(options.trace)
    except (OSError, UnicodeDecodeError, Unreadable) as error:
        sys.exit(f"trace_draw: {options.trace}: {error}")
    events = trace["traceEvents"]
    rooms = chosen_rooms(events, options.skip, options.rooms)
    subprocess.run(["gnuplot"], input=script(options.out, events, rooms),
                   text=True, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
