"""Parts of the results, kept when they are done, each with what it was measured
of: the commit, changes beside it, the build, and the arguments that matter to
the part. A part counts as done only for the same; what is published of others
says so."""

import hashlib
import json
import os
import subprocess


def git(repo, *words):
    done = subprocess.run(["git", "-C", repo, *words], capture_output=True, text=True)
    return done.stdout.strip()


def source(repo, program):
    """What is measured: {commit, changes, build}."""
    changes = git(repo, "diff", "HEAD", "--", "src", "deps", "benchmarks", "Makefile",
                  ":!benchmarks/RESULTS.md")
    build = subprocess.run([program, "--version"], capture_output=True, text=True)
    return {"commit": git(repo, "log", "-1", "--format=%h") or "unknown",
            "changes": hashlib.sha256(changes.encode()).hexdigest()[:12] if changes else "",
            "build": build.stdout.strip()}


def words_of(args):
    """As they are typed; a folder is nobody's business."""
    return " ".join("--%s %s" % (k.replace("_", "-"), "DIR" if k == "work" else v)
                    for k, v in args.items() if v is not None)


class Kept:
    def __init__(self, folder, source):
        self.folder, self.source = folder, source

    def path(self, part):
        return os.path.join(self.folder, part + ".md")

    def put(self, part, args, date, lines):
        os.makedirs(self.folder, exist_ok=True)
        what = {**self.source, "args": args, "date": date}
        with open(self.path(part) + ".new", "w") as f:
            f.write("\n".join([json.dumps(what)] + lines) + "\n")
        os.replace(self.path(part) + ".new", self.path(part))

    def get(self, part):
        """What it was measured of, and its lines; None if it is not there."""
        try:
            with open(self.path(part)) as f:
                lines = f.read().splitlines()
            return json.loads(lines[0]), lines[1:]
        except (FileNotFoundError, ValueError, IndexError):
            return None

    def is_there(self, part, args):
        """For this source and these arguments."""
        got = self.get(part)
        return got is not None and all(
            got[0].get(k) == v for k, v in {**self.source, "args": args}.items())

    def published(self, part, head):
        """Its lines, with what differs from what the head says; `head` is what
        the head was measured of."""
        got = self.get(part)
        if got is None:
            return []
        what, lines = got
        note = self.note(part, what, head)
        at = next((i for i, line in enumerate(lines) if line.startswith("## ")), None)
        if not note or at is None:
            return lines
        return lines[:at + 1] + ["", note] + lines[at + 1:]

    @staticmethod
    def note(part, what, head):
        said = []
        if any(what[k] != head[k] for k in ("commit", "changes", "build")):
            said.append("at %s%s" % (what["commit"], ", with changes beside it"
                                     if what["changes"] else ""))
            if (what["commit"], what["changes"]) == (head["commit"], head["changes"]):
                said[-1] += ", another build"
        if any(head["args"].get(k) != v for k, v in what["args"].items()):
            said.append("by `benchmarks/run --only %s %s`" % (part, words_of(what["args"])))
        if said and what["date"] != head["date"]:
            said.append("on %s" % what["date"])
        return "Measured %s." % ", ".join(said) if said else ""
