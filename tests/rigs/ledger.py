"""The ledger: what was asked of the server, what it said, what must follow.

Each job is a small state machine of its own, so checking is linear in the
number of jobs. An operation whose connection died before its reply is
*unknown*: it may have happened or not, but not by half. After each restart the
ledger asks the server (JOB.GET, QUEUE.INFO, repeated requests) and

  1. every added job is there, with its payload;
  2. an acknowledged job is completed and is never leased again;
  3. failures and deliveries of a job are those that were told, plus at most
     the unknown ones;
  4. a held token still works, and nobody else gets its job meanwhile;
  5. an unknown request repeated under its idempotency key or name has happened
     at most once;
  6. counters of queues equal a recount of the ledger, and of the rows.

What was unknown is settled by asking, so that each crash starts from a ledger
without doubts.
"""

import hashlib
import re
import time

from rig import Client, Fault, Gone, Refused, fields, seeded

LEASE_MS = 600000
RUN_S = 300
WAITING = {"ready", "scheduled", "retrying", "parked"}
GROUPS = {
    "waiting": WAITING,
    "running": {"running"},
    "completed": {"completed"},
    "failed": {"failed"},
    "cancelled": {"cancelled"},
}
GROUP_OF = {s: g for g, states in GROUPS.items() for s in states}


