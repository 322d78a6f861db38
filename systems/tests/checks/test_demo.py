"""The demo data: what is in it, that it is always the same, and that it is written once."""

import asyncio

import pytest

import hashrange
from hashrange import InternalServerError, ManualClock
from hashrange_systems.checks.demo.demo_data import CHANNEL, EMAIL, SLUG, USERID, Demo
from hashrange_systems.checks.demo.demo_scenario import SCENARIOS, THRESHOLD, find_price
from hashrange_systems.checks.history_schema import Ongoing
from hashrange_systems.checks.model.uptime import DURATIONS
from hashrange_systems.checks.schema import Checks, Paused, Sent, Waiting
from hashrange_systems.checks.service.checks import CheckService
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.status_pages import Pages
from hashrange_systems.checks.service.users import Users
from hashrange_systems.shared.epoch import DAY_MS, to_ms
from systems.tests.checks.check_items import TABLES

AFTERNOON = 1_768_478_400 + 3 * 3600 + 1234.567  # 2026-01-15, 15:20 UTC
HERE, SECURE = "http://127.0.0.1:8003", "https://127.0.0.1:8004"


class Failing:
    """A database that fails after so many calls."""

    def __init__(self, inner, calls):
        self.inner, self.left = inner, calls

    async def call_async(self, operation, request, *read):
        self.left -= 1
        if self.left < 0:
            raise InternalServerError("The disk is gone.")
        return await self.inner.call_async(operation, request, *read)

    def call(self, operation, request, *read):
        raise AssertionError("the demo does not block")


class Stand:
    """An embedded database with the tables, and a clock."""

    def __init__(self, seconds=AFTERNOON):
        self.clock = ManualClock(seconds)
        self.database = hashrange.open(clock=self.clock)
        hashrange.create_tables(self.database, Checks)
        self.db = Checks.open(self.database, clock=self.clock)

    def fill(self, database=None, site=HERE, secure_site=SECURE):
        db = Checks.open(database or self.database, clock=self.clock)
        asyncio.run(Demo(db=db, clock=self.clock, site=site, secure_site=secure_site).fill())
        return self

    def read(self):
        """Everything that is stored."""
        return {(table, item["PK"]["S"], item["SK"]["S"]): item for table in TABLES for item in self.scan(table)}

    def scan(self, table):
        start = {}
        while True:
            page = self.database.call("Scan", {"TableName": table, **start})
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def checks(self):
        return {check.name: check for check in self.db.checks_of(USERID)}


@pytest.fixture(scope="module")
def filled():
    stand = Stand().fill()
    yield stand
    stand.database.close()


@pytest.fixture
def stand():
    opened = Stand()
    yield opened
    opened.database.close()


def test_there_is_a_check_of_each_kind(filled):
    checks = filled.checks()
    assert {name: (check.last_result or {}).get("status") for name, check in checks.items()} == {
        "Shop": "UP",
        "Orders API": "UP",
        "Blog": "DEGRADED",
        "Search": "UP",
        "Payments": "DOWN",
        "Old intranet": "UP",
        "Camera below $199": "UP",
    }
    assert checks["Search"].state["flapping"] is True
    assert isinstance(checks["Old intranet"], Paused)
    assert checks["Blog"].last_result["certificateDays"] == 9
    camera = checks["Camera below $199"]
    assert camera.last_result["price"] == find_price(to_ms(camera.last_executed_at))


def test_the_check_that_is_down_has_an_open_incident_that_was_told_of(filled):
    (incident,) = [each for each in filled.db.incidents("demo-payments") if isinstance(each, Ongoing)]
    alerts = list(filled.db.alerts("demo-payments"))
    started = to_ms(incident.started_at)
    assert 0 < filled.clock.millis() - started < 3_600_000
    assert [alert.topic for alert in alerts if isinstance(alert, Waiting)] == ["DOWN", "REMINDER"]
    assert {alert.topic for alert in alerts if isinstance(alert, Sent)} == {"DOWN", "UP"}
    assert {alert.channel_id for alert in alerts} == {CHANNEL}


