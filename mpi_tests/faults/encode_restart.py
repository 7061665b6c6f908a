#!/usr/bin/env -S python3 -B
"""An encode rank is killed and started again, under the same bootstrap server
and in the middle of a prefill engine's run: what was asked has failed, what
comes later is served by the new one, or refused by name where it differs."""
import signal

from system import BOUND_S, check, main, measured

ROWS = 60
HIDDEN = 1024
SERVED = 4  # items sent before the first one holds
WINDOW = 8
COUNT = 40


def start(system, name, workload, *words, hidden=HIDDEN, **more):
    return system.encode(name, "--workload", workload, "--hidden", hidden,
                         "--ring-mb", 16, *words, **more)


def engine(system, workload, address):
    """A look-up may take long, but that the old port is dead is seen soon."""
    return system.prefill("prefill", 2, "--workload", workload, "--hidden",
                          HIDDEN, "--encode", address, "--concurrency", WINDOW,
                          "--pool-mb", 64, "--verify",
                          settings={"EPDX_LOOKUP_TIMEOUT_S": 40})


def kill_when_held(encode, ranks=2):
    encode.wait(fr"hold: {SERVED} items sent, {(SERVED + WINDOW) * ranks} asks")
    return encode.send(signal.SIGKILL)


def to_the_end(prefill):
    """(admitted, failed) of rank 0, once every rank has ended alike."""
    check(prefill.exit_status() == 1, f"exit status {prefill.exit_status()}")
    ends = [rank.ended() for rank in prefill.ranks]
    for admitted, failed in ends:
        check(len(admitted) + len(failed) == COUNT, "a request did not end")
        check(set(admitted) == set(ends[0][0]), "ranks differ")
    said = prefill.json()
    check((said["admitted"], said["failed"], said["mismatched_bytes"])
          == (len(ends[0][0]), len(ends[0][1]), 0), f"JSON: {said}")
    return ends[0]


def served_again(prefill, again, address):
    """What was asked of the old one has failed by name, the rest came from the
    new one."""
    back = again.matches("is registered with")[0].at
    admitted, failed = to_the_end(prefill)
    asked = {f"r{i}" for i in range(SERVED, SERVED + WINDOW)}
    check(asked <= set(failed) and len(failed) <= 2 * WINDOW,
          f"failed: {list(failed)}")
    for line in failed.values():
        check(address in line.found[2], f"the peer is not named: {line.text}")
    first = min(line.at for line in admitted.values() if line.at > back)
    check(first - back < BOUND_S, f"{first - back} s until it is used")
    return first - back


def case_same(system):
    """The bootstrap server goes on; the rank comes back under another port and
    another instance id."""
    workload = system.workload([[ROWS]] * COUNT)
    server = system.bootstrap()
    encode = start(system, "encode", workload, "--bootstrap", server.address,
                   "--hold", SERVED)
    prefill = engine(system, workload, server.address)
    kill_when_held(encode)
    again = start(system, "encode again", workload, "--bootstrap",
                  server.address)
    took = served_again(prefill, again, server.address)
    measured("encode restarted: from its registration to the first request "
             "that it serves", took)


def case_inside(system):
    """With its bootstrap server inside, on the same port."""
    workload = system.workload([[ROWS]] * COUNT)
    encode = start(system, "encode", workload, "--hold", SERVED)
    prefill = engine(system, workload, encode.address)
    kill_when_held(encode)
    again = start(system, "encode again", workload, "--listen", encode.address)
    took = served_again(prefill, again, encode.address)
    measured("encode restarted with its bootstrap server: from its "
             "registration to the first request that it serves", took)


def case_more_ranks(system):
    """As two ranks instead of one: each prefill rank finds its own."""
    workload = system.workload([[ROWS]] * COUNT)
    server = system.bootstrap()
    encode = start(system, "encode", workload, "--bootstrap", server.address,
                   "--hold", SERVED)
    prefill = engine(system, workload, server.address)
    kill_when_held(encode)
    for rank in range(2):
        again = start(system, f"encode again {rank}", workload, "--tp", 2,
                      "--rank", rank, "--bootstrap", server.address)
    took = served_again(prefill, again, server.address)
    measured("encode restarted as two ranks: from the second's registration to "
             "the first request", took)


def refused(system, words, *changes, ranks=1, hidden=HIDDEN):
    """It comes back as another: every later request fails at once, saying the
    difference."""
    workload = system.workload([[ROWS]] * COUNT)
    server = system.bootstrap()
    encode = start(system, "encode", workload, "--bootstrap", server.address,
                   "--hold", SERVED)
    prefill = engine(system, workload, server.address)
    kill_when_held(encode)
    for rank in range(ranks):
        tp = ("--tp", ranks, "--rank", rank) if ranks > 1 else ()
        again = start(system, f"encode again {rank}", workload, "--bootstrap",
                      server.address, *tp, *changes, hidden=hidden)
    back = again.matches("is registered with")[0].at
    admitted, failed = to_the_end(prefill)
    check(len(admitted) == SERVED, f"admitted: {list(admitted)}")
    late = [line for key, line in failed.items()
            if int(key[1:]) >= SERVED + 2 * WINDOW]
    for line in late:
        check(words in line.found[2] and server.address in line.found[2],
              f"not /{words}/: {line.text}")
    took = max(line.at for line in late) - back
    check(took < BOUND_S, f"{took} s until all were refused")
    measured(f"encode restarted with {words.split(' ')[0]} changed: from its "
             "registration to the last refusal", took)


def case_other_hidden(system):
    refused(system, "hidden", hidden=512)


def case_other_dtype(system):
    refused(system, "dtype", "--dtype", "float16")


def case_other_levels(system):
    refused(system, "levels", "--levels", 2)


def case_other_ranks(system):
    refused(system, "prefill_tp must be a multiple of encode_tp (encode_tp=3, "
            "prefill_tp=2)", ranks=3)


if __name__ == "__main__":
    main(globals())
