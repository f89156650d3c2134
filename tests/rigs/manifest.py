"""A torn end of RocksDB's MANIFEST.

Power lost while a flush adds its records can leave the last ones whole in
length and without some sectors. RocksDB, and with it the server, then refuses
to start. Nothing is lost: the log still has what the records said. Here is what
an operator would do, so that a campaign can go on and see that it is so."""

import os
import re
import struct

BLOCK, HEAD = 32768, 7
WHOLE = (1, 4)  # a record in one piece, or its last piece


def table():
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        yield n


CRC32C = list(table())


def checksum(data):
    c = 0xFFFFFFFF
    for byte in data:
        c = CRC32C[(c ^ byte) & 255] ^ c >> 8
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


def whole_up_to(data):
    """Where the last whole record ends."""
    at = end = 0
    while True:
        left = BLOCK - at % BLOCK
        if left < HEAD:
            at += left
        if at + HEAD > len(data):
            return end
        stored, n, kind = struct.unpack("<IHB", data[at:at + HEAD])
        body = data[at + HEAD - 1:at + HEAD + n]
        if len(body) < n + 1 or kind == 0 or checksum(body) != stored:
            return end
        at += HEAD + n
        if kind in WHOLE:
            end = at


def cut(said):
    """If a start ended because of one, cut it off and say True."""
    found = re.search(r"checksum mismatch in file (\S*/MANIFEST-\d+)", said)
    if not found:
        return False
    with open(found[1], "r+b") as f:
        data = f.read()
        end = whole_up_to(data)
        # A flush adds a few kilobytes; what lies further back was synced.
        if end == 0 or len(data) - end > 16384:
            return False
        f.truncate(end)
        os.fsync(f.fileno())
    return True
