"""grpcio for `interop/hostile`: makes the calls that the standard input asks for. What is spoken is said in src/hostile/client.rs."""

import sys
import time

import grpc

METHOD = "/pintle.interop.Interop/"
# Quick to connect again, and with connections of its own. The least pause is also the time that an attempt to connect may take.
OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 5000),
    ("grpc.max_reconnect_backoff_ms", 200),
]


def call(channel, shape, seconds, octets, wait_for_ready=False):
    """Makes one call, reads all of its answer, and says how it ended."""
    how = {"timeout": seconds, "wait_for_ready": wait_for_ready}
    message = bytes(octets)
    try:
        if shape == "unary":
            channel.unary_unary(METHOD + "Echo")(message, **how)
        elif shape == "streaming":
            for _ in channel.unary_stream(METHOD + "Expand")(message, **how):
                pass
        else:
            for _ in channel.stream_stream(METHOD + "Chat")(first_of(message), **how):
                pass
    except grpc.RpcError as error:
        code, details = error.code(), error.details()
        return code.value[0], details or ""
    return 0, ""


def first_of(message):
    """One message, and then no end while the call lives: it is the server that ends it."""
    yield message
    time.sleep(60)


def again(channel):
    outcome = (2, "")
    for _ in range(10):
        outcome = call(channel, "unary", 3, 0, wait_for_ready=True)
        if outcome[0] == 0:
            break
        time.sleep(0.05)
    return outcome


def main():
    channel = None
    for line in sys.stdin:
        words = line.split()
        if words[0] == "connect":
            if channel:
                channel.close()
            channel = grpc.insecure_channel(words[1], options=OPTIONS)
            print("connected", flush=True)
            continue
        if words[0] == "call":
            code, details = call(channel, words[1], int(words[2]) / 1000, int(words[3]))
        else:
            code, details = again(channel)
        print(f"{code}\t{ascii(details)[1:-1]}", flush=True)


main()
