#!/usr/bin/env -S python3 -B
"""What real programs tell of themselves: metrics by HTTP and in files, traces
that are merged, checked and drawn, logs as JSON."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request

from system import Skip, check, main

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
TRACE = os.path.join(TOP, "scripts", "trace")
sys.path.append(os.path.join(TOP, "scripts", "metrics"))
import exposition  # noqa: E402

RANKS = 4
ROWS = 60
COUNT = 12
SHAPE = ("--hidden", 512)
REASONS = 17


def engine(system, encode, workload, *words, settings=None):
    return system.prefill(
        "engine", RANKS, "--workload", workload, *SHAPE, "--encode",
        encode.address, "--pool-mb", 16, "--verify", *words,
        settings=settings)


def scrape(process):
    """The metrics server that a process said it has: its text and values."""
    found = process.wait(r"metrics are at (http://\S+)$").found[1]
    with urllib.request.urlopen(found, timeout=20) as answer:
        check(answer.headers["Content-Type"].startswith(
            "text/plain; version=0.0.4"), str(answer.headers))
        text = answer.read().decode()
    return text, exposition.parse(text)


def one(values, name, **labels):
    """The value of the one series of a name with these labels."""
    found = [value for (sample, pairs), value in values.items()
             if sample == name and set(labels.items()) <= set(pairs)]
    check(len(found) == 1, f"{len(found)} series {name} {labels}")
    return found[0]


def total(values, name):
    return sum(value for (sample, _), value in values.items()
               if sample == name)


def held(system, settings):
    """An encode rank that has sent nothing yet, and ranks that wait for it."""
    workload = system.workload([[ROWS]] * COUNT)
    encode = system.encode("encode", "--workload", workload, *SHAPE,
                           "--ring-mb", 16, "--hold", 0, settings=settings)
    prefill = engine(system, encode, workload, settings=settings)
    encode.wait(rf"hold: 0 items sent, {COUNT * RANKS} asks came")
    return encode, prefill


def case_metrics_live(system):
    """While requests wait: each process answers, and says for how long."""
    encode, prefill = held(system, {"EPDX_METRICS": "127.0.0.1:0"})
    for rank in prefill.ranks:
        def waits(rank=rank):
            values = scrape(rank)[1]  # gauges follow one after the other
            return (one(values, "epdx_receiver_requests_pending") == COUNT
                    and one(values, "epdx_admission_requests_pending") == COUNT
                    and one(values, "epdx_receiver_leases") == COUNT
                    and one(values,
                            "epdx_receiver_lookup_seconds_count") == COUNT
                    and values)
        values = system.wait_until(waits, 30)
        check(values, f"rank {rank.rank} does not show what is pending")
        check(one(values, "epdx_receiver_oldest_pending_seconds",
                  rank=str(rank.rank)) > 0, "they have no age")
        check(one(values, "epdx_receiver_pull_seconds_count") == 0, "pulls")
    text, values = scrape(encode)
    check(one(values, "epdx_sender_asks_total") == COUNT * RANKS, text)
    check(one(values, "epdx_sender_rooms_open") == COUNT, text)
    check(one(values, "epdx_sender_peers") == RANKS, text)
    check(one(values, "epdx_sender_registered") == 1, text)
    encode.send(signal.SIGUSR1)
    check(prefill.exit_status() == 0, f"exit status {prefill.exit_status()}")
    text, values = scrape(encode)
    check(one(values, "epdx_sender_rooms_done_total") == COUNT, text)
    check(one(values, "epdx_sender_deliver_seconds_count") == COUNT, text)


def files_of(system, pattern):
    return sorted(glob.glob(os.path.join(system.work, pattern)))


def case_metrics_files(system):
    """What is in the files at the end is what the ranks report."""
    where = {"EPDX_METRICS_FILE": os.path.join(system.work, "m.%r.prom")}
    workload = system.workload([[ROWS]] * COUNT + [[40000]])  # never fits
    encode = system.encode(
        "encode", "--workload", workload, *SHAPE, "--requests", COUNT,
        "--ring-mb", 16, "--once",
        settings={"EPDX_METRICS_FILE": os.path.join(system.work, "e.prom")})
    prefill = engine(system, encode, workload, settings=where)
    check(prefill.exit_status() == 1, f"exit status {prefill.exit_status()}")
    said = prefill.json()
    check(encode.exit_status() == 0, f"exit status {encode.exit_status()}")
    for rank in range(RANKS):
        with open(os.path.join(system.work, f"m.{rank}.prom"),
                  encoding="utf-8") as file:
            values = exposition.parse(file.read())
        check(one(values, "epdx_receiver_landed_bytes_total")
              == said["bytes_received_per_rank"][rank], "bytes")
        check(one(values, "epdx_admission_requests_admitted_total") == COUNT
              and total(values, "epdx_admission_requests_failed_total") == 1
              and one(values, "epdx_admission_requests_failed_total",
                      reason="too_large") == 1, "requests by outcome")
        check(one(values, "epdx_receiver_item_seconds_count") == COUNT
              and one(values, "epdx_admission_landed_wait_seconds_count")
              == COUNT, "times of items")
        check(one(values, "epdx_admission_collectives_total", kind="ballot")
              == said["collectives"]["ballot"], "collectives")
        check(one(values, "epdx_receiver_pool_leased_bytes") == 0, "leases")
    check(not files_of(system, "*.part"), "parts are left")


def case_promtool(system):
    """Prometheus' own tool has nothing to say."""
    if shutil.which("promtool") is None:
        raise Skip("promtool is missing (Debian: prometheus)")
    encode, prefill = held(system, {"EPDX_METRICS": "127.0.0.1:0"})
    for process in [encode, *prefill.ranks]:
        text, _ = scrape(process)
        done = subprocess.run(["promtool", "check", "metrics"], input=text,
                              text=True, capture_output=True, check=False)
        check(done.returncode == 0 and not done.stderr,
              f"promtool: {done.returncode} {done.stderr}")
    encode.send(signal.SIGUSR1)
    check(prefill.exit_status() == 0, f"exit status {prefill.exit_status()}")


