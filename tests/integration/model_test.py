#!/usr/bin/env python3
"""usage: B=build/release tests/integration/model_test.py [seed]

A model of jobs, written apart from the server, and the real server over a
socket: every pair of options of every command (model_pairs.py), every pair of
operations on a job in every state (model_verbs.py), values that cannot be for
every word (model_bad.py), then a random life of many jobs with crashes of the
server in between. Closes with "N passed, N failed"."""
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from model_bad import Bad
from model_lib import fields
from model_pairs import Pairs
from model_verbs import Verbs

PORT = int(os.environ.get("MODEL_PORT", "22390"))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
BINARY = os.path.join(ROOT, os.environ.get("B", "build/release"),
                      "belfry-server")
passed = failed = 0


def check(good, what):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("FAILED ", what)


class Refused(Exception):
    pass


class Client:
    def __init__(self):
        self.sock = socket.create_connection(("127.0.0.1", PORT), timeout=20)
        self.file = self.sock.makefile("rb")

    def value(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("closed")
        kind, text = line[:1], line[1:].strip()
        if kind == b"-":
            return Refused(text.decode())
        if kind == b"+":
            return text
        if kind == b":":
            return int(text)
        if kind == b"$":
            if text == b"-1":
                return None
            return self.file.read(int(text) + 2)[:-2]
        if kind == b"*":
            return [self.value() for _ in range(int(text))]
        raise ValueError(line)

    def ask(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.sock.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.value()


class Server:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="belfry-model.")
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [BINARY, "--port", str(PORT), "--http-port", "0", "--dir",
             os.path.join(self.dir, "data"), "--logfile",
             os.path.join(self.dir, "log")], stdin=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while True:
            try:
                self.client = Client()
                if self.client.ask("PING") == b"PONG" and not isinstance(
                        self.client.ask("QUEUE.LIST"), Refused):
                    return
            except OSError:
                pass
            if time.monotonic() > end or self.process.poll() is not None:
                sys.exit("model_test: the server did not start")
            time.sleep(0.02)

    def crash(self):
        self.process.kill()
        self.process.wait()
        self.start()

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


# --- a random life -----------------------------------------------------------

class Job:
    def __init__(self, number, priority, retries):
        self.number, self.priority, self.retries = number, priority, retries
        self.state, self.failures, self.token = "ready", 0, None


class Model:
    """What one queue may answer: the best priority first, then the oldest."""

    def __init__(self, server, seed):
        self.server, self.rng, self.jobs = server, random.Random(seed), {}

    def in_state(self, state):
        return [i for i, j in self.jobs.items() if j.state == state]

    def add(self):
        priority, retries = self.rng.randrange(4), self.rng.randrange(3)
        got = self.server.client.ask(
            "JOB.ADD", "q", len(self.jobs), "PRIORITY", priority, "RETRIES",
            retries, "LEASE", "1h")
        self.jobs[got] = Job(len(self.jobs), priority, retries)

    def lease(self):
        count = self.rng.randrange(1, 5)
        got, more = [], True
        while more and len(got) < count:
            # Where rows must be read it gives what it has.
            more = [fields(x) for x in self.server.client.ask(
                "JOB.LEASE", "q", "COUNT", count - len(got))]
            got += more
        ready = self.in_state("ready")
        check(len(got) == min(count, len(ready)),
              "%d of %d ready leased" % (len(got), len(ready)))
        for x in got:
            best = max((self.jobs[i].priority for i in
                        self.in_state("ready")), default=None)
            job = self.jobs[x["id"]]
            check(job.state == "ready" and job.priority == best,
                  "leased %s: %s, priority %s, best %s" % (
                      x["id"], job.state, job.priority, best))
            check(x["payload"] == b"%d" % job.number, "payload")
            check(x["attempt"] == job.failures + 1, "attempt")
            job.state, job.token = "running", x["token"]

    def end(self, verb, *words, to):
        running = self.in_state("running")
        if not running:
            return
        i = self.rng.choice(running)
        job = self.jobs[i]
        got = self.server.client.ask(verb, job.token, *words)
        check(got == b"OK", "%s: %s" % (verb, got))
        job.state = to(job)
        if job.state == "failed again":
            job.failures += 1
            job.state = "ready"

    def stale(self):
        old = [j for j in self.jobs.values()
               if j.token and j.state in ("completed", "failed")]
        if old:
            job = self.rng.choice(old)
            verb = "JOB.NACK" if job.state == "completed" else "JOB.ACK"
            got = self.server.client.ask(verb, job.token)
            check(isinstance(got, Refused) and str(got).startswith("FINISHED"),
                  "%s of a finished job: %s" % (verb, got))

    def settle(self):
        """A failed job comes back at once, by the timer: wait for it."""
        end = time.monotonic() + 10
        while fields(self.server.client.ask("QUEUE.INFO", "q"))["retrying"]:
            if time.monotonic() > end:
                return check(False, "a retry did not come back")
            time.sleep(0.002)

    def compare(self):
        for i, job in self.jobs.items():
            got = self.server.client.ask("JOB.STATE", i)
            check(got == job.state.encode(), "job %s is %s, should be %s" % (
                i, got, job.state))
        info = fields(self.server.client.ask("QUEUE.INFO", "q"))
        for state in ("ready", "running", "completed", "failed"):
            check(info[state] == len(self.in_state(state)),
                  "QUEUE.INFO %s: %s" % (state, info[state]))

    def step(self):
        what = self.rng.randrange(100)
        if what < 30:
            self.add()
        elif what < 55:
            self.lease()
        elif what < 70:
            self.end("JOB.ACK", to=lambda j: "completed")
        elif what < 85:
            self.end("JOB.NACK", "DELAY", "0", to=lambda j: "failed" if
                     j.failures >= j.retries else "failed again")
            self.settle()
        elif what < 92:
            self.end("JOB.RELEASE", to=lambda j: "ready")
        else:
            self.stale()


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 32)
    print("seed", seed)
    server = Server()
    try:
        # What these two ask for is not killed: it need not be synced.
        server.client.ask("CONFIG", "SET", "appendfsync", "everysec")
        Pairs(server.client.ask, check, Refused).run()
        Bad(server.client.ask, check, Refused).run()
        Verbs(server.client.ask, check, Refused).run()
        server.client.ask("CONFIG", "SET", "appendfsync", "always")
        model = Model(server, seed)
        model.add()
        for _ in range(4):
            for _ in range(250):
                model.step()
            server.crash()
            model.compare()
    finally:
        server.stop()
    if failed:
        print("repeat: %s %d" % (sys.argv[0], seed))
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(failed > 0)


main()
