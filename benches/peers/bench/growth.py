"""What a call costs the server when there are more connections, and more calls in flight on one connection."""

from bench.context import fields

SUBJECTS = ("floor", "pintle-mio", "pintle-tokio-inline", "pintle-tokio-ct", "tonic-ct")
SHAPES = ["1x10", "10x10", "100x10", "1000x10", "5000x10", "1x1", "1x100", "1x300", "1x1000"]


def scenarios(ctx):
    """`growth-8B-5000x10`, `growth-8B-1x1000` and so on: our own generator, which opens and warms its connections before it counts.
    The servers' limits are raised to what is needed, where they are lower."""
    for shape in SHAPES:
        name = f"growth-8B-{shape}"
        if not ctx.wanted(name) or ctx.quick and shape not in ("10x10", "1000x10", "1x100", "1x1000"):
            continue
        connections, streams = map(int, shape.split("x"))
        ctx.say(f"{name}: {', '.join(ctx.names(*SUBJECTS))}")
        milliseconds = 200 if ctx.quick else 500
        limits = {"streams": 1_000 if streams > 100 else None}
        with ctx.servers(name, ctx.names(*SUBJECTS), **limits) as servers:
            for server in ctx.interleaved(servers, 3):
                with ctx.errors_of(name, server):
                    warm = 1_000 if shape == "1x1" else 20_000
                    words = [f"connections={connections}", f"streams={streams}", f"milliseconds={milliseconds}", f"warm={warm}"]
                    words.append(f"pid={server.pid}")
                    said = fields(ctx.generate(server, "calls", server.address, *words))
                    yield name, server.name, "rate", float(said["per_s"])
                    yield name, server.name, "cpu_us", float(said["server_ns"]) / 1e3
