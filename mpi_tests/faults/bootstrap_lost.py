#!/usr/bin/env -S python3 -B
"""The bootstrap server is killed, stopped, was never there, or knows nobody."""
import signal
import socket

from system import BOUND_S, check, main, measured

SHAPE = ("--hidden", 1024)
ROWS = 60


def engine(system, name, workload, *words, **more):
    return system.prefill(name, 2, "--workload", workload, *SHAPE,
                          "--pool-mb", 16, "--verify", *words, **more)


def all_admitted(prefill, count):
    check(prefill.exit_status() == 0, f"exit status {prefill.exit_status()}")
    said = prefill.json()
    check((said["admitted"], said["failed"], said["mismatched_bytes"])
          == (count, 0, 0), f"JSON: {said}")


def case_restarted(system):
    """Killed: who knows its encode rank goes on; who looks for it waits. Then
    the server is back on its port, and the encode rank registers again."""
    workload = system.workload([[ROWS]] * 40)
    server = system.bootstrap()
    encode = system.encode("encode", "--workload", workload, *SHAPE,
                           "--ring-mb", 8, "--hold", 4, "--bootstrap",
                           server.address)
    one = engine(system, "engine 1", workload, "--requests", 20, "--encode",
                 server.address, "--concurrency", 8)
    encode.wait(r"hold: 4 items sent, 24 asks came")
    server.send(signal.SIGKILL)
    server.wait_end()
    encode.send(signal.SIGUSR1)
    all_admitted(one, 20)

    two = engine(system, "engine 2", workload, "--skip", 20, "--encode",
                 server.address)
    for rank in two.ranks:
        rank.wait("bootstrap server .*; it is tried again")
    check(not two.ranks[0].ended()[1], "a request failed at once")
    again = system.bootstrap(server.address)
    back = again.matches("listening on")[-1].at
    all_admitted(two, 20)
    first = min(line.at for line in two.ranks[0].ended()[0].values())
    check(first - back < 2 * BOUND_S, f"{first - back} s until it was found")
    measured("bootstrap server restarted: to the first request that waited for "
             "it (encode ranks register every 10 s)", first - back)


def case_stopped(system):
    """Stopped: what is looked up there waits, another node is not delayed;
    continued, it is asked again and answers."""
    count = 40
    workload = system.workload([[ROWS]] * count)
    servers = [system.bootstrap() for _ in range(2)]
    for node in range(2):
        system.encode(f"node {node}", "--workload", workload, *SHAPE, "--node",
                      f"{node}/2", "--ring-mb", 8, "--bootstrap",
                      servers[node].address)
    servers[0].stop()
    prefill = engine(system, "engine", workload, "--encode", servers[0].address,
                     "--encode", servers[1].address, "--concurrency", count,
                     settings={"EPDX_LOOKUP_TIMEOUT_S": 1})
    for rank in prefill.ranks:
        rank.wait("is admitted", count=count // 2)
        rank.wait("bootstrap server .*; it is tried again")
        check(not rank.ended()[1], "a request failed")
    continued = servers[0].send(signal.SIGCONT)
    all_admitted(prefill, count)
    first = min(line.at for line in prefill.ranks[0].ended()[0].values()
                if line.at > continued)
    check(first - continued < BOUND_S, f"{first - continued} s until it was "
          "asked again")
    measured("bootstrap server continued: to the first request that waited for "
             "it", first - continued)


def nobody(system, address, words):
    """All requests fail with the reason, after EPDX_BOOTSTRAP_TIMEOUT_S."""
    count = 6
    workload = system.workload([[ROWS]] * count)
    prefill = engine(system, "engine", workload, "--encode", address,
                     settings={"EPDX_BOOTSTRAP_TIMEOUT_S": 2})
    check(prefill.exit_status() == 1, f"exit status {prefill.exit_status()}")
    said = prefill.json()
    check((said["admitted"], said["failed"]) == (0, count), f"JSON: {said}")
    for rank in prefill.ranks:
        for line in rank.ended()[1].values():
            check(words in line.found[2] and address in line.found[2],
                  f"not /{words}/: {line.text}")
        check(len(rank.ended()[1]) == count, "not every failure is logged")
    check(said["seconds"] < BOUND_S, f"{said['seconds']} s")
    return said["seconds"]


def case_no_node(system):
    with socket.socket() as taken:  # bound, so that nobody else takes it
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        took = nobody(system, address, "its encode rank was not reached in")
    measured("no encode node, EPDX_BOOTSTRAP_TIMEOUT_S=2: from staging to the "
             "last failure", took)


def case_no_rank(system):
    took = nobody(system, system.bootstrap().address,
                  "HTTP 503, not all encode ranks are in")
    measured("no encode rank registered, EPDX_BOOTSTRAP_TIMEOUT_S=2: from "
             "staging to the last failure", took)


if __name__ == "__main__":
    main(globals())
