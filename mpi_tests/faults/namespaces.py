#!/usr/bin/env -S python3 -B
"""Hosts as network namespaces, joined by a bridge: links that go down, lose
packets or are slow. Needs root and a kernel that lets it make namespaces."""
import os
import re
import shutil
import subprocess

from system import BOUND_S, Skip, check, main, measured

SHAPE = ("--hidden", 1024)
TCP = {"UCX_TLS": "tcp"}  # shared memory would pass by the network
WINDOW = 8


def run(*words):
    """Output of a command that must succeed."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=30,
                          check=False)
    check(done.returncode == 0, f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def try_run(*words):
    return subprocess.run(words, capture_output=True, timeout=30,
                          check=False).returncode == 0


class Network:
    """Hosts 1 to count, at 10.77.0.n, each in its namespace. All names carry
    this process's id, and all goes at the end of the case."""

    def __init__(self, system, count):
        if os.geteuid() != 0:
            raise Skip("network namespaces need root")
        if not shutil.which("ip"):
            raise Skip("there is no ip (Debian: iproute2)")
        self.remove_old()
        self.bridge = f"epf{os.getpid()}"
        self.count = count
        system.undo.append(self.remove)
        probe = self.space(1)
        if not (try_run("ip", "netns", "add", probe)
                and try_run("ip", "netns", "exec", probe, "true")
                and try_run("ip", "link", "add", self.bridge, "type",
                            "bridge")):
            raise Skip("no network namespace or bridge can be made here")
        run("ip", "link", "set", self.bridge, "up")
        for host in range(1, count + 1):
            if host > 1:
                run("ip", "netns", "add", self.space(host))
            self.join(host)

    def join(self, host):
        space = self.space(host)
        run("ip", "link", "add", self.port(host), "type", "veth", "peer",
            "name", "eth0", "netns", space)
        run("ip", "link", "set", self.port(host), "master", self.bridge, "up")
        for device in ("lo", "eth0"):
            run("ip", "-n", space, "link", "set", device, "up")
        run("ip", "-n", space, "addr", "add", f"{self.address(host)}/24", "dev",
            "eth0")

    @staticmethod
    def space(host):
        return f"epdx-faults-{os.getpid()}-{host}"

    @staticmethod
    def port(host):
        return f"epf{os.getpid()}v{host}"

    @staticmethod
    def address(host):
        return f"10.77.0.{host}"

    def inside(self, host):
        """What a program's words begin with to run there."""
        return ("ip", "netns", "exec", self.space(host))

    def link(self, host, state):
        run("ip", "link", "set", self.port(host), state)

    def remove(self):
        for host in range(1, self.count + 1):
            try_run("ip", "netns", "del", self.space(host))
            try_run("ip", "link", "del", self.port(host))
        try_run("ip", "link", "del", self.bridge)

    @staticmethod
    def remove_old():
        """Of runs that were killed."""
        for kind, pattern in ((("netns",), r"^epdx-faults-(\d+)-\d+"),
                              (("link",), r"\b(?:epf)(\d+)(?:v\d+)?(?=[:@])")):
            text = run("ip", *kind, "show")
            for found in re.finditer(pattern, text, re.MULTILINE):
                if not os.path.exists(f"/proc/{found[1]}"):
                    try_run("ip", *kind, "del", found[0])


class Pair:
    """Two encode nodes, on hosts 1 and 3, and a prefill engine on host 2."""

    def __init__(self, system, requests, *words, settings=None, hold=None):
        self.system = system
        self.network = Network(system, 3)
        self.count = len(requests)
        self.workload = system.workload(requests)
        self.settings = dict(TCP, **(settings or {}))
        self.nodes = []
        for node, host in enumerate((1, 3)):
            held = ("--hold", hold) if hold is not None and node == 0 else ()
            self.nodes.append(system.encode(
                f"node {node}", "--workload", self.workload, *SHAPE, "--node",
                f"{node}/2", "--ring-mb", 64, *held, *words,
                host=self.network.address(host), settings=self.settings,
                prefix=self.network.inside(host)))

    def engine(self, *words):
        return self.system.prefill(
            "engine", 2, "--workload", self.workload, *SHAPE, "--encode",
            self.nodes[0].address, "--encode", self.nodes[1].address,
            "--concurrency", WINDOW, "--pool-mb", 64, "--verify", *words,
            host=self.network.address(2), settings=self.settings,
            prefix=self.network.inside(2))


def all_served(pair, engine):
    check(engine.exit_status() == 0, f"exit status {engine.exit_status()}")
    said = engine.json()
    check((said["admitted"], said["failed"], said["mismatched_bytes"])
          == (pair.count, 0, 0), f"JSON: {said}")
    return said


