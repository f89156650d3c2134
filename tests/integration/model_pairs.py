"""Every pair of options of every command on jobs, over a socket: what COMMAND
DOCS names is combined, in both orders and each word with itself, and sent to
the server in a situation in which the command makes sense. What must come out
is told here, apart from the server: a word that this file does not know is a
failure, so that no new option goes without.

An accepted pair is looked up again where the command's object shows it; a
refused one must name the words that collide. See model_test.py."""
import itertools

from model_lib import fields, text

GROUPS = {b"jobs", b"queues", b"handlers", b"owners", b"limits", b"workers",
          b"schedules"}
FAR = "4000000000000"

# A value of each word, and what other commands take under the same name.
VALUES = {
    "HANDLER": "h", "DELAY": "1m", "AT": FAR, "PRIORITY": "7", "RETRIES": "2",
    "BASE": "2s", "FACTOR": "3", "CAP": "1m", "JITTER": "0", "LEASE": "9s",
    "TIMEOUT": "8s", "EXPECT": "7s", "EXPIRES": "2h", "DEADLINE": "3h",
    "KEEP": "1d", "UNIQUE": "key-%d", "FOR": "1h", "DEBOUNCE": "5m",
    "LIMIT": "api", "COST": "2", "OWNER": "o", "TAG": "k=v", "TRACE": "t",
    "META": "m", "ID": "name-%d", "IDEMPOTENCY": "idem-%d", "PAYLOAD": "new",
    "COUNT": "2", "BLOCK": "1", "WORKER": "w", "SESSION": "s", "RESULT": "r",
    "USAGE": "cpu=3", "ERROR": "boom", "TYPE": "Oops", "STACK": "main",
    "CODE": "7", "SNOOZE": "1s", "CLOSE": "remote", "UNTIL": FAR, "TEXT": "half",
    "FORCE": "1s", "QUEUE": "q", "KEY": "key", "RATE": "9", "CURSOR": "",
    "MATCH": "*", "AFTER": "a", "SIGNATURE": "%(signature)s",
    "DESCRIPTION": "what it does",
    "MAX": "1kb", "PERCENT": "60", "OUTCOMES": "7", "WINDOW": "5s",
    "OPEN": "6s", "PROBES": "3", "CONCURRENCY": "3", "BURST": "2",
    "MAXLEN": "50", "AGE": "1s", "FAIR": "1", "WEIGHT": "3", "LIVE": "50",
    "RUNNING": "6", "ADDS": "7/1s", "CRON": "0 0 1 1 *", "EVERY": "1h",
    "TZ": "Europe/Zurich", "EXCLUDE": "0 0 24 12 *", "GRACE": "5s",
    "SPREAD": "4s", "START": FAR, "END": "5000000000000", "FROM": "1000",
    "TO": "2000", "PAUSE-ON-FAILURE": "3", "LABEL": "k=v", "STATE": "failed",
}
OWN = {
    ("schedule.set", "MAX"): "9",
    ("queue.set", "RATE"): "7/1s", ("limit.set", "RATE"): "7/1s",
    ("job.lease", "FOR"): "3s", ("job.extend", "FOR"): "3s",
    ("breaker.trip", "FOR"): "3s", ("job.list", "ID"): "0",
    ("job.count", "ID"): "0", ("job.bulk", "ID"): "0",
    ("dead.retry", "ID"): "%(dead)s", ("dead.drop", "ID"): "%(dead)s",
    ("schedule.set", "START"): "1000", ("owner.list", "CURSOR"): "0",
    ("schedule.list", "CURSOR"): "a",
    ("schedule.set", "FOR"): "1h",
}
LISTS = {"CREATED": ["1", "+"], "FINISHED": ["-", "+"],
         "HANDLERS": ["1", "%(queue)s"], "WEIGHTS": ["1", "5"],
         "FIELDS": ["2", "token", "payload"],
         "NEVER": ["1", "Fatal*"], "ONLY": ["1", "Net*"], "QUEUES": ["1", "q"]}
