#!/usr/bin/env -S python3 -B
"""An encode process is killed or stopped under requests that wait for it and
under requests that it serves. Two nodes: item 0 of request i is of node i % 2.
"""
import signal

from system import BOUND_S, OWN, check, main, measured, went_by

HIDDEN = ("--hidden", 1024)
ROWS = 60
WINDOW = 8  # requests staged at a time
SERVED = 4  # items that node 0 sends before it holds
COUNT = 64  # requests: 32 of each node


def nodes(system, workload, *words, settings=None):
    """Two nodes, the first holding after SERVED items."""
    both = []
    for node in range(2):
        hold = ("--hold", SERVED) if node == 0 else ()
        both.append(system.encode(
            f"node {node}", "--workload", workload, *HIDDEN, "--ring-mb", 16,
            "--node", f"{node}/2", *hold, *words, settings=settings))
    return both


def engine(system, ranks, workload, encodes, *words, **more):
    return system.prefill(
        "prefill", ranks, "--workload", workload, *HIDDEN,
        *(word for encode in encodes for word in ("--encode", encode.address)),
        "--concurrency", WINDOW, "--pool-mb", 64, "--verify", *words, **more)


def when_held(encode, ranks):
    """Until every rank has asked for all that it may while node 0 holds."""
    asks = (SERVED + WINDOW) * ranks
    encode.wait_until(
        lambda lines: any(line.text.endswith(f" {n} asks came")
                          for line in lines
                          for n in range(asks, asks + 4 * asks)),
        f"{asks} asks did not come")


def of_node(node):
    return [f"r{i}" for i in range(COUNT) if i % 2 == node]


def ended_alike(prefill, seconds):
    """Wait until each rank has said of every request how it ended; gives each
    rank's (admitted, failed)."""
    for rank in prefill.ranks:
        rank.wait_until(lambda _: sum(map(len, rank.ended())) >= COUNT,
                        f"not all of {COUNT} requests ended", seconds)
    ends = [rank.ended() for rank in prefill.ranks]
    for admitted, failed in ends[1:]:
        check(set(admitted) == set(ends[0][0])
              and {key: line.found[2] for key, line in failed.items()}
              == {key: line.found[2] for key, line in ends[0][1].items()},
              "ranks differ in what failed, or why")
    return ends


def report(prefill, admitted, failed):
    """The program's own account, and how it ended."""
    check(prefill.exit_status() == 1, f"exit status {prefill.exit_status()}")
    said = prefill.json()
    check((said["admitted"], said["failed"], said["mismatched_bytes"])
          == (admitted, failed, 0), f"JSON: {said}")


def killed_while_asked(system, ranks):
    workload = system.workload([[ROWS]] * COUNT)
    both = nodes(system, workload)
    prefill = engine(system, ranks, workload, both,
                     settings={"EPDX_BOOTSTRAP_TIMEOUT_S": 2})
    when_held(both[0], ranks)
    killed = both[0].send(signal.SIGKILL)
    ends = ended_alike(prefill, 30)
    asked = of_node(0)[SERVED:SERVED + WINDOW]
    later = of_node(0)[SERVED + WINDOW:]
    took = 0
    for admitted, failed in ends:
        check(sorted(failed) == sorted(asked + later), f"failed: {failed}")
        check(set(of_node(1)) <= set(admitted), "node 1 was not served")
        for request in asked + later:
            check(both[0].address in failed[request].found[2],
                  f"the peer is not named: {failed[request].text}")
        took = max([took] + [failed[one].at - killed for one in asked])
    check(took < BOUND_S, f"{took} s until all had failed")
    measured(f"encode killed, asks waiting, {ranks} ranks: to the last failure "
             "on the last rank", took)
    report(prefill, COUNT - len(asked + later), len(asked + later))


def case_held_2(system):
    killed_while_asked(system, 2)


def case_held_4(system):
    killed_while_asked(system, 4)


def killed_while_pulled(system, settings, *own):
    """Killed as rows flow: who was not served fails by name, no byte is
    wrong."""
    workload = system.workload([[8000]] * COUNT)  # 16 MB each
    both = [system.encode(f"node {node}", "--workload", workload, *HIDDEN,
                          "--ring-mb", 64, "--node", f"{node}/2", *own,
                          settings=settings) for node in range(2)]
    prefill = system.prefill(
        "prefill", 2, "--workload", workload, *HIDDEN, "--encode",
        both[0].address, "--encode", both[1].address, "--concurrency", WINDOW,
        "--pool-mb", 256, "--verify",
        settings=dict(settings, EPDX_BOOTSTRAP_TIMEOUT_S=2))
    prefill.ranks[0].wait("is admitted$", count=6)
    killed = both[0].send(signal.SIGKILL)
    ends = ended_alike(prefill, 60)
    admitted, failed = ends[0]
    check(failed and set(failed) <= set(of_node(0)), f"failed: {failed}")
    check(set(of_node(1)) <= set(admitted), "node 1 was not served")
    took = 0
    for _, failed in ends:
        for line in failed.values():
            check(both[0].address in line.found[2],
                  f"the peer is not named: {line.text}")
            if "not reached" not in line.text:  # asked before the kill
                took = max(took, line.at - killed)
    check(took < BOUND_S, f"{took} s until all had failed")
    measured("encode killed, rows flowing, 2 ranks"
             + (", TCP" if settings else "") + ": to the last failure of what "
             "was asked", took)
    report(prefill, len(admitted), len(failed))
    went_by(prefill, "tcp/" if own else "mapped/")


