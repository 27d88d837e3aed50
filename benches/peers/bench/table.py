"""Figures as text, for a terminal and for the documentation."""

from bench import acceptance
from bench.results import short


def tables(results, errors):
    """(scenario, [header, row, ...]) for each scenario. A row is a subject, a column a metric."""
    scenarios = {}
    for scenario, subject, metric in results.rows:
        scenarios.setdefault(scenario, ({}, {}))[0][subject] = None
        scenarios[scenario][1][metric] = None
    for scenario, subject, _ in errors:
        scenarios.setdefault(scenario, ({}, {}))[0].setdefault(subject)
    failed = {(scenario, subject): text for scenario, subject, text in errors}
    for scenario, (subjects, metrics) in scenarios.items():
        rows = [[scenario, *metrics]]
        for subject in subjects:
            row = [short(results.get(scenario, subject, metric)) for metric in metrics]
            rows.append([subject, *row] if (scenario, subject) not in failed else [subject, f"FAILED: {failed[scenario, subject][:90]}"])
        yield scenario, rows


def aligned(rows):
    """Rows as text: the first column to the left, the others to the right."""
    width = max(map(len, rows))
    sizes = [max([len(row[at]) for row in rows if at < len(row) and len(row) == width] or [0]) for at in range(width)]
    first = max(len(row[0]) for row in rows)
    for row in rows:
        rest = [cell.rjust(size) if len(row) == width else cell for cell, size in zip(row[1:], sizes[1:])]
        yield "  ".join([row[0].ljust(first), *rest]).rstrip()


def markdown(rows):
    """Rows as a table of Markdown."""
    width = max(map(len, rows))
    yield "| " + " | ".join(rows[0] + [""] * (width - len(rows[0]))) + " |"
    yield "| --- |" + " ---: |" * (width - 1)
    for row in rows[1:]:
        yield "| " + " | ".join(row + [""] * (width - len(row))) + " |"


def judged(results, measured_only=False):
    """The lines of acceptance as rows."""
    rows = [line.judge(results) for line in acceptance.lines()]
    return [row for row in rows if not measured_only or row[4] != "not measured"]


def show(results, errors, about):
    """Everything, on standard output."""
    for _, rows in tables(results, errors):
        print("\n".join(aligned(rows)) + "\n")
    lines = judged(results, measured_only=True)
    if lines:
        print("What is wanted. Ratios are of medians of this run.\n")
        print("\n".join(aligned([["line", "holds?", "measured", "wanted", "what"], *([row[0], row[4], row[3], row[2], row[1]] for row in lines)])))
        held = sum(row[4] == "holds" for row in lines)
        missing = len(judged(results)) - len(lines)
        print(f"\n{held} of {len(lines)} hold" + (f"; {missing} more were not measured in this run" if missing else ""))
    print("\n" + "\n".join(f"{key}: {value}" for key, value in about.items()))
