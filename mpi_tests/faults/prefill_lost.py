#!/usr/bin/env -S python3 -B
"""A prefill engine is killed, loses a rank, or has one that stands still, while
rows that it asked for are offered to it. The encode rank gets its ring back
and serves a second engine, which takes the other half of the requests."""
import signal

from system import BOUND_S, OWN, check, main, measured, went_by

SHAPE = ("--hidden", 1024)
ROWS = 60  # 120 KB: the ring of 1 MB holds 8
HALF = 20


def encode_and_engine(system, ranks, *words, settings=None, deadline=60,
                      own=()):
    """An engine that has asked for all of the first half and got one.
    deadline: of a room at the encode rank. own: (OWN,) for rows by UCX."""
    workload = system.workload([[ROWS]] * (2 * HALF))
    encode = system.encode("encode", "--workload", workload, *SHAPE, *own,
                           "--ring-mb", 1, "--hold", 1, "--timeout", deadline,
                           settings={"EPDX_LOG_LEVEL": "debug",
                                     **(settings or {})})
    engine = system.prefill(
        "engine 1", ranks, "--workload", workload, *SHAPE, "--requests", HALF,
        "--concurrency", HALF, "--encode", encode.address, "--pool-mb", 16,
        *words, settings=settings)
    encode.wait(fr"hold: 1 items sent, {HALF * ranks} asks came")
    for rank in engine.ranks:
        rank.wait("request r0 is admitted")
        rank.find()
    return workload, encode, engine


def fill_ring(encode, engine):
    """Offers wait at ranks that stand still."""
    for rank in engine.ranks:
        rank.stopped_at = rank.stop()
    encode.send(signal.SIGUSR1)
    encode.wait("the ring is full")


def second_engine(system, ranks, workload, encode):
    engine = system.prefill(
        "engine 2", ranks, "--workload", workload, *SHAPE, "--skip", HALF,
        "--encode", encode.address, "--pool-mb", 16, "--verify")
    check(engine.exit_status() == 0, f"exit status {engine.exit_status()}")
    said = engine.json()
    check((said["admitted"], said["failed"], said["mismatched_bytes"])
          == (HALF, 0, 0), f"JSON: {said}")


def stop_encode(encode):
    """What it says of the whole at its end."""
    encode.send(signal.SIGTERM)
    check(encode.exit_status() == 0, f"exit status {encode.exit_status()}")
    said = encode.json()
    check((said["delivered"], said["failed"]) == (1 + HALF, HALF - 1),
          f"JSON of encode: {said}")
    check((said["rooms_open"], said["ring_leased_bytes"]) == (0, 0),
          f"JSON of encode: {said}")


def lost(encode, ranks):
    """When the encode rank has given up every rank of the engine."""
    return encode.wait(r"info: prefill rank \S+ (went away|did not take)",
                       count=ranks).at


def kill(engine):
    """mpirun and all ranks; when it began."""
    began = engine.send(signal.SIGKILL)
    for rank in engine.ranks:
        rank.send(signal.SIGKILL)
    return began


def engine_killed(system, ranks):
    workload, encode, engine = encode_and_engine(system, ranks)
    fill_ring(encode, engine)
    killed = kill(engine)
    took = lost(encode, ranks) - killed
    check(took < BOUND_S, f"{took} s until the engine was given up")
    measured(f"prefill engine of {ranks} ranks killed: to the last rank given "
             "up by the encode rank", took)
    second_engine(system, ranks, workload, encode)
    stop_encode(encode)


def case_killed_2(system):
    engine_killed(system, 2)


def case_killed_4(system):
    engine_killed(system, 4)


