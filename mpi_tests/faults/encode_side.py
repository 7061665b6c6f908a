#!/usr/bin/env -S python3 -B
"""What an encode rank does where asks or rows stay out: each room ends by its
deadline, who asked is told, others go on, ring and tables come back to empty.
"""
import signal

from system import BOUND_S, PATIENCE_S, check, main, measured

SHAPE = ("--hidden", 1024)
ROWS = 60
RANKS = 2
DEADLINE_S = 2  # of a room at the encode rank


def start(system, count, *words):
    workload = system.workload([[ROWS]] * count)
    return workload, system.encode(
        "encode", "--workload", workload, *SHAPE, "--ring-mb", 1, "--timeout",
        DEADLINE_S, *words)


def engine(system, workload, encode, *words):
    return system.prefill(
        "engine", RANKS, "--workload", workload, *SHAPE, "--encode",
        encode.address, "--pool-mb", 16, "--verify", *words)


def empty(encode, delivered, failed):
    said = encode.json()
    check((said["delivered"], said["failed"]) == (delivered, failed)
          and (said["rooms_open"], said["ring_leased_bytes"]) == (0, 0),
          f"JSON of encode: {said}")


def case_no_asks(system):
    """Rows that nobody asks for make way."""
    asked, unasked = 4, 20  # the ring holds 8
    workload, encode = start(system, asked + unasked, "--once")
    prefill = engine(system, workload, encode, "--requests", asked)
    check(prefill.exit_status() == 0, f"exit status {prefill.exit_status()}")
    ended = prefill.json()
    check(ended["admitted"] == asked, f"JSON: {ended}")
    check(encode.exit_status() == 1, f"exit status {encode.exit_status()}")
    lines = encode.matches("room .*no asks came within 2 s")
    check(len({line.text for line in lines}) >= unasked,
          f"{len(lines)} rooms say that no asks came")
    empty(encode, asked, unasked)


def case_refused(system):
    """Rows of requests that the pool can never hold do not stay in the ring,
    where smaller ones wait for room."""
    refused = {"r1", "r3"}
    requests = [[100], [8192], [100, 50], [1500] * 3, [9]]
    workload = system.workload(requests)
    shape = ("--hidden", 4096)  # 8 KiB a row: 1500 rows leave no room for 1500
    encode = system.encode("encode", "--workload", workload, *shape, "--once",
                           "--ring-mb", 16, "--timeout", 10 * PATIENCE_S)
    prefill = system.prefill(
        "engine", 3, "--workload", workload, *shape, "--encode",
        encode.address, "--pool-mb", 16, "--verify", "--timeout",
        10 * PATIENCE_S)
    check(prefill.exit_status() == 1, f"exit status {prefill.exit_status()}")
    for rank in prefill.ranks:
        admitted, failed = rank.ended()
        check(set(failed) == refused, f"{rank.name}: failed: {set(failed)}")
        check(set(admitted) == {"r0", "r2", "r4"},
              f"{rank.name}: admitted: {set(admitted)}")
    check(prefill.json()["mismatched_bytes"] == 0, f"{prefill.json()}")
    check(encode.exit_status() == 1, f"exit status {encode.exit_status()}")
    check(not encode.matches("no asks came"), "a room passed its deadline")
    empty(encode, 4, 4)


def case_no_rows(system):
    """Asks for rows that do not come are answered with the reason; later ones
    are served."""
    served, window, count = 2, 4, 14
    workload, encode = start(system, count, "--hold", served)
    prefill = engine(system, workload, encode, "--concurrency", window)
    for rank in prefill.ranks:
        rank.wait(" failed on rank ", count=window)
    first = encode.wait(fr"hold: {served} items sent, "
                        fr"{(served + window) * RANKS} asks came").at
    took = max(line.at - first for rank in prefill.ranks
               for line in rank.ended()[1].values())
    for rank in prefill.ranks:
        for line in rank.ended()[1].values():
            check("no rows came within 2 s" in line.found[2]
                  and encode.address in line.found[2], line.text)
    encode.send(signal.SIGUSR1)
    check(prefill.exit_status() == 1, f"exit status {prefill.exit_status()}")
    said = prefill.json()
    check((said["admitted"], said["failed"], said["mismatched_bytes"])
          == (count - window, window, 0), f"JSON: {said}")
    encode.send(signal.SIGTERM)
    check(encode.exit_status() == 0, f"exit status {encode.exit_status()}")
    empty(encode, count - window, window)
    check(took < BOUND_S, f"{took} s until the askers were told")
    measured(f"rows that do not come, {DEADLINE_S} s allowed: from the last "
             "ask to the last rank that is told", took)


if __name__ == "__main__":
    main(globals())
