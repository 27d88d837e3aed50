#!/usr/bin/env python3
"""Streams and clients side by side: Pintle on mio and on tokio, tonic, and TCP itself.

  streams.py [--quick] [--only stream|client|raw] [--tsv FILE]

Servers run on core 0, generators on core 1; the subjects of a row take turns, so that what else the machine does meets all of
them. What is compared is CPU time for each message (or call) of one end, while the other end is the same for all. Build first:
  cargo build --release --bins && cargo build --release --manifest-path ../../Cargo.toml -p pintle-bench-echo
"""
import argparse
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
FIRST_PORT = 20310


class Servers:
    """Echo servers, each in a process of its own on core 0."""

    def __init__(self, own, echo):
        self.own, self.echo, self.running = own, echo, {}

    def start(self, name, port):
        address = f"127.0.0.1:{port}"
        command = {
            "tonic": [self.own / "server_tonic", "ct", address],
            "mio": [self.echo / "echo-mio", address],
            "tokio": [self.echo / "echo-tokio", "inline", address],
            "tokio-spawn": [self.echo / "echo-tokio", "spawn", address],
        }[name]
        process = subprocess.Popen(["taskset", "-c", "0", *map(str, command)])
        self.running[name] = (process, address)
        for _ in range(200):
            if process.poll() is not None:
                sys.exit(f"{name}: the server ended at once")
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        sys.exit(f"{name}: the server does not listen")

    def stop(self):
        for process, _ in self.running.values():
            process.send_signal(signal.SIGTERM)
            process.wait()


def generate(own, program, server, words):
    """Runs a generator against a server; the figures of its one line."""
    process, address = server
    command = ["taskset", "-c", "1", str(own / program), address, f"pid={process.pid}", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=300)
    if done.returncode:
        return None
    return {k: v for k, v in (word.split("=", 1) for word in done.stdout.decode().split())}


class Table:
    """Samples by scenario, subject and metric."""

    def __init__(self):
        self.samples = {}

    def add(self, scenario, subject, metric, value):
        self.samples.setdefault((scenario, subject, metric), []).append(float(value))

    def median(self, *key):
        return statistics.median(self.samples[key]) if key in self.samples else None

    def write(self, path):
        with open(path, "w") as out:
            out.write("scenario\tsubject\tmetric\tmedian\tlow\thigh\n")
            for (scenario, subject, metric), values in sorted(self.samples.items()):
                out.write(f"{scenario}\t{subject}\t{metric}\t{statistics.median(values):.2f}\t{min(values):.2f}\t{max(values):.2f}\n")


# What each end does in a call: (server, client).
ROLES = {"server": ("send", "receive"), "client": ("receive", "send"), "bidi": ("bidi", "bidi")}


def streams(own, servers, table, repetitions, scale, sizes, whats):
    """Each subject as server (with tonic's client) and as client (with tonic's server)."""
    pairs = [("tonic", "tonic"), ("mio", "tonic"), ("tokio", "tonic"), ("tonic", "mio"), ("tonic", "tokio")]
    for repetition in range(repetitions):
        for size in sizes:
            for what in whats:
                count = int((4_000_000 if size < 100 else 400_000) * scale)
                for server, client in pairs:
                    words = [f"what={what}", f"size={size}", f"n={count}"]
                    got = generate(own, f"stream_{client}", servers.running[server], words)
                    if not got:
                        print(f"  FAILS: {client} -> {server} {' '.join(words)}", file=sys.stderr)
                        continue
                    as_server, as_client = ROLES[what]
                    name = "1KB" if size == 1024 else f"{size}B"
                    if client == "tonic":
                        table.add(f"stream-{as_server}-{name}", subject(server), "server_ns", got["server_ns"])
                    if server == "tonic":
                        table.add(f"stream-{as_client}-{name}", subject(client), "client_ns", got["client_ns"])
                    table.add(f"stream-{what}-{name}", f"{subject(client)}>{subject(server)}", "per_s", got["per_s"])
        print(f"  streams: {repetition + 1} of {repetitions}", file=sys.stderr)


def raw(own, table, repetitions, scale):
    """TCP itself, in writes of 16 KiB: CPU for each KiB."""
    for repetition in range(repetitions):
        command = ["taskset", "-c", "1", str(own / "stream_raw"), f"127.0.0.1:{FIRST_PORT + 90 + repetition % 9}", f"n={int(40_000 * scale)}"]
        got = dict(word.split("=", 1) for word in subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode().split())
        table.add("stream-send-1KB", "raw-tcp", "client_ns", got["sender_ns"])
        table.add("stream-receive-1KB", "raw-tcp", "client_ns", got["receiver_ns"])


