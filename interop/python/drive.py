"""Runs grpcio against Pintle, both ways, and prints one line per case. Called by `interop/run python`.

drive.py --bin DIR [--runtime NAME ...] [--only TEXT]      DIR holds interop-server and interop-client
drive.py --self-test                                       grpcio against grpcio: are the cases themselves right?
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import client
import loops

HERE = os.path.dirname(os.path.abspath(__file__))
# Longer than any case needs on a slow machine; a case that takes this long hangs.
CASE_SECONDS = 60


class Tally:
    def __init__(self, only):
        self.only, self.passed, self.failed = only, 0, []

    def run(self, name, case):
        """Runs one case in a thread, so that one that hangs is reported and the others still run."""
        if self.only and self.only not in name:
            return
        outcome = []
        worker = threading.Thread(target=lambda: outcome.append(attempt(case)), daemon=True)
        began = time.monotonic()
        worker.start()
        worker.join(CASE_SECONDS)
        took = (time.monotonic() - began) * 1000
        wrong = outcome[0] if outcome else f"no end after {CASE_SECONDS} s"
        if wrong:
            self.failed.append(name)
            print(f"FAILED  {name:<58} {wrong}", flush=True)
        else:
            self.passed += 1
            print(f"ok      {name:<58} {took:6.0f} ms", flush=True)

    def finish(self):
        if self.failed:
            print("\nfailed:", *self.failed, sep="\n  ")
        print(f"{self.passed} passed, {len(self.failed)} failed", flush=True)
        sys.stdout.flush()
        # Threads of cases that hang must not keep the program alive.
        os._exit(1 if self.failed or not self.passed else 0)


def attempt(case):
    """None, or what went wrong."""
    try:
        case()
    except AssertionError as wrong:
        return str(wrong)
    except Exception:
        return traceback.format_exc(limit=-2)
    return None


class Server:
    """A server program: started, its addresses read from its output, ended by its process id."""

    def __init__(self, command, directory, name):
        self.sock = os.path.join(directory, f"{name}.sock")
        self.log = open(os.path.join(directory, f"{name}.log"), "w+")
        command = [*command, "--listen", "127.0.0.1:0", "--listen", f"unix:{self.sock}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL, text=True)
        self.targets = {}
        while len(self.targets) < 2:
            line = self.process.stdout.readline()
            if not line:
                self.stop()
                self.log.seek(0)
                sys.exit(f"{' '.join(command)} ended before it listened:\n{self.log.read()}")
            word, _, address = line.strip().partition(" ")
            if word == "listening":
                self.targets["uds" if address.startswith("unix:") else "tcp"] = address
        # Its later output must not block it.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def check_alive(self):
        assert self.process.poll() is None, f"the server ended with {self.process.returncode} while it was being called"


def grpcio_to_pintle(tally, command, name, directory):
    server = Server(command, directory, name)
    try:
        for transport, target in server.targets.items():
            for case, call in client.cases(target):
                tally.run(f"grpcio -> {name} {transport} {case}", call)
        tally.run(f"grpcio -> {name} still serves", server.check_alive)
    finally:
        server.stop()


def pintle_to_grpcio(tally, program, runtimes, directory):
    server = Server([sys.executable, os.path.join(HERE, "server.py")], directory, "grpcio")
    try:
        for runtime in runtimes:
            listed = subprocess.run([program, "--runtime", runtime, "--list"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
            for transport, target in server.targets.items():
                for case in listed.stdout.split():
                    command = [program, "--runtime", runtime, "--target", target, "--case", case]
                    tally.run(f"{runtime} -> grpcio {transport} {case}", lambda command=command: run_client(command))
    finally:
        server.stop()


def run_client(command):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CASE_SECONDS - 5)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"no end after {CASE_SECONDS - 5} s: {' '.join(command)}") from None
    if done.returncode:
        raise AssertionError((done.stdout + done.stderr).strip() or f"exit status {done.returncode}")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--bin")
    args.add_argument("--runtime", action="append")
    args.add_argument("--only", default="")
    args.add_argument("--self-test", action="store_true")
    args = args.parse_args()
    tally = Tally(args.only)
    with tempfile.TemporaryDirectory(prefix="pintle-interop-") as directory:
        if args.self_test:
            grpcio_to_pintle(tally, [sys.executable, os.path.join(HERE, "server.py")], "grpcio", directory)
        else:
            chosen = args.runtime or ["tokio", "smol", "mio", *loops.PROGRAMS]
            runtimes = [name for name in chosen if name not in loops.PROGRAMS]
            for runtime in runtimes:
                command = [os.path.join(args.bin, "interop-server"), "--runtime", runtime]
                grpcio_to_pintle(tally, command, runtime, directory)
            pintle_to_grpcio(tally, os.path.join(args.bin, "interop-client"), runtimes if args.runtime else ["tokio", "smol", "mio", "mio-local"], directory)
            for name in (name for name in chosen if name in loops.PROGRAMS):
                loops.run(tally, name, directory, args.bin, Server)
        # `finish` leaves by os._exit, which removes nothing.
    tally.finish()


if __name__ == "__main__":
    main()
