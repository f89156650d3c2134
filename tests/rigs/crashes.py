"""The loop that every crash rig shares: settings, start, settle, check, load,
crash. What differs is what a crash is."""

import os
import shutil
import time

from faults import belfry_check
from ledger import Ledger
from rig import Client, Fault, Server, free_port, random_settings, seeded


def contents(folder):
    """Names, sizes and times of what is there. (A lock is taken, and a look that
    was cut short goes.)"""
    found = {}
    for base, _, names in os.walk(folder):
        for n in names:
            if n not in ("lock", "LOCK") and not base.endswith("/base.look"):
                is_now = os.stat(os.path.join(base, n))
                found[os.path.join(base, n)] = is_now.st_size, is_now.st_mtime_ns
    return found


class Campaign:
    def __init__(self, args, report, work, name, folder, env=None):
        self.args, self.report, self.name = args, report, name
        self.rng = seeded(args.seed, name)
        self.port = free_port(self.rng)
        self.server = Server(
            args.program, folder, self.port, work + "/server.log", env
        )
        self.work = work
        self.ledger = Ledger(args.seed, self.port, report, work + "/ledger")
        self.acked_before = self.jobs_before = 0  # of earlier ledgers
        self.cycles = 0
        self.started = time.monotonic()

    def begin_again(self):
        """Without data and with an empty ledger: one that grows makes each
        look at everything longer."""
        self.acked_before += self.ledger.acked
        self.jobs_before += len(self.ledger.jobs)
        self.ledger.file.close()
        shutil.rmtree(self.server.folder, ignore_errors=True)
        seed = self.args.seed + self.cycles
        self.ledger = Ledger(seed, self.port, self.report, self.work + "/ledger")

    def settings(self):
        # Small, because some rigs have small disks.
        return {
            "appendfsync": self.args.sync,
            "disk-reserve": "8mb",
            **random_settings(self.rng),
        }

    def examine(self):
        """What a crash left is whole, and to look at it changes nothing."""
        folder = self.server.folder
        if not os.path.exists(folder + "/belfry"):
            return  # it did not come that far
        before = contents(folder)
        code, said = belfry_check(folder)
        self.report.check(code == 0, "belfry-check: %d: %s" % (code, said[-800:]))
        changed = [n for n, _ in before.items() ^ contents(folder).items()]
        self.report.check(not changed, "belfry-check changed %s" % changed)

    def restart(self, may_die=False):
        """Look, start and check. False: it died and was allowed to."""
        self.examine()
        settings = self.settings()
        self.server.start(settings)
        try:
            if not self.server.ready():
                if may_die:
                    return False
                raise Fault(
                    "did not start (%s):\n%s"
                    % (settings, self.server.said()[-2000:])
                )
            if self.ledger.can is not None:
                client = Client(self.port)
                self.ledger.recount_reads = 0
                self.ledger.settle(client)
                self.ledger.check(client)
                client.close()
        except Exception as e:
            # An order to crash may fall into start and check as well.
            if may_die and type(e).__name__ == "Gone":
                return False
            raise
        return True

    def load(self, until):
        depth = self.rng.choice((1, 4, 16, 40))
        self.ledger.run(self.rng.randint(1, 6), depth, until)

    def finish(self):
        """A last start without trouble: drain, and look at every job."""
        self.restart()
        client = Client(self.port)
        if self.ledger.can is not None:
            self.ledger.drain(client)
            self.ledger.check(client, everything=True)
        client.close()
        self.report.check(self.server.stop() == 0, "a clean stop exits with 0")

    def close(self):
        self.server.kill()
        if self.server.process is not None:
            self.server.process.wait()
        self.ledger.file.close()

    def tell(self, more=""):
        print(
            "%s: seed %d, %d cycles, %d acknowledged operations on %d jobs, "
            "appendfsync %s%s, %.0f s"
            % (
                self.name, self.args.seed, self.cycles,
                self.acked_before + self.ledger.acked,
                self.jobs_before + len(self.ledger.jobs), self.args.sync, more,
                time.monotonic() - self.started,
            ),
            flush=True,
        )
