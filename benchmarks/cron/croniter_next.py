#!/usr/bin/python3
"""As benchmarks/micro/cron_next.c, of croniter.

usage: croniter_next.py patterns.tsv zone"""

import datetime
import sys
import time
import zoneinfo

if len(sys.argv) != 3:
    print(__doc__)
    sys.exit()

import croniter  # noqa: E402

INSTANTS, TRIES = 60, 3


def instant(i, zone):
    s = 1704067200 + i * 2654435761 % 4294967296 % (8 * 365 * 86400)
    return datetime.datetime.fromtimestamp(s, zone)


def costs_of(pattern, zone):
    costs = []
    it = croniter.croniter(pattern, instant(0, zone))
    for i in range(INSTANTS):
        best = None
        for _ in range(TRIES):
            it.set_current(instant(i, zone), force=True)
            begin = time.perf_counter_ns()
            try:
                it.get_next()
            except croniter.CroniterBadDateError:
                pass
            spent = time.perf_counter_ns() - begin
            best = spent if best is None else min(best, spent)
            if best > 1e8:
                break
        costs.append(best)
        if best > 1e8:
            break
    return sorted(costs)


def main():
    zone = zoneinfo.ZoneInfo(sys.argv[2])
    for line in open(sys.argv[1], encoding="utf8"):
        kind, pattern = line.rstrip("\n").split("\t")
        # It reads a sixth field as seconds at the end, and knows no seventh,
        # no W and no +.
        if len(pattern.split()) != 5 or "W" in pattern or "+" in pattern:
            continue
        try:
            costs = costs_of(pattern, zone)
        except (ValueError, KeyError):
            continue
        print(kind, pattern, costs[len(costs) // 2], costs[-1], sep="\t")


main()
