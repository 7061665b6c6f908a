"""system.py: real programs for the fault tests: starts them, reads what they
say, ends them.

One thread reads every output and every process's end, with the time it came.
A test waits for a named line or for an end, always with a deadline; it never
sleeps. Each process is ended by its own id, which is checked against its start
time, and so are the ranks that a killed mpirun leaves behind.

A test file has functions case_NAME(system) and ends with main(globals()). It is
run as: FILE.py BUILD [NAME...]. Exit status 77: this machine cannot.
"""
import ctypes
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

PATIENCE_S = 60  # for what ends soon unless it hangs; far below 300 s
BOUND_S = 10  # from a fault to what must follow; the aim is 2 s
SKIP = 77

LAUNCHER = ["mpirun", "--oversubscribe", "--bind-to", "none",
            "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader",
            "--mca", "oob_tcp_if_include", "lo"]


class Failure(Exception):
    """What must not be."""


class Skip(Exception):
    """Why this machine cannot run the case."""


# Of epdx_encode: rows that no prefill rank can map, so that UCX moves them.
OWN = "--chunk-own"


def check(truth, words):
    if not truth:
        raise Failure(words)


class Line:
    def __init__(self, at, text):
        self.at = at
        self.text = text


def start_time(pid):
    """What tells a process from a later one of the same id; None: gone, or it
    ended and nobody has asked how."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii",
                  errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def children(pid):
    """Ids of the processes that a process has started, and of theirs."""
    found = []
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii",
                          errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(name))
    todo = [pid]
    while todo:
        these = parents.get(todo.pop(), [])
        found += these
        todo += these
    return found


def thread_states(pid):
    """A letter for each thread of a process, as in proc(5)."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii",
                      errors="replace") as file:
                yield file.read().rpartition(")")[2].split()[0]
        except OSError:
            continue  # it has ended


class Process:
    """One process: a program that was started here, or a rank of one."""

    def __init__(self, system, name, pid):
        self.system = system
        self.name = name
        self.pid = pid
        self.born = start_time(pid)
        self.lines = []  # with a line end taken off
        self.ended_at = None  # when it was seen to be over
        self.popen = None
        system.watch_end(self)

    def send(self, number):
        """A signal, to this process alone; the time it was sent."""
        check(start_time(self.pid) == self.born and self.born is not None,
              f"{self.name} is not there to be sent signal {number}")
        now = time.monotonic()
        os.kill(self.pid, number)
        return now

    def stop(self):
        """SIGSTOP, until every thread stands still; the time it was sent."""
        sent = self.send(signal.SIGSTOP)
        due = sent + 10
        while any(state not in "TtZX" for state in thread_states(self.pid)):
            check(time.monotonic() < due, f"{self.name} does not stop")
            os.sched_yield()
        return sent

    def wait(self, pattern, seconds=PATIENCE_S, count=1, after=0.0):
        """The count-th line that came later than `after` and holds pattern, as
        a Line with `found`, the match."""
        regex = re.compile(pattern)

        def look():
            seen = 0
            for line in self.lines:
                found = regex.search(line.text)
                if found and line.at > after:
                    seen += 1
                    if seen == count:
                        line.found = found
                        return line
            return None

        line = self.system.wait_until(look, seconds, lambda: self.is_silent())
        check(line is not None,
              f"{self.name}: no line {count} of /{pattern}/ within {seconds} s")
        return line

    def wait_until(self, truth, words, seconds=PATIENCE_S):
        """Until truth(lines) says something true, which is given back."""
        value = self.system.wait_until(lambda: truth(self.lines), seconds,
                                       self.is_silent)
        check(value, f"{self.name}: {words}: not within {seconds} s")
        return value

    def is_silent(self):
        """Over, and all that it said is read."""
        return (self.ended_at is not None
                and time.monotonic() > self.ended_at + 1)

    def matches(self, pattern):
        """All lines so far that hold pattern, as Lines with `found`."""
        regex = re.compile(pattern)
        lines = []
        with self.system.changed:
            for line in self.lines:
                line.found = regex.search(line.text)
                if line.found:
                    lines.append(line)
        return lines

    def wait_end(self, seconds=PATIENCE_S):
        """When it ended."""
        ended = self.system.wait_until(lambda: self.ended_at, seconds)
        check(ended, f"{self.name} did not end within {seconds} s")
        return ended

    def exit_status(self, seconds=PATIENCE_S):
        self.wait_end(seconds)
        return self.popen.wait(5)

    def json(self):
        """The JSON object of the last line; the program has ended."""
        self.wait_end()
        last = self.wait(r"^\{.*\}$", 5)
        return json.loads(last.text)