def named(pair, failed):
    """Every failure is of node 0 and says so; gives the lines."""
    for request, line in failed.items():
        check(int(request[1:]) % 2 == 0, f"of node 1: {line.text}")
        check(pair.nodes[0].address in line.found[2],
              f"the peer is not named: {line.text}")
    return failed.values()


def case_plain(system):
    pair = Pair(system, [[500]] * 40)
    all_served(pair, pair.engine())


def case_down_and_up(system):
    """Node 0's link is gone for 3 s while rows flow."""
    pair = Pair(system, [[4000]] * 60)  # 8 MB each
    engine = pair.engine()
    engine.ranks[0].wait("is admitted$", count=10)
    pair.network.link(1, "down")
    down = engine.ranks[0].lines[-1].at
    check(system.wait_until(lambda: engine.ended_at, 3) is None,
          "it ended while the link was down")
    pair.network.link(1, "up")
    check(engine.exit_status() in (0, 1), f"status {engine.exit_status()}")
    said = engine.json()
    admitted, failed = engine.ranks[0].ended()
    check(said["mismatched_bytes"] == 0
          and len(admitted) + len(failed) == pair.count, f"JSON: {said}")
    took = [line.at - down for line in named(pair, failed)]
    check(not took or max(took) < 2 * BOUND_S, f"failed after {took} s")
    measured(f"link down for 3 s: {len(failed)} of {pair.count} requests "
             "failed; to the end of all", engine.ended_at - down)


def case_down_for_good(system):
    """Node 0's link is gone while asks wait there."""
    pair = Pair(system, [[500]] * 64, hold=4,
                settings={"EPDX_HEARTBEAT_S": 2, "EPDX_BOOTSTRAP_TIMEOUT_S": 2})
    engine = pair.engine()
    asks = 2 * (4 + WINDOW)
    pair.nodes[0].wait(f"hold: 4 items sent, {asks} asks came")
    begun = pair.nodes[0].lines[-1].at
    pair.network.link(1, "down")
    check(engine.exit_status() == 1, f"exit status {engine.exit_status()}")
    said = engine.json()
    admitted, failed = engine.ranks[0].ended()
    check((len(admitted), len(failed), said["mismatched_bytes"])
          == (36, 28, 0), f"JSON: {said}")
    lines = named(pair, failed)
    asked = [line.at - begun for line in lines if "not reached" not in
             line.text]
    check(len(asked) >= WINDOW and max(asked) < BOUND_S,
          f"failures after {asked} s")
    measured("link down for good, heartbeat limit 2 s: to the last failure of "
             "what was asked", max(asked))


def case_loss(system):
    """Each host loses 1% of what comes in."""
    if not shutil.which("nft"):
        raise Skip("there is no nft (Debian: nftables)")
    pair = Pair(system, [[2000]] * 100)  # 4 MB each
    for host in (1, 2, 3):
        inside = (*pair.network.inside(host), "nft")
        if not try_run(*inside, "add", "table", "inet", "t"):
            raise Skip("nft cannot make a table here")
        run(*inside, "add", "chain", "inet", "t", "in",
            "{ type filter hook input priority 0; }")
        run(*inside, "add", "rule", "inet", "t", "in", "iifname", "eth0",
            "numgen", "random", "mod", "100", "<", "1", "counter", "drop")
    said = all_served(pair, pair.engine())
    dropped = sum(int(number) for host in (1, 2, 3) for number in re.findall(
        r"counter packets (\d+)", run(*pair.network.inside(host), "nft",
                                      "list", "ruleset")))
    check(dropped > 0, "nothing was lost")
    measured(f"1% loss, {dropped} packets lost, {said['bytes_total'] >> 20} "
             "MiB", said["seconds"])


def case_rate(system):
    """Node 0 is behind 100 Mbit/s: it is slow, its requests do not fail."""
    pair = Pair(system, [[1000]] * 32)  # 2 MB each, half of them at node 0
    if not try_run(*pair.network.inside(1), "tc", "qdisc", "add", "dev", "eth0",
                   "root", "tbf", "rate", "100mbit", "burst", "128k", "latency",
                   "50ms"):
        raise Skip("tc cannot set a rate (tbf) here")
    said = all_served(pair, pair.engine())
    check(said["seconds"] > 1, f"the rate did not hold: {said['seconds']} s")
    measured(f"100 Mbit/s, {said['bytes_total'] >> 20} MiB", said["seconds"])


if __name__ == "__main__":
    main(globals())
