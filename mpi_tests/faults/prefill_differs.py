#!/usr/bin/env -S python3 -B
"""One rank of a prefill engine is started with another setting: every rank is
told which, and ends."""
from system import check, main, measured

SHAPE = ("--hidden", 64)


def differs(system, name, value, *named, ranks=4):
    workload = system.workload([[3]] * 4)
    encode = system.encode("encode", "--workload", workload, *SHAPE,
                           "--ring-mb", 1)
    engine = system.prefill(
        "engine", ranks, "--workload", workload, *SHAPE, "--encode",
        encode.address, settings={"EPDX_RECV_POOL_MB": 16},
        of_rank={ranks - 1: {name: value}})
    said = [engine.wait("epdx_prefill: .*" + named[0])]
    said += [rank.wait("info: .*" + named[0]) for rank in engine.ranks[1:]]
    for line in said:
        for words in named:
            check(words in line.text, f"not /{words}/: {line.text}")
    check(engine.exit_status() != 0, "it ended as if nothing had been")
    check(not engine.matches(r"^\{"), "it has run")
    measured(f"{name} differs: from the first rank's word to the end",
             engine.ended_at - min(line.at for line in said))


def case_pool(system):
    differs(system, "EPDX_RECV_POOL_MB", 32, "pool", "16", "32")


def case_shard(system):
    differs(system, "EPDX_EMBEDDING_SHARD", 0, "EPDX_EMBEDDING_SHARD", "0", "1")


if __name__ == "__main__":
    main(globals())