def unasked(system, ringfuls, words, *hasty):
    """The ring is full of a dead engine's items that it never asked for. Each
    ringful passes its deadline before the next is sent; who asked too early
    for that fails with these words, who asks later gets all."""
    ranks, deadline, few = 2, 4, 4
    lost_count = 8 * ringfuls
    begin = 2 + lost_count  # r0 is delivered, and r1 asked for
    workload = system.workload([[ROWS]] * (2 * HALF))
    encode = system.encode("encode", "--workload", workload, *SHAPE,
                           "--ring-mb", 1, "--hold", 1, "--timeout", deadline,
                           settings={"EPDX_LOG_LEVEL": "debug"})
    what = ("--workload", workload, *SHAPE, "--encode", encode.address,
            "--pool-mb", 16)
    engine = system.prefill("engine 1", ranks, *what, "--requests", begin,
                            "--concurrency", 1)
    encode.wait(fr"hold: 1 items sent, {2 * ranks} asks came")
    for rank in engine.ranks:
        rank.find()
    kill(engine)
    lost(encode, ranks)
    second = system.prefill("engine 2", ranks, *what, "--skip", begin,
                            "--requests", begin + few, *hasty)
    encode.wait(fr"hold: 1 items sent, {(2 + few) * ranks} asks came")
    encode.send(signal.SIGUSR1)
    full = encode.wait("the ring is full").at
    check(second.exit_status() == 1, f"exit status {second.exit_status()}")
    said = second.json()
    check((said["admitted"], said["failed"]) == (0, few), f"JSON: {said}")
    for rank in second.ranks:
        for line in rank.ended()[1].values():
            check(words in line.found[2], line.text)
    third = system.prefill("engine 3", ranks, *what, "--skip", begin + few,
                           "--verify")
    check(third.exit_status() == 0, f"exit status {third.exit_status()}")
    said = third.json()
    rest = 2 * HALF - begin - few
    check((said["admitted"], said["failed"], said["mismatched_bytes"])
          == (rest, 0, 0), f"JSON: {said}")
    lines = encode.matches(fr"room .*no asks came within {deadline} s")
    check(len({line.found[0] for line in lines}) == lost_count,
          f"{len(lines)} rooms say that no asks came")
    took = min(line.at for rank in third.ranks
               for line in rank.ended()[0].values()) - full
    check(took < ringfuls * deadline + BOUND_S, f"{took} s until rows landed")
    measured(f"encode ring full of what a dead engine never asked for, "
             f"{ringfuls} times, rooms have {deadline} s: to the first request "
             "of another", took)
    encode.send(signal.SIGTERM)
    check(encode.exit_status() == 0, f"exit status {encode.exit_status()}")
    said = encode.json()
    check((said["delivered"], said["failed"], said["rooms_open"],
           said["ring_leased_bytes"])
          == (1 + rest, 1 + lost_count + few, 0, 0), f"JSON of encode: {said}")


def case_unasked(system):
    unasked(system, 1, "no rows were offered", "--timeout", 1)


def case_unasked_twice(system):
    """The rooms of the second engine pass their deadline, too."""
    unasked(system, 2, "no rows came within 4 s")


def case_rank_killed(system):
    """One rank alone: MPI ends the others."""
    ranks = 2
    workload, encode, engine = encode_and_engine(system, ranks)
    killed = engine.ranks[1].send(signal.SIGKILL)
    took = lost(encode, ranks) - killed
    check(engine.exit_status() != 0, "mpirun ended as if nothing had been")
    for rank in engine.ranks:
        rank.wait_end()
    measured("one prefill rank killed: to the last rank given up by the encode "
             "rank", took)
    measured("one prefill rank killed: to the end of mpirun",
             engine.ended_at - killed)
    check(took < BOUND_S, f"{took} s until the engine was given up")
    encode.send(signal.SIGUSR1)
    second_engine(system, ranks, workload, encode)
    stop_encode(encode)


def case_rank_stopped(system):
    """One rank stands still: the others give the group up by the deadline of
    its collective, say so, and end; mpirun ends the one that stands still."""
    ranks = 4
    workload, encode, engine = encode_and_engine(
        system, ranks, "--collective-timeout", 3)
    stopped = engine.ranks[1].stop()
    words = engine.wait(r"epdx_prefill: rank [023]: .*deadline of 3\.000 s")
    took = words.at - stopped
    check(engine.exit_status() != 0, "mpirun ended as if nothing had been")
    for rank in engine.ranks:
        rank.wait_end()
    check(took < 3 + BOUND_S and engine.ended_at - stopped < 30,
          f"{took} s until a rank gave up, {engine.ended_at - stopped} to the "
          "end")
    measured("one prefill rank stopped, --collective-timeout 3: to the first "
             "rank that gives up", took)
    measured("one prefill rank stopped: to the end of mpirun",
             engine.ended_at - stopped)
    lost(encode, ranks)
    encode.send(signal.SIGUSR1)
    second_engine(system, ranks, workload, encode)


