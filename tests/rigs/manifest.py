"""RocksDB's MANIFEST, its list of tables: where its records are, and what a
power cut makes of the last write to it."""

import os
import struct

BLOCK, HEAD, SECTOR = 32768, 7, 512
FULL, LAST = 1, 4  # a record in one piece, or its last piece
GROUP = b"\xac\x02"  # a tag in front of how many of a group are still to come


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


def records(data):
    """(begin, end, rest of its group or None) of each, up to the first that is
    not whole."""
    found = []
    at = begin = 0
    while True:
        left = BLOCK - at % BLOCK
        if left < HEAD:
            at += left
        if at + HEAD > len(data):
            return found
        stored, n, kind = struct.unpack("<IHB", data[at : at + HEAD])
        body = data[at + HEAD - 1 : at + HEAD + n]
        if len(body) < n + 1 or kind == 0 or checksum(body) != stored:
            return found
        at += HEAD + n
        if kind in (FULL, LAST):
            found.append((begin, at, body[-1] if body[-3:-1] == GROUP else None))
            begin = at


def current(folder):
    """The file in use."""
    with open(os.path.join(folder, "base", "CURRENT")) as f:
        return os.path.join(folder, "base", f.read().strip())


def last_flush(data):
    """Where the last write begins, if it is that of a flush; or None."""
    found = records(data)
    if not found or found[-1][1] != len(data) or found[-1][2] != 0:
        return None
    i = len(found) - 1
    while found[i - 1][2] is not None and found[i - 1][2] > found[i][2]:
        i -= 1
    return found[i][0]


def lose_sectors(rng, data, begin):
    torn = bytearray(data)
    for at in range(begin - begin % SECTOR, len(data), SECTOR):
        if rng.random() < 0.5:
            a, b = max(at, begin), min(at + SECTOR, len(data))
            torn[a:b] = bytes(b - a)
    return bytes(torn)


def shorten(rng, data, begin):
    return data[: rng.randint(begin + 1, len(data) - 1)]


def zero_end(rng, data, begin):
    at = rng.randint(begin, len(data) - 2)
    return data[:at] + bytes(len(data) - at)


def flip(rng, data, begin):
    torn = bytearray(data)
    torn[rng.randint(begin, len(data) - 1)] ^= 1 << rng.randrange(8)
    return bytes(torn)


WAYS = (lose_sectors, shorten, zero_end, flip)


def tear(rng, data, begin):
    """One that shows: not the same bytes, and not just fewer records."""
    while True:
        torn = rng.choice(WAYS)(rng, data, begin)
        found = records(torn)
        if torn != data and found[-1][1] != len(torn):
            return torn