WORDS = {"BREAKER": "on", "ORDER": "aging", "OVERFLOW": "drop"}

JOB_EXCLUDE = [{"DELAY", "AT"}, {"DEBOUNCE", "DELAY"}, {"DEBOUNCE", "AT"},
               {"WHILE", "FOR"}, {"DEBOUNCE", "CONFLICT"},
               {"DEBOUNCE", "FOR"}]
TOO_LATE = [{"AT", "EXPIRES"}, {"AT", "DEADLINE"}]
JOB_NEEDS = {"SCOPE": {"UNIQUE"}, "WHILE": {"UNIQUE"}, "FOR": {"UNIQUE"},
             "CONFLICT": {"UNIQUE"}, "DEBOUNCE": {"UNIQUE"},
             "SLA": {"EXPECT"}, "COST": {"LIMIT", "OWNER"}}
MAPS = {"TAG", "USAGE", "LABEL"}  # each key once
JOB_FILTERS = ["QUEUE", "STATE", "HANDLER", "OWNER", "TAG", "KEY", "WORKER", "ID",
               "CREATED", "FINISHED"]
EXCLUDE = {
    "job.add": JOB_EXCLUDE + TOO_LATE, "job.addm": JOB_EXCLUDE + TOO_LATE,
    "job.update": [{"DELAY", "AT"}] + TOO_LATE, "handler.set": JOB_EXCLUDE,
    "schedule.set": JOB_EXCLUDE + [
        {"CRON", "EVERY"}, {"CRON", "AT"}, {"EVERY", "AT"}, {"GAP", "EVERY"},
        {"GAP", "AT"}, {"FOLD", "EVERY"}, {"FOLD", "AT"}],
    "job.nack": [{"DELAY", "PERMANENT"}, {"DELAY", "SNOOZE"},
                 {"PERMANENT", "SNOOZE"}, {"USAGE", "SNOOZE"},
                 {"ERROR", "SNOOZE"}, {"TYPE", "SNOOZE"}, {"STACK", "SNOOZE"},
                 {"CODE", "SNOOZE"}],
    "schedule.backfill": [{"STOP", "FROM"}, {"STOP", "TO"}],
    "job.wait": [{"ANY", "ALL"}],
    "job.bulk": [{"DRYRUN", "RATE"}] + [{"ALL", word} for word in JOB_FILTERS],
    "queue.set": [{"KEEP", "KEEPDEFAULT"}],
    "dead.retry": [{"ID", "SIGNATURE"}, {"ID", "ALL"}, {"SIGNATURE", "ALL"},
                   {"ID", "RATE"}],
}
EXCLUDE["dead.drop"] = EXCLUDE["dead.retry"]
NEEDS = {
    "job.add": JOB_NEEDS, "job.addm": JOB_NEEDS, "job.update": JOB_NEEDS,
    "schedule.set": JOB_NEEDS,  # a handler's defaults may wait for the other word
    "job.nack": {"CLOSE": {"UNTIL"}, "UNTIL": {"CLOSE"}},
    "queue.set": {"AGE": {"ORDER"}, "ORDER": {"AGE"}, "BURST": {"RATE"},
                  "OVERFLOW": {"MAXLEN"}},
    "job.wait": {"ANY": {"BLOCK"}, "ALL": {"BLOCK"}},
    "limit.set": {"BURST": {"RATE"}},
}
REFUSED = {"handler.set": {"HANDLER", "AT"}, "schedule.set": {"TRACE"},
           "job.addm": {"UNIQUE"}}