def engine_stopped(system, what, settings=None, deadline=60, own=()):
    """The whole engine stands still: the encode rank gives it up, at last by
    the deadline of rooms, and uses the ring's memory for others. Continued, the
    engine must not take what lies there now for what it was offered."""
    ranks = 2
    workload, encode, engine = encode_and_engine(
        system, ranks, "--verify", settings=settings, deadline=deadline,
        own=own)
    fill_ring(encode, engine)
    stopped = engine.ranks[-1].stopped_at
    took = lost(encode, ranks) - stopped
    check(took < BOUND_S, f"{took} s until the engine was given up")
    measured(f"prefill engine stopped, {what}: to the last rank given up by "
             "the encode rank", took)
    second_engine(system, ranks, workload, encode)
    continued = 0
    for rank in engine.ranks:
        continued = rank.send(signal.SIGCONT)
    check(engine.exit_status() == 1, f"exit status {engine.exit_status()}")
    said = engine.json()
    check((said["admitted"], said["failed"], said["mismatched_bytes"])
          == (1, HALF - 1, 0), f"JSON: {said}")
    went_by(engine, "tcp/" if own else "mapped/")
    took = 0
    for rank in engine.ranks:
        for line in rank.ended()[1].values():
            check(encode.address in line.found[2],
                  f"the peer is not named: {line.text}")
            took = max(took, line.at - continued)
    measured("prefill engine continued: to the last failure of what it had "
             "asked for", took)
    stop_encode(encode)


def case_engine_stopped(system):
    engine_stopped(system, "heartbeat limit 5 s")


def case_engine_stopped_tcp(system):
    engine_stopped(system, "heartbeat limit 5 s, TCP", {"UCX_TLS": "tcp"},
                   own=(OWN,))


def case_never_pulls(system):
    """Without heartbeats the deadline of the offers ends it."""
    engine_stopped(system, "no heartbeat, rooms have 3 s",
                   {"EPDX_HEARTBEAT_S": 0}, 3)


def case_encode_stopped_meanwhile(system):
    """Engines are killed while the encode rank stands still amid rows that go
    to them over TCP. Continued, it finds what they answered and that they are
    gone, and serves the next one."""
    ranks, rounds, count = 2, 4, 16
    settings = {"UCX_TLS": "tcp", "EPDX_HEARTBEAT_S": 1}
    workload = system.workload([[8000]] * (rounds + 1) * count)  # 16 MB each
    encode = system.encode("encode", "--workload", workload, *SHAPE, OWN,
                           "--ring-mb", 64, "--timeout", 5,
                           settings={"EPDX_LOG_LEVEL": "debug", **settings})

    def engine(index):
        return system.prefill(
            f"engine {index}", ranks, "--workload", workload, *SHAPE,
            "--skip", index * count, "--requests", (index + 1) * count,
            "--concurrency", count, "--encode", encode.address,
            "--pool-mb", 16 * count, "--no-shard", "--verify", settings=settings)

    for index in range(rounds):
        victim = engine(index)
        victim.ranks[0].wait("is admitted$")
        for rank in victim.ranks:
            rank.find()
        encode.stop()
        victim.ranks[0].wait(" failed on rank ")  # all is read and answered
        kill(victim)
        for process in (victim, *victim.ranks):
            process.wait_end()
        encode.send(signal.SIGCONT)
        lost(encode, ranks * (index + 1))
    last = engine(rounds)
    check(last.exit_status() == 0, f"exit status {last.exit_status()}")
    said = last.json()
    check((said["admitted"], said["failed"], said["mismatched_bytes"])
          == (count, 0, 0), f"JSON: {said}")
    went_by(last, "tcp/")
    encode.send(signal.SIGTERM)
    check(encode.exit_status() == 0, f"exit status {encode.exit_status()}")
    said = encode.json()
    check((said["rooms_open"], said["ring_leased_bytes"]) == (0, 0),
          f"JSON of encode: {said}")


if __name__ == "__main__":
    main(globals())
