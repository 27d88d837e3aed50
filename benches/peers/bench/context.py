"""What a scenario module is given, and what it may do with it.

    def scenarios(ctx):
        name = "server-stream-8B"
        if not ctx.wanted(name):
            return
        with ctx.servers(name, ctx.names("pintle-mio", "tonic-ct")) as servers:      # started on core 0, each checked once
            for server in ctx.interleaved(servers):                                  # each once, and again, ctx.reps times
                line = ctx.generate(server, "stream_tonic", server.address, "what=server", "size=8", f"pid={server.pid}")
                said = fields(line)                                                  # {"per_s": "1000", ...}
                yield name, server.name, "rate", float(said["per_s"])

`ctx.generate` raises `Failed` when the program fails. A failed request is no figure but a row `error`, so what may fail stands in

                with ctx.errors_of(name, server):
                    ...

`ctx.interleaved` leaves out who has failed. (What is yielded inside of it is a sample as everywhere.)
"""

import fnmatch
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from bench import processes
from bench.processes import Failed, Server


def fields(line):
    """`a=1 b=2` as a dictionary."""
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


class Context:
    """`quick`: few and short runs. `reps`: repetitions. `seconds`: how long one run of load is to take, about. `out`: a folder for what is
    needed meanwhile."""

    def __init__(self, binaries, out, quick, only, subjects):
        self.binaries = Path(binaries)
        self.out = Path(out)
        self.quick = quick
        self.reps = 3 if quick else 5
        self.seconds = 0.2 if quick else 0.5
        # Seconds that may be spent in all because other people use the machine.
        self.patience = 0 if quick else 180
        self.only = only
        self.table = subjects
        self.errors = []
        self.foreign = []
        # Runs beside each other take different ports.
        self._port = 10_000 + os.getpid() * 97 % 20_000

    def wanted(self, scenario):
        """Whether `--only` asks for the scenario: ask before anything is started for it."""
        return not self.only or any(fnmatch.fnmatch(scenario, f"*{only}*") for only in self.only)

    def names(self, *names):
        """Those of the names (all if none are given) that can be measured here, in the table's order."""
        return [name for name in self.table if not names or name in names]

    def say(self, text):
        """Progress, on standard error."""
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    def error(self, scenario, subject, failed):
        """A failed request is no figure: it is named in the results, and the subject has no row for the scenario."""
        text = " ".join(str(failed).split())[:300]
        if (scenario, subject) not in [(one, two) for one, two, _ in self.errors]:
            self.say(f"{scenario}: {subject} FAILED: {text}")
            self.errors.append((scenario, subject, text))

    @contextmanager
    def errors_of(self, scenario, server):
        """What fails in here becomes an error row."""
        try:
            yield
        except (Failed, OSError, KeyError, ValueError) as failed:
            server.failed = True
            self.error(scenario, server.name, failed)

    def wait_until_quiet(self, seconds=5):
        """Until others use less than 4 % of a core, but not for ever: once the patience of the whole run is used up, not at all."""
        began = time.monotonic()
        end = began + min(seconds, self.patience)
        while time.monotonic() < end:
            before = processes.machine_cpu()
            time.sleep(0.12)
            if processes.machine_cpu() - before <= 0.01:
                return
        self.patience -= time.monotonic() - began

    def port(self):
        """One that nobody uses. Below 32768, where the kernel takes ports for clients."""
        while True:
            self._port += 1
            if processes.is_free(self._port):
                return self._port

    @contextmanager
    def servers(self, scenario, names, unix=False, core=0, check=True, **options):
        """The subjects, each started on its core, checked, and ended afterwards. Options: `streams`, `connections` (raised limits),
        `environment`, `wrap` (a command in front of the server's). Who does not start or answer becomes an error row."""
        running = []
        try:
            for name in names:
                address = f"unix:{self.out}/{name}.sock" if unix else f"127.0.0.1:{self.port()}"
                server = Server(self.table[name], self.binaries, address, core, **options)
                running.append(server)
                try:
                    server.wait_until_it_listens()
                    if check:
                        self.check(server)
                except Failed as failed:
                    self.error(scenario, name, failed)
                    server.failed = True
            yield [server for server in running if not server.failed]
        finally:
            for server in running:
                server.end()

    def check(self, server):
        """Every size that is measured, and streams, through tonic's client: the answers must be what was sent."""
        self.program("check", server.address, f"most={server.subject.most}", f"streams={int(server.subject.streams)}")

    def interleaved(self, servers, reps=None):
        """Each server once, then each again; without those that have failed."""
        for _ in range(reps or self.reps):
            yield from (server for server in servers if not server.failed)

    def generate(self, server, program, *args, core=1, timeout=120):
        """Runs a load generator on its core, notes what others used of the machine meanwhile, and returns what it printed."""
        with self.watch(server):
            return self.program(program, *args, core=core, timeout=timeout)

    @contextmanager
    def watch(self, *servers):
        """Notes the CPU that neither we and our children nor the servers used: other people's."""
        before = processes.machine_cpu(), processes.own_cpu() + sum(server.cpu().total for server in servers), time.monotonic()
        yield
        machine, own, now = processes.machine_cpu(), processes.own_cpu() + sum(server.cpu().total for server in servers), time.monotonic()
        wall = max(now - before[2], 1e-3)
        # The kernel counts the machine in ticks of 10 ms: what is shorter says nothing.
        if wall >= 0.1:
            self.foreign.append(max(0.0, (machine - before[0]) - (own - before[1])) / wall)

    def program(self, program, *args, core=1, timeout=120):
        """Runs a program of ours (or, given a path, anybody's) and returns what it printed."""
        path = program if "/" in str(program) else self.binaries / program
        command = ["taskset", "-c", str(core), str(path), *map(str, args)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Failed(f"{program}: no end after {timeout} s") from None
        if done.returncode != 0:
            raise Failed(f"{program}: {done.stderr.strip() or done.stdout.strip() or done.returncode}")
        return done.stdout
