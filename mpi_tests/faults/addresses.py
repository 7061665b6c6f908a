#!/usr/bin/env -S python3 -B
"""Addresses in every form that is allowed, and those that are not."""
import http.client
import json
import re
import socket
import subprocess

from system import Skip, check, main

SHAPE = ("--hidden", 64)
COUNT = 12


def served(system, host, listen=None):
    """All requests, with everything bound to host; listen: where the bootstrap
    server is, with its port 0."""
    workload = system.workload([[3, 1]] * COUNT)
    words = ()
    if listen is not None:
        words = ("--bootstrap", system.bootstrap(listen).address)
    encode = system.encode("encode", "--workload", workload, *SHAPE,
                           "--ring-mb", 1, *words, host=host)
    engine = system.prefill(
        "engine", 2, "--workload", workload, *SHAPE, "--encode", encode.address,
        "--pool-mb", 1, "--verify", host=host)
    check(engine.exit_status() == 0, f"exit status {engine.exit_status()}")
    said = engine.json()
    check((said["admitted"], said["mismatched_bytes"]) == (COUNT, 0),
          f"JSON: {said}")
    return encode


def need_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError as error:
        raise Skip(f"::1 cannot be bound: {error}") from error


def case_names(system):
    served(system, "localhost", "localhost:0")


def case_ipv6_discovery(system):
    """The bootstrap server on ::1; rows and control frames go by IPv4."""
    need_ipv6()
    encode = served(system, "127.0.0.1", "[::1]:0")
    check(encode.address.startswith("[::1]:"), encode.address)


def case_wildcards(system):
    """To bind every interface is refused, since it would be published."""
    workload = system.workload([[3]])
    shape = ["--workload", workload, *SHAPE]
    encode = ["epdx_encode", *shape, "--ring-mb", "1"]
    prefill = ["epdx_prefill", *shape, "--pool-mb", "1", "--encode",
               "127.0.0.1:1"]
    for words, settings in (
            (encode + ["--host", "0.0.0.0"], {}),
            (encode + ["--host", "::"], {}),
            (encode + ["--listen", "0.0.0.0:0"], {}),
            (encode + ["--bootstrap", "127.0.0.1:1"],
             {"EPDX_HOST": "0.0.0.0"}),
            (encode + ["--bootstrap", "127.0.0.1:1"], {"EPDX_HOST": "::"}),
            (prefill + ["--host", "0.0.0.0"], {}),
            (prefill + ["--host", "::"], {}),
            (prefill, {"EPDX_HOST": "0.0.0.0"}),
            (prefill, {"EPDX_HOST": "::"})):
        done = subprocess.run(
            [system.program(words[0]), *map(str, words[1:])], timeout=30,
            check=False,
            env=system.environment(settings), capture_output=True, text=True)
        said = f"{words[-2:]} {settings}: {done.stderr}"
        check(done.returncode in (1, 2), f"status {done.returncode}: {said}")
        check(re.search("every interface|no single address", done.stderr),
              f"not said why: {said}")


def route(address, rank):
    """What the server answers about a rank."""
    host, port = address.rsplit(":", 1)
    link = http.client.HTTPConnection(host, int(port), timeout=10)
    link.request("GET", f"/route?engine_rank={rank}&target_dp_group=0")
    answer = link.getresponse()
    body = answer.read()
    link.close()
    check(answer.status == 200, f"rank {rank}: HTTP {answer.status} {body}")
    return json.loads(body)


def case_sixteen_at_once(system):
    """16 ranks that start at once bind ports of their own."""
    count = 16
    workload = system.workload([[3]])
    server = system.bootstrap()
    for rank in range(count):
        system.start(f"rank {rank}", [
            system.program("epdx_encode"), "--workload", workload, *SHAPE,
            "--ring-mb", 1, "--host", "127.0.0.1", "--tp", count, "--rank",
            rank, "--bootstrap", server.address])
    server.wait(f"all {count} encode ranks are registered")
    routes = [route(server.address, rank) for rank in range(count)]
    ports = {int(one["rank_port"]) for one in routes}
    check(len(ports) == count and 0 not in ports, f"ports: {sorted(ports)}")
    check({one["rank_ip"] for one in routes} == {"127.0.0.1"},
          f"routes: {routes}")


if __name__ == "__main__":
    main(globals())