def traced(system):
    """The traces of an encode rank and an engine that served COUNT requests of
    two items."""
    settings = {"EPDX_TRACE_FILE": os.path.join(system.work, "t.%r.json")}
    workload = system.workload([[ROWS, ROWS]] * COUNT)
    encode = system.encode(
        "encode", "--workload", workload, *SHAPE, "--ring-mb", 16, "--once",
        settings={"EPDX_TRACE_FILE": os.path.join(system.work, "e.json")})
    prefill = engine(system, encode, workload, settings=settings)
    check(prefill.exit_status() == 0, f"exit status {prefill.exit_status()}")
    check(encode.exit_status() == 0, f"exit status {encode.exit_status()}")
    return files_of(system, "t.*.json"), os.path.join(system.work, "e.json")


def script(name, *words, want=0):
    done = subprocess.run([sys.executable, "-B", os.path.join(TRACE, name),
                           *words], text=True, capture_output=True,
                          check=False)
    check(done.returncode == want, f"{name}: {done.returncode} {done.stdout} "
          f"{done.stderr}")
    return done.stdout + done.stderr


def merged(system, *files):
    out = os.path.join(system.work, "merged.json")
    said = script("trace_merge.py", "-o", out, *files)
    script("trace_check.py", "--merged", out)
    with open(out, encoding="utf-8") as file:
        return json.load(file), said


def spans(trace, name):
    return [event for event in trace["traceEvents"]
            if event["ph"] == "X" and event["name"] == name]


def case_trace(system):
    """Every item of every rank, phase by phase, with an arrow for each ask and
    each share of rows."""
    ranks, encode = traced(system)
    check(len(ranks) == RANKS, f"files: {ranks}")
    said = script("trace_check.py", *ranks, encode)
    trace, _ = merged(system, *ranks, encode)
    items = 2 * COUNT
    for name in ("item", "look-up", "ask", "pull", "agreement", "reassembly"):
        mine = [span for span in spans(trace, name) if span["cat"] == "item"]
        check(len(mine) == items * RANKS, f"{len(mine)} spans {name}; {said}")
    for name in ("room", "chunk", "fan-out wait", "deliver"):
        check(len(spans(trace, name)) == items,
              f"{len(spans(trace, name))} spans {name}")
    check(spans(trace, "drain") and spans(trace, "vote"), "no drains")
    for ph in "sf":
        flows = [event for event in trace["traceEvents"] if event["ph"] == ph]
        check(len({event["id"] for event in flows}) == 2 * items * RANKS,
              f"{len(flows)} flows {ph}")
    processes = [event["args"]["name"] for event in trace["traceEvents"]
                 if event["ph"] == "M" and event["name"] == "process_name"]
    check(sorted(processes) == ["encode rank 0"]
          + [f"prefill rank {rank}" for rank in range(RANKS)],
          str(processes))


