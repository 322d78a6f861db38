"""A worker in a process of its own: `python -m systems.tests.checks.worker_process URL UNTIL`, until it is killed.

The outcome of each check depends on the time only, so that any worker finds the same.
"""

import asyncio
import sys

import hashrange
from hashrange import SystemClock
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.runs import Runs
from hashrange_systems.checks.worker import Worker, WorkerSettings
from systems.tests.checks.run_scenario import DOWN, UP, SilentOutbox

LEASE_MS = 700
SETTINGS = WorkerSettings(poll_every=0.02, at_once=20, maintain_every=1.0)


class Outages:
    """Is down until a given time, and up from then on."""

    def __init__(self, clock, until):
        self.clock = clock
        self.until = until

    async def probe(self, url, attributes):
        await asyncio.sleep(0.02)
        return DOWN if self.clock.millis() < self.until else UP


def make_worker(url, until):
    clock = SystemClock()
    db = Checks.open(hashrange.connect(url), clock=clock)
    runs = Runs(db, clock, Outages(clock, until), lease_ms=LEASE_MS)
    return Worker(runs, History(db, clock), SilentOutbox(), db, clock, SETTINGS)


async def work(url, until):
    sys.stdout.write("working\n")
    sys.stdout.flush()
    await make_worker(url, until).work()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], int(sys.argv[2])))
