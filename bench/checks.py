"""A soak of the checks system: thousands of checks at one a minute, each a real request to a page on a loopback port.

The worker runs in this process on a database on disk, as in `hashrange up`. The measure is lateness: from the due time
to the start of the request.
"""

import asyncio
import os
import resource
import shutil
import statistics
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import hashrange
from bench.contender import fresh_directory, start
from bench.nothing import make_nothing
from bench.report import note, render_table
from bench.rows import require
from bench.settings import Settings
from bench.workload import Json
from hashrange import Clock, SystemClock
from hashrange_systems.checks.model.schedule import next_due_time
from hashrange_systems.checks.schema import ActiveUser, Checks, Scheduled
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.host_concurrency import HostLimiter
from hashrange_systems.checks.service.prober import Prober
from hashrange_systems.checks.service.run_recorder import Claim
from hashrange_systems.checks.service.runs import RunReport, Runs
from hashrange_systems.checks.worker import Worker, WorkerSettings
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions

DELAY_MS = 60_000
GOAL_MS = 2_000
WRITING_MS = 20_000  # for ten thousand checks to be written before the first is due; it takes a few seconds
PER_USER = 1_000
AT_ONCE = 100


@dataclass(slots=True)
class Watched(Runs):
    """Runs that note how late each of them begins, and how many are recorded."""

    lateness: list[int] = field(default_factory=list)
    recorded: int = 0

    async def perform(self, claim: Claim, *, shift: bool = True) -> RunReport | None:
        """Runs it."""
        self.lateness.append(self.clock.millis() - claim.due_at)
        finished = await Runs.perform(self, claim, shift=shift)
        self.recorded += finished is not None
        return finished


class NoOutbox:
    """Sends nothing: every page is up."""

    async def send_due(self, shard: str) -> None:
        """Does nothing."""


def run(settings: Settings) -> Json:
    """Lets the checks run for a while, prints the table, gives back the numbers."""
    print(f"\n## {settings.checks:,} website checks, each once a minute, for {settings.soak} s\n")
    home = fresh_directory("checks")
    try:
        with start(make_nothing()) as page:
            found = asyncio.run(soak(home, page.port, settings))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print(render_table(["", "measured", "goal"], show(found)))
    return found


async def soak(home: Path, port: int, settings: Settings) -> Json:
    """Has one worker run everything for so many seconds."""
    clock = SystemClock()
    with hashrange.open(str(home)) as database:
        hashrange.create_tables(database, Checks)
        db = Checks.open(database, clock=clock)
        first = fill(db, clock, settings.checks, port)
        fetcher = Fetcher(Policy(exempt=parse_exemptions([f"127.0.0.1:{port}"])))
        runs = Watched(db, clock, Prober(fetcher, clock, turns=HostLimiter(at_once=AT_ONCE)))
        worker = Worker(runs, History(db, clock), NoOutbox(), db, clock, WorkerSettings(at_once=AT_ONCE))
        await asyncio.sleep(max(0, first - clock.millis()) / 1000)
        began, busy = time.monotonic(), sum(os.times()[:2])
        await work_for(worker, settings.soak)
        seconds = time.monotonic() - began
        return summarise_states(runs, settings, seconds, sum(os.times()[:2]) - busy)


def fill(db: Checks, clock: Clock, count: int, port: int) -> int:
    """Writes users and their checks, each with its own place in the minute; gives back when the first may be due."""
    now = datetime.now(UTC).replace(microsecond=0)
    start_at = clock.millis() + WRITING_MS * count // 10_000
    db.batch([make_user(f"u{n}", now) for n in range(-(-count // PER_USER))]).run()
    db.batch([make_check(n, now, port, start_at) for n in range(count)]).run()
    took = clock.millis() - (start_at - WRITING_MS * count // 10_000)
    note(f"wrote {count:,} checks in {took / 1000:.1f} s")
    return start_at


def make_user(userid: str, now: datetime) -> ActiveUser:
    """A user who may have many checks."""
    return ActiveUser(
        userid=userid,
        email=f"{userid}@example.com",
        tier="BUSINESS",
        check_limit=PER_USER,
        check_count=PER_USER,
        created_at=now,
        updated_at=now,
    )


def make_check(number: int, now: datetime, port: int, start_at: int) -> Scheduled:
    """A check whose first due time is the first regular one after the start."""
    checkid = f"check-{number:06}"
    due_at = next_due_time(checkid, DELAY_MS, due_at=start_at - DELAY_MS, now=start_at)
    return Scheduled(
        checkid=checkid,
        userid=f"u{number // PER_USER}",
        url=f"http://127.0.0.1:{port}/{number}",
        check_type="AVAILABILITY",
        delay_ms=DELAY_MS,
        created_at=now,
        updated_at=now,
        next_run_at=from_ms(due_at),
    )


async def work_for(worker: Worker, seconds: int) -> None:
    """Has the worker work for a while, and stops it as its host would."""
    task = asyncio.create_task(worker.work())
    await asyncio.wait([task], timeout=seconds)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def summarise_states(runs: Watched, settings: Settings, seconds: float, busy: float) -> Json:
    """The numbers of a run."""
    require(len(runs.lateness) > 100, "hardly any check was run")
    cuts = statistics.quantiles(runs.lateness, n=100)
    return {
        "checks": settings.checks,
        "expected": round(settings.checks * settings.soak * 1000 / DELAY_MS),
        "recorded": runs.recorded,
        "lateness_p50_ms": round(cuts[49]),
        "lateness_p99_ms": round(cuts[98]),
        "lateness_max_ms": max(runs.lateness),
        "cpu_share": round(busy / seconds, 2),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def show(found: Json) -> list[list[str]]:
    """Table lines."""
    reached = "reached" if found["lateness_p99_ms"] < GOAL_MS else "MISSED"
    return [
        ["runs recorded", f"{found['recorded']:,}", f"about {found['expected']:,}"],
        ["lateness p50, ms", f"{found['lateness_p50_ms']:,}", ""],
        ["lateness p99, ms", f"{found['lateness_p99_ms']:,}", f"< {GOAL_MS:,} {reached}"],
        ["lateness max, ms", f"{found['lateness_max_ms']:,}", ""],
        ["share of one core", f"{found['cpu_share']:.0%}", ""],
        ["largest RSS, MB", f"{found['rss_mb']:,}", ""],
    ]
