"""One picture of a run: what a call costs each subject, as bars."""

from html import escape

from bench.results import short

PANELS = [
    ("unary-8B-10x10", "cpu_us", "8 octets, 10 connections with 10 calls in flight: server CPU, µs per call"),
    ("unary-1KB-10x10", "cpu_us", "1 KB, 10 connections with 10 calls in flight: server CPU, µs per call"),
    ("unary-64KB-1x10", "cpu_us", "64 KB, 1 connection with 10 calls in flight: server CPU, µs per call"),
    ("instructions-8B-1x100", "instructions", "8 octets, 100 calls in flight: instructions per call"),
    ("latency-8B-tcp-same", "p50_us", "8 octets, one call after the other, both ends on one core: median, µs"),
    ("idle-2000", "idle_conn_kb", "an idle connection: memory of the server, KB"),
]
LEFT, BAR, WIDTH, ROW = 150, 470, 720, 20


def colour(subject):
    """By family."""
    for prefix, value in (("pintle", "#2b6cb0"), ("tonic", "#a0672b"), ("floor", "#9aa5b1"), ("pajamax", "#7b8794"), ("grpc", "#616e7c")):
        if subject.startswith(prefix):
            return value
    return "#52606d"


def panel(results, scenario, metric, title, top):
    """The bars of one scenario: (lines of SVG, where the next begins)."""
    values = [(subject, row) for (one, subject, two), row in results.rows.items() if (one, two) == (scenario, metric)]
    if not values:
        return [], top
    most = max(row.median for _, row in values) or 1
    lines = [f'<text x="12" y="{top + 14}" class="title">{escape(title)}</text>']
    top += 24
    for subject, row in values:
        width = max(1.0, BAR * row.median / most)
        lines.append(f'<text x="{LEFT - 8}" y="{top + 13}" class="name">{escape(subject)}</text>')
        lines.append(f'<rect x="{LEFT}" y="{top + 3}" width="{width:.1f}" height="{ROW - 6}" fill="{colour(subject)}"/>')
        low, high = (LEFT + BAR * min(edge / most, 1.05) for edge in (row.low, row.high))
        lines.append(f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{top + ROW / 2}" y2="{top + ROW / 2}" class="range"/>')
        lines.append(f'<text x="{max(LEFT + width, high) + 6:.1f}" y="{top + 13}">{short(row.median)}</text>')
        top += ROW
    return lines, top + 16


def write(results, path):
    """The picture; lines through the ends of bars go from the lowest to the highest repetition."""
    body, top = [], 12
    for scenario, metric, title in PANELS:
        lines, top = panel(results, scenario, metric, title, top)
        body += lines
    style = "text{font:12px sans-serif;fill:#1f2933}.title{font-weight:bold}.name{text-anchor:end}.range{stroke:#1f2933;stroke-width:1}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" viewBox="0 0 {WIDTH} {top}">'
    text = [head, f"<style>{style}</style>", f'<rect width="{WIDTH}" height="{top}" fill="white"/>', *body, "</svg>"]
    path.write_text("\n".join(text) + "\n")