def test_the_user_has_as_many_checks_as_are_counted_and_a_status_page(filled):
    user = asyncio.run(Users(filled.db, filled.clock).by_email(EMAIL.upper()))
    page = asyncio.run(Pages(filled.db, filled.clock).find(SLUG))
    assert user.check_count == len(filled.checks()) == len(SCENARIOS)
    assert asyncio.run(CheckService(filled.db, filled.clock).repair_count(USERID)) == user.check_count
    assert page.owner == user.userid
    assert user.page_slug == SLUG
    assert set(page.checks) < {scenario.checkid for scenario in SCENARIOS}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_ninety_days_are_told_and_the_past_ones_whole(filled, scenario):
    check = filled.db.check(scenario.checkid).run()
    days = asyncio.run(History(filled.db, filled.clock).days(check, 91))
    spent = [sum(getattr(day.rollup, name) for name in DURATIONS) for day in days]
    assert spent[:-1] == [DAY_MS] * 90
    assert spent[-1] == filled.clock.millis() % DAY_MS


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_downtime_of_old_days_is_that_of_the_incidents(filled, scenario):
    yesterday = filled.clock.millis() // DAY_MS * DAY_MS - DAY_MS
    check = filled.db.check(scenario.checkid).run()
    past = asyncio.run(History(filled.db, filled.clock).summary(check, yesterday - 89 * DAY_MS, yesterday))
    old = [each for each in filled.db.incidents(scenario.checkid) if to_ms(each.started_at) < yesterday]
    assert past.down == sum(to_ms(each.ended_at) - to_ms(each.started_at) for each in old)
    assert len(old) == len(scenario.outages)


def test_response_times_are_plausible(filled):
    check = filled.checks()["Orders API"]
    now = filled.clock.millis()
    times = asyncio.run(History(filled.db, filled.clock).response_times(check, now - 12 * 3_600_000, now, 3_600_000))
    assert len(times) == 12
    assert all(25 < each.p50 < 90 and each.p50 < each.p95 < 600 for each in times)


def test_the_next_runs_are_to_come_and_not_all_at_once(filled):
    due_times = [to_ms(check.next_run_at) for check in filled.checks().values() if not isinstance(check, Paused)]
    delays = {scenario.checkid: scenario.delay_ms for scenario in SCENARIOS}
    assert len(set(due_times)) == len(due_times)
    assert all(0 < due_at - filled.clock.millis() <= max(delays.values()) for due_at in due_times)


def test_it_is_the_same_for_the_same_moment(filled, stand):
    assert stand.fill().read() == filled.read()


def test_filling_again_changes_nothing_however_late(stand):
    before = stand.fill().read()
    assert len(before) > 1000
    stand.clock.advance(3 * 86_400 + 5)
    assert stand.fill().read() == before


@pytest.mark.parametrize("calls", [0, 1, 2, 10, 60, 110])
def test_a_fill_that_was_cut_short_is_finished_as_it_was_begun(filled, stand, calls):
    with pytest.raises(InternalServerError):
        stand.fill(Failing(stand.database, calls))
    stand.clock.advance(0 if calls == 0 else 7 * 3600)  # without any call nothing had begun
    assert stand.fill().read() == filled.read()


def test_what_is_deleted_stays_deleted(stand):
    stand.fill()
    asyncio.run(CheckService(stand.db, stand.clock).delete(USERID, "demo-shop"))
    stand.fill()
    assert "Shop" not in stand.checks()


def test_the_checks_follow_the_pages_to_another_port(stand):
    stand.fill().fill(site="http://127.0.0.1:9000", secure_site="https://127.0.0.1:9001")
    checks = stand.checks()
    assert checks["Shop"].url == "http://127.0.0.1:9000/shop"
    assert checks["Blog"].url == "https://127.0.0.1:9001/blog"
    assert checks["Camera below $199"].url == "https://www.ebay.com/"


def test_a_demo_check_that_was_pointed_elsewhere_stays_there(stand):
    stand.fill()
    check = stand.db.check("demo-shop").run()
    stand.db.edit(check, updated_at=check.updated_at, revision=1, seen=None, url="https://example.com/").run()
    stand.fill(site="http://127.0.0.1:9000")
    assert stand.checks()["Shop"].url == "https://example.com/"


@pytest.mark.parametrize("seconds", [AFTERNOON - 15 * 3600, 1_774_742_400.001, 1_798_761_599])
def test_it_can_begin_at_any_hour(seconds):
    stand = Stand(seconds).fill()
    assert stand.db.check("demo-payments").run().state["phase"] == "DOWN"
    assert {item.status for item in stand.checks().values()} == {"ACTIVE", "PAUSED"}
    stand.database.close()


def test_the_camera_is_sometimes_below_the_threshold_and_sometimes_above():
    prices = [find_price(at * 3_600_000) for at in range(24 * 60)]
    assert min(prices) < THRESHOLD * 0.95 < THRESHOLD * 1.05 < max(prices)


def test_it_is_written_over_the_wire_too(database, clock, filled):
    hashrange.create_tables(database, Checks)
    db = Checks.open(database, clock=filled.clock)
    asyncio.run(Demo(db=db, clock=filled.clock, site=HERE, secure_site=SECURE).fill())
    there = {check.checkid: check for check in db.checks_of(USERID)}
    assert there == {check.checkid: check for check in filled.db.checks_of(USERID)}
