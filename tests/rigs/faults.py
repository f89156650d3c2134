"""The shim's orders, and the ways a machine lets a server down."""

import fcntl
import glob
import mmap
import os
import signal
import struct
import subprocess
import tempfile
import time

from rig import REPO

KINDS = {
    "write": 1,
    "sync": 2,
    "dirsync": 4,
    "create": 8,
    "allocate": 16,
    "name": 32,
    "read": 64,
    "logsync": 128,
}
EXIT_CUT = 137
EIO, ENOSPC = 5, 28


def shim():
    path = os.path.abspath(
        os.path.join(os.environ.get("B", "build/release"), "rigs", "shim.so")
    )
    if not os.path.exists(path):
        subprocess.check_call(["make", "-s", "rig-bins"], cwd=REPO)
    return path


def belfry_check(*words):
    """Its exit status and what it said. Not the one beside the server, which
    may be one that cheats and comes alone."""
    program = os.path.join(REPO, os.environ.get("B", "build/release"), "belfry-check")
    done = subprocess.run(
        [program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace")
    return done.returncode, done.stdout


class Control:
    """struct control of shim.c: sixteen numbers in a mapped file."""

    FIELDS = (
        "seed cut_now cut_at operations fail_kinds fail_at fail_times fail_errno "
        "fail_seen fail_hits cut_manifest cut_at_end sectors_kept sectors_lost "
        "names_kept names_lost"
    ).split()

    def __init__(self, work, data):
        self.path = os.path.join(work, "control")
        self.shadow = os.path.join(work, "shadow")
        os.makedirs(self.shadow, exist_ok=True)
        os.makedirs(data, exist_ok=True)
        with open(self.path, "wb") as f:
            f.write(bytes(4096))
        self.file = open(self.path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 4096)
        self.env = {
            "LD_PRELOAD": shim(),
            "RIG_DIR": data,
            "RIG_SHADOW": self.shadow,
            "RIG_CONTROL": self.path,
        }

    def clear(self):
        self.map[:] = bytes(4096)
        for name in os.listdir(self.shadow):
            os.unlink(os.path.join(self.shadow, name))

    def __getitem__(self, name):
        return struct.unpack_from("<Q", self.map, 8 * self.FIELDS.index(name))[0]

    def __setitem__(self, name, value):
        struct.pack_into("<Q", self.map, 8 * self.FIELDS.index(name), value)

    def fail(self, kinds, at, errno=EIO, times=0):
        self["fail_at"] = 0
        self["fail_seen"] = self["fail_hits"] = 0
        self["fail_kinds"] = sum(KINDS[k] for k in kinds)
        self["fail_errno"] = errno
        self["fail_times"] = times
        self["fail_at"] = at

    def close(self):
        self.map.close()
        self.file.close()


SHUTDOWN_IOCTL = 0x8004587D  # _IOR('X', 125, __u32): ext4 and xfs alike
SHUTDOWN_NO_FLUSH = 2


def freeze(pid):
    """Stop a process: when this returns, none of its threads will come out of
    the kernel any more."""
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        return
    end = time.monotonic() + 20
    while time.monotonic() < end:
        states = set()
        for thread in glob.glob("/proc/%d/task/*/stat" % pid):
            try:
                with open(thread) as f:
                    states.add(f.read().rsplit(")", 1)[1].split()[0])
            except OSError:
                pass  # it has ended
        # T: stopped; D: waits for the disk; Z, X: the process has ended.
        if states <= set("TtDZX"):
            return
    raise OSError("process %d does not stop" % pid)


class Disk:
    """A file system in a file, whose power can be cut: the shutdown ioctl
    stops it in the middle without writing anything back; mounting it again
    recovers what was really on the disk."""

    def __init__(self, work, kind, megabytes):
        self.kind = kind
        self.image = os.path.join(work, kind + ".img")
        self.mount_point = os.path.join(work, kind)
        os.makedirs(self.mount_point)
        with open(self.image, "wb") as f:
            f.truncate(megabytes << 20)
        make = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"]}
        self._run(*make[kind], self.image)
        self.mounted = False
        self.mount()

    @staticmethod
    def _run(*words):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise OSError("%s: %s" % (" ".join(words), done.stderr.strip()))

    def mount(self):
        """Whoever has copied the mounts of this machine meanwhile (a container
        that starts) keeps the stopped file system alive, and mounting it again
        shows it as it is, stopped: until it is let go."""
        end = time.monotonic() + 60
        while True:
            self._run("mount", "-o", "loop", self.image, self.mount_point)
            self.mounted = True
            try:
                os.rmdir(tempfile.mkdtemp(dir=self.mount_point))
                return
            except OSError:
                self.unmount()
                if time.monotonic() > end:
                    raise

    def cut(self, pid):
        """First the machine stands still, then the disk. The ioctl alone lets
        the processes go on, and an fdatasync() that is under way may find its
        journal's transaction thrown away, hence nothing to wait for, and
        succeed (seen with 30 of 150 cuts of a program that only wrote and
        synced; with none where it was stopped first)."""
        freeze(pid)
        fd = os.open(self.mount_point, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, SHUTDOWN_IOCTL, struct.pack("I", SHUTDOWN_NO_FLUSH))
        finally:
            os.close(fd)

    def unmount(self):
        if not self.mounted:
            return
        self.mounted = False
        try:
            self._run("umount", self.mount_point)
        except OSError:
            # Somebody looks at it: let go of it when they have finished.
            self._run("umount", "-l", self.mount_point)
            raise


def mount_tmpfs(path, megabytes):
    os.makedirs(path, exist_ok=True)
    Disk._run("mount", "-t", "tmpfs", "-o", "size=%dm" % megabytes, "tmpfs", path)


def unmount(path):
    subprocess.run(["umount", path], capture_output=True)