def shift(path, by_ns, groups=True):
    """A trace as another machine's clock would have told it."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    about = trace["otherData"]
    about["boot_id"] = "another-" + os.path.basename(path)
    about["monotonic_ns"] = str(int(about["monotonic_ns"]) + by_ns)
    kept = []
    for event in trace["traceEvents"]:
        if "ts" in event:
            event["ts"] = (round(event["ts"] * 1000) + by_ns) / 1000
        if event["name"] == "epdx_clock":
            args = event["args"]
            args["offset_ns"] = str(int(args["offset_ns"]) - by_ns)
            if not groups:
                continue
        kept.append(event)
    trace["traceEvents"] = kept
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace, file)


def clock(trace, path):
    return next(clock for clock in trace["otherData"]["clocks"]
                if path in clock["files"])


def case_trace_clocks(system):
    """Clocks that are apart are put together again: a rank's as its group
    measured it, an encode rank's between asks and rows."""
    ranks, encode = traced(system)
    trace, said = merged(system, *ranks, encode)
    check([clock["how"] for clock in trace["otherData"]["clocks"]]
          == ["reference"], f"of one machine: {said}")
    by = {ranks[1]: 5_000_000_000, ranks[2]: -3_000_000, encode: -7_000_000_000}
    for path, by_ns in by.items():
        shift(path, by_ns)
    trace, said = merged(system, *ranks, encode)
    for path, how in ((ranks[1], "measured by the group"),
                      (ranks[2], "measured by the group"),
                      (encode, "between asks and rows")):
        found = clock(trace, path)
        check(found["how"] == how, f"{path}: {found}")
        check(abs(found["offset_ns"] + by[path]) <= found["error_ns"],
              f"{path}: {found}, and it was shifted by {by[path]}")
        check(found["error_ns"] < 500_000_000, f"{path}: {found}")
    # Without either, the clocks of the wall must do, and say so.
    shift(ranks[3], 11_000_000_000, groups=False)
    out = os.path.join(system.work, "two.json")
    script("trace_merge.py", "-o", out, ranks[0], ranks[3])
    with open(out, encoding="utf-8") as file:
        found = clock(json.load(file), ranks[3])
    check(found["how"] == "by the clocks of the wall"
          and found["error_ns"] is None, str(found))
    check(abs(found["offset_ns"] + 11_000_000_000) < 1_000_000_000,
          str(found))


def case_trace_killed(system):
    """What a killed process had written can be read; its end is missed."""
    encode, prefill = held(system, {"EPDX_TRACE_FILE": os.path.join(
        system.work, "k.%p.json")})
    path = os.path.join(system.work, f"k.{encode.pid}.json")
    check(os.path.exists(path), f"{path} is not there")
    for rank in prefill.ranks:
        rank.find()
    encode.send(signal.SIGKILL)
    encode.wait_end()
    with open(path, "a", encoding="utf-8") as file:
        file.write('\n{"name":"cut o')  # as a write that was cut off leaves it
    said = script("trace_merge.py", "-o", os.devnull, path)
    check("its end is missing" in said, said)
    said = script("trace_check.py", path, want=1)
    check("its end is missing" in said, said)


def case_trace_picture(system):
    """A merged trace is drawn."""
    if shutil.which("gnuplot") is None:
        raise Skip("gnuplot is missing (Debian: gnuplot-nox)")
    ranks, encode = traced(system)
    merged(system, *ranks, encode)
    for kind, head in (("png", b"\x89PNG\r\n"), ("svg", b"<?xml")):
        out = os.path.join(system.work, f"trace.{kind}")
        script("trace_draw.py", "-o", out,
               os.path.join(system.work, "merged.json"))
        with open(out, "rb") as file:
            picture = file.read()
        check(picture.startswith(head) and len(picture) > 10000,
              f"{out}: {len(picture)} bytes")


def case_logs_json(system):
    """A log of JSON lines, of which a flood is cut short and counted."""
    log = os.path.join(system.work, "encode.%h.%p.%r.log")
    workload = system.workload([[ROWS]] * COUNT)
    encode = system.start(
        "encode", [system.program("epdx_encode"), "--host", "127.0.0.1",
                   "--workload", workload, *SHAPE, "--ring-mb", 16,
                   "--timeout", 1, "--once"],
        settings={"EPDX_LOG_FILE": log, "EPDX_LOG_FORMAT": "json",
                  "EPDX_LOG_BURST": 3})
    encode.address = encode.wait(r": bootstrap (\S+)$").found[1]
    prefill = engine(system, encode, workload, "--requests", 1)
    check(prefill.exit_status() == 0, f"exit status {prefill.exit_status()}")
    check(encode.exit_status() == 1, f"exit status {encode.exit_status()}")
    files = files_of(system, f"encode.*.{encode.pid}.0.log")
    check(len(files) == 1, f"files: {files}")
    with open(files[0], encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    check(all(sorted(line) == ["host", "level", "pid", "rank", "text", "time"]
              and line["pid"] == encode.pid for line in lines), str(lines[:1]))
    failed = [line["text"] for line in lines if "no asks came" in line["text"]]
    check(len(failed) == 3 and "more like this one are left out" in failed[2],
          str(failed))


if __name__ == "__main__":
    main(globals())
