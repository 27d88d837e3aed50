"""The interop service on grpcio. Usage: server.py --listen ADDR [--listen ADDR ...]

Prints `listening ADDR` for each address once it can be called (port 0 becomes the port that was bound), then serves until it is killed.
"""

import argparse
import collections
import threading
import time
from concurrent import futures

import grpc

import expect
import interop_pb2 as pb
import interop_pb2_grpc as rpc

CODES = {code.value[0]: code for code in grpc.StatusCode}


class Board:
    """What calls tell each other by key: which `Hang` has ended, how many `Gather` are there."""

    def __init__(self):
        self.changed = threading.Condition()
        self.ended = set()
        self.gathered = collections.Counter()

    def end(self, key):
        with self.changed:
            self.ended.add(key)
            self.changed.notify_all()

    def wait_ended(self, key, seconds):
        with self.changed:
            return self.changed.wait_for(lambda: key in self.ended, seconds)

    def gather(self, key, count, seconds):
        with self.changed:
            self.gathered[key] += 1
            self.changed.notify_all()
            return self.changed.wait_for(lambda: self.gathered[key] >= count, seconds)


class Interop(rpc.InteropServicer):
    def __init__(self):
        self.board = Board()

    def Echo(self, request, context):
        given = [(m.key, m.value) for m in context.invocation_metadata()]
        context.send_initial_metadata([(k, v) for k, v in given if k.startswith("x-echo-initial")])
        trailing = [(k, v) for k, v in given if k.startswith("x-echo-trailing")]
        left = context.time_remaining()
        if left is not None and left < 1e6:
            trailing.append((expect.DEADLINE_KEY, str(int(left * 1000))))
        context.set_trailing_metadata(trailing)
        return request

    def Collect(self, items, context):
        summary = pb.Summary()
        for item in items:
            summary.count += 1
            summary.octets += len(item.body)
            summary.total += item.number
        return summary

    def Expand(self, request, context):
        octets = expect.body(request.size)
        for number in range(request.count):
            yield pb.Item(body=octets, number=number)

    def Chat(self, items, context):
        for item in items:
            yield pb.Item(text=item.text.upper(), body=item.body, number=item.number + 1)

    def Nothing(self, request, context):
        return pb.Empty()

    def Fail(self, request, context):
        if request.code == 0:
            return pb.Empty()
        if request.details:
            context.set_trailing_metadata([("grpc-status-details-bin", request.details)])
        context.abort(CODES[request.code], request.message)

    def Wait(self, request, context):
        until = time.monotonic() + request.millis / 1000
        while context.is_active() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.02))
        return pb.Empty()

    def Hang(self, request, context):
        # grpcio does not resume a generator whose call has ended: the callback tells.
        context.add_callback(lambda: self.board.end(request.key))
        yield pb.Item(text=request.key)
        while not self.board.wait_ended(request.key, 60):
            pass

    def Ended(self, request, context):
        return pb.EndedReply(ended=self.board.wait_ended(request.key, 10))

    def Gather(self, request, context):
        if not self.board.gather(request.key, request.count, 30):
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the other calls did not come within 30 s")
        return pb.Summary(count=request.count)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--listen", action="append", required=True)
    args = args.parse_args()
    # A thread per call: `Gather` holds a thousand at once.
    server = grpc.server(futures.ThreadPoolExecutor(expect.IN_FLIGHT + 50), options=[("grpc.so_reuseport", 0)])
    rpc.add_InteropServicer_to_server(Interop(), server)
    bound = []
    for address in args.listen:
        port = server.add_insecure_port(address)
        bound.append(address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}")
    server.start()
    for address in bound:
        print("listening", address, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
