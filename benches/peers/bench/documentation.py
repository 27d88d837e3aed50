"""Puts the tables of a run into docs/performance.md, between two comments."""

from bench import build, table
from bench.results import short

PAGE = build.ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- benches/peers/run writes from here -->", "<!-- to here -->"
# Tables of the page: title, rows of scenarios, metric.
PIVOTS = [
    ("Server CPU per unary call, µs", "unary-", "cpu_us"),
    ("Unary calls a second", "unary-", "rate"),
    ("Instructions per unary call", "instructions-", "instructions"),
    ("System calls per unary call", "syscalls-", "syscalls"),
    ("Allocations per unary call", "allocs-", "allocs"),
    ("One call after the other: median, µs", "latency-", "p50_us"),
    ("One call after the other: 99th percentile, µs", "latency-", "p99_us"),
    ("Deadlines: server CPU per call, µs", "deadline-", "cpu_us"),
    ("Growth: server CPU per call, µs", "growth-", "cpu_us"),
    ("One busy connection: server CPU per call, µs", "busy-", "cpu_us"),
    ("Memory of an idle connection, KB", "idle-", "idle_conn_kb"),
    ("Memory of an idle connection after one call, KB", "idle-", "idle_conn_after_call_kb"),
    ("Peak memory of the server, KB", "unary-", "rss_kb"),
    ("Start of the process to the first answer, ms", "cold-", "start_ms"),
    ("Streams: server CPU per message, ns", "stream-", "server_ns"),
    ("Streams: client CPU per message, ns", "stream-", "client_ns"),
    ("Clients: CPU per unary call, µs", "client-", "cpu_us"),
]


def pivot(results, errors, prefix, metric):
    """Subjects down, scenarios across."""
    keys = [key for key in results.rows if key[0].startswith(prefix) and key[2] == metric]
    scenarios = list(dict.fromkeys(scenario for scenario, _, _ in keys))
    subjects = list(dict.fromkeys(subject for _, subject, _ in keys))
    failed = {(scenario, subject) for scenario, subject, _ in errors}
    rows = [["", *(scenario.removeprefix(prefix) for scenario in scenarios)]]
    for subject in subjects:
        cells = ["fails" if (one, subject) in failed else short(results.get(one, subject, metric)) for one in scenarios]
        rows.append([subject, *cells])
    return rows if keys else []


def rendered(results, errors, about):
    """The tables as Markdown."""
    lines = ["", *(f"- {key}: {value}" for key, value in about.items()), ""]
    for title, prefix, metric in PIVOTS:
        rows = pivot(results, errors, prefix, metric)
        if rows:
            lines += [f"### {title}", "", *table.markdown(rows), ""]
    judged = table.judged(results, measured_only=True)
    if judged:
        lines += ["### What Pintle wants of itself", "", f"{sum(row[4] == 'holds' for row in judged)} of {len(judged)} hold.", ""]
        misses = [[row[1], row[2], row[3]] for row in judged if row[4] == "MISSES"]
        lines += [*table.markdown([["misses", "wanted", "measured"], *misses]), ""] if misses else []
        held = [[row[1], row[2], row[3]] for row in judged if row[4] == "holds"]
        lines += [*table.markdown([["holds", "wanted", "measured"], *held]), ""] if held else []
    if errors:
        lines += ["### What failed", "", *(f"- {scenario}, {subject}: {text}" for scenario, subject, text in errors), ""]
    return "\n".join(lines)


def write(results, errors, about):
    """Between the comments."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(before + BEGIN + rendered(results, errors, about) + END + after)
    print(f"{PAGE}")
