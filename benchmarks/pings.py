"""A server of our own, and the p99 of PINGs that are asked of it one after the
other at a steady rate, so that it is the server's answer that is timed and not a
queue in front of it."""
import os
import resource
import shutil
import socket
import subprocess
import tempfile
import time

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SERVER = os.path.join(REPO, os.environ.get("B", "build/release"), "belfry-server")
PINGS, RATE = 4000, 2000


def raise_file_limit(want):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    soft = min(want, hard) if hard > 0 else want
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Server:
    def __init__(self, *directives):
        self.dir = tempfile.mkdtemp(prefix="belfry-pings.")
        self.path = os.path.join(self.dir, "socket")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen(
            [SERVER, "--port", str(self.port), "--http-port", "0", "--bind",
             "127.0.0.1", "--unixsocket", self.path, "--dir",
             os.path.join(self.dir, "data"), "--logfile",
             os.path.join(self.dir, "log"), *directives])
        end = time.monotonic() + 20
        while not self.answers():
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.02)

    def answers(self):
        try:
            with self.connect() as s:
                ping(s)
            return True
        except OSError:
            return False

    def connect(self):
        """Over the Unix socket: one address has fewer ports than some ask for."""
        s = socket.socket(socket.AF_UNIX)
        s.connect(self.path)
        return s

    def rss(self):
        with open("/proc/%d/statm" % self.process.pid) as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.dir)


def ping(s):
    s.sendall(b"PING\r\n")
    got = s.recv(64)
    if got != b"+PONG\r\n":
        raise OSError("got %r" % got)


def p99(connections):
    """In microseconds, over PINGs that go round the connections."""
    times = []
    next_at = time.perf_counter()
    for i in range(PINGS):
        while time.perf_counter() < next_at:
            pass
        begin = time.perf_counter()
        ping(connections[i % len(connections)])
        times.append(time.perf_counter() - begin)
        next_at = max(next_at + 1 / RATE, time.perf_counter())
    times.sort()
    return times[int(len(times) * 0.99)] * 1e6
