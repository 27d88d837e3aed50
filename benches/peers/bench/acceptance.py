"""What Pintle wants of itself, line by line: a figure against another subject's in the same run, or against a number."""

from bench.results import short

MIO, INLINE, FLOOR, TONIC, PAJAMAX = "pintle-mio", "pintle-tokio-inline", "floor", "tonic-ct", "pajamax"
# Each of ours against tonic in the same kind of runtime.
PAIRS = [(f"pintle-{runtime}-{kind}", f"tonic-{kind}") for runtime in ("tokio", "smol") for kind in ("ct", "mt1", "mt2")]


class Line:
    """One thing that is wanted."""

    def __init__(self, group, text, wanted, measured):
        self.group, self.text, self.wanted, self.measured = group, text, wanted, measured

    def judge(self, results):
        """(group, text, wanted, measured, holds or not)"""
        value = self.measured(results.get)
        if value is None:
            return self.group, self.text, self.wanted.text, "-", "not measured"
        return self.group, self.text, self.wanted.text, short(value), "holds" if self.wanted.holds(value) else "MISSES"


class Wanted:
    """A bound."""

    def __init__(self, sign, bound, unit=""):
        self.sign, self.bound = sign, bound
        self.text = f"{'<=' if sign < 0 else '>='} {bound:,g}{unit}"

    def holds(self, value):
        """Whether the value keeps it."""
        return value <= self.bound if self.sign < 0 else value >= self.bound


def ratio(group, scenario, metric, ours, other, most, sign=-1):
    """Ours divided by theirs."""

    def measured(get):
        top, bottom = get(scenario, ours, metric), get(scenario, other, metric)
        return top / bottom if top is not None and bottom else None

    return Line(group, f"{scenario} {metric}: {ours} / {other}", Wanted(sign, most, " x"), measured)


def across(group, metric, one, other, subject, most):
    """The same subject in two scenarios."""

    def measured(get):
        top, bottom = get(one, subject, metric), get(other, subject, metric)
        return top / bottom if top is not None and bottom else None

    return Line(group, f"{metric} of {subject}: {one} / {other}", Wanted(-1, most, " x"), measured)


def absolute(group, scenario, metric, subject, most):
    """A number."""
    return Line(group, f"{scenario} {metric}: {subject}", Wanted(-1, most), lambda get: get(scenario, subject, metric))


def spread(group, metric, subject, scenarios, most):
    """The dearest of them divided by the cheapest."""

    def measured(get):
        values = [get(scenario, subject, metric) for scenario in scenarios]
        values = [value for value in values if value is not None]
        return max(values) / min(values) if len(values) > 1 else None

    return Line(group, f"{metric} of {subject}, dearest / cheapest: {', '.join(scenarios)}", Wanted(-1, most, " x"), measured)


def unary():
    """1 to 3."""
    for scenario, bounds in (
        ("unary-8B-10x10", ((PAJAMAX, 1.0), (TONIC, 0.22))),
        ("unary-1KB-10x10", ((PAJAMAX, 1.0), (TONIC, 0.12))),
        ("unary-64KB-1x10", ((TONIC, 0.70), (FLOOR, 1.15))),
    ):
        for other, most in bounds:
            yield ratio("1", scenario, "cpu_us", MIO, other, most)
    for subject, suffix, one, hundred in (
        (MIO, "", 2_000, 1_650),
        (MIO, "-new", 2_400, 2_000),
        (INLINE, "", 4_200, 1_900),
        ("pintle-tokio-ct", "", 7_500, 4_200),
    ):
        yield absolute("2", f"instructions-8B-1x1{suffix}", "instructions", subject, one)
        yield absolute("2", f"instructions-8B-1x100{suffix}", "instructions", subject, hundred)
    yield ratio("3", "unary-8B-1x100", "rate", MIO, FLOOR, 0.9, sign=1)
    yield absolute("3", "syscalls-64KB-1x10", "syscalls", MIO, 1.6)
    for subject in (INLINE, "pintle-tokio-ct"):
        yield absolute("3", "syscalls-64KB-1x10", "syscalls", subject, 2.5)


