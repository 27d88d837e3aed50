"""Unary load by h2load, from core 1. How many calls is found out for each subject, so that all runs take about as long."""

import re
import subprocess
import time
from collections import namedtuple

from bench.processes import Failed

Run = namedtuple("Run", "rate seconds cpu_us cpu_user_us cpu_sys_us")
SIZES = {"8B": 8, "1KB": 1_024, "64KB": 65_536}


def varint(number):
    """As protobuf writes it."""
    octets = b""
    while number > 127:
        octets, number = octets + bytes([number & 127 | 128]), number >> 7
    return octets + bytes([number])


def body(ctx, size):
    """A file with a request as it is on the wire: gRPC's prefix, and a `Msg` with so many octets of payload."""
    path = ctx.out / f"request-{size}"
    message = b"\x0a" + varint(size) + b"x" * size if size else b""
    request = b"\0" + len(message).to_bytes(4, "big") + message
    # h2load reads it again for each call: no moment without it.
    if not path.exists() or path.read_bytes() != request:
        path.write_bytes(request)
    return path


def command(ctx, server, size, connections, streams, calls, headers=()):
    """How h2load is called."""
    target = f"http://{server.address}/echo.Echo/Unary"
    words = ["h2load", "-t1", f"-n{calls}", f"-c{connections}", f"-m{streams}", f"-d{body(ctx, size)}"]
    for header in ("content-type: application/grpc", "te: trailers", *headers):
        words += ["-H", header]
    return ["taskset", "-c", "1", *words, target]


def h2load(ctx, server, size, connections, streams, calls, headers=(), wrap=(), timeout=120):
    """Runs it. Calls in a second; what failed raises. (And its standard error, for `wrap`.)"""
    words = [*wrap, *command(ctx, server, size, connections, streams, calls, headers)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"h2load: no end after {timeout} s") from None
    finished = re.search(r"finished in ([\d.]+)(us|ms|s), ([\d.]+) req/s", done.stdout)
    good = re.search(r"status codes: (\d+) 2xx", done.stdout)
    data = re.search(r"\((\d+)\) data", done.stdout)
    if not finished or not good or not data:
        raise Failed(f"h2load: {done.stdout[-200:]} {done.stderr[-200:]}")
    if int(good[1]) != calls:
        raise Failed(f"only {good[1]} of {calls} calls succeeded")
    # It does not look at what comes back, but counts it: all the answers have the length of the request.
    wanted = calls * body(ctx, size).stat().st_size
    if int(data[1]) != wanted:
        raise Failed(f"{data[1]} octets of messages came back, not {wanted}")
    seconds = float(finished[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1}[finished[2]]
    return float(finished[3]), seconds, done.stderr


def calls_for(ctx, server, size, connections, streams, seconds, headers=()):
    """How many calls take about so long. It is the warm-up too."""
    each = connections * streams
    rate, _, _ = h2load(ctx, server, size, connections, streams, max(each * 2, 200), headers)
    rate, _, _ = h2load(ctx, server, size, connections, streams, max(each * 4, int(rate * seconds / 4)), headers)
    return max(each * 4, int(rate * seconds))


def measure(ctx, server, size, connections, streams, calls, headers=()):
    """One run, with what it cost the server. Where others use the machine meanwhile, it is tried again, twice at most, while there is
    patience for it."""
    for _ in range(3):
        ctx.wait_until_quiet()
        before = server.cpu()
        with ctx.watch(server):
            rate, seconds, _ = h2load(ctx, server, size, connections, streams, calls, headers)
        # Its last octets may be under way.
        time.sleep(0.01)
        after = server.cpu()
        if ctx.patience <= 0 or not ctx.foreign or ctx.foreign[-1] < 0.05:
            break
        ctx.patience -= seconds
    total = (after.total - before.total) * 1e6 / calls
    ticks = (after.user - before.user, after.system - before.system)
    share = ticks[0] / sum(ticks) if sum(ticks) else 0.5
    return Run(rate, seconds, total, total * share, total * (1 - share))


def compare(ctx, server, size, connections, streams, calls):
    """As many calls of the same shape as are a hundredth of the load, by a client that compares every answer."""
    count = max(calls // 100, 1)
    if size > 16_000:
        ctx.program("latency", server.address, f"size={size}", f"n={count}", "warm=0")
    else:
        shape = [f"connections={connections}", f"streams={streams}"]
        ctx.program("calls", server.address, f"size={size}", *shape, f"n={count}", "warm=0", "compare=1")
