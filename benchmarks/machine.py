"""When a measurement may begin: what ran before is over, on the disk as well.

A server defers work: it flushes, compacts, prepares segments of its log. With
several of them on one machine that falls into the run of whoever is next.
"""

import glob
import os
import time

WINDOW = 0.3  # s that all are still
CPU = 0.02  # of a processor
WRITTEN = 64 << 10


def used(pids):
    """Processor time in s, and bytes written, of these processes."""
    cpu = written = 0
    for pid in pids:
        for path in glob.glob("/proc/%d/task/*/schedstat" % pid):
            try:
                with open(path) as f:
                    cpu += int(f.read().split()[0]) / 1e9
            except OSError:  # the thread has ended
                pass
        try:
            with open("/proc/%d/io" % pid) as f:
                written += next(int(line.split()[1]) for line in f
                                if line.startswith("write_bytes"))
        except OSError:
            pass
    return cpu, written


def still(servers, seconds=5):
    """Wait until none of them has anything to do. False: they still had, so
    many seconds later."""
    end = time.monotonic() + seconds
    before = [used(server.pids()) for server in servers]
    while True:
        time.sleep(WINDOW)
        after = [used(server.pids()) for server in servers]
        if all(b[0] - a[0] < CPU * WINDOW and b[1] - a[1] < WRITTEN
               for a, b in zip(before, after)):
            return True
        if time.monotonic() > end:
            return False
        before = after


def quiet_disk(folder, seconds=120):
    """What was deleted before is given back to the disk (mount option discard),
    and for as long each of its syncs may take a fifth of a second. Wait for
    five seconds without that, so many at most."""
    path = os.path.join(folder, "quiet")
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    begin = last = time.monotonic()
    while last < begin + seconds and time.monotonic() < last + 5:
        before = time.monotonic()
        os.pwrite(fd, b"x" * 4096, 0)
        os.fdatasync(fd)
        now = time.monotonic()
        if now - before > 0.01:
            last = now
        time.sleep(0.002)
    os.close(fd)
    os.unlink(path)
