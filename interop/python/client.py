"""The cases, on a grpcio client. Each function makes its calls through a stub and raises AssertionError where the answer is wrong."""

import asyncio
import os
import threading
import time
import uuid

import grpc

import expect
import interop_pb2 as pb
import interop_pb2_grpc as rpc

# No call of a case may hang; cases about deadlines bring their own.
PATIENCE = 30
OPTIONS = [("grpc.max_receive_message_length", 16 << 20), ("grpc.use_local_subchannel_pool", 1)]


def equal(got, wanted, what):
    if got != wanted:
        shown = [repr(v) if len(repr(v)) < 200 else repr(v)[:200] + "..." for v in (wanted, got)]
        raise AssertionError(f"{what}: expected {shown[0]}, got {shown[1]}")


def fails(call, code, what):
    """The error that `call` must end with."""
    try:
        call()
    except grpc.RpcError as error:
        equal(error.code(), code, f"{what} ({error.details()!r})")
        return error
    raise AssertionError(f"{what}: expected {code}, got OK")


def fields(metadata, prefix):
    """grpcio hands metadata over key by key in no promised order; order among equal keys is promised."""
    return sorted(((k, v) for k, v in metadata or () if k.startswith(prefix)), key=lambda field: field[0])


def wanted(given):
    return sorted(given, key=lambda field: field[0])


def unary(stub):
    item = pb.Item(text="h\u00e9llo", body=expect.body(100), number=-7)
    equal(stub.Echo(item, timeout=PATIENCE), item, "reply")


def unary_without_deadline(stub):
    reply, call = stub.Echo.with_call(pb.Item(text="x"))
    equal(reply, pb.Item(text="x"), "reply")
    equal(fields(call.trailing_metadata(), expect.DEADLINE_KEY), [], "deadline seen by the server")


def empty_message(stub):
    equal(stub.Nothing(pb.Empty(), timeout=PATIENCE), pb.Empty(), "reply")


def client_streaming(stub):
    sizes = [27182, 8, 1828, 45904]  # grpc's interop case client_streaming: 74922 octets
    items = (pb.Item(body=expect.body(n), number=i) for i, n in enumerate(sizes))
    equal(stub.Collect(items, timeout=PATIENCE), pb.Summary(count=4, octets=74922, total=6), "summary")


def client_streaming_none(stub):
    equal(stub.Collect(iter(()), timeout=PATIENCE), pb.Summary(), "summary")


def client_streaming_much(stub):
    items = (pb.Item(body=expect.body(60_000), number=1) for _ in range(100))
    equal(stub.Collect(items, timeout=PATIENCE), pb.Summary(count=100, octets=6_000_000, total=100), "summary")


def server_streaming(stub):
    got = list(stub.Expand(pb.ExpandRequest(count=5, size=31415), timeout=PATIENCE))
    equal(got, [pb.Item(body=expect.body(31415), number=n) for n in range(5)], "items")


def server_streaming_none(stub):
    equal(list(stub.Expand(pb.ExpandRequest(count=0), timeout=PATIENCE)), [], "items")


def server_streaming_much(stub):
    got = stub.Expand(pb.ExpandRequest(count=100, size=60_000), timeout=PATIENCE)
    equal(sum(len(item.body) for item in got), 6_000_000, "octets")


def bidi_ping_pong(stub):
    sizes = [27182, 8, 1828, 45904]
    replies = []

    def requests():
        # Each request waits for the answer to the one before it: neither side may sit on a message.
        for i, size in enumerate(sizes):
            until = time.monotonic() + PATIENCE
            while len(replies) < i and time.monotonic() < until:
                time.sleep(0.001)
            yield pb.Item(text=f"ping {i}", body=expect.body(size), number=i)

    for reply in stub.Chat(requests(), timeout=PATIENCE):
        replies.append(reply)
    equal(replies, [pb.Item(text=f"PING {i}", body=expect.body(n), number=i + 1) for i, n in enumerate(sizes)], "replies")


def bidi_none(stub):
    equal(list(stub.Chat(iter(()), timeout=PATIENCE)), [], "replies")


def bidi_burst(stub):
    got = [item.number for item in stub.Chat((pb.Item(number=n) for n in range(500)), timeout=PATIENCE)]
    equal(got, list(range(1, 501)), "numbers")


def echo_metadata(stub, metadata):
    _, call = stub.Echo.with_call(pb.Item(), metadata=metadata, timeout=PATIENCE)
    return call.initial_metadata(), call.trailing_metadata()


def metadata_ascii(stub):
    initial, trailing = echo_metadata(stub, [expect.INITIAL[0], expect.INITIAL[2], expect.TRAILING[0]])
    equal(fields(initial, "x-echo-"), wanted([expect.INITIAL[0], expect.INITIAL[2]]), "initial metadata")
    equal(fields(trailing, "x-echo-"), wanted([expect.TRAILING[0]]), "trailing metadata")


