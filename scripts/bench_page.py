#!/usr/bin/env python3
"""Writes what a run of scripts/bench.sh measured into docs/performance.md, in
the places marked there, and draws docs/figures/*.svg with gnuplot."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

from bench_results import Results
from bench_targets import number, size_text, targets

WAYS = ("epdx", "epdx_caller", "ucx_am", "ucx_am_event", "ucx_put", "tcp",
        "shm_memcpy")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def target_table(results):
    rows = [[row["name"],
             "-" if row["value"] is None else
             f"{number(row['value'])} {row['unit']}",
             number(row["baseline"]), number(row["ratio"]),
             f"{row['sense']} {row['target']}",
             "yes" if row["met"] else "**no**", row["case"]]
            for row in targets(results)]
    return table(["what", "measured", "against", "ratio", "target", "met",
                  "where"], rows)


def transfer_table(results, subject):
    found = results.find(subject, what="bandwidth")
    rows = []
    for size, window in sorted({(r["size"], r["window"]) for r in found}):
        row = [size_text(size), str(window)]
        for way in WAYS:
            one = results.one(subject, what="bandwidth", way=way, size=size,
                              window=window)
            row.append("-" if one is None else number(one["value"]))
        pair = [results.one(subject, what="bandwidth", way=way, size=size,
                            window=window) for way in WAYS[:2]]
        rows.append(row + [number(one.get("ratio")) if one else "-"
                           for one in pair] +
                    [pair[0].get("baseline", "-")])
    return table(["size", "window", *WAYS, "ratio", "ratio of epdx_caller",
                  "to"], rows)


def transports(results, subject):
    seen = {}
    for row in results.of(subject):
        if row["transport"]:
            seen[row["way"]] = row["transport"]
    return ", ".join(f"`{way}` {what}" for way, what in sorted(seen.items()))


def cold_table(results, subject):
    return table(["way", "MB/s", "ratio"],
                 [[row["way"], number(row["value"]),
                   number(row["ratio"]) if "ratio" in row else ""]
                  for row in results.find(subject, what="cold")])


def control_table(results):
    return table(["step", "mode", "median us", "p50", "p99", "ratio", "to"],
                 [[f"{row['what']} ({row['way']})"
                   if row["way"] != "epdx" else row["what"], row["note"],
                   number(row["value"]), number(row["p50"]),
                   number(row["p99"]),
                   number(row["ratio"]) if "ratio" in row else "",
                   row.get("baseline", "")]
                  for row in results.of("control") if row["what"] != "idle"])


def drain_table(results):
    rows = []
    for ranks in (2, 4, 8):
        for row in results.of(f"drain_{ranks}"):
            if row["way"] not in ("epdx", "epdx_many"):
                continue
            rows.append([str(ranks), str(row.get("pending", 0)),
                         str(row.get("ready", 0)), number(row["value"]),
                         number(row["ratio"]) if "ratio" in row else "",
                         row.get("baseline", "")])
    return table(["ranks", "pending", "ready", "us", "ratio", "to"], rows)


def instructions_table(results):
    rows = [[str(pending), str(count), number(count / pending)]
            for pending, count in sorted(results.instructions().items())]
    return table(["pending", "instructions", "a pending request"], rows)


def reassemble_table(results):
    rows = []
    for ranks in (2, 4):
        for row in results.find(f"reassemble_{ranks}", way="epdx"):
            rows.append([str(ranks), str(row["size"]), str(row["ready"]),
                         number(row["value"]), number(row["ratio"])])
    return table(["ranks", "bytes an item", "items", "MB/s",
                  "of MPI_Allgatherv"], rows)


def trace_table(results):
    return table(["times its rate", "requests", "p50 s", "p99 s", "moved"],
                 [[str(row["ready"]), str(row["pending"]), number(row["p50"]),
                   number(row["p99"]), row["note"]]
                  for row in results.find("trace", what="trace")])


def scale_table(results, name):
    rows = []
    for row in results.find("scale", what=f"law_{name}"):
        points = results.find("scale", what=f"scale_{name}", way=row["way"])
        last = max(points, key=lambda point: point["ranks"])
        rows.append([row["way"], row["unit"], number(points[0]["value"]),
                     f"{number(last['value'])} at {last['ranks']}",
                     row["note"].split(", r2")[0], number(row["low"]),
                     number(row["high"]),
                     f"{number(row['value'])} at {row['ranks']}"])
    return table(["what", "unit", "at 1", "most measured", "law", "a", "b",
                  "carried on"], rows)


def rooms_table(results):
    rows = {}
    for row in results.find("scale", what="scale_rooms"):
        rows.setdefault(row["ranks"], {})[row["way"]] = number(row["value"])
    return table(["rooms", "heap KiB", "encode step us", "prefill step us"],
                 [[str(rooms), ways.get("heap", "-"),
                   ways.get("encode_item", "-"), ways.get("prefill_item", "-")]
                  for rooms, ways in sorted(rows.items())])


PLACES = {
    "targets": target_table,
    "transfer_tcp": lambda r: transfer_table(r, "transfer_tcp"),
    "transfer_host": lambda r: transfer_table(r, "transfer_host"),
    "transports_tcp": lambda r: transports(r, "transfer_tcp"),
    "transports_host": lambda r: transports(r, "transfer_host"),
    "cold": lambda r: cold_table(r, "transfer_tcp"),
    "control": control_table,
    "drain": drain_table,
    "instructions": instructions_table,
    "reassemble": reassemble_table,
    "trace": trace_table,
    "scale_ranks": lambda r: scale_table(r, "ranks"),
    "scale_engines": lambda r: scale_table(r, "engines"),
    "scale_encoders": lambda r: scale_table(r, "encoders"),
    "rooms": rooms_table,
}


def write_page(results, page):
    def fill(match):
        name = match.group(1)
        return (f"<!-- bench: {name} -->\n{PLACES[name](results)}\n"
                "<!-- end -->")

    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"<!-- bench: (\w+) -->\n.*?<!-- end -->", fill,
                           text, flags=re.S), encoding="utf-8")


def write_data(path, head, rows):
    lines = ["# " + " ".join(head)]
    lines += [" ".join(str(value) for value in row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def transfer_data(results, subject, path):
    sizes = sorted({r["size"] for r in results.find(subject, what="bandwidth",
                                                    window=4)})
    rows = []
    for size in sizes:
        row = [size]
        for way in WAYS:
            one = results.one(subject, what="bandwidth", way=way, size=size,
                              window=4)
            row.append("nan" if one is None else one["value"])
        rows.append(row)
    write_data(path, ["size", *WAYS], rows)


def draw(results, figures):
    for subject in ("transfer_tcp", "transfer_host"):
        transfer_data(results, subject, figures / f"{subject}.dat")
    write_data(figures / "drain.dat", ["pending", "epdx", "allreduce"],
               [[row["pending"], row["value"],
                 row["value"] / row["ratio"]]
                for row in results.find("drain_2", way="epdx", ready=0)
                if row.get("pending", 0) > 0])
    write_data(figures / "trace.dat", ["rate", "p50", "p99"],
               [[row["ready"], row["p50"], row["p99"]]
                for row in results.find("trace", what="trace")])
    write_data(figures / "scale.dat", ["ranks", "sockets", "encode_us"],
               [[row["ranks"], row["value"],
                 results.one("scale", what="scale_ranks", way="encode_item",
                             ranks=row["ranks"])["value"]]
                for row in results.find("scale", what="scale_ranks",
                                        way="sockets")])
    if shutil.which("gnuplot") is None:
        print("bench_page: no gnuplot (Debian: gnuplot-nox): figures are left "
              "as they are")
        return
    for script in sorted(figures.glob("*.gp")):
        subprocess.run(["gnuplot", script.name], cwd=figures, check=True)


def main():
    if len(sys.argv) != 3:
        print("usage: bench_page.py RESULTS DOCS", file=sys.stderr)
        return 2
    results, docs = Results(sys.argv[1]), Path(sys.argv[2])
    write_page(results, docs / "performance.md")
    draw(results, docs / "figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
