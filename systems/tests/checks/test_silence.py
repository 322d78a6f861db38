"""Silence is not green: no worker, late workers, overdue checks, checks without a schedule, and checks that hang."""

import asyncio
from dataclasses import replace

import pytest

from hashrange_systems.checks import worker as worker_module
from hashrange_systems.checks import worker_limit
from hashrange_systems.checks.schema import Active, Checks, Failed, Scheduled
from hashrange_systems.checks.web.check_view import StateLabel, describe_state
from hashrange_systems.checks.web.status_page import summarise_states
from hashrange_systems.checks.worker import WorkerSettings, is_slow
from systems.tests.checks.check_items import NOON, find_due, given_check, make_check, sign_up
from systems.tests.checks.run_scenario import Target, make_runs, make_worker, next_run, now_of, set_up, until


def test_an_overdue_check_is_neither_up_nor_down(db, clock):
    set_up(db)
    asyncio.run(make_worker(db, clock).run_due())
    check = db.check("c1").required().run()
    due = check.next_run_at.timestamp()
    clock.set(due + 150)
    assert describe_state(check, clock.millis()).word == "Up"
    clock.set(due + 151)
    state = describe_state(check, clock.millis())
    assert (state.tone, state.word) == ("idle", "Overdue")
    assert summarise_states([state]).word == "unknown"


@pytest.mark.parametrize("trouble", ["fails", "is put off"])
def test_a_check_whose_run_never_comes_to_an_end_is_overdue(db, clock, trouble):
    """Each attempt claims the check anew, so that its next run is always ahead; its due time stays."""
    set_up(db)
    asyncio.run(make_worker(db, clock).run_due())
    due = next_run(db)
    clock.set(due.timestamp())

    async def break_down():
        raise RuntimeError("unforeseen")

    async def attempt():
        worker, runs = make_worker(db, clock, Target("u", break_down)), make_runs(db, clock)
        if trouble == "fails":
            await worker.run_due()
        else:
            await runs.postpone(await runs.claim(find_due(db, "c1", now_of(clock))), 60_000)

    for waited in (60, 120, 180):
        asyncio.run(attempt())
        clock.set(due.timestamp() + waited)
        state = describe_state(db.check("c1").required().run(), clock.millis())
        assert state.word == ("Up" if waited <= 150 else "Overdue")
    asyncio.run(make_worker(db, clock).run_due())
    assert describe_state(db.check("c1").required().run(), clock.millis()).word == "Up"


def test_an_active_check_that_nobody_schedules_does_not_stay_up(db, clock):
    """As the original system leaves it: the last result, and no schedule."""
    sign_up(db)
    db.put(Active(**given_check("seeded", last_executed_at=NOON, last_result={"status": "UP"}))).run()
    check = db.check("seeded").required().run()
    clock.advance(450)
    assert describe_state(check, clock.millis()).word == "Up"
    clock.advance(1)
    assert describe_state(check, clock.millis()).word == "Overdue"


def test_a_disabled_check_is_neither_up_nor_down(db, clock):
    sign_up(db)
    db.create(Failed(**given_check("c1"), failed_reason="a private address")).run()
    state = describe_state(db.check("c1").required().run(), clock.millis())
    assert (state.tone, state.word) == ("idle", "Disabled")
    overall = summarise_states([state])
    assert (overall.text, overall.badge, overall.word) == ("Nothing is known at the moment", "idle", "unknown")
    assert summarise_states([state, StateLabel("up", "Up")]).word == "up"
    assert summarise_states([state, StateLabel("down", "Down")]).text == "1 of 2 are down"


def test_a_check_without_a_schedule_is_adopted_and_run(db, clock):
    sign_up(db)
    sign_up(db, "u2")
    db.put(Active(**given_check("seeded"))).run()
    db.put(Active(**given_check("deserted", userid="nobody"))).run()
    db.create(make_check("c1")).run()
    worker = make_worker(db, clock)

    async def work():
        await worker.maintain()
        await worker.run_due()

    asyncio.run(work())
    check = db.check("seeded").required().run()
    assert isinstance(check, Scheduled)
    assert check.last_result["status"] == "UP"
    assert check.next_run_at > NOON
    assert not isinstance(db.check("deserted").required().run(), Scheduled)