# What must be there, if the pair does not bring it.
BASE = {"schedule.set": [({"QUEUE"}, ["QUEUE", "q"]),
                         ({"PAYLOAD"}, ["PAYLOAD", "new"]),
                         ({"CRON", "EVERY", "AT"}, ["CRON", "0 0 1 1 *"])],
        "schedule.backfill": [({"FROM", "STOP"}, ["FROM", "1000"]),
                              ({"TO", "STOP"}, ["TO", "2000"])],
        "job.bulk": [({"ALL", *JOB_FILTERS}, ["ALL"])],
        "dead.retry": [({"ID", "SIGNATURE", "ALL"}, ["ALL"])],
        "dead.drop": [({"ID", "SIGNATURE", "ALL"}, ["ALL"])]}

JOB_SHOWN = {
    "HANDLER": ("handler", "h"), "PRIORITY": ("priority", 7),
    "RETRIES": ("retries", 2), "META": ("meta", "m"), "TRACE": ("trace", "t"),
    "TIMEOUT": ("timeout_ms", 8000), "KEEP": ("keep_ms", 86400000),
    "PAYLOAD": ("payload", "new"), "LIMIT": ("limits", ["api"]),
    "LEASE": ("lease_ms", 9000), "TAG": ("tags", ["k", "v"]),
    "BACKOFF": ("backoff", "exponential"), "BASE": ("base_ms", 2000),
    "FACTOR": ("factor", "3"), "CAP": ("cap_ms", 60000),
    "JITTER": ("jitter", 0), "EXPECT": ("expect_ms", 7000),
    "SLA": ("sla", "warn"), "COST": ("cost", 2), "SCOPE": ("scope", "queue"),
    "WHILE": ("while", "live"), "FOR": ("for_ms", 3600000),
}
SHOWN = {
    "job.add": ("JOB.GET", JOB_SHOWN), "job.addm": ("JOB.GET", JOB_SHOWN),
    "job.update": ("JOB.GET", JOB_SHOWN),
    "queue.set": ("QUEUE.INFO", {
        "CONCURRENCY": ("concurrency", 3), "RATE": ("rate", 7),
        "BURST": ("burst", 2), "MAXLEN": ("maxlen", 50),
        "OVERFLOW": ("overflow", "drop"), "ORDER": ("order", "aging"),
        "AGE": ("age_ms", 1000), "FAIR": ("fair", 1),
        "LEASE": ("lease_ms", 9000), "KEEP": ("keep_ms", 86400000)}),
    "limit.set": ("LIMIT.GET", {
        "CONCURRENCY": ("concurrency", 3), "RATE": ("rate", 7),
        "BURST": ("burst", 2)}),
    "owner.set": ("OWNER.GET", {
        "WEIGHT": ("weight", 3), "LIVE": ("live_max", 50),
        "RUNNING": ("running_max", 6), "ADDS": ("adds", 7)}),
    "worker.beat": ("WORKER.GET", {
        "SESSION": ("session", "s"), "CONCURRENCY": ("concurrency", 3),
        "QUEUES": ("queues", ["q"]), "LABEL": ("labels", ["k", "v"])}),
    "handler.set": ("HANDLER.GET", {
        "DESCRIPTION": ("description", "what it does"), "MAX": ("max", 1024),
        "NEVER": ("never", ["Fatal*"]), "ONLY": ("only", ["Net*"])}),
    "schedule.set": ("SCHEDULE.GET", {
        "TZ": ("tz", "Europe/Zurich"), "GRACE": ("grace_ms", 5000),
        "WINDOW": ("window_ms", 5000), "SPREAD": ("spread_ms", 4000),
        "START": ("start_ms", 1000), "END": ("end_ms", 5000000000000),
        "MAX": ("max", 9), "PAUSE-ON-FAILURE": ("pause_on_failure", 3),
        "EVERY": ("every_ms", 3600000), "QUEUE": ("queue", "q"),
        "PAYLOAD": ("payload", "new")}),
}


