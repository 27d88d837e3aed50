"""Unary calls: three payloads in five shapes (connections x calls in flight on each). The main table."""

from bench import load

SHAPES = ["1x1", "1x10", "1x100", "10x10", "50x10"]
QUICK = ["8B-1x1", "8B-1x100", "8B-10x10", "1KB-10x10", "64KB-1x10"]


def scenarios(ctx):
    """`unary-8B-10x10` and so on: rate, CPU, and the server's peak memory."""
    for size in load.SIZES:
        for shape in SHAPES:
            name = f"unary-{size}-{shape}"
            if ctx.wanted(name) and (not ctx.quick or f"{size}-{shape}" in QUICK):
                yield from one(ctx, name, load.SIZES[size], *map(int, shape.split("x")))


def one(ctx, name, size, connections, streams):
    """One scenario, all subjects."""
    names = [subject for subject in ctx.names() if ctx.table[subject].most >= size]
    ctx.say(f"{name}: {', '.join(names)}")
    with ctx.servers(name, names) as servers:
        calls = {}
        for server in servers:
            with ctx.errors_of(name, server):
                calls[server.name] = load.calls_for(ctx, server, size, connections, streams, ctx.seconds)
        for server in ctx.interleaved(servers):
            with ctx.errors_of(name, server):
                run = load.measure(ctx, server, size, connections, streams, calls[server.name])
                for metric in ("rate", "cpu_us", "cpu_user_us", "cpu_sys_us"):
                    yield name, server.name, metric, getattr(run, metric)
        for server in ctx.interleaved(servers, 1):
            with ctx.errors_of(name, server):
                load.compare(ctx, server, size, connections, streams, calls[server.name] * ctx.reps)
                yield name, server.name, "rss_kb", server.memory()[1]
