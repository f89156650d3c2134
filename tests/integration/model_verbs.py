"""Every pair of operations on a job, in every state that it can be in, against
a small model of what they do. See model_test.py."""
from model_lib import fields, text

ENDED = {"completed", "failed", "cancelled"}
STATES = ["ready", "scheduled", "parked", "retrying", "held", "held later",
          "running", "told to stop", "completed", "failed", "cancelled",
          "cancelled by force", "gone"]

# The words of each operation; J is the job, T its newest token, Q its queue.
OPERATIONS = {
    "lease": ["JOB.LEASE", "Q", "FOR", "1h"],
    "ack": ["JOB.ACK", "T", "RESULT", "r"],
    "nack": ["JOB.NACK", "T", "ERROR", "boom", "DELAY", "1h"],
    "permanent": ["JOB.NACK", "T", "PERMANENT"],
    "snooze": ["JOB.NACK", "T", "SNOOZE", "1h"],
    "release": ["JOB.RELEASE", "T"],
    "extend": ["JOB.EXTEND", "T"],
    "progress": ["JOB.PROGRESS", "T", "40", "TEXT", "t"],
    "checkpoint": ["JOB.CHECKPOINT", "T", "c"],
    "effect": ["JOB.EFFECT", "T", "mail"],
    "cancel": ["JOB.CANCEL", "J", "FORCE", "1h"],
    "force": ["JOB.CANCEL", "J", "FORCE", "0"],
    "runnow": ["JOB.RUNNOW", "J"],
    "retry": ["JOB.RETRY", "J"],
    "hold": ["JOB.HOLD", "J"],
    "unhold": ["JOB.UNHOLD", "J"],
    "delete": ["JOB.DELETE", "J"],
    "update": ["JOB.UPDATE", "J", "PRIORITY", "9"],
    "later": ["JOB.UPDATE", "J", "DELAY", "1h"],
    "sooner": ["JOB.UPDATE", "J", "DELAY", "0"],
}
NOTES = {"progress", "checkpoint", "effect"}
ENDS = {"ack": "ack", "nack": "fail", "permanent": "fail", "snooze": "snooze",
        "release": "release"}


class Job:
    """What the job should be; each operation answers "OK" or an error word."""

    def __init__(self, limited):
        self.state, self.back = "ready", None
        self.limited = limited  # its name is full: ready is parked
        self.token = self.ended_by = None
        self.told = False
        if limited:
            self.state = "parked"

    def ready(self):
        return "parked" if self.limited else "ready"

    def refusal(self):
        """Of those that want a live job that does not run."""
        if self.state == "gone":
            return "NOTFOUND"
        if self.state in ENDED:
            return "FINISHED"
        return "STATE" if self.state == "running" else None

    def end(self, what):
        if self.state != "running":
            if self.state == "gone":
                return "NOTFOUND"
            if what in ENDS and self.ended_by == ENDS[what]:
                return "OK"  # the same verb again
            return "FINISHED" if self.state in ENDED else "STALE"
        if what in NOTES:
            return "OK"
        self.ended_by = ENDS[what]
        if self.told and what != "ack":
            self.state = "cancelled"
        else:
            self.state = {"ack": "completed", "nack": "retrying",
                          "permanent": "failed", "snooze": "scheduled",
                          "release": self.ready()}[what]
        self.told = False
        return "OK"

    def cancel(self, force):
        if self.state == "gone":
            return "NOTFOUND"
        if self.state in ENDED:
            return "OK" if self.state == "cancelled" else "FINISHED"
        if self.state == "running" and not force:
            self.told = True
            return "OK"
        if self.state == "running":
            self.ended_by, self.told = "cancel", False
        self.state = "cancelled"
        return "OK"

    def put(self, state):
        """UPDATE moves it, also under a hold."""
        if self.state == "held":
            self.back = state
        else:
            self.state = state

    def do(self, what):
        if what in ENDS or what in NOTES:
            return self.end(what)
        if what in ("cancel", "force"):
            return self.cancel(what == "force")
        if what == "retry":
            if self.state not in ENDED:
                return "NOTFOUND" if self.state == "gone" else "STATE"
            self.state = self.ready()
            return "OK"
        if what == "delete":
            if self.state == "running" or self.state == "gone":
                return self.refusal()
            self.state = "gone"
            return "OK"
        refusal = self.refusal()
        if what == "unhold" and refusal is None and self.state != "held":
            refusal = "STATE"
        if what == "runnow" and self.state == "held":
            refusal = "STATE"
        if refusal is not None:
            return refusal
        if what == "hold" and self.state != "held":
            self.state, self.back = "held", self.state
        elif what == "unhold":
            self.state = self.ready() if self.back == "parked" else self.back
        elif what == "runnow":
            self.state = self.ready()
        elif what == "later":
            self.put("scheduled")
        elif what == "sooner":
            self.put(self.ready())
        return "OK"


