# Shared by the scripts beside it; sourced with $here, $root and $target set.

scratch=$(mktemp -d "${TMPDIR:-/tmp}/pintle-interop.XXXXXX")
started=()

# Ends what `serve` and `capture` started, by process id, and removes the scratch directory.
clean_up() {
    local pid
    for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$scratch"
}
trap clean_up EXIT

passed=0
failed=0
# check NAME TEXT PATTERN...: TEXT must have every PATTERN (grep -E) in some line.
check() {
    local name=$1 text=$2 pattern
    shift 2
    for pattern in "$@"; do
        if ! grep -Eq -- "$pattern" <<<"$text"; then
            failed=$((failed + 1))
            printf 'FAILED  %s\n  expected a line like: %s\n  got:\n%s\n' "$name" "$pattern" "$(sed 's/^/    /' <<<"$text" | head -60)"
            return
        fi
    done
    passed=$((passed + 1))
    printf 'ok      %s\n' "$name"
}

# Prints the counts; the exit status of the script.
tally() {
    echo "$passed passed, $failed failed"
    [[ $failed -eq 0 && $passed -gt 0 ]]
}

# need PROGRAM PACKAGE: installs a Debian package where its program is missing.
need() {
    command -v "$1" >/dev/null && return
    echo "installing $2 (for $1)" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -qq --no-install-recommends "$2" >/dev/null 2>&1 ||
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$2" >/dev/null; } ||
        { echo "$1 is missing and could not be installed: apt-get install $2" >&2 && exit 1; }
}

# Whether there is Go, where its installer puts it too.
find_go() {
    command -v go >/dev/null || PATH=$PATH:/usr/local/go/bin
    command -v go >/dev/null
}

# Builds the interop programs; $bin is where they are.
build_programs() {
    cargo build --quiet --manifest-path "$root/Cargo.toml" -p pintle-interop --bins
    bin=$target/debug
}

# serve RUNTIME: starts interop-server on a TCP port ($port) and a Unix socket ($sock).
serve() {
    local log=$scratch/server-$1.log tries=0
    : >"$log"
    sock=$scratch/$1.sock
    "$bin/interop-server" --runtime "$1" --listen 127.0.0.1:0 --listen "unix:$sock" >"$log" 2>&1 </dev/null &
    started+=($!)
    until [[ $(grep -c '^listening ' "$log") -ge 2 ]]; do
        tries=$((tries + 1))
        [[ $tries -lt 100 ]] && kill -0 "${started[-1]}" 2>/dev/null || { echo "interop-server --runtime $1 does not listen:" && cat "$log" && exit 1; }
        sleep 0.1
    done
    port=$(sed -n 's/^listening 127.0.0.1://p' "$log")
}
