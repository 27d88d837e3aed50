# Sourced: $venv, with grpcio in it.

venv=$target/interop-venv
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