def payload_of(seed, n, size):
    head = b"%d " % n
    block = hashlib.sha256(b"%d:%d" % (seed, n)).hexdigest().encode()
    return (head + block * (size // 64 + 1))[: max(size, len(head))]


class Job:
    __slots__ = (
        "n", "size", "queue", "name", "id", "known", "state", "maybe",
        "token", "held", "delivered", "failures", "maybe_failures", "busy",
        "retries", "next_token",
    )

    def __init__(self, n, size, queue, name):
        self.n, self.size, self.queue, self.name = n, size, queue, name
        self.id = None
        self.known = False  # the server said that it has it
        self.state = "waiting"  # group, as far as known
        self.maybe = None  # group that an unknown operation may have led to
        self.token = None
        self.held = False  # our lease is in force
        self.delivered = 0
        self.failures = 0
        self.maybe_failures = 0
        self.busy = False  # in the round under way
        self.retries = 3
        self.next_token = None  # leased again before the reply that allowed it


class Ledger:
    def __init__(self, seed, port, report, path, queues=4):
        self.rng = seeded(seed, "ledger")
        self.seed, self.port, self.report = seed, port, report
        self.queues = ["rig-%d" % i for i in range(queues)]
        self.jobs = []
        self.by_id = {}
        self.held = []  # jobs with a token
        self.live = 0
        self.touched = set()  # since the last check
        self.lost_leases = 0  # unknown LEASEs that cannot be asked again
        self.unsettled = {q: 0 for q in self.queues}  # unknown ADDs, no name
        # Jobs that unknown LEASEs may have taken, ever; with an unknown ADD
        # nobody can ask which.
        self.blind = {q: 0 for q in self.queues}
        self.again = []  # unknown requests to repeat: (words, job or None)
        self.acked = 0  # operations that the server confirmed
        self.serial = 0
        self.can = None
        self.file = open(path, "w", buffering=1 << 16)
        self.time0 = time.monotonic()
        self.counts = {}
        self.may_refuse = None  # a fault is planted: "NOSPACE" or "IOERR"
        self.disk_may_go = False  # and reads of it fail with EIO from then on
        self.alive_after = True  # no connection died in the last run
        self.recount_reads = 0  # of the disk, by DEBUG CHECK since the start

    # --- asking -------------------------------------------------------------

    def note(self, kind, conn, *words):
        self.file.write(
            "%.6f %s %d %s\n"
            % (time.monotonic() - self.time0, kind, conn, " ".join(map(str, words)))
        )

    def learn(self, client):
        """Which commands this server has."""
        self.can = set()
        for name in ("NACK", "RELEASE", "CANCEL", "EXTEND"):
            reply = client.pipeline([("JOB." + name,)])[0]
            if isinstance(reply, Refused) and "unknown command" not in str(reply):
                self.can.add(name)
        if not isinstance(client.pipeline([("DEBUG", "CHECK")])[0], Refused):
            self.can.add("DEBUG")
        try:
            client.call("QUEUE.INFO", "no-such-queue")
            self.can.add("INFO")
        except Refused as e:
            if "unknown command" not in str(e):
                self.can.add("INFO")

    def new_job(self):
        rng = self.rng
        n = len(self.jobs)
        size = rng.choice((24, 150, 150, 150, 300, 600, 2000, 9000))
        named = rng.random() < 0.5
        job = Job(n, size, rng.choice(self.queues), "j%d" % n if named else None)
        self.jobs.append(job)
        words = ["JOB.ADD", job.queue, payload_of(self.seed, n, size)]
        if job.name:
            words += ["ID", job.name]
        if rng.random() < 0.2:
            words += ["PRIORITY", rng.randint(0, 1000)]
        if rng.random() < 0.15:
            words += ["DELAY", "%dms" % rng.randint(1, 3000)]
        if rng.random() < 0.1:
            words += ["RETRIES", 5]
            job.retries = 5
        key = None
        if not job.name and rng.random() < 0.5:
            key = "add-%d" % n
            words += ["IDEMPOTENCY", key]
        return ("add", words, job, key)

    def new_lease(self):
        queue = self.rng.choice(self.queues)
        words = ["JOB.LEASE", queue, "COUNT", self.rng.randint(1, 12)]
        words += ["FOR", "%dms" % LEASE_MS]
        key = None
        if self.rng.random() < 0.7:
            self.serial += 1
            key = "lease-%d" % self.serial
            words += ["IDEMPOTENCY", key]
        return ("lease", words, None, key)

    def take_held(self, most):
        jobs = []
        while self.held and len(jobs) < most:
            i = self.rng.randrange(len(self.held))
            self.held[i], self.held[-1] = self.held[-1], self.held[i]
            job = self.held.pop()
            if job.held and not job.busy:
                job.busy = True
                jobs.append(job)
        return jobs

    def new_operation(self):
        x = self.rng.random()
        behind = len(self.held)
        if x < 0.35 or (self.live < 200 and x < 0.6):
            return self.new_job()
        if behind < 30 or x < 0.5:
            return self.new_lease()
        kind, most = "ack", 1
        y = self.rng.random()
        if y < 0.15 and "NACK" in self.can:
            kind = "nack"
        elif y < 0.22 and "RELEASE" in self.can:
            kind = "release"
        elif y < 0.25 and "EXTEND" in self.can:
            kind = "extend"
        elif y < 0.6:
            most = 8
        jobs = self.take_held(most)
        if not jobs:
            return self.new_lease()
        words = ["JOB." + kind.upper(), jobs[0].token]
        if kind == "nack":
            words += ["ERROR", "rig", "DELAY", "%dms" % self.rng.randint(0, 500)]
        elif kind == "extend":
            words += ["FOR", "%dms" % (LEASE_MS + self.rng.randint(0, 9))]
        for i, job in enumerate(jobs[1:]):
            words += ["ALSO", job.token] if i == 0 else [job.token]
        return (kind, words, jobs, None)

    # --- rounds -------------------------------------------------------------

    def round(self, clients, depth):
        """Send `depth` operations on each connection, then read the replies.
        True if all connections lived through it."""
        sent = []
        alive = True
        for i, c in enumerate(clients):
            ops = [self.new_operation() for _ in range(self.rng.randint(1, depth))]
            sent.append(ops)
            for op in ops:
                self.note("S", i, op[0], self.label(op))
            try:
                c.send([op[1] for op in ops])
            except Gone:
                pass  # what was sent of it is found out by reading
        for i, (c, ops) in enumerate(zip(clients, sent)):
            done = 0
            try:
                for op in ops:
                    reply = c.read()
                    self.note("R", i, op[0], self.label(op), self.short(reply))
                    self.apply(op, reply)
                    done += 1
            except Gone:
                alive = False
                for op in ops[done:]:
                    self.note("U", i, op[0], self.label(op))
                    self.unknown(op)
        return alive

    @staticmethod
    def label(op):
        what = op[2]
        if isinstance(what, Job):
            return what.n
        if what:
            return ",".join("%d" % j.n for j in what)
        return "%s:%s" % (op[1][1], op[3])

    @staticmethod
    def short(reply):
        return str(reply)[:60] if not isinstance(reply, list) else len(reply)

    def move(self, job, group):
        if job.known:
            self.count(job.queue, job.state, -1)
            self.count(job.queue, group, 1)
        if group in ("completed", "failed", "cancelled"):
            self.live -= 1
        job.state = group

    def count(self, queue, group, by):
        k = (queue, group)
        self.counts[k] = self.counts.get(k, 0) + by

    def be_known(self, job, id):
        """The server has this job."""
        if not job.known:
            job.known = True
            self.live += 1
            self.count(job.queue, job.state, 1)
            if id is not None:
                job.id = id
                self.by_id[id] = job

    def apply(self, op, reply):
        kind, words, what, key = op
        if isinstance(reply, Refused):
            self.refused(op, reply)
            return
        if kind == "add":
            self.touched.add(what)
            self.acked += 1
            self.be_known(what, reply)
        elif kind == "lease":
            for item in reply or []:
                self.leased(fields(item))
        elif kind == "extend":
            self.acked += len(what)
            for job, item in zip(what, reply):
                self.extended(job, fields(item))
        else:
            # One token: OK. Several: OK or an error's first word for each.
            words = reply if isinstance(reply, list) else [b"OK"]
            for job, word in zip(what, words):
                if word == b"OK":
                    self.acked += 1
                    self.finish(kind, job)
                else:
                    self.report.bad("%s of job %d: %s" % (kind, job.n, word))
                    job.busy = job.held = False

    def extended(self, job, f):
        if f["order"] != b"continue":
            raise Fault("job %d is held and was told %s" % (job.n, f["order"]))
        self.finish("extend", job)

    def refused(self, op, reply):
        kind, words, what, key = op
        text = str(reply)
        if kind == "add" and self.may_refuse and text.startswith("NOSPACE"):
            return
        # Where the log cannot grow every write is refused, which is no loss.
        whole = self.may_refuse and text.startswith(
            self.may_refuse + " writes are refused")
        gone = self.disk_may_go and "Input/output error" in text
        if (whole or gone) and kind == "add":
            return
        if not (whole or gone):
            self.report.bad("%s of %s: %s" % (kind, self.label(op), text))
        for job in what if isinstance(what, list) else []:
            job.busy = job.held = False
            self.touched.add(job)

    def leased(self, f):
        n = int(f["payload"].split(b" ", 1)[0])
        job = self.jobs[n]
        if f["payload"] != payload_of(self.seed, n, job.size):
            raise Fault("job %d was leased with another payload" % n)
        if not job.known and job in self.lonely:
            self.lonely.discard(job)
            self.unsettled[job.queue] -= 1
        self.be_known(job, f["id"])
        self.acked += 1
        self.touched.add(job)
        if job.held:
            if job.token == f["token"]:
                return  # the same request again
            if job.busy and job.next_token is None:
                # A release or nack on another connection came first; its reply
                # is read later. finish() goes on from here.
                job.next_token = f["token"]
                return
            raise Fault("job %d is leased twice: %r, %r" % (n, job.token, f["token"]))
        self.take_over(job, f["token"])

    def take_over(self, job, token):
        n = job.n
        if job.state in ("completed", "failed", "cancelled"):
            raise Fault("job %d is %s and was leased again" % (n, job.state))
        job.token, job.held = token, True
        job.delivered += 1
        self.move(job, "running")
        self.held.append(job)

    def finish(self, kind, job):
        job.busy = False
        self.touched.add(job)
        if kind == "extend":
            self.held.append(job)
            return
        job.held = False
        if kind == "ack":
            self.move(job, "completed")
        elif kind == "nack":
            job.failures += 1
            self.move(job, "failed" if job.failures > job.retries else "waiting")
        else:
            self.move(job, "waiting")
        if job.next_token is not None:
            token, job.next_token = job.next_token, None
            self.take_over(job, token)

    lonely = frozenset()

    def unknown(self, op):
        kind, words, what, key = op
        if kind == "add":
            if what.name or key:
                self.again.append(op)
            else:
                self.unsettled[what.queue] += 1
                self.lonely = set(self.lonely) | {what}
        elif kind == "lease":
            if key:
                self.again.append(op)
            else:
                self.lost_leases += int(words[3])
                self.blind[words[1]] += int(words[3])
        else:
            self.again.append(op)

    # --- after a restart ----------------------------------------------------

    def settle(self, client):
        """Repeat what was unknown. A finishing request repeated gets the reply
        that it would have got, so after this it has happened, once. The server
        may be cut off in the middle of it: what is not settled stays so."""
        while self.again:
            self.settle_one(client, self.again[0])
            self.again.pop(0)

    def settle_one(self, client, op):
        kind, words, what, key = op
        if kind == "add" and what.name:
            found = self.get(client, [what])[0]
            if found is None:
                reply = client.pipeline([words])[0]
                self.apply(op, reply)
            else:
                self.be_known(what, found["id"])
            return
        if kind in ("nack", "release"):
            self.settle_by_state(client, op)
            return
        reply = client.pipeline([words])[0]
        if kind == "lease" and isinstance(reply, list):
            self.note("A", 0, kind, self.label(op), len(reply))
        self.apply(op, reply)

    def settle_by_state(self, client, op):
        """A nack or release that came through leaves a trace in the counters
        of the job, so it is looked at and not repeated."""
        kind, words, what, key = op
        for job, f in zip(what, self.get(client, what)):
            if f is None:
                raise Fault("job %d is gone" % job.n)
            state = f["state"].decode()
            if (
                state == "running"
                and job.next_token is None
                and f.get("deliveries", job.delivered) == job.delivered
            ):
                job.busy = False
                self.held.append(job)
            else:
                # It happened, and the job may have been leased again since.
                self.finish(kind, job)

    def get(self, client, jobs):
        asked = [("JOB.GET", job.id or job.name) for job in jobs]
        found = []
        for reply in client.pipeline(asked):
            if isinstance(reply, Refused):
                if not str(reply).startswith("NOTFOUND"):
                    raise Fault("JOB.GET: %s" % reply)
                reply = None
            found.append(fields(reply))
        return found

    def check(self, client, everything=False, sample=300):
        """Compare the server with the ledger. Nothing is in flight."""
        jobs = self.touched
        if self.jobs:
            jobs |= set(self.rng.sample(self.jobs, min(sample, len(self.jobs))))
        if self.lost_leases:
            jobs |= {j for j in self.jobs if j.state == "waiting"}
        if everything:
            jobs = self.jobs
        jobs = [j for j in jobs if j.known]
        adopted = 0
        for job, f in zip(jobs, self.get(client, jobs)):
            adopted += self.check_job(job, f)
        if adopted > self.lost_leases:
            self.report.bad(
                "%d jobs are running that nobody leased (%d leases are unknown)"
                % (adopted, self.lost_leases)
            )
        self.lost_leases = 0  # whatever they took has been found
        self.touched = set()
        if "INFO" in self.can:
            self.check_counters(client)
        n = self.loop_disk_reads(client)
        if n > self.recount_reads:
            self.report.bad(
                "the loop has read the disk %d times" % (n - self.recount_reads)
            )
        if "DEBUG" in self.can:
            # The engine's own recount: rows that belong together are together.
            reply = client.pipeline([("DEBUG", "CHECK")])[0]
            if isinstance(reply, Refused):
                self.report.bad("DEBUG CHECK: %s" % reply)
        self.recount_reads = self.loop_disk_reads(client)
        return len(jobs)

    def loop_disk_reads(self, client):
        info = client.call("INFO", "rocksdb").decode()
        found = re.search(r"^loop_disk_reads:(\d+)", info, re.M)
        return int(found.group(1)) if found else 0

    def check_job(self, job, f):
        bad = self.report.bad
        if f is None:
            bad("job %d, %s, is lost" % (job.n, job.state))
            return 0
        state = f["state"].decode()
        group = GROUP_OF.get(state, state)
        adopted = 0
        if group != job.state:
            if group == "running" and job.state == "waiting":
                # Leased by a request whose reply never came.
                adopted = 1
                job.delivered += 1
                self.move(job, "running")
            elif job.state == "completed":
                bad("job %d was acknowledged and is %s" % (job.n, state))
                return 0
            else:
                bad("job %d is %s, not %s" % (job.n, state, job.state))
                return 0
        if f.get("payload") not in (None, payload_of(self.seed, job.n, job.size)):
            bad("job %d has another payload" % job.n)
        if f.get("failures") not in (None, job.failures):
            bad("job %d: %d failures, not %d" % (job.n, f["failures"], job.failures))
        deliveries = f.get("deliveries")
        if deliveries is not None and deliveries < job.delivered:
            bad("job %d: %d deliveries, not %d" % (job.n, deliveries, job.delivered))
        self.report.ok()
        return adopted

    def check_counters(self, client):
        for queue in self.queues:
            reply = client.pipeline([("QUEUE.INFO", queue)])[0]
            if reply is None or isinstance(reply, Refused):  # no such queue
                if sum(self.counts.get((queue, g), 0) for g in GROUPS):
                    self.report.bad("QUEUE.INFO %s: %s" % (queue, reply))
                continue
            f = fields(reply)
            # An unknown addition may be there, waiting, or running for an
            # unknown lease.
            spare, blind = self.unsettled[queue], self.blind[queue]
            for group, states in GROUPS.items():
                if not all(isinstance(f.get(s, 0), int) for s in states):
                    continue
                says = sum(f.get(s, 0) for s in states)
                ours = self.counts.get((queue, group), 0)
                most = {"waiting": spare, "running": min(spare, blind)}.get(group, 0)
                if ours <= says <= ours + most:
                    spare -= says - ours
                    self.report.ok()
                else:
                    self.report.bad(
                        "%s counts %d %s, the ledger %d (+%d unknown)"
                        % (queue, says, group, ours, most)
                    )

    def drain(self, client):
        """Acknowledge everything that is left: each job that was added and not
        finished must come, once."""
        held, self.held = [j for j in self.held if j.held], []
        for i in range(0, len(held), 50):
            part = held[i : i + 50]
            for job in part:
                job.busy = True
            words = ["JOB.ACK", part[0].token]
            if part[1:]:
                words += ["ALSO"] + [j.token for j in part[1:]]
            self.apply(("ack", words, part, None), client.pipeline([words])[0])
        end = time.monotonic() + 30
        while time.monotonic() < end:
            waiting = sum(v for (q, g), v in self.counts.items() if g == "waiting")
            if not waiting:
                break
            came = 0
            for queue in self.queues:
                words = ["JOB.LEASE", queue, "COUNT", 100, "BLOCK", 100]
                words += ["FOR", "%dms" % LEASE_MS]
                reply = client.call(*words)
                for item in reply or []:
                    self.leased(fields(item))
                came += len(reply or [])
            held, self.held = self.held, []
            for job in held:
                self.apply(("ack", None, [job], None),
                           client.pipeline([("JOB.ACK", job.token)])[0])
            if not came:
                # Some may be running for a request whose reply was lost.
                self.touched.update(j for j in self.jobs if j.state == "waiting")
                self.check(client, sample=0)
        else:
            self.report.bad("jobs are left that nobody gets: %d" % waiting)

    def run(self, connections, depth, until):
        """Drive the server until `until()` or until it dies."""
        end = time.monotonic() + RUN_S
        self.alive_after = False
        try:
            clients = [Client(self.port) for _ in range(connections)]
        except Gone:
            return False
        try:
            if self.can is None:
                self.learn(clients[0])
            while not until():
                if not self.round(clients, depth):
                    return False
                if time.monotonic() > end:
                    raise Fault("%d s of load did not bring it there" % RUN_S)
                if self.report.failed:
                    return False
            self.alive_after = True
            return True
        except Gone:
            return False
        finally:
            for c in clients:
                c.close()
