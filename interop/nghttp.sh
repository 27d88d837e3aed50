# interop/run nghttp: nghttp2's client prints every frame that it gets from us.

need nghttp nghttp2-client
build_programs
printf '\0\0\0\0\0' >"$scratch/empty"

for runtime in tokio smol mio; do
    serve "$runtime"
    url=http://127.0.0.1:$port
    check "nghttp -> $runtime: GET on the raw floor" "$(timeout 20 nghttp --verbose "$url/hello" 2>&1 | tr -d "\0" || true)" \
        'recv SETTINGS frame' 'SETTINGS_MAX_CONCURRENT_STREAMS\(0x03\):[0-9]+' 'recv SETTINGS frame <length=0, flags=0x01' \
        'recv \(stream_id=[0-9]+\) :status: 200' 'recv DATA frame'
    check "nghttp -> $runtime: a gRPC call ends with trailers" \
        "$(timeout 20 nghttp --verbose --data="$scratch/empty" -H ':method: POST' -H 'content-type: application/grpc' -H 'te: trailers' \
            "$url/pintle.interop.Interop/Nothing" 2>&1 | tr -d "\0" || true)" \
        'recv \(stream_id=[0-9]+\) content-type: application/grpc' 'recv \(stream_id=[0-9]+\) grpc-status: 0' 'recv DATA frame <length=5' \
        'recv HEADERS frame <length=[0-9]+, flags=0x05'
    check "nghttp -> $runtime: a padded request" \
        "$(timeout 20 nghttp --verbose --padding=100 --data="$scratch/empty" -H ':method: POST' -H 'content-type: application/grpc' \
            -H 'te: trailers' "$url/pintle.interop.Interop/Nothing" 2>&1 | tr -d "\0" || true)" \
        'recv \(stream_id=[0-9]+\) grpc-status: 0'
done
tally
