"""What a call costs that does not depend on how quick the machine is: system calls, allocations, instructions."""

import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import load
from bench.processes import Failed

SHAPES = {"8B-1x1": 4_000, "8B-1x10": 8_000, "8B-1x100": 20_000, "8B-10x10": 20_000, "1KB-1x100": 20_000, "1KB-10x10": 20_000, "64KB-1x10": 2_000}
QUICK = ("8B-1x1", "8B-1x100", "64KB-1x10")
INSTRUCTIONS = {"8B-1x1": 1_000, "8B-1x100": 2_000, "8B-1x1-new": 1_000, "8B-1x100-new": 2_000, "1KB-1x10": 1_000, "1KB-1x100": 2_000, "64KB-1x10": 200}


def scenarios(ctx):
    """`syscalls-*`, `allocs-*`, `instructions-*`."""
    shapes = {shape: calls for shape, calls in SHAPES.items() if not ctx.quick or shape in QUICK}
    for shape, calls in shapes.items():
        yield from each(ctx, f"syscalls-{shape}", shape, calls, {}, count_syscalls)
    if counter(ctx).exists():
        for shape, calls in shapes.items():
            if ctx.quick and shape == "8B-1x1":
                continue
            yield from allocations(ctx, f"allocs-{shape}", shape, calls)
    if shutil.which("valgrind"):
        yield from instructions(ctx)


def parse(shape):
    """Size, connections, streams of `8B-1x10`."""
    size, counts = shape.split("-")[:2]
    return (load.SIZES[size], *map(int, counts.split("x")))


def able(ctx, size, *names):
    """The subjects that take messages of this size."""
    return [name for name in ctx.names(*names) if ctx.table[name].most >= size]


