"""A corpus in one file: for each input two octets of length, the higher first, and its octets.

pack.py pack DIRECTORY FILE LONGEST MOST: the shortest first, none longer than LONGEST, MOST octets together
pack.py unpack FILE DIRECTORY
"""

import hashlib
import pathlib
import sys


def pack(directory, file, longest, most):
    inputs = sorted({path.read_bytes() for path in pathlib.Path(directory).iterdir()}, key=lambda octets: (len(octets), octets))
    out, count = bytearray(), 0
    for octets in inputs:
        if len(octets) > int(longest) or len(out) + 2 + len(octets) > int(most):
            break
        out += len(octets).to_bytes(2, "big") + octets
        count += 1
    pathlib.Path(file).write_bytes(out)
    print(f"{file}: {count} of {len(inputs)} inputs, {len(out)} octets")


def unpack(file, directory):
    octets = pathlib.Path(file).read_bytes()
    while octets:
        size = int.from_bytes(octets[:2], "big")
        one, octets = octets[2 : 2 + size], octets[2 + size :]
        (pathlib.Path(directory) / hashlib.sha1(one).hexdigest()).write_bytes(one)


if __name__ == "__main__":
    {"pack": pack, "unpack": unpack}[sys.argv[1]](*sys.argv[2:])
