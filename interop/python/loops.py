"""grpcio's calls of the post office of examples/proto/tour.proto, as the loops among the examples serve it.

`cases` are for every one of them, the smallest included: few octets, little at once. `hosted` are for those with an operating system
beneath them, and with the post office of examples/poll_loop.
"""

import os
import subprocess
import sys
import threading
import time

import grpc

import tour_pb2 as pb
import tour_pb2_grpc as rpc
from client import OPTIONS, PATIENCE, equal, fails, fields

IN_FLIGHT = 100


def letter(number=0, octets=5, to="Ada"):
    return pb.Letter(to=to, content=bytes(range(256)) * (octets // 256) + b"x" * (octets % 256), number=number)


def unary(stub):
    equal(stub.Post(letter(octets=100), timeout=PATIENCE), pb.Receipt(letters=1, octets=100, last_to="Ada"), "receipt")


def unary_without_deadline(stub):
    equal(stub.Post(letter()), pb.Receipt(letters=1, octets=5, last_to="Ada"), "receipt")


def client_streaming(stub):
    letters = (letter(octets=n, to=f"to {n}") for n in [1, 0, 700, 30])
    equal(stub.PostAll(letters, timeout=PATIENCE), pb.Receipt(letters=4, octets=731, last_to="to 30"), "receipt")


def client_streaming_none(stub):
    equal(stub.PostAll(iter(()), timeout=PATIENCE), pb.Receipt(), "receipt")


def server_streaming(stub):
    got = list(stub.Subscribe(pb.Subscription(to="Ada", letters=50, octets=300), timeout=PATIENCE))
    equal(got, [pb.Letter(to="Ada", content=b"." * 300, number=n) for n in range(50)], "letters")


def server_streaming_none(stub):
    equal(list(stub.Subscribe(pb.Subscription(to="Ada"), timeout=PATIENCE)), [], "letters")


def bidi_ping_pong(stub):
    answers = []

    def letters():
        # Each letter waits for the answer to the one before it: neither side may sit on a message.
        for number in range(5):
            until = time.monotonic() + PATIENCE
            while len(answers) < number and time.monotonic() < until:
                time.sleep(0.001)
            yield letter(number, octets=200)

    for answer in stub.Correspond(letters(), timeout=PATIENCE):
        answers.append(answer)
    equal(answers, [letter(n, octets=200, to="re: Ada") for n in range(5)], "answers")


def bidi_burst(stub):
    got = [answer.number for answer in stub.Correspond((letter(n) for n in range(300)), timeout=PATIENCE)]
    equal(got, list(range(300)), "numbers")


def status(stub):
    error = fails(lambda: stub.Post(pb.Letter(), timeout=PATIENCE), grpc.StatusCode.INVALID_ARGUMENT, "status")
    equal(error.details(), "a letter needs a name on it", "message")


def unimplemented(stub):
    fails(lambda: stub.absent_method(pb.Letter(), timeout=PATIENCE), grpc.StatusCode.UNIMPLEMENTED, "status")


def deadline_passes(stub):
    over = threading.Event()

    def letters():
        yield letter()
        over.wait(PATIENCE)

    began = time.monotonic()
    fails(lambda: list(stub.Correspond(letters(), timeout=0.2)), grpc.StatusCode.DEADLINE_EXCEEDED, "status")
    took = time.monotonic() - began
    over.set()
    assert 0.2 <= took < 10, f"a deadline of 0.2 s ended the call after {took:.2f} s"
    unary(stub)


def metadata(stub):
    # Named `x-`: what else grpcio hands over is its own.
    _, call = stub.Post.with_call(letter(), metadata=[("x-postmark", "today, Oslo")], timeout=PATIENCE)
    equal(fields(call.initial_metadata(), "x-"), [("x-postmark", "today, Oslo")], "initial metadata")


def answered_by_another_thread(stub):
    began = time.monotonic()
    receipt = stub.Post(letter(), metadata=[("x-delay-ms", "30")], timeout=PATIENCE)
    equal(receipt, pb.Receipt(letters=1, octets=5, last_to="Ada"), "receipt")
    assert time.monotonic() - began >= 0.03, "answered before its time"


def deadline_before_the_answer(stub):
    late = [("x-delay-ms", "500")]
    fails(lambda: stub.Post(letter(), metadata=late, timeout=0.1), grpc.StatusCode.DEADLINE_EXCEEDED, "status")
    unary(stub)


def big_messages(stub):
    equal(stub.Post(letter(octets=3_000_000), timeout=PATIENCE), pb.Receipt(letters=1, octets=3_000_000, last_to="Ada"), "receipt")
    got = stub.Subscribe(pb.Subscription(to="Ada", letters=10, octets=900_000), timeout=PATIENCE)
    equal(sum(len(each.content) for each in got), 9_000_000, "octets")


def in_flight(stub):
    # All of them wait at the server at the same time.
    calls = [stub.Post.future(letter(to=str(n)), metadata=[("x-delay-ms", "200")], timeout=PATIENCE) for n in range(IN_FLIGHT)]
    equal([call.result().last_to for call in calls], [str(n) for n in range(IN_FLIGHT)], "answers")


def reader_that_sleeps(stub):
    """A subscriber that does not read holds up its own call and no other."""
    letters = stub.Subscribe(pb.Subscription(to="Ada", letters=200, octets=100_000), timeout=PATIENCE)
    equal(next(letters).number, 0, "first letter")
    for _ in range(20):
        unary(stub)
    equal(sum(1 for _ in letters), 199, "letters that were waiting")


CASES = [
    unary, unary_without_deadline, client_streaming, client_streaming_none, server_streaming, server_streaming_none,
    bidi_ping_pong, bidi_burst, status, unimplemented, deadline_passes,
]
# The last one leaves a call behind that holds its place at the server until it is answered, although nobody waits for it any more.
HOSTED = [metadata, answered_by_another_thread, big_messages, in_flight, reader_that_sleeps, deadline_before_the_answer]


def cases(target, chosen=CASES):
    """(name, function without arguments) of each case against the server at `target`, over one connection."""
    channel = grpc.insecure_channel(target, options=OPTIONS)
    stub = rpc.TourStub(channel)
    stub.absent_method = channel.unary_unary("/tour.Tour/Absent", pb.Letter.SerializeToString, pb.Receipt.FromString)
    for case in chosen:
        yield case.__name__, lambda case=case: case(stub)
    channel.close()


def hosted(target):
    """The same for programs on an operating system."""
    yield from cases(target, CASES + HOSTED)


# The programs of the examples that serve it.
PROGRAMS = {"superloop": "superloop-host", "poll-loop": "poll-server", "in-loop": "in-loop-server"}


def run(tally, name, directory, bin_directory, serve):
    """All cases against the program `name`, over TCP and a Unix socket; `serve` is drive.Server."""
    if name == "superloop":
        return superloop(tally, os.path.join(bin_directory, PROGRAMS[name]))
    server = serve([os.path.join(bin_directory, PROGRAMS[name])], directory, name)
    try:
        for transport, target in server.targets.items():
            for case, call in hosted(target):
                tally.run(f"grpcio -> {name} {transport} {case}", call)
        tally.run(f"grpcio -> {name} still serves", server.check_alive)
    finally:
        server.stop()


def superloop(tally, program):
    """The superloop behind a pseudo-terminal, bridged to a port: one client after the other."""
    process = subprocess.Popen([program, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        word, _, target = process.stdout.readline().strip().partition(" ")
        if word != "listening":
            sys.exit(f"{program} ended before it listened")
        for case, call in line_cases(target):
            tally.run(f"grpcio -> superloop pty {case}", call)
        tally.run("grpcio -> superloop still serves", lambda: equal(process.poll(), None, "exit status"))
    finally:
        process.terminate()
        process.wait()


def line_cases(target):
    """The cases for one line: a connection for all of them, then clients that come and go."""
    yield from cases(target)
    yield "vanishes", lambda: vanishes_on_the_line(target)
    for n in range(3):
        yield f"next_client_{n}", lambda: next_client(target)


def next_client(target):
    with grpc.insecure_channel(target, options=OPTIONS) as channel:
        unary(rpc.TourStub(channel))


def vanishes_on_the_line(target):
    """A client whose process dies in the middle of a stream without end."""
    child = subprocess.run([sys.executable, __file__, "--vanish", target], timeout=PATIENCE)
    equal(child.returncode, 0, "exit status of the client that vanishes")
    next_client(target)


def main():
    """loops.py ADDRESS: the cases for one line, against whatever listens there."""
    if sys.argv[1] == "--vanish":
        letters = rpc.TourStub(grpc.insecure_channel(sys.argv[2], options=OPTIONS)).Subscribe(pb.Subscription(to="Ada", letters=1 << 31, octets=200))
        equal(next(letters).number, 0, "first letter")
        os._exit(0)
    from drive import Tally

    tally = Tally("")
    for case, call in line_cases(sys.argv[1]):
        tally.run(f"grpcio {case}", call)
    tally.finish()


if __name__ == "__main__":
    main()