def each(ctx, name, shape, calls, options, count):
    """`count` for each subject."""
    size, connections, streams = parse(shape)
    if not ctx.wanted(name):
        return
    ctx.say(f"{name}: {', '.join(able(ctx, size))}")
    with ctx.servers(name, able(ctx, size), **options) as servers:
        for server in servers:
            with ctx.errors_of(name, server):
                load.h2load(ctx, server, size, connections, streams, max(calls // 10, connections * streams))
                for metric, value in count(ctx, server, size, connections, streams, calls).items():
                    yield name, server.name, metric, value


def count_syscalls(ctx, server, size, connections, streams, calls):
    """By strace, which slows the server, so that batches are as large as they can be, and the figure steady; and by perf, which hardly does."""
    said = {}
    if shutil.which("strace"):
        said["syscalls"] = by_strace(ctx, server, size, connections, streams, calls)
    if shutil.which("perf"):
        runs = [by_perf(ctx, server, size, connections, streams, calls) for _ in range(1 if ctx.quick else 3)]
        if None not in runs:
            said["syscalls_at_speed"] = sorted(runs)[len(runs) // 2]
    return said


def by_perf(ctx, server, size, connections, streams, calls):
    """System calls per call, by the kernel's tracepoint; None where it may not be used."""
    with tempfile.NamedTemporaryFile(dir=ctx.out) as file:
        wrap = ["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "-p", str(server.pid), "-o", file.name, "--"]
        load.h2load(ctx, server, size, connections, streams, calls, wrap=wrap)
        found = re.search(r"^(\d+),", Path(file.name).read_text(), re.M)
    return int(found[1]) / calls if found else None


def by_strace(ctx, server, size, connections, streams, calls):
    """System calls per call, by `strace -c`."""
    with tempfile.NamedTemporaryFile(dir=ctx.out) as file:
        command = ["strace", "-c", "-f", "-qq", "-o", file.name, "-p", str(server.pid)]
        tracer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        try:
            load.h2load(ctx, server, size, connections, streams, calls)
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.wait()
        rows = [line.split() for line in Path(file.name).read_text().splitlines()]
    return sum(int(row[3]) for row in rows if len(row) >= 5 and row[3].isdigit() and row[-1] != "total") / calls


def counter(ctx):
    """The library that counts allocations; the build makes it where there is a C compiler."""
    return ctx.out / "count_allocations.so"


def allocations(ctx, name, shape, calls):
    """malloc, calloc and realloc, and their octets, per call: so many calls against twice as many, on new connections each time."""
    counts = ctx.out / "allocations"

    def count(ctx, server, size, connections, streams, calls):
        def now():
            time.sleep(0.05)
            return struct.unpack("=2Q", (counts / str(server.pid)).read_bytes()[:16])

        said = [now()]
        for times in (1, 2):
            load.h2load(ctx, server, size, connections, streams, calls * times)
            said.append(now())
        once, twice = ([after - before for before, after in zip(*pair)] for pair in (said[:2], said[1:]))
        return {metric: (two - one) / calls for metric, one, two in zip(("allocs", "alloc_octets"), once, twice)}

    counts.mkdir(exist_ok=True)
    environment = {"LD_PRELOAD": str(counter(ctx)), "COUNT_ALLOCATIONS_IN": str(counts)}
    yield from each(ctx, name, shape, calls, {"environment": environment}, count)
    shutil.rmtree(counts)


def instructions(ctx):
    """In user space, by callgrind: a server that answers so many calls against one that answers twice as many. They do not depend on what
    else the machine does, so two are measured at a time. `-new`: with another `grpc-timeout` in every call, by our own generator."""
    jobs = []
    for shape, calls in INSTRUCTIONS.items():
        name = f"instructions-{shape}"
        if not ctx.wanted(name) or ctx.quick and shape not in ("8B-1x1", "8B-1x100"):
            continue
        few = ("floor", "pajamax", "pintle-mio", "pintle-tokio-inline", "pintle-tokio-ct", "tonic-ct")
        chosen = few if ctx.quick or shape.endswith("-new") else ()
        jobs += [(name, subject, shape, calls // 2 if ctx.quick else calls) for subject in able(ctx, parse(shape)[0], *chosen)]
    if jobs:
        ctx.say(f"instructions-*: {len(jobs)} pairs of runs under callgrind")
    ports = [ctx.port() for _ in range(2 * len(jobs))]
    with ThreadPoolExecutor(2) as pool:
        futures = [(job, pool.submit(pair, ctx, job, ports[2 * at : 2 * at + 2])) for at, job in enumerate(jobs)]
        for (name, subject, *_), future in futures:
            try:
                yield name, subject, "instructions", future.result()
            except Failed as failed:
                ctx.error(name, subject, failed)


def pair(ctx, job, ports):
    """Instructions per call."""
    name, subject, shape, calls = job
    once, twice = (callgrind(ctx, name, subject, shape, calls, times, ports[times - 1]) for times in (1, 2))
    return (twice - once) / calls


def callgrind(ctx, name, subject, shape, calls, times, port):
    """What one server has executed after so many calls."""
    from bench.processes import Server

    size, connections, streams = parse(shape)
    out = ctx.out / f"callgrind.{name}.{subject}.{times}"
    server = Server(
        ctx.table[subject],
        ctx.binaries,
        f"127.0.0.1:{port}",
        core=None,
        wrap=["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}"],
    )
    try:
        server.wait_until_it_listens(60)
        # The first calls are different: tables and buffers grow.
        for count in (200, calls * times):
            if shape.endswith("-new"):
                words = [f"connections={connections}", f"streams={streams}", f"n={count}", "warm=0", "timeout=new"]
                ctx.program("calls", server.address, *words, timeout=300)
            else:
                load.h2load(ctx, server, size, connections, streams, count, timeout=300)
    finally:
        server.end(signal.SIGTERM, 60)
    totals = re.findall(r"^(?:totals|summary): (\d+)", out.read_text(), re.M)
    if not totals:
        raise Failed("callgrind has written nothing")
    out.unlink()
    return max(map(int, totals))
