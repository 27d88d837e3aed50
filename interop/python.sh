# interop/run python: makes a venv with grpcio, generates the stubs, drives both directions (python/drive.py).

. "$here/venv.sh"
stubs=$target/interop-stubs
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