class Verbs:
    def __init__(self, ask, check, refused):
        self.ask, self.check, self.refused = ask, check, refused
        self.n = 0

    def operate(self, what):
        """Do it to the server and the model, and compare the answers."""
        job = self.job
        words = [{"J": self.id, "T": job.token, "Q": self.q}.get(w, w)
                 for w in OPERATIONS[what]]
        got = self.ask(*words)
        said = str(got).split()[0] if isinstance(got, self.refused) else "OK"
        self.trail.append("%s %s" % (what, said))
        if what == "lease":
            leased = job.state == "ready"
            self.expect(len(got) == leased, "leased %d" % len(got))
            if leased and got:
                job.token = text(fields(got[0])["token"])
                job.state, job.ended_by = "running", None
        elif what == "extend":
            order = "lost" if job.state != "running" else (
                "cancel" if job.told else "continue")
            error = job.end(what) if order == "lost" else None
            row = fields(got[0])
            self.expect(text(row["order"]) == order and
                        text(row["error"]) == error,
                        "%s %s" % (order, error))
        else:
            wanted = job.do(what)
            self.expect(said == wanted, "wanted " + wanted)
        state = text(self.ask("JOB.STATE", self.id)) or "gone"
        self.expect(state == job.state, "is %s, should be %s" % (
            state, job.state))

    def expect(self, good, what):
        self.check(good, "job %s: %s: %s" % (self.id, ", ".join(self.trail),
                                             what))

    def counted(self):
        info = fields(self.ask("QUEUE.INFO", self.q))
        for state in ("scheduled", "ready", "parked", "retrying", "held",
                      "running", "completed", "failed", "cancelled"):
            self.expect(info[state] == (state == self.job.state),
                        "QUEUE.INFO %s: %s" % (state, info[state]))

    def begin(self, state):
        self.n += 1
        self.q = "verbs-%d" % self.n
        limited = state == "parked"
        words = ["RETRIES", "5"] + (["LIMIT", "verbs"] if limited else [])
        self.id = text(self.ask("JOB.ADD", self.q, "x", *words))
        self.job, self.trail = Job(limited), []
        for what in {"scheduled": ["later"], "retrying": ["lease", "nack"],
                     "held": ["hold"], "held later": ["later", "hold"],
                     "running": ["lease"], "told to stop": ["lease", "cancel"],
                     "completed": ["lease", "ack"],
                     "failed": ["lease", "permanent"],
                     "cancelled": ["cancel"],
                     "cancelled by force": ["lease", "force"],
                     "gone": ["lease", "ack", "delete"]}.get(state, []):
            self.operate(what)

    def run(self):
        self.ask("LIMIT.SET", "verbs", "CONCURRENCY", "1")
        self.ask("JOB.ADD", "verbs-0", "x", "LIMIT", "verbs")
        self.ask("JOB.LEASE", "verbs-0", "FOR", "1h")
        for state in STATES:
            for one in OPERATIONS:
                for two in OPERATIONS:
                    self.begin(state)
                    for what in (one, two):
                        if self.job.token or "T" not in OPERATIONS[what]:
                            self.operate(what)
                    self.counted()