def case_pulled(system):
    killed_while_pulled(system, {})


def case_pulled_tcp(system):
    killed_while_pulled(system, {"UCX_TLS": "tcp"}, OWN)


def case_stopped(system):
    """Stopped, it is given up after the heartbeat limit; continued, it serves
    the same engine again."""
    workload = system.workload([[ROWS]] * COUNT)
    ranks = 2
    beat = {"EPDX_HEARTBEAT_S": 2}
    both = nodes(system, workload, settings=beat)
    prefill = engine(system, ranks, workload, both, settings=beat)
    when_held(both[0], ranks)
    stopped = both[0].stop()
    asked = of_node(0)[SERVED:SERVED + WINDOW]
    later = of_node(0)[SERVED + WINDOW:]
    took = 0
    for rank in prefill.ranks:
        rank.wait(" failed on rank ", count=WINDOW)
        _, failed = rank.ended()
        check(set(asked) <= set(failed), f"failed: {list(failed)}")
        for line in failed.values():
            check(both[0].address in line.found[2],
                  f"the peer is not named: {line.text}")
            took = max(took, line.at - stopped)
    measured("encode stopped, heartbeat limit 2 s: to the last failure", took)
    check(took < BOUND_S, f"{took} s until all had failed")
    # All of node 1 that the window lets in, beside what waits for node 0.
    prefill.ranks[0].wait_until(
        lambda _: {f"r{i}" for i in range(1, 2 * (SERVED + WINDOW), 2)}
        <= set(prefill.ranks[0].ended()[0]),
        "node 1 does not serve while node 0 is stopped")
    continued = both[0].send(signal.SIGCONT)
    both[0].send(signal.SIGUSR1)
    ends = ended_alike(prefill, 60)
    admitted, failed = ends[0]
    # A rank that notices first lets the others ask once more, a window at most.
    check(set(asked) <= set(failed) and len(failed) <= 2 * WINDOW,
          f"failed: {list(failed)}")
    again = [line.at for key, line in admitted.items() if key in later]
    check(again and min(again) > continued, "node 0 is not used again")
    measured("encode continued: to the first request that it serves again",
             min(again) - continued)
    report(prefill, len(admitted), len(failed))
    check(both[0].ended_at is None, "node 0 ended")


def stopped_while_pulled(system, what, limit, *words, settings):
    """Stopped as rows flow: what was under way fails within the limit, and the
    memory that was pulled into is used again."""
    count = 100
    workload = system.workload([[8000]] * count)  # 16 MB each
    settings = dict(settings, UCX_TLS="tcp")
    both = [system.encode(f"node {node}", "--workload", workload, *HIDDEN,
                          "--ring-mb", 64, "--node", f"{node}/2", OWN,
                          settings=settings) for node in range(2)]
    prefill = system.prefill(
        "prefill", 2, "--workload", workload, *HIDDEN, "--encode",
        both[0].address, "--encode", both[1].address, "--concurrency", WINDOW,
        "--pool-mb", WINDOW * 16, "--verify", *words,
        settings=dict(settings, EPDX_BOOTSTRAP_TIMEOUT_S=1,
                      EPDX_LOOKUP_TIMEOUT_S=1))
    prefill.ranks[0].wait("is admitted$", count=6)
    stopped = both[0].stop()
    prefill.ranks[0].wait(" failed on rank ", count=WINDOW)
    both[0].send(signal.SIGCONT)
    prefill.wait_end(90)
    check(prefill.exit_status() == 1, f"exit status {prefill.exit_status()}")
    said = prefill.json()
    admitted, failed = prefill.ranks[0].ended()
    check(len(admitted) + len(failed) == count
          and said["mismatched_bytes"] == 0, f"JSON: {said}")
    first = min(line.at for line in failed.values()) - stopped
    for line in failed.values():
        check(int(line.found[1][1:]) % 2 == 0
              and both[0].address in line.found[2],
              f"not of node 0 by name: {line.text}")
    last = [line for line in admitted.values() if line.at > stopped + limit]
    check(last, "nothing was received after the failures")
    check(first < limit + BOUND_S, f"{first} s until the first failed")
    went_by(prefill, "tcp/")
    measured(f"encode stopped, rows flowing, {what}: to the first failure",
             first)


def case_stopped_pulled(system):
    stopped_while_pulled(system, "heartbeat limit 2 s", 2,
                         settings={"EPDX_HEARTBEAT_S": 2})


def case_stopped_pulled_no_heartbeat(system):
    stopped_while_pulled(system, "no heartbeat, requests have 8 s", 8,
                         "--timeout", 8, settings={"EPDX_HEARTBEAT_S": 0})


if __name__ == "__main__":
    main(globals())