class System:
    """The programs of one case, and its folder."""

    def __init__(self, build):
        self.bin = os.path.join(build, "bin")
        self.work = tempfile.mkdtemp(prefix="epdx-faults-")
        self.processes = []
        self.undo = []  # called at the end, last first
        self.changed = threading.Condition()
        self.selector = selectors.DefaultSelector()
        self.wake_read, self.wake_write = os.pipe()
        self.selector.register(self.wake_read, selectors.EVENT_READ)
        self.over = False
        self.workloads = 0
        self.libc = ctypes.CDLL(None)
        self.libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        self.reader = threading.Thread(target=self.read_all, daemon=True)
        self.reader.start()

    # The reading thread.

    def read_all(self):
        while not self.over:
            for key, _ in self.selector.select():
                if key.data is not None:
                    key.data(key.fd)

    def register(self, fd, act):
        self.selector.register(fd, selectors.EVENT_READ, act)

    def unregister(self, fd):
        self.selector.unregister(fd)
        os.close(fd)

    def watch_lines(self, process, fd):
        rest = b""

        def act(fd):
            nonlocal rest
            try:
                data = os.read(fd, 65536)
            except BlockingIOError:
                return
            now = time.monotonic()
            if not data:
                self.unregister(fd)
                return
            *whole, rest = (rest + data).split(b"\n")
            with self.changed:
                for text in whole:
                    process.lines.append(
                        Line(now, text.decode(errors="replace")))
                self.changed.notify_all()

        os.set_blocking(fd, False)
        self.register(fd, act)

    def watch_end(self, process):
        try:
            fd = os.pidfd_open(process.pid)
        except ProcessLookupError:
            process.ended_at = time.monotonic()
            return

        def act(fd):
            with self.changed:
                process.ended_at = time.monotonic()
                self.changed.notify_all()
            self.unregister(fd)

        self.register(fd, act)

    def wait_until(self, truth, seconds, hopeless=None):
        """What truth() gives once it gives something; None after `seconds`, or
        when nothing can come any more."""
        due = time.monotonic() + seconds
        with self.changed:
            while True:
                value = truth()
                left = due - time.monotonic()
                if value or left <= 0 or (hopeless and hopeless()):
                    return value
                self.changed.wait(min(left, 0.5))

    # Programs.

    def environment(self, settings):
        names = ("EPDX_", "UCX_", "http_proxy", "https_proxy")
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(names) or key.startswith("UCX_MEM")}
        kept.update(EPDX_LOG_LEVEL="info", OMPI_ALLOW_RUN_AS_ROOT="1",
                    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        kept.update({key: str(value) for key, value in settings.items()})
        return kept

    def start(self, name, words, settings=None, prefix=()):
        """Start a program with pipes to here. It dies with this process."""
        words = [str(word) for word in words]
        tie = []
        if shutil.which("setpriv"):
            # mpirun must end its ranks, too.
            how = "TERM" if "mpirun" in words else "KILL"
            tie = ["setpriv", "--pdeathsig", how]
        popen = subprocess.Popen(
            tie + list(prefix) + words, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment(settings or {}), cwd=self.work)
        process = Process(self, name, popen.pid)
        process.popen = popen
        self.processes.append(process)
        for pipe in (popen.stdout, popen.stderr):
            self.watch_lines(process, os.dup(pipe.fileno()))
            pipe.close()
        return process

    def program(self, name):
        path = os.path.join(self.bin, name)
        check(os.path.exists(path), f"{path} is not built")
        return path

    def workload(self, requests):
        """A file of requests: each the list of its items' rows."""
        self.workloads += 1
        path = os.path.join(self.work, f"workload-{self.workloads}.jsonl")
        with open(path, "w", encoding="ascii") as file:
            for i, rows in enumerate(requests):
                file.write(json.dumps({"t": 0.0, "id": f"r{i}",
                                       "images": rows}) + "\n")
        return path

    def bootstrap(self, listen="127.0.0.1:0", prefix=()):
        """A discovery server; .address is where it listens."""
        process = self.start("bootstrap", [self.program("epdx_bootstrap"),
                                           "--listen", listen], prefix=prefix)
        process.address = process.wait(r"listening on (\S+)$").found[1]
        return process

    def encode(self, name, *words, host="127.0.0.1", settings=None, prefix=()):
        """One encode rank; .address is its bootstrap server's, where it has
        one inside. Comes back once it is registered."""
        process = self.start(name, [self.program("epdx_encode"), "--host",
                                    host, *words], settings, prefix)
        if "--bootstrap" in words:
            process.address = words[words.index("--bootstrap") + 1]
        else:
            process.address = process.wait(r": bootstrap (\S+)$").found[1]
        process.wait(r"encode rank \d+ is registered with")
        return process

    def prefill(self, name, ranks, *words, host="127.0.0.1", settings=None,
                prefix=(), of_rank=None):
        """A prefill engine: the mpirun, with .ranks, whose lines are the logs.
        of_rank: further settings of single ranks, by rank."""
        settings = dict(settings or {})
        settings["EPDX_LOG_FILE"] = os.path.join(self.work, f"{name}.%r")
        logs = []
        for rank in range(ranks):
            path = os.path.join(self.work, f"{name}.{rank}")
            os.mkfifo(path)
            # Read and write: it has no end while ranks come and go.
            logs.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        program = [self.program("epdx_prefill"), "--host", host, *words]
        command = list(LAUNCHER)
        for i in range(ranks if of_rank else 1):
            command += [":"] if i else []
            for key, value in (of_rank or {}).get(i, {}).items():
                command += ["-x", f"{key}={value}"]
            command += ["-np", 1 if of_rank else ranks, *program]
        process = self.start(name, command, settings, prefix)
        process.ranks = [Rank(self, process, rank, logs[rank])
                         for rank in range(ranks)]
        return process

    # The end.

    def close(self, failed):
        """End everything, by id. What was said is shown when a case failed."""
        known = set(children(os.getpid()))
        for process in self.processes:
            if process.ended_at is None and hasattr(process, "ranks"):
                self.try_kill(process.pid, signal.SIGTERM)
        for process in self.processes:
            if hasattr(process, "ranks"):
                self.wait_until(lambda p=process: p.ended_at, 5)
        # Ranks whose mpirun is gone are our children by now.
        for pid in known | set(children(os.getpid())):
            self.try_kill(pid, signal.SIGKILL)
        for process in self.processes:
            try:
                process.popen.wait(10)
            except subprocess.TimeoutExpired:
                print(f"{process.name} ({process.pid}) does not end")
        self.reap()
        for act in reversed(self.undo):
            act()
        if failed:
            self.show()
        self.over = True
        os.write(self.wake_write, b"x")
        self.reader.join(5)
        shutil.rmtree(self.work, ignore_errors=True)

    @staticmethod
    def try_kill(pid, number):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    @staticmethod
    def reap():
        """Collect orphans that came to us; the programs are collected."""
        due = time.monotonic() + 10
        while time.monotonic() < due:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    os.sched_yield()
            except ChildProcessError:
                return

    def show(self):
        for process in self.processes:
            everyone = [process] + getattr(process, "ranks", [])
            for one in everyone:
                print(f"--- {one.name}")
                for line in one.lines[-40:]:
                    print(f"{line.at:.3f} {line.text}")
        sys.stdout.flush()


class Rank(Process):
    """A rank of a prefill engine, known by its log."""

    def __init__(self, system, engine, rank, log):
        self.system = system
        self.engine = engine
        self.name = f"{engine.name} rank {rank}"
        self.rank = rank
        self.lines = []
        self.ended_at = None
        self.pid = None
        system.watch_lines(self, log)

    def find(self):
        """Learn the rank's id, which its first line tells."""
        if self.pid is None:
            line = self.wait(r"^epdx: [^ ]*:(\d+) ")
            self.pid = int(line.found[1])
            self.born = start_time(self.pid)
            self.system.watch_end(self)
        return self

    def is_silent(self):
        return self.engine.is_silent()

    def ended(self):
        """(admitted, failed): their lines by request."""
        admitted = {line.found[1]: line for line in
                    self.matches(r"request (\S+) is admitted$")}
        failed = {line.found[1]: line for line in self.matches(
            r"request (\S+) failed on rank \d+: (.*)$")}
        return admitted, failed


def went_by(engine, transport):
    """That rows went the way that the case is about."""
    said = engine.json()["transport"]
    check(said.startswith(transport), f"rows went by {said}")


def measured(what, seconds):
    print(f"measured: {what}: {seconds:.2f} s")


def main(names):
    """Run the cases that the command line names, or all."""
    cases = {name[5:]: value for name, value in names.items()
             if name.startswith("case_")}
    if len(sys.argv) < 2 or any(arg not in cases for arg in sys.argv[2:]):
        print(f"usage: {sys.argv[0]} BUILD [{'|'.join(cases)}]...",
              file=sys.stderr)
        sys.exit(2)
    # A runner that gives up sends TERM first: everything is ended then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))
    skipped = 0
    wanted = sys.argv[2:] or list(cases)
    for name in wanted:
        system = System(sys.argv[1])
        failed = True
        begun = time.monotonic()
        try:
            cases[name](system)
            print(f"passed: {name} ({time.monotonic() - begun:.1f} s)")
            failed = False
        except Skip as reason:
            print(f"skipped: {name}: {reason}")
            skipped += 1
            failed = False
        except Failure as words:
            print(f"FAILED: {name}: {words}")
        except Exception:
            print(f"FAILED: {name}:")
            traceback.print_exc(file=sys.stdout)
        finally:
            system.close(failed)
        sys.stdout.flush()
        if failed:
            sys.exit(1)
    sys.exit(SKIP if skipped == len(wanted) else 0)