def metadata_bin(stub):
    initial, trailing = echo_metadata(stub, [expect.INITIAL_BIN[0]] + expect.TRAILING_BIN)
    equal(fields(initial, "x-echo-"), [expect.INITIAL_BIN[0]], "initial metadata")
    equal(fields(trailing, "x-echo-"), expect.TRAILING_BIN, "trailing metadata")


def metadata_duplicates(stub):
    sent_initial, sent_trailing = expect.INITIAL + expect.INITIAL_BIN, expect.TRAILING + expect.TRAILING_BIN
    initial, trailing = echo_metadata(stub, sent_initial + sent_trailing)
    equal(fields(initial, "x-echo-"), wanted(sent_initial), "initial metadata")
    equal(fields(trailing, "x-echo-"), wanted(sent_trailing), "trailing metadata")


def metadata_long(stub):
    long = [("x-echo-initial", "v" * 3000)]
    initial, _ = echo_metadata(stub, long)
    equal(fields(initial, "x-echo-"), long, "initial metadata")


def status_message(stub):
    request = pb.FailRequest(code=2, message=expect.STATUS_MESSAGE)
    error = fails(lambda: stub.Fail(request, timeout=PATIENCE), grpc.StatusCode.UNKNOWN, "status")
    equal(error.details(), expect.STATUS_MESSAGE, "message")


def status_codes(stub):
    for code in grpc.StatusCode:
        number = code.value[0]
        if number:
            request = pb.FailRequest(code=number, message=f"code {number}")
            error = fails(lambda: stub.Fail(request, timeout=PATIENCE), code, "status")
            equal(error.details(), f"code {number}", "message")


def status_details(stub):
    request = pb.FailRequest(code=8, message="quota", details=expect.STATUS_DETAILS)
    error = fails(lambda: stub.Fail(request, timeout=PATIENCE), grpc.StatusCode.RESOURCE_EXHAUSTED, "status")
    got = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
    equal(got, expect.STATUS_DETAILS, "details")


def unimplemented(stub):
    for call, what in [(stub.absent_service, "status of an unknown service"), (stub.absent_method, "status of an unknown method")]:
        error = fails(lambda: call(pb.Empty(), timeout=PATIENCE), grpc.StatusCode.UNIMPLEMENTED, what)
        assert error.details(), "an UNIMPLEMENTED without a message does not say what is missing"


def deadline_passes(stub):
    began = time.monotonic()
    fails(lambda: stub.Wait(pb.WaitRequest(millis=60_000), timeout=0.2), grpc.StatusCode.DEADLINE_EXCEEDED, "status")
    took = time.monotonic() - began
    assert 0.2 <= took < 10, f"a deadline of 0.2 s ended the call after {took:.2f} s"


def deadline_ends_stream(stub):
    key = str(uuid.uuid4())
    fails(lambda: list(stub.Hang(pb.HangRequest(key=key), timeout=0.3)), grpc.StatusCode.DEADLINE_EXCEEDED, "status")
    equal(stub.Ended(pb.HangRequest(key=key), timeout=PATIENCE).ended, True, "the server's handler has seen the end")


def deadline_not_reached(stub):
    stub.Wait(pb.WaitRequest(millis=30), timeout=PATIENCE)


def deadline_seen(stub):
    _, call = stub.Echo.with_call(pb.Item(), timeout=25)
    left = int(dict(call.trailing_metadata())[expect.DEADLINE_KEY])
    # grpcio rounds a timeout up by as much as 1 %.
    assert 10_000 < left <= 25_500, f"the server saw {left} ms of a deadline of 25 s"


def cancel_before_reply(stub):
    call = stub.Wait.future(pb.WaitRequest(millis=60_000), timeout=PATIENCE)
    time.sleep(0.05)
    assert call.cancel(), "grpcio would not cancel"
    equal(call.code(), grpc.StatusCode.CANCELLED, "status")
    equal(stub.Nothing(pb.Empty(), timeout=PATIENCE), pb.Empty(), "a call on the same connection afterwards")


def cancel_stream(stub):
    key = str(uuid.uuid4())
    call = stub.Hang(pb.HangRequest(key=key), timeout=PATIENCE)
    equal(next(call).text, key, "first item")
    call.cancel()
    equal(call.code(), grpc.StatusCode.CANCELLED, "status")
    equal(stub.Ended(pb.HangRequest(key=key), timeout=PATIENCE).ended, True, "the server's handler has seen the end")


def big_messages(stub):
    item = pb.Item(body=expect.body(expect.BIG), number=3)
    equal(stub.Echo(item, timeout=PATIENCE), item, "reply of 3 MB")


def too_big(stub):
    request = pb.Item(body=expect.body(expect.TOO_BIG))
    fails(lambda: stub.Echo(request, timeout=PATIENCE), grpc.StatusCode.RESOURCE_EXHAUSTED, "status of a 5 MB message")
    unary(stub)


