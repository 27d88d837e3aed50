# interop/run tshark: Wireshark's own HTTP/2 and gRPC dissectors read a call between our client and our server, and name its
# service, its method and the length of its messages. Needs the right to capture on lo (root, or CAP_NET_RAW).

need tshark tshark
build_programs

# capture RUNTIME: records a call of each shape on the wire to $scratch/RUNTIME.pcapng.
capture() {
    local file=$scratch/$1.pcapng log=$scratch/tshark-$1.log tries=0
    : >"$log"
    tshark -q -i lo -f "tcp port $port" -w "$file" >"$log" 2>&1 </dev/null &
    local pid=$!
    started+=("$pid")
    until grep -q '^Capturing on' "$log"; do
        tries=$((tries + 1))
        [[ $tries -lt 100 ]] && kill -0 "$pid" 2>/dev/null || { echo "tshark does not capture:" && cat "$log" && exit 1; }
        sleep 0.1
    done
    sleep 1 # "Capturing on" is printed a moment before the first packet is taken
    for case in unary server_streaming client_streaming bidi_ping_pong status_message; do
        "$bin/interop-client" --runtime "$1" --target "127.0.0.1:$port" --case "$case" >"$scratch/client.log" 2>&1 </dev/null ||
            { cat "$scratch/client.log" && exit 1; }
    done
    sleep 1
    kill -INT "$pid"
    wait "$pid" || true
}

dissect() { tshark -r "$1" -d "tcp.port==$port,http2" "${@:2}" 2>/dev/null; }

for runtime in tokio smol mio; do
    serve "$runtime"
    capture "$runtime"
    file=$scratch/$runtime.pcapng
    grpc=$(dissect "$file" -Y grpc -O grpc)
    # The item of the case `unary`: text 2 + 6 octets, body 2 + 100, number 1 + 10 (negative numbers take ten).
    check "tshark reads $runtime: unary names service, method and message length" "$grpc" \
        'GRPC Message: /pintle.interop.Interop/Echo, Request' 'GRPC Message: /pintle.interop.Interop/Echo, Response' 'Message Length: 121'
    check "tshark reads $runtime: server streaming" "$grpc" \
        'GRPC Message: /pintle.interop.Interop/Expand, Request' 'GRPC Message: /pintle.interop.Interop/Expand, Response'
    check "tshark reads $runtime: client streaming" "$grpc" \
        'GRPC Message: /pintle.interop.Interop/Collect, Request' 'GRPC Message: /pintle.interop.Interop/Collect, Response'
    check "tshark reads $runtime: bidirectional" "$grpc" \
        'GRPC Message: /pintle.interop.Interop/Chat, Request' 'GRPC Message: /pintle.interop.Interop/Chat, Response'
    check "tshark reads $runtime: every message is uncompressed" "$grpc" 'Compressed Flag: Not Compressed \(0\)'
    check "tshark reads $runtime: trailers" "$(dissect "$file" -Y 'http2.header.name == "grpc-status"' -O http2)" \
        'Header: grpc-status: 0' 'Header: grpc-status: 2' 'Header: grpc-message: %09%0Atest with whitespace'
    check "tshark reads $runtime: nothing is malformed" "malformed: $(dissect "$file" -Y '_ws.malformed || http2.goaway.error > 0' | wc -l)" \
        '^malformed: 0$'
done
tally
