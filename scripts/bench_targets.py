#!/usr/bin/env python3
"""Which targets a run of scripts/bench.sh meets: a table, or with --json one
object on one line. Each target is a row: what was measured, against what, their
ratio, the target, and whether it is met. Where a target is about several cases
the worst one counts."""
import json
import sys

from bench_results import Results

MIB = 1 << 20
LARGE = [MIB, 4 * MIB, 16 * MIB, 64 * MIB]
WINDOW = 4
DRAIN_RANKS = (2, 4, 8)
GATHER_RANKS = (2, 4)


def target(name, sense, limit, case=None):
    """A row; case is (value, unit, baseline, ratio, what), or None where it was
    not measured."""
    row = {"name": name, "value": None, "unit": "", "baseline": None,
           "ratio": None, "sense": sense, "target": limit, "met": False,
           "case": "not measured"}
    if case is not None:
        value, unit, baseline, ratio, what = case
        row.update(value=value, unit=unit, baseline=baseline, ratio=ratio,
                   case=what)
        row["met"] = ratio >= limit if sense == ">=" else ratio <= limit
    return row


def worst(cases, sense):
    cases = [case for case in cases if case is not None]
    pick = min if sense == ">=" else max
    return pick(cases, key=lambda case: case[3]) if cases else None


def size_text(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // 1024} KiB"


def transfer(results, subject, size, baseline=None):
    """The faster of epdx's two ways, I/O threads or its callers, against the
    fastest bare loop, which spins or sleeps."""
    cases = [transfer_way(results, subject, size, way, baseline)
             for way in ("epdx", "epdx_caller")]
    cases = [case for case in cases if case is not None]
    return max(cases, key=lambda case: case[3]) if cases else None


def transfer_way(results, subject, size, way, baseline):
    ours = results.one(subject, what="bandwidth", way=way, size=size,
                       window=WINDOW)
    if ours is None:
        return None
    name = baseline or ours["baseline"]
    theirs = results.one(subject, what="bandwidth", way=name, size=size,
                         window=WINDOW)
    if theirs is None:
        return None
    ratio = (ours["ratio"] if name == ours.get("baseline")
             else ours["value"] / theirs["value"])
    return (ours["value"], ours["unit"], theirs["value"], ratio,
            f"{size_text(size)}, window {WINDOW}, {way}, {ours['transport']}, "
            f"against {name} over {theirs['transport']}")


def land(results, mode):
    ours = results.one("control", what="land", note=mode)
    theirs = results.one("control", what="round_trip", way="ucx_am_rtt",
                         note=mode)
    if ours is None or theirs is None:
        return None
    return (ours["value"], "us", theirs["value"], ours["ratio"],
            f"a row of 64 bytes, {ours['transport']}")


def drain_few(results):
    cases = []
    for ranks in DRAIN_RANKS:
        for pending in (1, 64):
            ours = results.one(f"drain_{ranks}", way="epdx", pending=pending,
                               ready=0)
            theirs = results.one(f"drain_{ranks}", way="mpi_allreduce",
                                 pending=pending, ready=0)
            if ours is not None and theirs is not None:
                cases.append((ours["value"], "us", theirs["value"],
                              ours["ratio"],
                              f"{ranks} ranks, {pending} pending"))
    return worst(cases, "<=")


def drain_many(results):
    cases = []
    for ranks in DRAIN_RANKS:
        ours = results.one(f"drain_{ranks}", way="epdx_many")
        if ours is not None:
            cases.append((ours["value"], "us", ours["value"] / ours["ratio"],
                          ours["ratio"], f"{ranks} ranks"))
    return worst(cases, "<=")


def reassembly(results):
    """Of a whole drain: 8 items and more."""
    cases = []
    for ranks in GATHER_RANKS:
        for ours in results.find(f"reassemble_{ranks}", way="epdx"):
            theirs = results.one(f"reassemble_{ranks}", way="mpi_allgatherv",
                                 size=ours["size"], ready=ours["ready"])
            if ours["ready"] >= 8 and theirs is not None:
                cases.append((ours["value"], "MB/s", theirs["value"],
                              ours["ratio"],
                              f"{ranks} ranks, {ours['ready']} items of "
                              f"{ours['size']} bytes"))
    return worst(cases, ">=")


def heap(results):
    calls = results.heap_calls()
    if calls is None:
        return None
    return (calls[0], "calls an item", 0, calls[0],
            f"and {calls[1]:g} of ZeroMQ, {calls[2]:g} of UCX")


def idle(results):
    row = results.one("control", what="idle")
    if row is None:
        return None
    return (row["value"], row["unit"], 100, row["value"] / 100,
            "a receiver with its threads, connected")


def targets(results):
    return [
        target("transfer, TCP loopback, 1-64 MiB", ">=", 0.90,
               worst([transfer(results, "transfer_tcp", size)
                      for size in LARGE], ">=")),
        target("transfer, TCP loopback, 64 KiB", ">=", 0.75,
               transfer(results, "transfer_tcp", 65536)),
        target("transfer, same host, 1-64 MiB, failure detection on", ">=",
               0.85, worst([transfer(results, "transfer_host", size, "ucx_put")
                            for size in LARGE], ">=")),
        target("land latency, receiver busy", "<=", 3.0,
               land(results, "busy")),
        target("land latency, receiver asleep", "<=", 2.0,
               land(results, "asleep")),
        target("drain, nothing ready, <= 64 pending", "<=", 1.5,
               drain_few(results)),
        target("drain, 4096 pending, nothing changed", "<=", 2.0,
               drain_many(results)),
        target("reassembly of a drain, host", ">=", 0.9, reassembly(results)),
        target("heap allocations, steady state", "<=", 0, heap(results)),
        target("idle receiver with 0 pending", "<=", 0.01, idle(results)),
    ]


def number(value):
    return "-" if value is None else f"{value:.4g}"


def main():
    arguments = sys.argv[1:]
    as_json = "--json" in arguments
    folders = [argument for argument in arguments if argument != "--json"]
    if len(folders) != 1:
        print("usage: bench_targets.py [--json] RESULTS", file=sys.stderr)
        return 2
    rows = targets(Results(folders[0]))
    if as_json:
        print(json.dumps({"targets": rows}, separators=(",", ":")))
        return 0
    for row in rows:
        print(f"{'met' if row['met'] else 'NOT':4}{row['name']:<54}"
              f"{number(row['value']):>9} / {number(row['baseline']):<9} = "
              f"{number(row['ratio']):<8}{row['sense']} {row['target']:<5} "
              f"{row['case']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
