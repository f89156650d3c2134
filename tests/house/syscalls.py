#!/usr/bin/env python3
"""usage: B=build/release tests/house/syscalls.py

Does conf/belfry.service let through what the server calls? Asks strace, where
it is installed and may trace, for the calls of a start, a write, a backup and a
stop; else takes those that the unit's own comments name. Prints what the unit
would refuse."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SERVER = os.path.join(REPO, os.environ.get("B", "build/release"), "belfry-server")
UNIT = os.path.join(REPO, "conf", "belfry.service")
KNOWN = {"sched_setattr", "sync_file_range", "prlimit64", "setrlimit", "fdatasync", "fallocate"}


def sets():
    """systemd's sets by name; a set may hold others."""
    out, name = {}, None
    text = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True,
                          check=True).stdout
    for line in text.splitlines():
        word = line.strip()
        if line.startswith("@"):
            name = word
            out[name] = set()
        elif name and word and not word.startswith("#"):
            out[name].add(word)
    return out


def expand(words, known):
    calls = set()
    for word in words:
        calls |= expand(known[word], known) if word.startswith("@") else {word}
    return calls


def allowed():
    """Lines add or, behind `~`, take away, in their order."""
    known = sets()
    calls = expand(["@default"], known)
    with open(UNIT) as f:
        for value in re.findall(r"^SystemCallFilter=(.*)$", f.read(), re.M):
            words = expand(value.lstrip("~").split(), known)
            calls = calls - words if value.startswith("~") else calls | words
    return calls


def say(port, line, wanted):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), 20) as s:
                s.sendall(line)
                if s.recv(4096).startswith(wanted):
                    return
        except OSError:
            pass
        time.sleep(0.02)
    raise RuntimeError("no answer to %r" % line)


def traced():
    if shutil.which("strace") is None:
        return set()
    with tempfile.TemporaryDirectory(prefix="belfry-calls.") as work, socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        s.close()
        calls = os.path.join(work, "calls")
        if subprocess.run(["strace", "-f", "-o", calls, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            return set()
        with open(os.path.join(work, "out"), "w") as out:
            p = subprocess.Popen(["strace", "-f", "-qq", "-o", calls, SERVER, "--port", str(port), "--http-port", "0",
                                  "--dir", os.path.join(work, "data"), "--generation-max-age", "20"],
                                 stdout=out, stderr=out, start_new_session=True)
            try:
                say(port, b"JOB.ADD q payload\r\n", b"$26")
                say(port, b"BGSAVE\r\n", b"+Background")
                say(port, b"SHUTDOWN\r\n", b"")
                p.wait(60)
            finally:
                if p.poll() is None:
                    os.killpg(p.pid, signal.SIGKILL)
                    p.wait()
        with open(calls) as f:
            return set(re.findall(r"^\d+ +([a-z]\w*)\(", f.read(), re.M))


def main():
    missing = sorted((KNOWN | traced()) - allowed())
    for name in missing:
        print("the unit refuses", name)
    return 1 if missing else 0


sys.exit(main())
