"""What every case sends and must get: shared by the grpcio client and the grpcio server (see ../src/expect.rs for Pintle's side)."""

MEGABYTE = 1_000_000
BIG = 3 * MEGABYTE
TOO_BIG = 5 * MEGABYTE
IN_FLIGHT = 1_000

# From grpc's interop case `special_status_message`, with what percent-encoding must not trip over behind it.
STATUS_MESSAGE = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n 100% %41 ~"
# google.rpc.Status{code: 8, message: "quota"}: opaque octets as far as these cases go.
STATUS_DETAILS = b"\x08\x08\x12\x05quota"

INITIAL = [("x-echo-initial", "one"), ("x-echo-initial", "two, with a comma"), ("x-echo-initial-other", "~ !\"#$%&'()*+")]
INITIAL_BIN = [("x-echo-initial-bin", b"\x00\x01\xff"), ("x-echo-initial-bin", b""), ("x-echo-initial-bin", b"\xab\xab\xab")]
TRAILING = [("x-echo-trailing", "three"), ("x-echo-trailing", "four")]
TRAILING_BIN = [("x-echo-trailing-bin", bytes(range(256)))]

# With a call's deadline, `Echo` answers trailing metadata of this key: the milliseconds that it has left.
DEADLINE_KEY = "x-deadline-millis"


def body(size: int) -> bytes:
    """Octets whose period (251) divides no buffer size, so that a piece lost, doubled or moved shows."""
    unit = bytes(range(251))
    return (unit * (size // 251 + 1))[:size]
