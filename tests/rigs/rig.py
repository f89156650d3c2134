"""What the rigs share: a client, a server to hurt, random settings, a report.

A rig is a process that is never killed. It starts the server, drives it, hurts
it, starts it again and asks it, through public commands only, what is left.
"""

import argparse
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOADING_S = 30
REPEAT = []  # the command line that does it again, with its seed


class Refused(Exception):
    """An error reply."""


class Gone(Exception):
    """The connection ended before the reply came."""


def pack(words):
    out = [b"*%d\r\n" % len(words)]
    for w in words:
        if isinstance(w, str):
            w = w.encode()
        elif isinstance(w, int):
            w = b"%d" % w
        out.append(b"$%d\r\n%s\r\n" % (len(w), w))
    return b"".join(out)


class Client:
    """Blocking, RESP2. An error reply is returned as a Refused, not raised,
    so that pipelines stay in step; call() raises it."""

    def __init__(self, port, timeout=60):
        self.buf = b""
        self.at = 0
        try:
            self.sock = socket.create_connection(("127.0.0.1", port), timeout)
        except OSError as e:
            raise Gone(str(e))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self):
        self.sock.close()

    def send(self, commands):
        try:
            self.sock.sendall(b"".join(map(pack, commands)))
        except OSError as e:
            raise Gone(str(e))

    def _more(self):
        try:
            data = self.sock.recv(1 << 18)
        except OSError as e:
            raise Gone(str(e))
        if not data:
            raise Gone("closed")
        self.buf = self.buf[self.at :] + data
        self.at = 0

    def _line(self):
        while True:
            end = self.buf.find(b"\r\n", self.at)
            if end >= 0:
                line = self.buf[self.at : end]
                self.at = end + 2
                return line
            self._more()

    def read(self):
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            n = int(rest)
            if n < 0:
                return None
            while len(self.buf) - self.at < n + 2:
                self._more()
            data = self.buf[self.at : self.at + n]
            self.at += n + 2
            return data
        if kind == b":":
            return int(rest)
        if kind == b"*":
            n = int(rest)
            return None if n < 0 else [self.read() for _ in range(n)]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Refused(rest.decode("utf-8", "replace"))
        raise Gone("not a reply: %r" % line[:80])

    def pipeline(self, commands, at_once=200):
        replies = []
        for i in range(0, len(commands), at_once):
            part = commands[i : i + at_once]
            self.send(part)
            replies += [self.read() for _ in part]
        return replies

    def call(self, *words):
        self.send([words])
        reply = self.read()
        if isinstance(reply, Refused):
            raise reply
        return reply


def fields(flat):
    """An object of RESP2: names and values in turn."""
    if flat is None or isinstance(flat, Refused):
        return None
    return {flat[i].decode(): flat[i + 1] for i in range(0, len(flat) - 1, 2)}


def random_settings(rng):
    """Another server at each restart: what matters is where its boundaries
    fall. Durability (appendfsync) is the rig's own choice."""
    kb, mb = 1024, 1024 * 1024
    pool = {
        "log-segment-size": [1 * mb, 2 * mb, 4 * mb, 16 * mb],
        "unsynced-max-bytes": [4 * kb, 64 * kb, 256 * kb],
        "generation-max-bytes": [64 * kb, 256 * kb, 1 * mb, 32 * mb],
        "generation-max-age": ["10ms", "100ms", "1s", "5s"],
        "rocksdb-write-buffer-size": [64 * kb, 1 * mb, 16 * mb],
        "rocksdb-block-cache-size": [1 * mb, 16 * mb],
        "tick-max-commands": [1, 7, 100, 2000],
        "window-lane-size": [16, 100, 1000],
        "window-due-size": [16, 2000],
    }
    chosen = {k: rng.choice(v) for k, v in pool.items() if rng.random() < 0.6}
    return {k: str(v) for k, v in chosen.items()}


