#!/usr/bin/python3
"""Every zone x every change from 1900 to 2100, +-1 s, against zoneinfo.

zoneinfo reads the same files, so a difference is a bug and none is allowed.
The instants come from both sides: zoneinfo's table and rule, and the changes
that the program under test says there are. Local times around each change are
compared too, with zoneinfo's fold as the judge of gaps and folds.

usage: zones.py <zone_answers program>
"""

import datetime
import os
import subprocess
import sys
import zoneinfo
from zoneinfo import _zoneinfo

DIRECTORY = "/usr/share/zoneinfo"
FROM, TO = -2208988800, 4102444800  # 1900 and 2100
EPOCH = datetime.datetime(1970, 1, 1)
UTC = datetime.timezone.utc


def zone_names():
    for folder, folders, files in os.walk(DIRECTORY):
        folders[:] = [f for f in folders if f not in ("posix", "right")]
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                if f.read(4) == b"TZif":
                    yield os.path.relpath(path, DIRECTORY)


def changes_of(name):
    """What zoneinfo knows: its table, then its rule year by year."""
    zone = _zoneinfo.ZoneInfo.no_cache(name)
    found = set(zone._trans_utc)
    rule = zone._tz_after
    if hasattr(rule, "transitions"):
        first = 1900
        if zone._trans_utc:
            first = (EPOCH + datetime.timedelta(
                seconds=max(zone._trans_utc[-1], FROM))).year
        std = int(rule.std.utcoff.total_seconds())
        dst = int(rule.dst.utcoff.total_seconds())
        for year in range(first, 2101):
            start, end = rule.transitions(year)
            found.update((int(start) - std, int(end) - dst))
    return {t for t in found if FROM <= t < TO}


def offset_at(zone, t):
    when = datetime.datetime.fromtimestamp(t, UTC).astimezone(zone)
    return int(when.utcoffset().total_seconds())


def local_at(zone, local):
    naive = EPOCH + datetime.timedelta(seconds=local)
    early = int(naive.replace(tzinfo=zone).utcoffset().total_seconds())
    late = int(naive.replace(tzinfo=zone, fold=1).utcoffset().total_seconds())
    kind = "once" if early == late else "twice" if early > late else "gap"
    return kind, local - early, local - late


def check_zone(program, name):
    zone = zoneinfo.ZoneInfo(name)
    [ours] = program(name, [f"c {FROM} {TO}"])
    ours = {int(t) for t in ours.split()}
    theirs = changes_of(name)
    differences = []
    for t in ours - theirs:
        if offset_at(zone, t - 1) == offset_at(zone, t):
            differences.append(f"{name}: a change at {t} that is none")
    instants, locals_ = [], []
    for t in sorted(ours | theirs):
        instants += [t - 1, t, t + 1]
        for edge in (t + offset_at(zone, t - 1), t + offset_at(zone, t)):
            locals_ += [edge - 1, edge, edge + 1]
    if not instants:
        instants, locals_ = [0, FROM, TO], [0]
    answers = program(name, [f"u {t}" for t in instants] +
                      [f"l {t}" for t in locals_])
    for t, answer in zip(instants, answers):
        expected = offset_at(zone, t)
        if int(answer) != expected:
            differences.append(
                f"{name}: offset at {t} is {answer}, not {expected}")
    for local, answer in zip(locals_, answers[len(instants):]):
        kind, early, late = local_at(zone, local)
        got, first, last = answer.split()
        first, last = int(first), int(last)
        if kind == "gap":
            # Both candidates lie around the instant that ends the gap.
            good = got == kind and first == last and late < first <= early
        else:
            good = (got, first, last) == (kind, early, late)
        if not good:
            differences.append(f"{name}: local {local} is '{answer}', not "
                               f"{kind} {early} {late}")
    return len(instants) + len(locals_), differences


def main():
    def program(name, questions):
        done = subprocess.run(
            [sys.argv[1]], text=True, stdout=subprocess.PIPE, check=True,
            input=f"z {name}\n" + "".join(q + "\n" for q in questions))
        return done.stdout.splitlines()

    zones = asked = 0
    differences = []
    for name in sorted(zone_names()):
        n, found = check_zone(program, name)
        zones += 1
        asked += n
        differences += found
    for line in differences[:20]:
        print(line)
    bad = len({line.split(":")[0] for line in differences})
    print(f"{zones} zones, {asked} questions, {len(differences)} differences")
    print(f"{zones - bad} passed, {bad} failed")
    return 1 if differences or zones < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