def runtimes():
    """4."""
    for ours, theirs in PAIRS:
        for shape in ("8B-1x1", "8B-1x100", "1KB-1x10", "1KB-1x100", "64KB-1x10"):
            yield ratio("4", f"instructions-{shape}", "instructions", ours, theirs, 0.2)
        for size, most in (("8B", 0.4), ("1KB", 0.3)):
            for shape in ("1x10", "1x100", "10x10", "50x10"):
                yield ratio("4", f"unary-{size}-{shape}", "cpu_us", ours, theirs, most)
        for shape in ("1x1", "1x10", "1x100", "10x10", "50x10"):
            yield ratio("4", f"unary-64KB-{shape}", "cpu_us", ours, theirs, 0.75)
    for socket in ("tcp", "uds"):
        yield ratio("4", f"latency-8B-{socket}-same", "p50_us", MIO, FLOOR, 1.03)
    for subject in (INLINE, "pintle-tokio-ct"):
        yield ratio("4", "latency-8B-tcp-same", "p50_us", subject, TONIC, 1.0)


def streams():
    """5 and 6: the figures of streams.py."""
    for end in ("server_ns", "client_ns"):
        for way, most in (("send", 0.6), ("bidi", 0.7), ("receive", 0.85)):
            yield ratio("5", f"stream-{way}-8B", end, MIO, TONIC, most)
        for way, most in (("send", 1.25), ("receive", 1.6)):
            yield Line("5", f"stream-{way}-1KB {end}: {MIO} / raw-tcp client_ns", Wanted(-1, most, " x"), against_tcp(f"stream-{way}-1KB", end))
        for way in ("send", "receive", "bidi"):
            for size in ("8B", "1KB"):
                yield ratio("5", f"stream-{way}-{size}", end, "pintle-tokio", TONIC, 0.9)
    for subject in (MIO, "pintle-tokio"):
        for flight, most in ((100, 0.35), (10, 0.5), (1, 0.6)):
            yield ratio("6", f"client-8B-{flight}", "cpu_us", subject, TONIC, most)
        yield absolute("6", "client-8B-1", "writes", subject, 1.02)


def against_tcp(scenario, metric):
    """TCP itself has one figure for each end, under one metric."""

    def measured(get):
        ours, tcp = get(scenario, MIO, metric), get(scenario, "raw-tcp", "client_ns")
        return ours / tcp if ours is not None and tcp else None

    return measured


def memory_and_growth():
    """7, 8 and 10."""
    for subject, idle, after in ((MIO, 2, 4), ("pintle-tokio-ct", 4, None), (INLINE, 4, None)):
        for count in (2_000, 15_000):
            yield absolute("7", f"idle-{count}", "idle_conn_kb", subject, idle)
            if after:
                yield absolute("7", f"idle-{count}", "idle_conn_after_call_kb", subject, after)
    for subject in (MIO, "pintle-tokio-ct"):
        yield absolute("7", "idle-streams", "idle_stream_kb", subject, 1)
        yield across("7", "cpu_us", "busy-8B-1x10-beside-15000", "busy-8B-1x10-alone", subject, 1.10)
    connections = [f"growth-8B-{count}x10" for count in (10, 100, 1000, 5000)]
    streams_of_one = [f"growth-8B-1x{count}" for count in (100, 300, 1000)]
    for subject in (MIO, "pintle-tokio-ct"):
        yield spread("8", "cpu_us", subject, connections, 1.25)
        yield spread("8", "cpu_us", subject, streams_of_one, 1.25)
    for subject in (MIO, "pintle-tokio-ct"):
        yield across("8", "cpu_us", "deadline-5S", "deadline-plain", subject, 1.05)
    yield ratio("10", "cold-tcp", "start_ms", MIO, FLOOR, 1.05)


def lines():
    """All of them, in order."""
    yield from unary()
    yield from runtimes()
    yield from streams()
    yield from memory_and_growth()
    # The ninth is about a long link, and is measured on one: see benches/peers/README.md.
