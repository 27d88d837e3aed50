"""The command line, and the order of things."""

import argparse
import importlib
import json
import resource
import shutil
import statistics
import sys
import time
import traceback

from bench import build, chart, documentation, processes, table
from bench.context import Context
from bench.results import Results


def arguments(words):
    """The command line."""
    parser = argparse.ArgumentParser(prog="benches/peers/run", description="Pintle and other implementations of gRPC, side by side, on this machine.")
    parser.add_argument("--quick", action="store_true", help="fewer scenarios, short runs: some 4 minutes instead of 35")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="scenarios whose name contains this (* and ? as in file names); may be repeated")
    parser.add_argument("--subjects", metavar="A,B", help="only these")
    parser.add_argument("--no-build", action="store_true", help="what was built last is good enough")
    parser.add_argument("--show", action="store_true", help="print the last run's tables again, and measure nothing")
    parser.add_argument("--write-docs", action="store_true", help="put the tables of the last full run into docs/performance.md (of the last one, if none was full)")
    return parser.parse_args(words)


def run(modules, words):
    """Everything. The exit code."""
    options = arguments(words)
    out = build.ROOT / "target" / "peers"
    out.mkdir(parents=True, exist_ok=True)
    if not options.show:
        missing = build.missing()
        print("".join(f"{line}\n" for line in missing), file=sys.stderr, end="")
        if not shutil.which("h2load") or not shutil.which("taskset"):
            return 1
        measure(options, modules, out)
        if not (options.quick or options.only or options.subjects):
            # A later run of a part does not take the place of a full one.
            for name in ("results.tsv", "about.json"):
                shutil.copy(out / name, out / f"full-{name}")
    results, errors, about = last(out)
    table.show(results, errors, about)
    chart.write(results, out / "chart.svg")
    print(f"\n{out / 'results.tsv'}\n{out / 'chart.svg'}")
    if options.write_docs:
        documentation.write(*last(out, "full-" if (out / "full-results.tsv").exists() else ""))
    return 0


def last(out, which=""):
    """What the last run wrote, or with `full-` the last full one."""
    return *Results.read(out / f"{which}results.tsv"), json.loads((out / f"{which}about.json").read_text())


def subjects(options, binaries, say):
    """Those that are there."""
    chosen = options.subjects.split(",") if options.subjects else list(processes.SUBJECTS)
    unknown = set(chosen) - set(processes.SUBJECTS)
    if unknown:
        sys.exit(f"no such subject: {', '.join(unknown)}. There are {', '.join(processes.SUBJECTS)}")
    for name in chosen:
        if not (binaries / processes.SUBJECTS[name].program).exists():
            say(f"{name}: left out, {processes.SUBJECTS[name].program} is not built")
    return {name: subject for name, subject in processes.SUBJECTS.items() if name in chosen and (binaries / subject.program).exists()}


def measure(options, modules, out):
    """Builds, runs every module, and writes the results."""
    # Children inherit it: 15,000 connections need as many descriptors.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    work = out / "work"
    work.mkdir(exist_ok=True)
    ctx = Context(build.target() / "release", work, options.quick, options.only, {})
    if not options.no_build:
        build.everything(work, ctx.say)
    ctx.table = subjects(options, ctx.binaries, ctx.say)
    results, began = Results(), time.monotonic()
    try:
        for name in modules:
            sample_all(name, ctx, results)
    except KeyboardInterrupt:
        ctx.say("interrupted; what was measured until now is shown")
    for scenario, subject, _ in ctx.errors:
        results.drop(scenario, subject)
    results.finish()
    results.write(out / "results.tsv", ctx.errors)
    (out / "about.json").write_text(json.dumps(about(options, ctx, time.monotonic() - began), indent=1) + "\n")


def sample_all(name, ctx, results):
    """What one module measures. What goes wrong in it must not take the others' figures away."""
    try:
        for sample in importlib.import_module(name).scenarios(ctx):
            results.add(*sample)
    except (Exception, SystemExit) as failed:
        traceback.print_exc()
        ctx.error(name, "-", failed)


def about(options, ctx, seconds):
    """What is to be known of a run beside its figures."""
    words = {"date": time.strftime("%Y-%m-%d %H:%M"), "run": f"{'quick' if options.quick else 'full'}, {ctx.reps} repetitions, {seconds / 60:.0f} min"}
    if options.only or options.subjects:
        words["run"] += f", only {' '.join(options.only or [])} {options.subjects or ''}".rstrip()
    if ctx.foreign:
        middle, most = statistics.median(ctx.foreign), max(ctx.foreign)
        words["other people's CPU meanwhile"] = f"{middle:.0%} of a core in the median run, {most:.0%} at most"
        if middle > 0.05:
            words["beware"] = "the machine was not quiet: rates and latencies are too bad, CPU times of short runs uncertain; ratios less so"
    return {**words, **build.about()}