class Server:
    def __init__(self, program, folder, port, log, env=None):
        self.program, self.folder, self.port = program, folder, port
        self.log, self.env = log, env or {}
        self.process = None
        self.settings = {}

    def start(self, settings, env=None):
        self.settings = settings
        words = [self.program, "--bind", "127.0.0.1", "--port", str(self.port)]
        words += ["--http-port", "0", "--dir", self.folder]
        words += ["--enable-debug-command", "yes"]
        for k, v in settings.items():
            words += ["--" + k, v]
        out = open(self.log, "ab")
        out.write(("\n== %s\n" % " ".join(words)).encode())
        out.flush()
        self.log_start = out.tell()
        self.process = subprocess.Popen(
            words,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **self.env, **(env or {})},
        )
        out.close()

    def ready(self, seconds=LOADING_S):
        """Wait until it serves. False if it ended instead."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                return False
            try:
                client = Client(self.port)
                client.call("PING")
                client.call("JOB.GET", "no-such-job")
                client.close()
                return True
            except Gone:
                pass
            except Refused as e:
                client.close()
                if not str(e).startswith("LOADING"):
                    return True
            time.sleep(0.005)
        raise Fault("not ready after %d s; log: %s" % (seconds, self.log))

    def kill(self, sig=signal.SIGKILL):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(sig)

    def wait(self, seconds=60):
        """Its exit code; negative: the signal."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Fault("did not end within %d s; log: %s" % (seconds, self.log))

    def stop(self):
        self.kill(signal.SIGTERM)
        return self.wait()

    def said(self):
        """What the last process wrote."""
        with open(self.log, "rb") as f:
            f.seek(self.log_start)
            return f.read().decode("utf-8", "replace")


class Fault(Exception):
    """The server broke a promise."""


class Report:
    """Counts checks; the first few failures are told in full."""

    def __init__(self):
        self.passed = self.failed = 0

    def ok(self, n=1):
        self.passed += n

    def bad(self, text):
        self.failed += 1
        if self.failed <= 20:
            print("FAILED: " + text, flush=True)

    def check(self, good, text):
        if good:
            self.passed += 1
        else:
            self.bad(text)
        return good

    def end(self):
        if self.failed and REPEAT:
            print("repeat: " + " ".join(REPEAT))
        print("%d passed, %d failed" % (self.passed, self.failed), flush=True)
        sys.exit(1 if self.failed or not self.passed else 0)


def free_port(rng):
    """A free one below the ephemeral range, so that no outgoing connection of
    another test takes it between two starts."""
    low, high = map(int, os.environ.get("RIG_PORTS", "21000-29999").split("-"))
    for _ in range(1000):
        port = rng.randint(low, high)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise SystemExit("no free port in %d..%d" % (low, high))


def arguments(about, **defaults):
    """Options of a rig: --seed, --program, --work, --keep and the given ones,
    integers by default."""
    p = argparse.ArgumentParser(description=about)
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--program", default=None, help="the server to test")
    p.add_argument("--work", default=None, help="where data goes")
    p.add_argument("--keep", action="store_true", help="keep the data")
    for name, value in defaults.items():
        p.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    a = p.parse_args()
    # So that what was mounted and started is cleared away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if a.seed is None:
        a.seed = int.from_bytes(os.urandom(4), "big")
    if a.program is None:
        a.program = os.path.join(os.environ.get("B", "build/release"), "belfry-server")
    a.program = os.path.abspath(a.program)
    if not os.access(a.program, os.X_OK):
        raise SystemExit("%s: no such program" % a.program)
    print("seed %d" % a.seed, flush=True)
    REPEAT[:] = sys.argv + ([] if "--seed" in sys.argv else ["--seed", str(a.seed)])
    return a


class Work:
    """A folder for the run, gone afterwards unless something failed."""

    def __init__(self, args, report):
        self.args, self.report = args, report

    def __enter__(self):
        base = self.args.work or tempfile.gettempdir()
        os.makedirs(base, exist_ok=True)
        self.path = tempfile.mkdtemp(prefix="belfry-rig.", dir=base)
        return self.path

    def __exit__(self, kind, value, trace):
        told = kind is not None and issubclass(kind, (Fault, Gone))
        if told:
            # A rig that lets the server die catches Gone itself.
            self.report.bad("%s: %s" % (kind.__name__, value))
        if self.args.keep or self.report.failed:
            print("kept: %s" % self.path)
        else:
            shutil.rmtree(self.path, ignore_errors=True)
        return told


def seeded(*parts):
    return random.Random(":".join(map(str, parts)))
