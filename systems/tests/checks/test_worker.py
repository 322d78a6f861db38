"""Workers: many at once, killed at any time, stopped in the middle; every due time is run once."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise

import pytest

import hashrange
from hashrange import ServiceError, SystemClock
from hashrange_systems.checks.model.schedule import find_phase, next_due_time
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.worker import WorkerSettings
from hashrange_systems.shared.epoch import from_ms, to_ms
from systems.tests.checks.check_items import NOON, make_check, sign_up
from systems.tests.checks.run_scenario import (
    Target,
    add_channel,
    alerts_of,
    all_due,
    make_loops,
    make_worker,
    next_run,
    open_throttled,
    set_up,
    until,
    wait_until_due,
)
from systems.tests.checks.services import Crash, CrashingTransport
from systems.tests.checks.worker_process import LEASE_MS
from tests.conftest import ROOT, find_free_port, start_server, stop, wait_until_healthy

BRISK = WorkerSettings(poll_every=0.01, send_every=0.01, maintain_every=0.01, grace=0.2)


def add_checks(db, count, **more):
    sign_up(db)
    db.batch([make_check(f"c{n}", **more) for n in range(count)]).run()


# ── many at once ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_eight_workers_on_two_hundred_checks_record_every_slot_once(db, database, clock):
    add_checks(db, 200)
    add_channel(db)
    targets = [Target("d") for _ in range(8)]
    workers = [(Checks.open(database, clock=clock), target) for target in targets]

    def run_all(each):
        own, target = each
        asyncio.run(run_until_nothing_is_due(own, clock, target))

    for _ in range(3):
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(run_all, workers))
        assert all_due(db, clock) == []
        clock.advance(300)
    runs = [run for n in range(200) for run in db.runs(f"c{n}")]
    assert set(Counter((run.checkid, run.due_at) for run in runs).values()) == {1}
    assert len(runs) == sum(len(target.probes) for target in targets) == 600
    alerts = Counter(topic for n in range(200) for topic, _ in alerts_of(db, f"c{n}"))
    assert alerts == {"DOWN": 200}


async def run_until_nothing_is_due(db, clock, target):
    worker = make_worker(db, clock, target)
    await worker.run_due()


def add_checks_of_users(db, users, each=5, **more):
    for user in range(users):
        sign_up(db, f"u{user}")
        db.batch([make_check(f"c{user}-{n}", userid=f"u{user}", **more) for n in range(each)]).run()


def test_no_more_runs_at_once_than_allowed_and_one_user_has_never_all_places(db, clock):
    add_checks_of_users(db, 8)
    here, most, full = [], [], asyncio.Event()

    async def stay():
        here.append(1)
        most.append(len(here))
        if len(here) == 5:
            full.set()
        await asyncio.wait_for(full.wait(), 200)
        await asyncio.sleep(0.001)
        here.pop()

    asyncio.run(make_worker(db, clock, Target("u", stay), WorkerSettings(at_once=5)).run_due())
    assert max(most) == 5
    assert all_due(db, clock) == []


def test_first_runs_of_several_users_that_hang_leave_places_at_their_host_to_others(db, clock):
    add_checks_of_users(db, 3, each=12)
    most, here, full = [], [], asyncio.Event()

    async def hang():
        here.append(1)
        most.append(len(here))
        if len(here) == 14:
            full.set()
        with suppress(TimeoutError):  # on a busy machine they come one after the other
            await asyncio.wait_for(full.wait(), 1.5)  # less than what makes a run a long one
        await asyncio.sleep(0.05)
        here.pop()

    asyncio.run(make_worker(db, clock, Target("d", hang)).run_due())
    assert max(most) == 14, "of sixteen"
    known = db.check("c0-0").run()
    worker = make_worker(db, clock, Target("u"))
    names = [limit.name for limit in worker._list_limits(known, slow=False)]
    assert not any("slow" in name[0] or "first" in name[0] for name in names), "it has answered quickly"


def test_a_run_that_fails_unforeseen_harms_no_other_and_comes_again(db, clock, caplog):
    add_checks(db, 5)
    broken = ["once"]

    async def break_once():
        if broken:
            raise RuntimeError(broken.pop())

    async def run():
        worker = make_worker(db, clock, Target("u", break_once))
        await worker.run_due()
        clock.advance(60)
        await worker.run_due()

    asyncio.run(run())
    assert [record.message for record in caplog.records] == ["a run failed"]
    assert [len(db.runs(f"c{n}").run()) for n in range(5)] == [1] * 5


# ── working and stopping ─────────────────────────────────────────────────────────────────────────────────────────────
def test_a_worker_runs_sends_and_tends_until_cancelled(db, clock):
    add_checks(db, 3)

    async def run():
        worker = make_worker(db, clock, "u", BRISK)
        task = asyncio.create_task(make_loops(worker, db, clock).work())
        await until(lambda: not all_due(db, clock) and len(worker._outbox.asked) >= 8)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return worker

    worker = asyncio.run(run())
    assert set(worker._outbox.asked) == {str(n) for n in range(8)}
    assert [len(db.runs(f"c{n}").run()) for n in range(3)] == [1] * 3


def stop_in_the_middle(db, clock, meanwhile):
    """Start a worker, and stop it while its only check is being probed."""

    async def run():
        probing = asyncio.Event()

        async def stay():
            probing.set()
            await meanwhile()

        worker = make_worker(db, clock, Target("u", stay), BRISK)
        task = asyncio.create_task(make_loops(worker, db, clock).work())
        await probing.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    asyncio.run(run())


def test_a_worker_that_is_stopped_finishes_what_runs(db, clock):
    set_up(db)

    async def take_a_moment():
        await asyncio.sleep(0.02)

    stop_in_the_middle(db, clock, take_a_moment)
    assert len(db.runs("c1").run()) == 1
    assert next_run(db) > NOON


def test_a_worker_that_is_stopped_gives_back_what_does_not_finish(db, clock):
    set_up(db)
    stop_in_the_middle(db, clock, asyncio.Event().wait)
    check = db.check("c1").required().run()
    assert (check.next_run_at, check.due_at, db.runs("c1").run()) == (NOON, None, [])


def test_a_database_that_is_away_for_a_while_is_waited_for(db, database, clock, caplog):
    set_up(db)
    transport, slow = open_throttled(database, clock)
    inner, left = transport.call_async, [5]

    async def be_away(operation, request, *read):
        if left[0]:
            left[0] -= 1
            raise ServiceError("away")
        return await inner(operation, request, *read)

    transport.call_async = be_away

    async def run():
        task = asyncio.create_task(make_loops(make_worker(slow, clock, "u", BRISK), slow, clock).work())
        await until(lambda: db.runs("c1").run())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    assert {record.levelname for record in caplog.records} == {"WARNING"}


# ── tending ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_slot_that_a_wrong_clock_sent_far_off_is_brought_back(db, clock):
    add_checks(db, 3)
    far = NOON + timedelta(days=365)
    db.batch([make_check("c0", next_run_at=far), make_check("c1", next_run_at=far, due_at=NOON)]).run()
    asyncio.run(make_worker(db, clock).maintain())
    for checkid in ("c0", "c1"):
        check = db.check(checkid).required().run()
        assert NOON < check.next_run_at <= NOON + timedelta(minutes=5)
        assert to_ms(check.next_run_at) % 300_000 == find_phase(checkid, 300_000)
        assert check.due_at is None
    assert next_run(db, "c2") == NOON


def test_past_days_of_every_scheduled_check_are_finalised(db, clock):
    add_checks(db, 12)
    worker = make_worker(db, clock)
    asyncio.run(worker.run_due())
    clock.advance(86_400)
    asyncio.run(make_worker(db, clock).run_due())
    asyncio.run(make_worker(db, clock).maintain())
    days = (NOON.date(), NOON.date() + timedelta(days=3))
    assert [[each.day for each in db.rollups(f"c{n}", day=days)] for n in range(12)] == [[NOON.date()]] * 12


# ── death at every step ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("afterwards", [False, True], ids=["before a call", "after a call"])
def test_a_worker_that_dies_at_any_call_to_the_database_loses_and_doubles_nothing(db, database, clock, afterwards):
    set_up(db)
    add_channel(db)
    deaths = [die_until_recorded(db, database, clock, letter, afterwards=afterwards) for letter in "udddduu"]
    assert min(deaths) >= 3, "at the query of due checks, the claim, and the user, before the write that records it"
    runs = db.runs("c1").run()[::-1]
    assert len({run.due_at for run in runs}) == len(runs) == 7
    assert Counter(topic for topic, _ in alerts_of(db)) == {"DOWN": 1, "UP": 1}
    (incident,) = db.incidents("c1").run()
    assert (incident.started_at, incident.ended_at) == (runs[1].at, runs[5].at)


def die_until_recorded(db, database, clock, letter, *, afterwards):
    """Let workers find this, each dying a call later than the one before, until a run is recorded; return how many."""
    before = len(db.runs("c1").run())
    for calls in range(50):
        wait_until_due(db, clock)
        own = Checks.open(CrashingTransport(database, calls, afterwards=afterwards), clock=clock)
        with suppress(Crash):
            asyncio.run(make_worker(own, clock, letter).run_due())
        if len(db.runs("c1").run()) > before:
            return calls
    raise AssertionError("no run is ever recorded")


# ── kill -9 ──────────────────────────────────────────────────────────────────────────────────────────────────────────
DELAY_MS = 1000
CHECKS = 12


@pytest.fixture
def served(tmp_path):
    """A `hashrange serve` on a data directory of its own."""
    port, log = find_free_port(), tmp_path / "log"
    with log.open("wb") as output:
        process = start_server("--data", str(tmp_path / "data"), "--port", str(port), output=output)
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            stop(process)


def start_worker(url, repaired):
    command = [sys.executable, "-m", "systems.tests.checks.worker_process", url, str(repaired)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout.readline() == b"working\n"
    return process


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def wait_until(condition):
    deadline = time.monotonic() + 300  # far more than a busy machine needs
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def have_all(db, topic):
    """Return whether there is an alert of this topic for every check."""
    return all(topic in [each for each, _ in alerts_of(db, f"c{n}")] for n in range(CHECKS))


def test_workers_that_are_killed_again_and_again_lose_no_slot_and_double_no_alert(served, tmp_path):
    clock, repaired = SystemClock(), tmp_path / "repaired"
    with hashrange.connect(served) as database:
        hashrange.create_tables(database, Checks)
        db = Checks.open(database, clock=clock)
        start = clock.millis()
        add_checks(db, CHECKS, delay_ms=DELAY_MS, next_run_at=from_ms(start))
        add_channel(db)
        chance = random.Random(7)
        while clock.millis() < start + 6000:
            victims = [start_worker(served, repaired) for _ in range(2)]
            time.sleep(chance.uniform(0.1, 0.8))
            for victim in victims:
                kill(victim)
        survivor = start_worker(served, repaired)
        try:
            wait_until(lambda: have_all(db, "DOWN"))
            repaired.touch()
            wait_until(lambda: have_all(db, "UP"))
        finally:
            kill(survivor)
        for n in range(CHECKS):
            check_life(db, f"c{n}")


def check_life(db, checkid):
    """What must hold of every check, however its workers ended."""
    runs = db.runs(checkid).run()[::-1]
    due_times = [to_ms(run.due_at) for run in runs]
    assert len(set(due_times)) == len(due_times)
    for before, after in pairwise(runs):
        # The due time after a run is the first one after it was written, which is a lease later at most.
        first = next_due_time(checkid, DELAY_MS, due_at=to_ms(before.due_at), now=to_ms(before.at))
        last = next_due_time(checkid, DELAY_MS, due_at=to_ms(before.due_at), now=to_ms(before.at) + LEASE_MS)
        assert first <= to_ms(after.due_at) <= last
    counted = Counter(topic for topic, _ in alerts_of(db, checkid))
    assert (counted["DOWN"], counted["UP"]) == (1, 1)
    (incident,) = db.incidents(checkid).run()
    assert incident.started_at == runs[0].at
    assert incident.ended_at == next(run.at for run in runs if run.result["status"] == "UP")
