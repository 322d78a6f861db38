"""A soak of the checks system: thousands of checks at one a minute, each a real request to a page on a loopback port.

The worker runs in this process on a database on disk, as in `hashrange up`. The measure is lateness: from the due time
to the start of the request. Twice: all pages answer at once; one in ten hangs and one in ten takes a second, and only
the lateness of the others counts.

Each port has a host name of its own, because requests are limited by host. With fewer checks there are as many fewer
permits and checks of a user, so that those that hang need the same share of the permits: five of six.
"""

import asyncio
import os
import resource
import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import hashrange
from bench.contender import fresh_directory
from bench.pages import serve_pages
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
CHECKS = 10_000  # for which the next two are meant
PER_USER = 1_000
AT_ONCE = 200
HOSTS = 50
BAD_PAGES = {3: "hang", 7: "slow"}  # by the last digit of the check's number


@dataclass(slots=True)
class Watched(Runs):
    """Runs that note how late those of healthy pages begin, and how many are recorded."""

    lateness: list[int] = field(default_factory=list)
    bad_runs: int = 0
    recorded: int = 0

    async def perform(self, claim: Claim, *, shift: bool = True) -> RunReport | None:
        """Runs it."""
        if any(f"/{name}/" in claim.check.url for name in BAD_PAGES.values()):
            self.bad_runs += 1
        else:
            self.lateness.append(self.clock.millis() - claim.due_at)
        finished = await Runs.perform(self, claim, shift=shift)
        self.recorded += finished is not None
        return finished


class NoOutbox:
    """Sends nothing: every page is up."""

    async def send_due(self, shard: str) -> None:
        """Does nothing."""


class LoopbackResolver:
    """Every name is this machine."""

    async def resolve(self, host: str) -> Sequence[str]:
        """Return the loopback address."""
        return ["127.0.0.1"]


def scale_down(number: int, checks: int) -> int:
    """Return the number that belongs to so many checks."""
    return max(1, number * checks // CHECKS)


def run(settings: Settings) -> Json:
    """Lets the checks run for a while, twice; prints the table, gives back the numbers."""
    print(f"\n## {settings.checks:,} website checks, each once a minute, for {settings.soak} s\n")
    healthy = soak_once(settings, bad=False)
    found = soak_once(settings, bad=True)
    ratio = found["lateness_p99_ms"] / max(1, healthy["lateness_p99_ms"])
    print(render_table(["", "all pages answer", "one in ten hangs, one is slow", "goal"], show(healthy, found, ratio)))
    return {**found, "without_bad_pages": healthy, "p99_ratio": round(ratio, 2)}


def soak_once(settings: Settings, *, bad: bool) -> Json:
    """Lets the checks run on a new database."""
    directory = fresh_directory("checks")
    try:
        with serve_pages(HOSTS) as ports:
            return asyncio.run(soak(directory, ports, settings, bad=bad))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


async def soak(directory: Path, ports: list[int], settings: Settings, *, bad: bool) -> Json:
    """Has one worker run everything for so many seconds."""
    clock = SystemClock()
    with hashrange.open(str(directory)) as database:
        hashrange.create_tables(database, Checks)
        db = Checks.open(database, clock=clock)
        first = fill(db, clock, settings.checks, lambda number: make_url(number, ports, bad=bad))
        policy = Policy(exempt=parse_exemptions([f"127.0.0.1:{port}" for port in ports]))
        fetcher = Fetcher(policy, resolver=LoopbackResolver())
        runs = Watched(db, clock, Prober(fetcher, clock, turns=HostLimiter()))
        at_once = scale_down(AT_ONCE, settings.checks)
        worker = Worker(runs, History(db, clock), NoOutbox(), db, clock, WorkerSettings(at_once=at_once))
        await asyncio.sleep(max(0, first - clock.millis()) / 1000)
        began, busy = time.monotonic(), sum(os.times()[:2])
        await work_for(worker, settings.soak)
        seconds = time.monotonic() - began
        return summarise_states(runs, settings, seconds, sum(os.times()[:2]) - busy)


def make_url(number: int, ports: list[int], *, bad: bool) -> str:
    """The page of a check; with `bad`, one in ten hangs and one in ten is slow."""
    name = BAD_PAGES.get(number % 10, "ok") if bad else "ok"
    host = number // 10 % len(ports)
    return f"http://host{host}.example:{ports[host]}/{name}/{number}"


def fill(db: Checks, clock: Clock, count: int, find_url: Callable[[int], str]) -> int:
    """Writes users and their checks, each due at its own time of the minute; returns when the first may be due."""
    now = datetime.now(UTC).replace(microsecond=0)
    began, of_a_user = clock.millis(), scale_down(PER_USER, count)
    start_at = began + WRITING_MS
    db.batch([make_user(f"u{n}", now) for n in range(-(-count // of_a_user))]).run()
    db.batch([make_check(n, f"u{n // of_a_user}", now, find_url(n), start_at) for n in range(count)]).run()
    note(f"wrote {count:,} checks in {(clock.millis() - began) / 1000:.1f} s")
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


def make_check(number: int, userid: str, now: datetime, url: str, start_at: int) -> Scheduled:
    """A check whose first due time is the first regular one after the start."""
    checkid = f"check-{number:06}"
    due_at = next_due_time(checkid, DELAY_MS, due_at=start_at - DELAY_MS, now=start_at)
    return Scheduled(
        checkid=checkid,
        userid=userid,
        url=url,
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
        "bad_runs": runs.bad_runs,
        "lateness_p50_ms": round(cuts[49]),
        "lateness_p99_ms": round(cuts[98]),
        "lateness_max_ms": max(runs.lateness),
        "cpu_share": round(busy / seconds, 2),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def show(healthy: Json, found: Json, ratio: float) -> list[list[str]]:
    """Table lines."""
    reached = "reached" if found["lateness_p99_ms"] < GOAL_MS else "MISSED"

    def line(title: str, name: str, goal: str = "") -> list[str]:
        return [title, f"{healthy[name]:,}", f"{found[name]:,}", goal]

    return [
        line("runs recorded", "recorded", f"about {found['expected']:,}"),
        line("of them, of pages that hang or are slow", "bad_runs"),
        line("lateness p50 of the others, ms", "lateness_p50_ms"),
        line("lateness p99 of the others, ms", "lateness_p99_ms", f"< {GOAL_MS:,} {reached}"),
        ["ratio of the p99", "1.0x", f"{ratio:.1f}x", ""],
        line("lateness max of the others, ms", "lateness_max_ms"),
        line("share of one core", "cpu_share"),
        line("largest RSS, MB", "rss_mb"),
    ]
