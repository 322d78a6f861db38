"""Presence of workers: who is there, who is late, and since when nobody is."""

import asyncio
from typing import Protocol

import pytest
from jinja2 import DictLoader

import hashrange
from hashrange import Delete, Item, Patterns, Query, ServiceError, Table
from hashrange_systems.shared.web.metrics import describe_workers, make_metrics_response
from hashrange_systems.shared.web.templating import make_environment
from hashrange_systems.shared.work.presence import Gap, Presence, PresenceFields, WorkState

ponds = Table("ponds", "pk", "sk")


class Keeper(PresenceFields, Item, table=ponds, pk="KEEPERS", sk="{worker_id}"):
    pass


class Ponds(Patterns, Protocol):
    def workers(self) -> Query[Keeper]: ...
    def forget_worker(self, worker_id: str) -> Delete[Keeper]: ...


@pytest.fixture
def db(database, clock):
    hashrange.create_tables(database, Ponds)
    return Ponds.open(database, clock=clock)


def make_presence(db, clock, **options):
    return Presence(db, Keeper, clock, **options)


def read(presence):
    return asyncio.run(presence.read())


def test_without_any_worker_the_work_has_never_begun(db, clock):
    monitoring = read(make_presence(db, clock))
    assert (monitoring.state, monitoring.since, monitoring.healthy) == (WorkState.INTERRUPTED, None, False)
    assert monitoring.describe() == "Monitoring has not begun: no worker is running."


def test_a_worker_that_is_present_is_seen_by_others_with_what_it_does(db, clock):
    asyncio.run(make_presence(db, clock, measure=lambda: ("3 ducks", 2000)).write())
    monitoring = read(make_presence(db, clock))
    assert (monitoring.state, monitoring.describe()) == (WorkState.WORKING, "")
    (worker,) = monitoring.workers
    assert (worker.activity, worker.late_ms, worker.pid > 0) == ("3 ducks", 2000, True)


def test_silence_is_an_interruption_since_a_worker_was_last_seen(db, clock):
    start = clock.millis()
    presence = make_presence(db, clock)
    asyncio.run(presence.write())
    clock.advance(40)
    assert read(presence).healthy
    clock.advance(1)
    monitoring = read(presence)
    assert (monitoring.state, monitoring.since, monitoring.workers) == (WorkState.INTERRUPTED, start, ())


def test_a_worker_whose_clock_was_far_ahead_does_not_count_until_then(db, clock):
    """Killed, it would else be there for an hour; a clock that is some minutes ahead is tolerated."""
    now = clock.millis()
    presence = make_presence(db, clock)
    clock.advance(3600)
    asyncio.run(presence.write())
    clock.set(now / 1000)
    monitoring = read(make_presence(db, clock))
    assert (monitoring.state, monitoring.since) == (WorkState.INTERRUPTED, now)
    clock.set(now / 1000 + 3300)
    assert read(make_presence(db, clock)).healthy


def test_the_last_time_without_a_worker_is_known(db, clock):
    first, second = make_presence(db, clock), make_presence(db, clock)
    asyncio.run(first.write())
    assert asyncio.run(first.find_last_gap()) is None
    clock.advance(40)
    assert asyncio.run(first.find_last_gap()) is None, "as long as it may be silent"
    left = clock.millis()
    asyncio.run(first.leave())
    clock.advance(3600)
    assert asyncio.run(second.find_last_gap()) == Gap(left, left + 3_600_000), "it lasts"
    asyncio.run(second.write())
    clock.advance(30)
    assert asyncio.run(second.find_last_gap()) == Gap(left, left + 3_600_000)


def test_a_worker_whose_work_is_overdue_is_late(db, clock):
    asyncio.run(make_presence(db, clock, measure=lambda: ("", 31_000)).write())
    asyncio.run(make_presence(db, clock).write())
    monitoring = read(make_presence(db, clock))
    assert (monitoring.state, monitoring.describe("Delivery")) == (WorkState.LATE, "Delivery is late by 31 s.")
    assert len(monitoring.workers) == 2


def test_a_process_without_work_is_no_worker(db, clock):
    asyncio.run(make_presence(db, clock, works=False, addresses=["10.0.0.5:8002"]).write())
    presence = make_presence(db, clock)
    assert read(presence).state is WorkState.INTERRUPTED
    assert [item.addresses for item in asyncio.run(presence.list_all())] == [["10.0.0.5:8002"]]


def test_a_worker_that_is_stopped_says_so_at_once_and_is_remembered(db, clock):
    presence = make_presence(db, clock)

    async def work_for_a_while():
        pauses = []

        async def pause(seconds):
            pauses.append(seconds)
            clock.advance(seconds)
            if len(pauses) == 3:
                raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await presence.write_forever(pause)
        return pauses

    start = clock.millis()
    assert asyncio.run(work_for_a_while()) == [10.0] * 3
    assert (read(presence).state, read(presence).since) == (WorkState.INTERRUPTED, start + 30_000)


def test_old_presence_is_removed_and_the_last_one_is_kept(db, clock):
    for _ in range(3):
        asyncio.run(make_presence(db, clock).write())
        clock.advance(1)
    since = clock.millis() - 1000
    clock.advance(8 * 86_400)
    presence = make_presence(db, clock)
    assert read(presence).since == since
    assert len(asyncio.run(presence.list_all())) == 1


def test_a_database_that_fails_ends_no_worker(db, clock, caplog):
    presence = make_presence(db, clock)

    async def fail(item):
        raise ServiceError("away")

    presence.db = type("Broken", (), {"put": staticmethod(fail)})()

    async def pause(_):
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(presence.write_forever(pause))
    assert {record.message for record in caplog.records} == {"the presence of this process cannot be written"}


# ── how it is reported ───────────────────────────────────────────────────────────────────────────────────────────────
def test_the_notice_says_since_when_and_is_absent_while_all_is_well(db, clock):
    environment = make_environment("hashrange_systems.shared.web")
    environment.loader.loaders.append(
        DictLoader({"page": '{% from "widgets.html" import worker_notice %}{{ worker_notice(monitoring) }}'})
    )
    page = environment.get_template("page")
    presence = make_presence(db, clock)
    asyncio.run(presence.write())
    assert page.render(monitoring=read(presence)).strip() == ""
    clock.advance(3600)
    text = page.render(monitoring=read(presence))
    assert "Monitoring is interrupted" in text
    assert 'datetime="2026-01-15T12:00:00.000Z"' in text


def test_metrics_have_the_workers_their_last_sign_and_their_lateness(db, clock):
    presence = make_presence(db, clock, measure=lambda: ("", 2500))
    assert "hashrange_workers" in tell_metrics(read(presence))
    asyncio.run(presence.write())
    text = tell_metrics(read(presence))
    assert 'hashrange_workers{system="ponds"} 1.0' in text
    assert 'hashrange_worker_late_seconds{system="ponds"} 2.5' in text
    assert 'hashrange_worker_seen_timestamp_seconds{system="ponds"} 1.7684784e+09' in text


def tell_metrics(monitoring):
    return make_metrics_response(describe_workers("ponds", monitoring)).body.decode()