def in_flight(stub):
    key = str(uuid.uuid4())
    request = pb.GatherRequest(key=key, count=expect.IN_FLIGHT)
    calls = [stub.Gather.future(request, timeout=PATIENCE) for _ in range(expect.IN_FLIGHT)]
    equal({call.result().count for call in calls}, {expect.IN_FLIGHT}, "answers")


def many_calls(stub):
    calls = [stub.Echo.future(pb.Item(number=n), timeout=PATIENCE) for n in range(expect.IN_FLIGHT)]
    equal([call.result().number for call in calls], list(range(expect.IN_FLIGHT)), "answers")


async def aio_unary(stub):
    item = pb.Item(text="aio", body=expect.body(1000), number=1)
    equal(await stub.Echo(item, timeout=PATIENCE), item, "reply")


async def aio_server_streaming(stub):
    got = [item.number async for item in stub.Expand(pb.ExpandRequest(count=20, size=1000), timeout=PATIENCE)]
    equal(got, list(range(20)), "numbers")


async def aio_bidi(stub):
    call = stub.Chat(timeout=PATIENCE)
    for number in range(20):
        await call.write(pb.Item(text="a", number=number))
        equal(await call.read(), pb.Item(text="A", number=number + 1), "reply")
    await call.done_writing()
    equal(await call.read(), grpc.aio.EOF, "end of replies")
    equal(await call.code(), grpc.StatusCode.OK, "status")


async def aio_cancel(stub):
    key = str(uuid.uuid4())
    call = stub.Hang(pb.HangRequest(key=key), timeout=PATIENCE)
    equal((await call.read()).text, key, "first item")
    call.cancel()
    equal(await call.code(), grpc.StatusCode.CANCELLED, "status")
    equal((await stub.Ended(pb.HangRequest(key=key), timeout=PATIENCE)).ended, True, "the server's handler has seen the end")


async def aio_many_calls(stub):
    replies = await asyncio.gather(*(stub.Echo(pb.Item(number=n), timeout=PATIENCE) for n in range(expect.IN_FLIGHT)))
    equal([reply.number for reply in replies], list(range(expect.IN_FLIGHT)), "answers")


def vanishes(target):
    """A client whose process dies in the middle of a call: no RST_STREAM, no GOAWAY, only the end of the connection."""
    key = str(uuid.uuid4())
    child = os.spawnlp(os.P_NOWAIT, os.sys.executable, os.sys.executable, __file__, target, key)
    with grpc.insecure_channel(target, options=OPTIONS) as channel:
        stub = rpc.InteropStub(channel)
        equal(os.waitpid(child, 0)[1], 0, "exit status of the client that vanishes")
        equal(stub.Ended(pb.HangRequest(key=key), timeout=PATIENCE).ended, True, "the server's handler has seen the end")


SYNC = [
    unary, unary_without_deadline, empty_message,
    client_streaming, client_streaming_none, client_streaming_much,
    server_streaming, server_streaming_none, server_streaming_much,
    bidi_ping_pong, bidi_none, bidi_burst,
    metadata_ascii, metadata_bin, metadata_duplicates, metadata_long,
    status_message, status_codes, status_details, unimplemented,
    deadline_passes, deadline_ends_stream, deadline_not_reached, deadline_seen,
    cancel_before_reply, cancel_stream, big_messages, too_big, in_flight, many_calls,
]
AIO = [aio_unary, aio_server_streaming, aio_bidi, aio_cancel, aio_many_calls]


def cases(target):
    """(name, function without arguments) of every case against the server at `target`; the sync ones share one connection."""
    channel = grpc.insecure_channel(target, options=OPTIONS)
    stub = rpc.InteropStub(channel)
    stub.absent_service = rpc.AbsentStub(channel).Call
    stub.absent_method = channel.unary_unary("/pintle.interop.Interop/Absent", pb.Empty.SerializeToString, pb.Empty.FromString)
    for case in SYNC:
        yield case.__name__, lambda case=case: case(stub)
    channel.close()
    for case in AIO:
        yield case.__name__, lambda case=case: asyncio.run_coroutine_threadsafe(with_aio_stub(case, target), LOOP).result()
    yield "vanishes", lambda: vanishes(target)


# One loop for all: grpcio's poller stays with the loop that it met first.
LOOP = asyncio.new_event_loop()
threading.Thread(target=LOOP.run_forever, daemon=True).start()


async def with_aio_stub(case, target):
    async with grpc.aio.insecure_channel(target, options=OPTIONS) as channel:
        await case(rpc.InteropStub(channel))


def hang_and_die(target, key):
    stub = rpc.InteropStub(grpc.insecure_channel(target, options=OPTIONS))
    equal(next(stub.Hang(pb.HangRequest(key=key))).text, key, "first item")
    os._exit(0)


if __name__ == "__main__":
    hang_and_die(*os.sys.argv[1:])
