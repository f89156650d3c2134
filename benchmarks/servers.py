"""The servers that are measured: how each is started, loaded and stopped.

Every one listens on loopback, works in a folder of its own and is stopped by
its process id. `durable` says honestly what an acknowledgement is worth.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
B = os.path.join(REPO, os.environ.get("B", "build/release"))
BENCH = os.path.join(B, "belfry-bench")
PG_BIN = os.environ.get("PG_BIN", "/usr/lib/postgresql/15/bin")


def loaded(port, seconds=60):
    """Wait until a server with Redis' INFO has read its data."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(b"INFO persistence\r\n")
            if b"\nloading:0" in s.recv(65536):
                return
        time.sleep(0.005)
    raise RuntimeError("the server on port %d does not become ready" % port)


class Missing(Exception):
    """A peer that is not installed here."""


def wait_port(port, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError("nothing listens on port %d" % port)


def must_be_free(port):
    """What listens there already would be loaded instead of what we start."""
    with socket.socket() as s:
        if s.connect_ex(("127.0.0.1", port)) == 0:
            raise RuntimeError("port %d is taken" % port)


def reply(f):
    """One, of Redis' protocol; an error is raised."""
    line = f.readline()
    kind, rest = line[:1], line[1:-2]
    if kind == b"-" or kind == b"":
        raise RuntimeError(rest.decode() or "the server has gone")
    if kind == b"$":
        return None if int(rest) < 0 else f.read(int(rest) + 2)[:-2]
    if kind == b"*":
        return [reply(f) for _ in range(int(rest))]
    return int(rest) if kind == b":" else rest


class Peer:
    name = proto = durable = ""
    program = None
    more = []  # words for belfry-bench

    def __init__(self, work, port):
        self.folder = os.path.join(work, re.sub("[ ,/]+", "-", self.name))
        self.port = port
        self.process = None
        if self.program and not shutil.which(self.program):
            raise Missing(self.program)

    def command(self):
        raise NotImplementedError

    def start(self, fresh=True):
        if fresh:
            shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder, exist_ok=True)
        must_be_free(self.port)
        log = open(self.folder + ".log", "ab")
        self.process = subprocess.Popen(
            self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
        log.close()
        wait_port(self.port)
        if self.proto != "beanstalkd":
            loaded(self.port)

    def stop(self, sig=signal.SIGTERM):
        if self.process is not None:
            self.process.send_signal(sig)
            self.process.wait()
            self.process = None

    def last_words(self):
        """Of a server that ended by itself."""
        time.sleep(0.2)
        if self.process is None or self.process.poll() is None:
            return ""
        with open(self.folder + ".log") as f:
            return "ended with %s:\n%s" % (self.process.returncode,
                                           "".join(f.readlines()[-40:]))

    def bench_begin(self, *words):
        command = [BENCH, "--port", str(self.port), "--proto", self.proto,
                   "--json", "--quiet", "--pid", str(self.process.pid)]
        return subprocess.Popen(command + [str(w) for w in words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def bench_end(self, running):
        out, err = running.communicate()
        if running.returncode:
            raise RuntimeError("%s: %s %s %s" % (self.name, err, out, self.last_words()))
        told = json.loads(out.splitlines()[-1])
        if told["timed_out"]:
            raise RuntimeError("%s: the time was up after %d jobs, %.0f s: %s" % (
                self.name, told["jobs"], told["seconds"], " ".join(running.args[1:])))
        return told

    def bench(self, *words):
        return self.bench_end(self.bench_begin(*words))

    def ask(self, *words):
        with socket.create_connection(("127.0.0.1", self.port)) as c, c.makefile("rb") as f:
            c.sendall(b"*%d\r\n" % len(words) + b"".join(
                b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
            return reply(f)

    def asked(self, *words):
        """A reply that is an object, {name: value}."""
        flat = self.ask(*words)
        return dict(zip(map(bytes.decode, flat[::2]), flat[1::2]))

    def info(self):
        lines = self.ask("INFO", "everything").decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def pids(self):
        return [self.process.pid]

    def life(self, connections, pipeline, seconds, payload=150):
        return self.bench("-c", connections, "-P", pipeline, "-s", seconds, "-d", payload,
                          "-q", "life", *self.more)

    def rss_mb(self):
        with open("/proc/%d/status" % self.process.pid) as f:
            for line in f:
                if line.startswith("VmRSS"):
                    return int(line.split()[1]) / 1024

    def disk_mb(self):
        """What its files hold; those that go meanwhile are not counted."""
        held = 0
        for at, _, names in os.walk(self.folder):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    held += os.path.getsize(os.path.join(at, name))
        return held / 1e6


class Belfry(Peer):
    name, proto = "belfry", "belfry"
    durable = "yes"
    program = os.path.join(B, "belfry-server")
    sync = "always"
    keep = "1h"
    options = []

    def command(self):
        return [self.program, "--bind", "127.0.0.1", "--port", str(self.port),
                "--http-port", "0", "--dir", self.folder, "--appendfsync",
                self.sync, "--keep-default", self.keep] + self.options


class BelfryLean(Belfry):
    """Its leases tell what those of a stream do."""

    name = "belfry, lean"
    more = ["--lean"]


class BelfryNoPriority(Belfry):
    """The thread that syncs its log is scheduled as those of others are."""

    name = "belfry, log-priority no"
    options = ["--log-priority", "no"]


class BelfryBeside(Belfry):
    """A second one with the same settings."""

    name = "belfry beside"


class BelfryPlain(Belfry):
    """`make VARIANT=plain`"""

    name = "belfry plain"
    program = os.path.join(REPO, "build/plain/belfry-server")


class BelfryPgo(Belfry):
    """`make profile && make VARIANT=pgo`"""

    name = "belfry pgo"
    program = os.path.join(REPO, "build/pgo/belfry-server")


class BelfryEverysec(Belfry):
    name, sync = "belfry everysec", "everysec"
    durable = "written, not synced"


class BelfryNo(Belfry):
    name, sync = "belfry no", "no"
    durable = "no"


class BelfryNoHistory(Belfry):
    name, keep = "belfry, no history", "0"


class Redis(Peer):
    program = "redis-server"
    sync = "always"

    def command(self):
        return ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port),
                "--dir", self.folder, "--save", "", "--appendonly", "yes",
                "--appendfsync", self.sync]


class StreamAlways(Redis):
    name, proto, durable = "redis stream always", "redis-stream", "yes"


class ListAlways(Redis):
    name, proto, durable = "redis list always", "redis-list", "yes"


class StreamEverysec(Redis):
    name, proto, sync = "redis stream everysec", "redis-stream", "everysec"
    durable = "no"


class ListEverysec(Redis):
    name, proto, sync = "redis list everysec", "redis-list", "everysec"
    durable = "no"


class Beanstalkd(Peer):
    name, proto, program = "beanstalkd -f0", "beanstalkd", "beanstalkd"
    durable = "yes, but reservations are not written"
    flag = "-f0"

    def command(self):
        return ["beanstalkd", "-l", "127.0.0.1", "-p", str(self.port),
                "-b", self.folder, self.flag]


class BeanstalkdNever(Beanstalkd):
    name, flag, durable = "beanstalkd -F", "-F", "no"


class Postgres(Peer):
    """SKIP LOCKED, as people write it, through pgbench."""

    name, durable, batch = "postgresql 15 batch 1", "yes", 1

    def __init__(self, work, port):
        super().__init__(work, port)
        if not os.path.exists(PG_BIN + "/initdb"):
            raise Missing("postgresql 15")

    def as_postgres(self, *words, **more):
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        return subprocess.run(user + list(words), check=True, capture_output=True,
                              text=True, **more)

    def start(self, fresh=True):
        must_be_free(self.port)
        scripts = self.folder + ".sql"
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(scripts, ignore_errors=True)
        os.makedirs(self.folder)
        shutil.copytree(os.path.join(REPO, "benchmarks/peers/postgres"), scripts)
        for path in (self.folder, scripts):
            os.chmod(path, 0o777)
            if os.geteuid() == 0:
                shutil.chown(path, "postgres")
        self.scripts = scripts
        self.as_postgres(PG_BIN + "/initdb", "-D", self.folder, "-A", "trust",
                         "-U", "postgres")
        options = ("-c listen_addresses=127.0.0.1 -p %d -c unix_socket_directories=%s "
                   "-c shared_buffers=1GB -c max_wal_size=8GB -c max_connections=200"
                   % (self.port, scripts))
        self.as_postgres(PG_BIN + "/pg_ctl", "-D", self.folder, "-w", "-s", "-l",
                         self.folder + "/log", "-o", options, "start")
        with open(self.folder + "/postmaster.pid") as f:
            self.pid = int(f.readline())
        self.url = "postgres://postgres@127.0.0.1:%d/postgres" % self.port

    def stop(self, sig=None):
        self.as_postgres(PG_BIN + "/pg_ctl", "-D", self.folder, "-m", "fast", "-s",
                         "stop")

    def pids(self):
        """The first process, and those that it has started."""
        with open("/proc/%d/task/%d/children" % (self.pid, self.pid)) as f:
            return [self.pid] + [int(pid) for pid in f.read().split()]

    def life(self, connections, pipeline, seconds, payload=150):
        self.as_postgres("psql", self.url, "-q", "-f", self.scripts + "/schema.sql")
        # Its time begins before it has connected; its rate does not count that.
        done = self.as_postgres(
            PG_BIN + "/pgbench", self.url, "-n", "-M", "prepared", "-c",
            str(connections), "-j", "1", "-T", str(seconds + 2), "-f",
            "%s/life%d.sql" % (self.scripts, self.batch), cwd=self.scripts)
        tps = [float(l.split()[2]) for l in done.stdout.splitlines()
               if l.startswith("tps")]
        if not tps:  # the time was up before all were connected
            raise RuntimeError("%s: nothing was done in %s s" % (self.name, seconds))
        return {"jobs_per_s": tps[0] * self.batch}


class Postgres100(Postgres):
    name, batch = "postgresql 15 batch 100", 100


def node_life(which, seconds, env):
    here = os.path.join(REPO, "benchmarks/peers/node")
    modules = os.environ.get("NODE_MODULES", os.path.join(REPO, "build/node"))
    if not os.path.isdir(modules + "/node_modules"):
        if not shutil.which("npm"):
            raise Missing("npm")
        os.makedirs(modules, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(here, name), modules)
        subprocess.run(["npm", "install", "--no-save", "--ignore-scripts", "--no-audit",
                        "--no-fund"],
                       cwd=modules, check=True, capture_output=True)
    for name in ("life.js", "belfry.js"):
        shutil.copy(os.path.join(here, name), modules)
    done = subprocess.run(["node", "life.js", which, str(seconds)], cwd=modules,
                          env={**os.environ, **env}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("node %s: %s" % (which, done.stderr.strip()))
    return json.loads(done.stdout)
