"""Servers: what they are, how they start and end, and what the kernel says that they use."""

import os
import resource
import signal
import socket
import subprocess
import time
from collections import namedtuple
from dataclasses import dataclass

TICK = os.sysconf("SC_CLK_TCK")
Cpu = namedtuple("Cpu", "total user system")


class Failed(Exception):
    """A subject or a generator did not do what it should."""


@dataclass(frozen=True)
class Subject:
    """A server: its program (of the binaries' folder) with its words, and what it can do."""

    name: str
    program: str
    words: tuple = ()
    unix: bool = True
    streams: bool = True
    # The largest message that it takes, octets.
    most: int = 1 << 20
    # It takes `streams=N connections=N`: limits that are raised where a scenario is about more.
    limits: bool = True
    # So many connections are too many: it has a thread for each.
    connections: int = 20_000

    def command(self, binaries, address, streams=None, connections=None):
        """How it is started."""
        limits = [f"{key}={value}" for key, value in (("streams", streams), ("connections", connections)) if value and self.limits]
        return [str(binaries / self.program), *self.words, *limits, address]


SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("floor", "server_floor", streams=False, limits=False),
        Subject("pajamax", "server_pajamax", unix=False, streams=False, most=8 << 10, limits=False, connections=2_000),
        Subject("pintle-mio", "echo-mio"),
        Subject("pintle-tokio-inline", "echo-tokio", ("inline",)),
        Subject("pintle-tokio-ct", "echo-tokio", ("spawn",)),
        Subject("pintle-tokio-mt1", "echo-tokio", ("mt1",)),
        Subject("pintle-tokio-mt2", "echo-tokio", ("mt2",)),
        Subject("pintle-smol-ct", "echo-smol", ("ct",)),
        Subject("pintle-smol-mt1", "echo-smol", ("mt1",)),
        Subject("pintle-smol-mt2", "echo-smol", ("mt2",)),
        Subject("tonic-ct", "server_tonic", ("ct",)),
        Subject("tonic-mt1", "server_tonic", ("mt1",)),
        Subject("tonic-mt2", "server_tonic", ("mt2",)),
        Subject("grpc-cpp", "server_cpp", limits=False),
    )
}


class Server:
    """A subject that runs."""

    def __init__(self, subject, binaries, address, core=0, streams=None, connections=None, environment=None, wrap=()):
        self.subject = subject
        self.name = subject.name
        self.address = address
        self.failed = False
        if address.startswith("unix:") and os.path.exists(address[5:]):
            os.unlink(address[5:])
        pin = [] if core is None else ["taskset", "-c", str(core)]
        command = [*pin, *wrap, *subject.command(binaries, address, streams, connections)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **(environment or {})}
        )
        # taskset and valgrind become the server: the process is the same.
        self.pid = self.process.pid

    def wait_until_it_listens(self, seconds=30):
        """Connects until somebody accepts."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Failed(f"it ended at once, with {self.process.returncode}")
            try:
                connect(self.address).close()
                return
            except OSError:
                time.sleep(0.005)
        raise Failed(f"nobody listens at {self.address}")

    def cpu(self):
        """Seconds of CPU so far, threads that have ended included. The total is the scheduler's, to the nanosecond; how it divides into
        user and system is sampled by the kernel at its ticks, so short runs know it badly."""
        try:
            # The clock of a process is named by its id (clock_getcpuclockid(3)).
            total = time.clock_gettime((~self.pid << 3) | 2)
            with open(f"/proc/{self.pid}/stat") as file:
                words = file.read().rsplit(")", 1)[1].split()
        except OSError:
            raise Failed("it has ended") from None
        return Cpu(total, int(words[11]) / TICK, int(words[12]) / TICK)

    def memory(self):
        """KB: resident now, and at most so far."""
        with open(f"/proc/{self.pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["VmRSS"].split()[0]), int(lines["VmHWM"].split()[0])

    def end(self, how=signal.SIGKILL, seconds=20):
        """Ends it, gently if `how` is."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def connect(address):
    """A connected socket."""
    if address.startswith("unix:"):
        stream = socket.socket(socket.AF_UNIX)
        stream.connect(address[5:])
        return stream
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=5)


def is_free(port):
    """Whether nobody listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def machine_cpu():
    """Seconds of CPU that the whole machine has used, on all cores, niced work and interrupts included."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICK


def own_cpu():
    """Seconds of CPU of this process and of its children that have ended."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