class Option:
    def __init__(self, command, arg, parent=None):
        doc = fields(arg)
        self.name, self.parent = text(doc["token"]), parent
        self.many = any(b"multiple" in f for f in doc.get("flags", []))
        kind, own = doc["type"], OWN.get((command, self.name))
        if kind == b"pure-token":
            self.value = []
        elif kind == b"oneof":
            first = fields(doc["arguments"][0])
            self.value = [WORDS.get(self.name, text(first["name"]))]
        elif kind == b"block":
            self.value = LISTS.get(self.name)
        else:
            value = own if own is not None else VALUES.get(self.name)
            self.value = None if value is None else [value]


def options_of(command, arguments):
    """The options of a command; the words of one choice exclude each other,
    which EXCLUDE knows, too."""
    out, also = [], False
    for arg in arguments:
        doc = fields(arg)
        token = doc.get("token")
        if token == b"ALSO":
            also = True
        elif token is not None:
            out.append(Option(command, arg))
        elif doc["type"] == b"oneof":
            out += [Option(command, x) for x in doc["arguments"]]
        elif doc["type"] == b"block":
            inner = [x for x in doc["arguments"] if b"token" in x]
            for i, x in enumerate(inner):
                out.append(Option(command, x, out[-i] if i else None))
    return out, also