def test_a_check_that_is_written_while_a_worker_runs_is_adopted_without_reading_the_others(db, clock, database):
    sign_up(db)
    db.batch([make_check(f"c{n}") for n in range(30)]).run()
    events = []
    worker = make_worker(Checks.open(database, clock=clock, hooks=[events.append]), clock)
    assert worker.settings.adopt_every < 60

    async def work():
        await worker.adopt()  # before the schedule is known: nothing
        await worker.maintain()
        await worker.adopt()
        db.put(Active(**given_check("seeded"))).run()
        events.clear()
        await worker.adopt()
        reads = [event.operation for event in events if event.operation == "GetItem"]
        await worker.run_due()
        return reads

    reads = asyncio.run(work())
    assert len(reads) == 2, "the check and its user"
    assert db.check("seeded").required().run().last_result["status"] == "UP"


def test_with_very_many_checks_not_all_are_read_each_time(db, clock, monkeypatch):
    monkeypatch.setattr(worker_module, "ADOPTED_EACH_TIME", 10)
    sign_up(db)
    db.batch([make_check(f"c{n}") for n in range(30)]).run()
    worker = make_worker(db, clock)

    async def work():
        await worker.maintain()
        db.put(Active(**given_check("seeded"))).run()
        for _ in range(3):
            await worker.adopt()
        assert not isinstance(await db.check("seeded").required(), Scheduled)
        await worker.adopt()

    asyncio.run(work())
    assert isinstance(db.check("seeded").required().run(), Scheduled)


class Hanging(Target):
    """A target whose pages with `hang` in their URL never answer."""

    async def probe(self, url, attributes, tenant):
        if "hang" in url:
            await asyncio.Event().wait()
        return await super().probe(url, attributes, tenant)


KNOWN_AS_SLOW = {"last_result": {"status": "DOWN", "cause": "TIMEOUT"}}


@pytest.mark.parametrize("owner", ["u1", "u2"])
@pytest.mark.parametrize(("hanging", "before"), [(10, KNOWN_AS_SLOW), (6, {})], ids=["the last time too", "first time"])
def test_checks_that_hang_take_no_place_from_those_that_do_not(db, clock, owner, hanging, before, monkeypatch):
    """Some of the checks hang without an end; the others, of the same user or another, are all run meanwhile."""
    monkeypatch.setattr(worker_limit, "SLOW_AFTER", replace(worker_limit.SLOW_AFTER, count=50))
    sign_up(db)
    sign_up(db, "u2")
    db.batch([make_check(f"hang{n}", userid=owner, url="https://hang.example", **before) for n in range(hanging)]).run()
    db.batch([make_check(f"c{n}") for n in range(30)]).run()

    async def work():
        worker = make_worker(db, clock, Hanging("u"), WorkerSettings(at_once=4, grace=0.01))
        starting = asyncio.create_task(worker.start_due())
        async with asyncio.timeout(200):
            while not all(db.runs(f"c{n}").run() for n in range(30)):
                clock.advance(1)
                await asyncio.sleep(0.01)
                if starting.done():
                    starting = asyncio.create_task(worker.start_due())
        activity, _ = worker.describe()
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await worker.shut_down()
        return activity

    assert "checks run" in asyncio.run(work())
    assert is_slow(db.check("hang0").required().run()) is bool(before)


@pytest.mark.parametrize("before", [KNOWN_AS_SLOW, {}], ids=["the last time too", "first time"])
def test_checks_of_others_that_hang_at_a_host_delay_no_check_of_it(db, clock, before, monkeypatch):
    """A user with many checks that hang at a host, on any port, does not keep others from watching it."""
    monkeypatch.setattr(worker_limit, "SLOW_AFTER", replace(worker_limit.SLOW_AFTER, count=50))
    for user in ("u1", "u2", "u3"):
        sign_up(db, user)
    mean = {"u2": 20} if not before else {"u2": 20, "u3": 20}
    for user, count in mean.items():
        url = "https://shop.example:81/hang"
        db.batch([make_check(f"hang-{user}-{n}", userid=user, url=url, **before) for n in range(count)]).run()

    async def work():
        worker = make_worker(db, clock, Hanging("u"), WorkerSettings(at_once=100, grace=0.01))
        async with asyncio.timeout(200):
            await worker.start_due()
            await until(lambda: worker._permits.queued >= sum(mean.values()) - 16)
            await db.put(make_check("c1", url="https://shop.example/"))
            await worker.start_due()
            await until(lambda: db.runs("c1").run())
        await worker.shut_down()

    asyncio.run(work())


def test_a_worker_tells_how_late_it_is_and_what_could_not_be_recorded(db, clock):
    set_up(db)
    clock.advance(45)

    async def break_down():
        raise RuntimeError("unforeseen")

    worker = make_worker(db, clock, Target("u", break_down))
    asyncio.run(worker.run_due())
    activity, late_ms = worker.describe()
    assert late_ms == 45_000
    assert "1 runs could not be recorded" in activity
