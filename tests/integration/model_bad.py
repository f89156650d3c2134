"""Values that cannot be, for every option and every name of every command on
jobs: each is refused, with the word that was wrong. See model_test.py."""
from model_lib import fields, text
from model_pairs import GROUPS, Pairs

HUGE = ["18446744073709551616", "99999999999999999999"]
NAMES = ["", "a b", "a\0b", "a\nb", "\x7f", "x" * 129]
DURATIONS = ["-1", "-1ms", "1x", "", "ms", "40000d", "nan"] + HUGE
TIMES = ["-5", "", "yesterday", "10000-01-01T00:00:00Z", "2026-13-01T00:00:00Z",
         "253402300800000"] + HUGE
NUMBERS = ["1x", "", "0x10", " 1", "nan"] + HUGE
# How docs call the values of an option.
KINDS = {"d": DURATIONS, "ms": DURATIONS, "t": TIMES}
NAMED = {"HANDLER", "OWNER", "QUEUE", "SESSION", "WORKER"}
FILTERS = {"job.list", "job.count", "job.bulk"}  # of any text; nothing is made
FREE = {b"TYPE", b"TEXT"}  # of any bytes
STRANGER = "01J8ZQ4W2H0000000000000001"
# These tell of what is not there by null, or by nothing.
NULLS = {"job.get", "job.state", "job.result", "job.wait", "job.executions",
         "job.why"}


class Bad(Pairs):
    def refuses(self, command, words, *named):
        got = self.ask(command, *words)
        said = str(got)
        self.check(isinstance(got, self.refused) and
                   said.split()[0] in ("ERR", "LIMIT") and
                   all(n in said for n in named),
                   "%s: %s, should be refused and name %s" % (
                       " ".join([command] + [repr(w) for w in words]),
                       text(got), named))

    def values(self, command, doc):
        """Those that the option of this description must refuse."""
        kind, name = text(doc["type"]), text(doc["name"])
        if doc["token"].decode() in NAMED and command not in FILTERS:
            return NAMES
        if kind == "unix-time":
            return TIMES
        if kind == "integer":
            return NUMBERS + ([] if doc["token"] == b"CODE" else ["-1"])
        if kind == "double":
            return ["", "x", "-1", "nan", "inf", "1e999"]
        if kind == "oneof":
            return ["", "never-heard-of"]
        return KINDS.get(name, []) if doc["token"] not in FREE else []

    def option(self, command, doc):
        token = text(doc["token"])
        for value in self.values(command, doc):
            words, _ = self.situation(command)
            self.refuses(command, words + [token, value], token)

    def strangers(self, command, words):
        """A job, or a lease, that is not there."""
        token = "#" in words[0]
        if command == "job.update":
            words += ["PRIORITY", "9"]
        got = self.ask(command, STRANGER + ("#1.5" if token else ""),
                       *words[1:])
        if command == "job.extend":
            said = text(fields(got[0])["order"])
        elif command in NULLS and not isinstance(got, self.refused):
            said = "lost" if not got else str(got)
        else:
            said = str(got).split()[0]
        self.check(said in ("NOTFOUND", "lost"),
                   "%s of a stranger: %s" % (command, said))
        bad = ["", "a b", "\xff", "x" * 300, STRANGER + "#", STRANGER + "#1.",
               STRANGER + "#1.4294967296", STRANGER + "#0.1", "#1.1"]
        for value in bad:
            got = self.ask(command, value, *words[1:])
            said = str(got).split()[0]
            self.check(isinstance(got, self.refused) and
                       said in ("ERR", "NOTFOUND", "LIMIT"),
                       "%s %r: %s" % (command, value, text(got)))

    def place(self, command, first):
        """The first word, where it names something."""
        words, _ = self.situation(command)
        if first in ("id", "token") and not command.startswith("chore"):
            self.strangers(command, words)
        elif first in ("queue", "handler", "owner", "worker"):
            for value in NAMES:
                got = self.ask(command, value, *words[1:])
                self.check(isinstance(got, self.refused),
                           "%s %r: %s" % (command, value, text(got)))

    def run(self):
        docs = self.ask("COMMAND", "DOCS")
        for name, doc in zip(docs[::2], docs[1::2]):
            doc, command = fields(doc), text(name)
            arguments = [fields(a) for a in doc.get("arguments", [])]
            if doc["group"] not in GROUPS or not arguments:
                continue
            if "token" not in arguments[0] and arguments[0]["type"] == b"key":
                self.place(command, text(arguments[0]["name"]))
            for a in arguments:
                if a["type"] == b"oneof" and "token" not in a:
                    inner = [fields(x) for x in a["arguments"]]
                else:
                    inner = [a]
                for option in inner:
                    if "token" in option and option["token"] != b"ALSO":
                        self.option(command, option)