class Pairs:
    def __init__(self, ask, check, refused):
        self.ask, self.check, self.refused = ask, check, refused
        self.n = 0

    # --- situations: the words before the options, and what to look up ------

    def job(self, queue=None):
        return text(self.ask("JOB.ADD", queue or self.q, "x"))

    def token(self):
        self.job()
        return text(fields(self.ask("JOB.LEASE", self.q)[0])["token"])

    def dead(self):
        token = self.token()
        self.ask("JOB.NACK", token, "ERROR", "boom", "PERMANENT")
        groups = fields(self.ask("DEAD.GROUPS", self.q))["groups"]
        return {"dead": token.split("#")[0],
                "signature": text(fields(groups[0])["signature"])}

    def situation(self, command):
        """Positional words, and the name under which the object is shown."""
        self.n += 1
        self.q = "pair-%d" % self.n
        self.here = {"queue": self.q}
        group, verb = command.split(".")
        if command == "job.add":
            return [self.q, "x"], None
        if command == "job.addm":
            return [self.q, "2", "x", "y"], None
        if command == "job.lease":
            self.job()
            return [self.q], None
        if command == "job.progress":
            return [self.token(), "50"], None
        if command in ("job.checkpoint", "job.effect"):
            return [self.token(), "x"], None
        if command in ("job.ack", "job.nack", "job.extend", "job.release"):
            return [self.token()], None
        if command in ("job.list", "job.count"):
            return [], None
        if command == "job.bulk":
            return ["retry"], None
        if group == "job":
            job = self.job()
            if verb == "unhold":
                self.ask("JOB.HOLD", job)
            elif verb == "retry":
                self.ask("JOB.CANCEL", job)
            return [job], job
        if group == "dead":
            self.here.update(self.dead())
        elif group == "schedule" and verb != "set":
            self.ask("SCHEDULE.SET", self.q, "CRON", "0 0 1 1 *", "QUEUE", "q",
                     "PAYLOAD", "x")
        elif group in ("breaker", "handler") and verb != "set":
            self.ask("HANDLER.SET", self.q, "BREAKER", "on")
        elif group == "queue" and verb != "set":
            self.job()
        return ([] if verb == "list" and group != "dead" else [self.q]), self.q

    # --- what must come out ---------------------------------------------------

    def faults(self, command, a, b, given):
        """Sets of words, of which one must be named whole; none: accepted."""
        out = []
        needs, exclude = NEEDS.get(command, {}), EXCLUDE.get(command, [])
        if a is b and (not a.many or a.name in MAPS):
            out.append({a.name, "twice"})
        for one, two in ((a, b), (b, a)):
            if two is one.parent and not two.many and one is a:
                out.append({two.name, "twice"})
        out += [pair for pair in exclude if pair <= given]
        for word in given:
            if word in needs and not needs[word] & given:
                out.append({word} | set(sorted(needs[word])[:1]))
        out += [{word} for word in given & REFUSED.get(command, set())]
        return out

    def words(self, a, b):
        out = []
        for option, before in ((a, None), (b, a)):
            parent = option.parent
            stands = before is not None and (
                before is parent or before.parent is parent)
            if parent is not None and not stands:
                out += [parent.name] + parent.value
            out += [option.name] + option.value
        return out

    def fill(self, words):
        out = []
        for w in words:
            if "%(" in w:
                w %= self.here
            elif "%d" in w:
                w %= self.n
            out.append(w)
        return out

    def pair(self, command, a, b):
        words, shown = self.situation(command)
        given = {a.name, b.name}
        more = []
        for choice, usual in BASE.get(command, []):
            if not given & choice:
                more += usual
                given.add(usual[0])
        sent = words + self.fill(self.words(a, b) + more)
        got = self.ask(command, *sent)
        what = " ".join([command] + sent)
        faults = self.faults(command, a, b, given)
        if faults:
            said = str(got)
            self.check(isinstance(got, self.refused) and said.startswith(
                "ERR") and any(all(w in said for w in f) for f in faults),
                "%s: %s, should name %s" % (what, text(got), faults))
            return
        if isinstance(got, self.refused):
            self.check(False, "%s: %s" % (what, got))
            return
        self.check(True, what)
        if command in SHOWN:
            if command == "job.add":
                shown = got[1] if "RETURN" in given else got
            elif command == "job.addm":
                shown = got[0]
            self.look(command, shown, given, what)

    def look(self, command, shown, given, what):
        ask, known = SHOWN[command]
        got = {k: text(v) for k, v in fields(self.ask(ask, shown)).items()}
        for word in given & known.keys():
            name, value = known[word]
            many = got.get(name)
            self.check(many == value or (isinstance(value, list) and
                                         many[:len(value)] == value),
                       "%s: %s is %s" % (what, name, got.get(name)))
        if command in ("job.add", "job.update"):
            late = given & {"DELAY", "AT", "DEBOUNCE"}
            self.check(got["state"] == ("scheduled" if late else "ready"),
                       "%s: state %s" % (what, got["state"]))
        if command in ("handler.set", "schedule.set"):
            options = set(got["options"][::2])
            wanted = given & self.job_words - {"AT"}
            self.check(wanted <= options, "%s: options %s" % (what, options))

    def run(self):
        docs = self.ask("COMMAND", "DOCS")
        add = fields(fields(docs)["job.add"])["arguments"]
        self.job_words = {o.name for o in options_of("job.add", add)[0]} - {
            "ID", "IDEMPOTENCY", "RETURN"}
        for name, doc in zip(docs[::2], docs[1::2]):
            doc = fields(doc)
            if doc["group"] not in GROUPS:
                continue
            command = text(name)
            options, also = options_of(command, doc.get("arguments", []))
            unknown = [o.name for o in options if o.value is None]
            self.check(not unknown, "%s: nobody knows values of %s" % (
                command, unknown))
            for a, b in itertools.product(options, repeat=2):
                if not unknown:
                    self.pair(command, a, b)
            if also:
                self.also(command, options)

    def also(self, command, options):
        """ALSO takes all words that follow, so it comes last."""
        for a in options or [None]:
            words, _ = self.situation(command)
            words += self.fill([a.name] + a.value) if a else []
            for need in NEEDS.get(command, {}).get(a.name, ()) if a else ():
                words += [need, VALUES[need]]
            if a and a.name == "WEIGHTS":
                words[-2:] = ["2", "5", "6"]
            other = self.token() if "#" in words[0] else self.job(self.q)
            got = self.ask(command, *words, "ALSO",
                           self.q if command == "job.lease" else other)
            self.check(not isinstance(got, self.refused), "%s ALSO: %s" % (
                " ".join([command] + words), got))
