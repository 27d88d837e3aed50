# interop/run python: makes a venv with grpcio, generates the stubs, drives both directions (python/drive.py).

venv=$target/interop-venv
stubs=$target/interop-stubs
if ! "$venv/bin/python" -c 'import grpc, grpc_tools' 2>/dev/null; then
    rm -rf "$venv"
    if ! python3 -m venv "$venv" 2>/dev/null; then
        need python3 python3-venv
        rm -rf "$venv"
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
        python3 -m venv "$venv"
    fi
    "$venv/bin/pip" install --quiet --disable-pip-version-check grpcio grpcio-tools
fi
mkdir -p "$stubs"
"$venv/bin/python" -m grpc_tools.protoc -I "$here/proto" --python_out="$stubs" --grpc_python_out="$stubs" interop.proto
"$venv/bin/python" -m grpc_tools.protoc -I "$root/examples/proto" --python_out="$stubs" --grpc_python_out="$stubs" tour.proto

programs=()
if [[ " $* " != *" --self-test "* ]]; then
    build_programs
    cargo build --quiet --manifest-path "$root/Cargo.toml" -p pintle-example-poll-loop -p pintle-example-in-loop -p superloop --bins
    programs=(--bin "$bin")
fi
# grpcio's own threads log at shutdown; the cases say all that matters.
GRPC_VERBOSITY=NONE PYTHONPATH=$stubs:$here/python PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" "$here/python/drive.py" "${programs[@]}" "$@"
