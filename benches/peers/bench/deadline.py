"""What a deadline costs: the same calls without one, with `grpc-timeout: 5S`, and with a timeout that is new in every call."""

from bench.context import fields

KINDS = {"plain": "none", "5S": "same", "new": "new"}
SUBJECTS = ("floor", "pajamax", "pintle-mio", "pintle-tokio-inline", "pintle-tokio-ct", "pintle-smol-ct", "tonic-ct")


def scenarios(ctx):
    """`deadline-plain`, `deadline-5S`, `deadline-new`: 8 octets, 10 connections with 10 calls each, our own generator."""
    names = {kind: f"deadline-{kind}" for kind in KINDS}
    if not any(map(ctx.wanted, names.values())):
        return
    # On the quicker servers that is more than 100,000 calls.
    milliseconds = 150 if ctx.quick else 500
    ctx.say("deadline-*: " + ", ".join(ctx.names(*SUBJECTS)))
    with ctx.servers("deadline-plain", ctx.names(*SUBJECTS)) as servers:
        for server in ctx.interleaved(servers):
            # The three one after the other: it is their ratio that counts.
            for kind, word in KINDS.items():
                with ctx.errors_of(names[kind], server):
                    words = ["connections=10", "streams=10", f"milliseconds={milliseconds}", "warm=20000", f"timeout={word}", f"pid={server.pid}"]
                    said = fields(ctx.generate(server, "calls", server.address, *words))
                    yield names[kind], server.name, "rate", float(said["per_s"])
                    yield names[kind], server.name, "cpu_us", float(said["server_ns"]) / 1e3
