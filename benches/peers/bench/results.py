"""Samples, and what becomes of them: median, low and high for each scenario, subject and metric."""

import statistics
from collections import namedtuple

Row = namedtuple("Row", "median low high")


class Results:
    """The figures of a run, in the order in which they came."""

    def __init__(self):
        self.samples = {}
        self.rows = {}

    def add(self, scenario, subject, metric, value):
        """One sample."""
        self.samples.setdefault((scenario, subject, metric), []).append(float(value))

    def drop(self, scenario, subject):
        """A request failed: what was measured until then is no figure."""
        for key in [key for key in self.samples if key[:2] == (scenario, subject)]:
            del self.samples[key]

    def finish(self):
        """Makes the rows."""
        self.rows = {key: Row(statistics.median(values), min(values), max(values)) for key, values in self.samples.items()}

    def get(self, scenario, subject, metric):
        """The median, or None."""
        row = self.rows.get((scenario, subject, metric))
        return row.median if row else None

    def write(self, path, errors):
        """As tab-separated values, failures as rows without figures."""
        lines = ["scenario\tsubject\tmetric\tmedian\tlow\thigh"]
        lines += ["\t".join([*key, *map(exact, row)]) for key, row in self.rows.items()]
        lines += [f"{scenario}\t{subject}\terror\t{text}\t\t" for scenario, subject, text in errors]
        path.write_text("\n".join(lines) + "\n")

    @classmethod
    def read(cls, path):
        """What `write` wrote, and the failures."""
        results, errors = cls(), []
        for line in path.read_text().splitlines()[1:]:
            scenario, subject, metric, *figures = line.split("\t")
            if metric == "error":
                errors.append((scenario, subject, figures[0]))
            else:
                results.rows[scenario, subject, metric] = Row(*map(float, figures))
        return results, errors


def exact(value):
    """A figure for the file: six digits that count."""
    return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"


def short(value):
    """A figure for people: three digits that count."""
    if value is None:
        return "-"
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"
