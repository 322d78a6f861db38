"""A worker in a process of its own: `python -m systems.tests.checks.worker_process URL REPAIRED`, until it is killed.

Every check is down until the file REPAIRED exists, so that all workers find the same.
"""

import asyncio
import sys
from pathlib import Path

import hashrange
from hashrange import SystemClock
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.runs import Runs
from hashrange_systems.checks.worker import Worker, WorkerSettings
from systems.tests.checks.run_scenario import DOWN, UP, SilentOutbox, make_loops

LEASE_MS = 700
SETTINGS = WorkerSettings(poll_every=0.02, at_once=20, maintain_every=1.0)


class Outages:
    """Is down until a file exists, and up from then on."""

    def __init__(self, repaired):
        self.repaired = repaired

    async def probe(self, url, attributes, tenant):
        await asyncio.sleep(0.02)
        return UP if self.repaired.exists() else DOWN


def open_loops(url, repaired):
    clock = SystemClock()
    db = Checks.open(hashrange.connect(url), clock=clock)
    runs = Runs(db, clock, Outages(repaired), lease_ms=LEASE_MS)
    return make_loops(Worker(runs, History(db, clock), SilentOutbox(), db, clock, SETTINGS), db, clock)


async def work(url, repaired):
    sys.stdout.write("working\n")
    sys.stdout.flush()
    await open_loops(url, repaired).work()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], Path(sys.argv[2])))
