"""One call after the other: how long it takes, over TCP and over a Unix socket, with both ends on one core and on two. And cold starts."""

from bench.context import fields
from bench.processes import Failed

SUBJECTS = ("floor", "pajamax", "pintle-mio", "pintle-tokio-inline", "pintle-tokio-ct", "pintle-smol-ct", "tonic-ct", "tonic-mt1", "grpc-cpp")
COLD = ("floor", "pajamax", "pintle-mio", "pintle-tokio-ct", "pintle-smol-ct", "tonic-ct", "tonic-mt2", "grpc-cpp")


def scenarios(ctx):
    """`latency-8B-tcp-same` and so on, and `cold-tcp`."""
    for socket in ("tcp", "uds"):
        for where, core in (("same", 0), ("across", 1)):
            name = f"latency-8B-{socket}-{where}"
            if ctx.wanted(name):
                yield from sequential(ctx, name, socket == "uds", core)
    for socket in ("tcp", "uds"):
        name = f"cold-{socket}"
        if ctx.wanted(name):
            yield from cold(ctx, name, socket == "uds")


def sequential(ctx, name, unix, core):
    """Every call of a run is timed; its percentiles are one sample."""
    names = [subject for subject in ctx.names(*SUBJECTS) if ctx.table[subject].unix or not unix]
    ctx.say(f"{name}: {', '.join(names)}")
    count, warm = (2_000, 500) if ctx.quick else (20_000, 2_000)
    with ctx.servers(name, names, unix=unix) as servers:
        for server in ctx.interleaved(servers):
            with ctx.errors_of(name, server):
                words = ["size=8", f"n={count}", f"warm={warm}", f"pid={server.pid}"]
                said = fields(ctx.generate(server, "latency", server.address, *words, core=core))
                yield name, server.name, "p50_us", float(said["p50_us"])
                yield name, server.name, "p99_us", float(said["p99_us"])
                yield name, server.name, "cpu_us", float(said["server_ns"]) / 1e3


def cold(ctx, name, unix):
    """From the start of the process to its first answer. Neither end is pinned."""
    names = [subject for subject in ctx.names(*COLD) if ctx.table[subject].unix or not unix]
    ctx.say(f"{name}: {', '.join(names)}")
    addresses = {subject: f"unix:{ctx.out}/cold-{subject}.sock" if unix else f"127.0.0.1:{ctx.port()}" for subject in names}
    for _ in range(ctx.reps * 2):
        for subject in names:
            command = ctx.table[subject].command(ctx.binaries, addresses[subject])
            try:
                said = ctx.program("cold", addresses[subject], "n=2", "--", *command, core="0,1")
            except Failed as failed:
                ctx.error(name, subject, failed)
                continue
            for line in said.split():
                yield name, subject, "start_ms", float(line)
