"""Builds the subjects and the load generators, and finds out what the machine has."""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

PEERS = Path(__file__).resolve().parent.parent
ROOT = PEERS.parent.parent


def target():
    """Where cargo builds."""
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target" / "peers" / "build")).resolve()


def everything(out, say):
    """All programs, in one folder. What cannot be built here is said."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target())}
    for folder, words in ((ROOT, ["-p", "pintle-bench-echo"]), (PEERS, ["--workspace"])):
        say(f"cargo build --release {' '.join(words)}, in {folder.relative_to(ROOT.parent)}")
        subprocess.run(["cargo", "build", "--release", *words], cwd=folder, env=environment, check=True)
    binaries = target() / "release"
    grpc_cpp(binaries, say)
    allocations(out, say)
    return binaries


def grpc_cpp(binaries, say):
    """gRPC's own C++, of the distribution."""
    there = shutil.which("g++") and shutil.which("protoc") and shutil.which("grpc_cpp_plugin")
    flags = ["pkg-config", "--cflags", "--libs", "grpc++", "protobuf"]
    if not there or not shutil.which("pkg-config") or subprocess.run(flags, capture_output=True).returncode != 0:
        say("grpc-cpp: left out. It needs g++, pkg-config, libgrpc++-dev, protobuf-compiler and protobuf-compiler-grpc.")
        return
    source, made = PEERS / "cpp" / "server.cc", binaries / "server_cpp"
    if made.exists() and made.stat().st_mtime > source.stat().st_mtime:
        return
    say("g++ server_cpp")
    work = binaries / "cpp"
    work.mkdir(exist_ok=True)
    proto = ROOT / "benches" / "echo" / "proto"
    plugin = f"--plugin=protoc-gen-grpc={shutil.which('grpc_cpp_plugin')}"
    subprocess.run(["protoc", f"-I{proto}", f"--cpp_out={work}", f"--grpc_out={work}", plugin, "echo.proto"], check=True)
    sources = [source, work / "echo.pb.cc", work / "echo.grpc.pb.cc"]
    libraries = subprocess.run(flags, capture_output=True, text=True, check=True).stdout.split()
    command = ["g++", "-O3", "-flto", "-std=c++17", f"-I{work}", "-o", made, *sources, *libraries]
    subprocess.run(list(map(str, command)), check=True)


def allocations(out, say):
    """The library that counts allocations."""
    made = out / "count_allocations.so"
    if not shutil.which("cc"):
        say("allocations: left out. They need a C compiler.")
        return
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(made), str(PEERS / "count_allocations.c")], check=True)


def missing():
    """What could not be measured, in plain words."""
    wants = {
        "h2load": "all unary scenarios: apt-get install nghttp2-client",
        "valgrind": "instructions: apt-get install valgrind",
        "taskset": "everything: apt-get install util-linux",
    }
    lines = [f"{tool} is not there; without it no {what}" for tool, what in wants.items() if not shutil.which(tool)]
    if not shutil.which("perf") and not shutil.which("strace"):
        lines.append("neither perf nor strace is there; without them no system calls: apt-get install linux-perf strace")
    return lines


def first_line(*command):
    """The first line of what a command says."""
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip().split("\n")[0]
    except OSError:
        return "absent"


def locked(folder, *names):
    """Versions of crates in a Cargo.lock."""
    text = (folder / "Cargo.lock").read_text()
    return {name: re.findall(rf'name = "{name}"\nversion = "([^"]+)"', text) for name in names}


def about():
    """The machine and the versions, for the record."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    crates = locked(PEERS, "tonic", "prost", "h2", "hyper", "tokio", "pajamax", "mio")
    ours = locked(ROOT, "tokio", "mio", "async-io", "async-executor")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout.strip()

    def listed(versions):
        return ", ".join(f"{name} {' and '.join(found)}" for name, found in versions.items() if found)

    return {
        "machine": f"{os.cpu_count()} cores, {cpu[1] if cpu else platform.machine()}, {platform.system()} {platform.release()}",
        "pintle": (commit or "unknown") + (", with changes that are not committed" if changed else ""),
        "pintle's crates": listed(ours),
        "peers": listed(crates),
        "gRPC C++": first_line("pkg-config", "--modversion", "grpc++"),
        "rustc": first_line("rustc", "--version"),
        "h2load": first_line("h2load", "--version"),
    }
