"""The loops of the background work: each for itself, seen by others, and ended in an orderly way."""

import asyncio
from contextlib import suppress

import pytest

import hashrange
from hashrange import ServiceError
from hashrange_systems.shared.work import loops as module
from hashrange_systems.shared.work.loops import Loop, Loops
from hashrange_systems.shared.work.presence import Presence, WorkState
from hashrange_systems.shared.work.retry import Backoff
from systems.tests.shared.sample_system import Clerk, Stock


@pytest.fixture
def db(clock):
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, Stock)
        yield Stock.open(database, clock=clock)


@pytest.fixture(autouse=True)
def quick_pauses(monkeypatch):
    monkeypatch.setattr(module, "PAUSES", Backoff(0.001, 0.001))


def make_loops(db, *loops, works=True, **options):
    return Loops(Presence(db, Clerk, db.session.clock, works=works), loops, **options)


async def work_until(loops, condition):
    """Work until a condition holds."""
    task = asyncio.create_task(loops.work())
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - loops tell nobody
            await asyncio.sleep(0.001)
    return task


async def stop(task):
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


class Counter:
    """Counts runs; the first ones fail with an error, if there is one."""

    def __init__(self, error=None, failures=10**9, more=0):
        self.runs, self.error, self.failures, self.more = 0, error, failures, more

    async def run(self):
        self.runs += 1
        if self.error is not None and self.runs <= self.failures:
            raise self.error
        return self.runs <= self.more


@pytest.mark.parametrize("error", [ServiceError("no"), OSError("no network"), ZeroDivisionError()])
def test_an_error_in_one_loop_ends_no_other_and_shows_in_the_presence(db, clock, error, caplog):
    bad, good = Counter(error), Counter()

    async def act():
        loops = make_loops(db, Loop("bad", 0.001, bad.run), Loop("good", 0.001, good.run))
        task = await work_until(loops, lambda: bad.runs > 3 and good.runs > 3)
        clock.advance(31)
        await loops.presence.write()
        monitoring = await loops.presence.read()
        assert monitoring.state is WorkState.LATE
        assert monitoring.workers[0].activity == "1 of 2 loops have run; failing: bad"
        assert monitoring.late_ms >= 31_000
        await stop(task)

    asyncio.run(act())
    assert "the background work failed" in caplog.text


def test_a_loop_that_succeeds_again_is_no_longer_late(db, clock):
    once = Counter(OSError(), failures=1)

    async def act():
        loops = make_loops(db, Loop("once", 0.001, once.run))
        task = await work_until(loops, lambda: once.runs > 2)
        assert loops.measure() == ("1 of 1 loops have run", 0)
        await stop(task)

    asyncio.run(act())


def test_a_loop_that_hangs_makes_the_worker_late(db, clock):
    async def hang():
        await asyncio.Event().wait()

    async def act():
        loops = make_loops(db, Loop("stuck", 60, hang))
        task = await work_until(loops, lambda: "0 of 1" in loops.measure()[0])
        clock.advance(121)
        assert loops.measure()[1] == 1000, "after twice its pause"
        await stop(task)

    asyncio.run(act())


def test_a_loop_with_more_to_do_runs_again_at_once(db):
    busy = Counter(more=50)

    async def act():
        task = await work_until(make_loops(db, Loop("busy", 3600, busy.run)), lambda: busy.runs == 51)
        await stop(task)

    asyncio.run(act())


def test_a_process_that_leaves_the_work_to_others_runs_only_what_each_process_needs(db):
    common, own = Counter(), Counter()

    async def act():
        loops = make_loops(
            db, Loop("common", 0.001, common.run), Loop("own", 0.001, own.run, in_each_process=True), works=False
        )
        task = await work_until(loops, lambda: own.runs > 2)
        await stop(task)
        monitoring = await loops.presence.read()
        assert (common.runs, monitoring.state) == (0, WorkState.INTERRUPTED)

    asyncio.run(act())


def test_what_was_started_is_finished_before_the_presence_ends(db):
    order = []
    counted = Counter()

    async def finish():
        (clerk,) = await db.workers()
        order.append(clerk.ended_at)

    async def act():
        loops = make_loops(db, Loop("counted", 3600, counted.run), finish=finish)
        task = await work_until(loops, lambda: counted.runs == 1)
        await loops.presence.write()
        await stop(task)
        (clerk,) = await db.workers()
        assert order == [None], "the process is still there while it finishes"
        assert clerk.ended_at is not None

    asyncio.run(act())


def test_a_system_describes_its_own_work_and_how_late_that_is(db):
    async def act():
        loops = make_loops(db, Loop("x", 1, Counter().run), describe=lambda: ("3 ducks", 2500))
        assert loops.measure() == ("3 ducks", 2500)
        task = await work_until(loops, lambda: True)
        await stop(task)

    asyncio.run(act())


def test_each_loop_can_be_run_once_and_its_error_is_raised(db):
    good, bad = Counter(), Counter(OSError("no"))

    async def act():
        await make_loops(db, Loop("good", 1, good.run)).run_once()
        with pytest.raises(OSError, match="no"):
            await make_loops(db, Loop("bad", 1, bad.run), Loop("good", 1, good.run)).run_once()

    asyncio.run(act())
    assert (good.runs, bad.runs) == (1, 1)