def clients(own, servers, table, repetitions, scale):
    """Unary clients against one and the same server."""
    for repetition in range(repetitions):
        for flight in (1, 10, 100):
            count = int((40_000 if flight == 1 else 200_000) * scale)
            for client in ("tonic", "mio", "tokio"):
                got = generate(own, f"client_{client}", servers.running["mio"], [f"flight={flight}", f"n={count}"])
                if not got:
                    print(f"  FAILS: {client} {flight}", file=sys.stderr)
                    continue
                table.add(f"client-8B-{flight}", subject(client), "cpu_us", float(got["client_ns"]) / 1000)
                table.add(f"client-8B-{flight}", subject(client), "per_s", got["per_s"])
        print(f"  clients: {repetition + 1} of {repetitions}", file=sys.stderr)


def subject(name):
    return {"tonic": "tonic-ct", "mio": "pintle-mio", "tokio": "pintle-tokio"}[name]


def show(table):
    """Every figure, and its ratio to tonic's and to TCP's."""
    print(f"{'scenario':22} {'subject':24} {'metric':10} {'median':>10} {'x tonic':>8} {'x raw':>7}")
    for scenario, who, metric in sorted(table.samples):
        value = table.median(scenario, who, metric)
        row = f"{scenario:22} {who:24} {metric:10} {value:10.1f}"
        tonic, tcp = table.median(scenario, "tonic-ct", metric), table.median(scenario, "raw-tcp", "client_ns")
        row += f" {value / tonic:8.2f}" if tonic and who != "tonic-ct" and metric != "per_s" else " " * 9
        row += f" {value / tcp:7.2f}" if tcp and who != "raw-tcp" and metric != "per_s" else ""
        print(row)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="one short repetition of each")
    options.add_argument("--only", choices=["stream", "client", "raw"], action="append")
    options.add_argument("--repetitions", type=int)
    options.add_argument("--sizes", default="8,1024")
    options.add_argument("--what", default="server,client,bidi")
    options.add_argument("--own", type=pathlib.Path, help="where the generators are")
    options.add_argument("--echo", type=pathlib.Path, help="where Pintle's echo servers are")
    options.add_argument("--tsv", type=pathlib.Path)
    args = options.parse_args()
    target = os.environ.get("CARGO_TARGET_DIR")
    own = args.own or pathlib.Path(target or HERE / "target") / "release"
    echo = args.echo or pathlib.Path(target or HERE.parent.parent / "target") / "release"
    repetitions = args.repetitions or (1 if args.quick else 5)
    scale = 0.25 if args.quick else 1.0
    parts = args.only or ["stream", "client", "raw"]
    servers, table = Servers(own, echo), Table()
    try:
        for at, name in enumerate(("tonic", "mio", "tokio")):
            servers.start(name, FIRST_PORT + at)
        if "raw" in parts:
            raw(own, table, repetitions, scale)
        if "stream" in parts:
            streams(own, servers, table, repetitions, scale, [int(size) for size in args.sizes.split(",")], args.what.split(","))
        if "client" in parts:
            clients(own, servers, table, repetitions, scale)
    finally:
        servers.stop()
    show(table)
    if args.tsv:
        table.write(args.tsv)


def scenarios(ctx):
    """The same for `benches/peers/run`: its samples, one by one."""
    sizes = {8: "8B", 1024: "1KB"}
    parts = {
        "raw": [f"stream-{way}-1KB" for way in ("send", "receive")],
        "stream": [f"stream-{way}-{size}" for way in ("send", "receive", "bidi", "server", "client") for size in sizes.values()],
        "client": [f"client-8B-{flight}" for flight in (1, 10, 100)],
    }
    wanted = [part for part, names in parts.items() if any(map(ctx.wanted, names))]
    if not wanted or not {"tonic-ct", "pintle-mio", "pintle-tokio-inline"} <= set(ctx.names()):
        return
    ctx.say(f"streams.py: {', '.join(wanted)}")
    scale = 0.25 if ctx.quick else 1.0
    servers, table = Servers(ctx.binaries, ctx.binaries), Table()
    try:
        for at, name in enumerate(("tonic", "mio", "tokio")):
            servers.start(name, FIRST_PORT + at)
        if "raw" in wanted:
            raw(ctx.binaries, table, ctx.reps, scale)
        if "stream" in wanted:
            streams(ctx.binaries, servers, table, ctx.reps, scale, list(sizes), ROLES)
        if "client" in wanted:
            clients(ctx.binaries, servers, table, ctx.reps, scale)
    finally:
        servers.stop()
    for (scenario, who, metric), values in table.samples.items():
        for value in values:
            yield scenario, who, "rate" if metric == "per_s" else metric, value


if __name__ == "__main__":
    main()
