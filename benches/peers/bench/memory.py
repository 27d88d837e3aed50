"""Memory: what a connection costs that does nothing, and what it costs others."""

import subprocess
import time
from contextlib import contextmanager

from bench import load
from bench.processes import Failed

IDLE = ("floor", "pajamax", "pintle-mio", "pintle-tokio-inline", "pintle-tokio-ct", "pintle-smol-ct", "tonic-ct", "tonic-mt2", "grpc-cpp")
BUSY = ("floor", "pintle-mio", "pintle-tokio-inline", "pintle-tokio-ct", "pintle-smol-ct", "tonic-ct")


def scenarios(ctx):
    """`idle-2000`, `idle-15000`; `idle-streams`; `busy-8B-1x10-alone` and `busy-8B-1x10-beside-15000`."""
    for count in (2_000, 15_000):
        name = f"idle-{count}"
        if ctx.wanted(name) and not (ctx.quick and count > 2_000):
            yield from idle(ctx, name, count)
    if ctx.wanted("idle-streams"):
        yield from idle_streams(ctx)
    many = 2_000 if ctx.quick else 15_000
    if ctx.wanted("busy-8B-1x10-alone") or ctx.wanted(f"busy-8B-1x10-beside-{many}"):
        yield from busy(ctx, many)


@contextmanager
def held(ctx, server, count, streams=0):
    """A process that holds so many connections open; when it is told to, it makes a call on each, or opens so many streams on each."""
    command = ["taskset", "-c", "1", str(ctx.binaries / "idle"), server.address, f"connections={count}", f"streams={streams}"]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if holder.stdout.readline() != "open\n":
            raise Failed(f"{count} connections: {holder.stderr.read()}")
        yield holder
    finally:
        holder.kill()
        holder.communicate()


def tell(holder, what):
    """Has it do something, and waits until it has."""
    holder.stdin.write(f"{what}\n")
    holder.stdin.flush()
    if holder.stdout.readline() != "done\n":
        raise Failed(f"{what} on each connection: {holder.stderr.read()}")


def idle_streams(ctx):
    """100 streams on each of 100 connections, of a method whose handler waits for a message that does not come."""
    name, connections, streams = "idle-streams", 100, 100
    names = [subject for subject in ctx.names(*IDLE) if ctx.table[subject].streams]
    ctx.say(f"{name}: {', '.join(names)}")
    for subject in names:
        with ctx.servers(name, [subject]) as servers:
            for server in servers:
                with ctx.errors_of(name, server), held(ctx, server, connections, streams) as holder:
                    tell(holder, "call")
                    time.sleep(0.5)
                    before, _ = server.memory()
                    tell(holder, "hold")
                    time.sleep(1)
                    yield name, subject, "idle_stream_kb", (server.memory()[0] - before) / (connections * streams)


def idle(ctx, name, count):
    """Resident memory with and without them, divided by their number: first as they are, then after one call on each."""
    names = [subject for subject in ctx.names(*IDLE) if ctx.table[subject].connections >= count]
    ctx.say(f"{name}: {', '.join(names)}")
    for subject in names:
        with ctx.servers(name, [subject], connections=count + 1_000) as servers:
            for server in servers:
                with ctx.errors_of(name, server):
                    yield from one_idle(ctx, name, server, count)


def one_idle(ctx, name, server, count):
    """What `idle` does for each."""
    # Twenty before, for what is only there once.
    with held(ctx, server, 20):
        time.sleep(0.3)
        before, _ = server.memory()
        with held(ctx, server, count) as holder:
            time.sleep(1)
            yield name, server.name, "idle_conn_kb", (server.memory()[0] - before) / count
            tell(holder, "call")
            time.sleep(0.5)
            yield name, server.name, "idle_conn_after_call_kb", (server.memory()[0] - before) / count


def busy(ctx, many):
    """One connection with ten calls in flight: alone, and beside many that are idle. Two servers for each subject, taken in turn."""
    names = ctx.names(*BUSY)
    alone, beside = "busy-8B-1x10-alone", f"busy-8B-1x10-beside-{many}"
    ctx.say(f"{beside}: {', '.join(names)}")
    for subject in names:
        with ctx.servers(alone, [subject]) as lonely, ctx.servers(beside, [subject], connections=many + 1_000) as crowded:
            for one, other in zip(lonely, crowded):
                with ctx.errors_of(beside, other), held(ctx, other, many):
                    calls = load.calls_for(ctx, one, 8, 1, 10, ctx.seconds)
                    load.calls_for(ctx, other, 8, 1, 10, ctx.seconds)
                    for _ in range(ctx.reps):
                        for name, server in ((alone, one), (beside, other)):
                            run = load.measure(ctx, server, 8, 1, 10, calls)
                            yield name, subject, "rate", run.rate
                            yield name, subject, "cpu_us", run.cpu_us
