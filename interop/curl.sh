# interop/run curl: a handler on the raw HTTP/2 floor answers a plain GET; what is not gRPC is refused as gRPC's documents say.

need curl curl
build_programs

# An answer that comes before the request is whole is followed by RST_STREAM(NO_ERROR), as RFC 9113 §8.1 has it. curl 7.88 takes
# that for an error (92) if it is still sending, which is a race: such a request is made again.
h2() {
    local answer
    for _ in 1 2 3 4 5 6 7 8; do
        answer=$(curl --silent --show-error --max-time 10 --http2-prior-knowledge --include "$@" 2>&1 | tr -d '\r\0' || true)
        [[ $answer == *'(92) Stream error in the HTTP/2 framing layer'* ]] || break
    done
    printf '%s\n' "$answer"
}

for runtime in tokio smol mio; do
    serve "$runtime"
    url=http://127.0.0.1:$port
    method=$url/pintle.interop.Interop/Nothing

    check "curl -> $runtime tcp: GET is answered with DATA" "$(h2 "$url/hello")" \
        '^HTTP/2 200' '^content-type: text/plain' '^GET /hello on the raw floor$'
    check "curl -> $runtime uds: GET is answered with DATA" "$(h2 --unix-socket "$sock" http://localhost/hello)" \
        '^HTTP/2 200' '^content-type: text/plain' '^GET /hello on the raw floor$'
    check "curl -> $runtime tcp: HEAD is answered without DATA" "$(h2 --head "$url/hello")" '^HTTP/2 200'
    check "curl -> $runtime tcp: POST of another content-type is 415" "$(h2 --data '{}' -H 'content-type: application/json' "$method")" \
        '^HTTP/2 415'
    check "curl -> $runtime tcp: POST of application/grpcx is 415" "$(h2 --data '{}' -H 'content-type: application/grpcx' "$method")" \
        '^HTTP/2 415'
    # The message is empty: five octets of prefix, all zero.
    printf '\0\0\0\0\0' >"$scratch/empty"
    check "curl -> $runtime tcp: POST of application/grpc is a call" \
        "$(h2 --data-binary "@$scratch/empty" -H 'content-type: application/grpc' -H 'te: trailers' "$method")" \
        '^HTTP/2 200' '^content-type: application/grpc' '^grpc-status: 0$'
    check "curl -> $runtime tcp: an unknown method is UNIMPLEMENTED" \
        "$(h2 --data-binary "@$scratch/empty" -H 'content-type: application/grpc' -H 'te: trailers' "$url/pintle.interop.Interop/None")" \
        '^HTTP/2 200' '^grpc-status: 12$'
    check "curl -> $runtime tcp: HTTP/1.1 gets an answer that says so" \
        "$(curl --silent --show-error --max-time 10 --http1.1 --include "$url/hello" 2>&1 | tr -d '\r' || true)" '^HTTP/1.1 (400|426|505)'
    check "curl -> $runtime tcp: the server serves on" "$(h2 "$url/hello")" '^HTTP/2 200'
done
tally
