"""What the documentation says about patterns, costs and limits: read from the plans and the model, and measured.

When a plan changes, `python -m systems.tests.checks.test_cost` prints the rows of its page anew.
"""

import asyncio
import re
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

import hashrange
from hashrange import ManualClock
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.model.schedule import SHARDS
from hashrange_systems.checks.model.tier import TIERS
from hashrange_systems.checks.registry import CHECK_TYPES, name_attributes
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.alert_outbox import AlertOutbox
from hashrange_systems.checks.service.api_keys import Keys
from hashrange_systems.checks.service.channels import Channels
from hashrange_systems.checks.service.check_input import CheckInput
from hashrange_systems.checks.service.checks import CheckService
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.manual_run_limit import ManualRunLimit
from hashrange_systems.checks.service.runs import Runs
from hashrange_systems.checks.service.users import Users
from hashrange_systems.checks.worker import Worker
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from systems.tests.access_cost import CapacityMeter, describe_plan, read_rows

DOCS = Path(__file__).parents[3] / "docs" / "systems" / "checks.md"
UP = Outcome(status=Status.UP, http_status=200, response_time=120)
DOWN = Outcome(status=Status.DOWN, cause=Cause.STATUS, message="answered 500", http_status=500, response_time=90)


def list_patterns():
    return [describe_plan(plan, plan.table.physical_name) for plan in Checks.plans.values()]


def test_every_access_pattern_is_listed_with_what_it_costs():
    assert read_rows(DOCS, "Access patterns") == list_patterns()


def test_no_pattern_but_the_operators_list_of_users_and_the_first_check_of_the_keys_scans():
    assert [plan.name for plan in Checks.plans.values() if plan.verb == "Scan"] == ["all_users", "all_channels"]


def test_every_attribute_of_a_check_is_explained():
    rows = [line for line in DOCS.read_text("utf-8").splitlines() if line.startswith("| `")]
    explained = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert {name for check_type in CHECK_TYPES for name in name_attributes(check_type)} <= explained


@pytest.mark.parametrize("tier", TIERS.values(), ids=lambda tier: tier.name)
def test_every_tier_is_listed_with_what_it_allows(tier):
    seconds = tier.shortest_delay_ms // 1000
    delay = f"{seconds // 60} min" if seconds >= 60 else f"{seconds} s"
    row = f"| {tier.name} | {tier.check_limit} | {delay} | {tier.result_days} days | {tier.rollup_days} days |"
    assert row in DOCS.read_text("utf-8").splitlines()


class Meter(CapacityMeter):
    """A user with checks on an embedded database, and what each action costs there."""

    def __init__(self):
        super().__init__()
        self.clock = ManualClock(1_768_478_400)
        self.database = hashrange.open(clock=self.clock)
        hashrange.create_tables(self.database, Checks)
        self.db = Checks.open(self.database, clock=self.clock, hooks=[self.events.append])
        self.outcome = UP
        self.runs = Runs(self.db, self.clock, self)
        numbers = count(1)
        self.make_id = lambda: f"{next(numbers):020x}"  # the size of an item, and so its cost, depends on its id
        limit = ManualRunLimit(self.db, self.clock)
        self.checks = CheckService(self.db, self.clock, self.runs, make_id=self.make_id, manual_runs=limit)
        self.history = History(self.db, self.clock)
        self.outbox = AlertOutbox(db=self.db, clock=self.clock, senders={"EMAIL": Mailbox(self.clock)})
        self.worker = Worker(self.runs, self.history, self.outbox, self.db, self.clock)

    async def probe(self, url, attributes, tenant):
        return self.outcome

    async def sign_up(self):
        users = Users(self.db, self.clock, make_id=self.make_id)
        self.new = await users.create("ann@example.com", "PRO")
        self.userid = self.new.user.userid

    async def add(self):
        self.check = await self.checks.create(
            self.userid, CheckInput(url="https://example.com/", attributes={"retries": 0}, delay_ms=60_000)
        )

    async def run_next(self):
        """Take the next due time, when it has come."""
        check = await self.db.check(self.check.checkid)
        self.clock.set(check.next_run_at.timestamp() + 0.001)
        self.events.clear()
        claim = await self.runs.claim(check)
        assert await self.runs.perform(claim) is not None

    async def fail(self):
        self.outcome = DOWN
        await self.run_next()

    async def verify(self):
        await Channels(self.db, self.clock).verify(self.new.token)

    async def look(self):
        for shard in range(SHARDS):
            await self.db.due(str(shard), next_run_at=self.check.created_at - timedelta(seconds=1))

    async def send(self):
        for shard in range(SHARDS):
            await self.outbox.send_due(str(shard))


def measure():
    """What each action costs, in the order of a check's life."""
    meter = Meter()
    asyncio.run(meter.sign_up())
    asyncio.run(meter.verify())
    found = {"an API key is checked": meter.spend(Keys(meter.db, meter.clock).authenticate(meter.new.key))}
    found["a check is added"] = meter.spend(meter.add())
    found["a worker queries due checks, and there are none"] = meter.spend(meter.look())
    found["a check is run, and nothing has changed"] = meter.spend(meter.run_next())
    found["a check is run, and the page is down: the incident and one alert"] = meter.spend(meter.fail())
    found["the outbox is queried, and that alert is sent"] = meter.spend(meter.send())
    found["the checks of a user are listed"] = meter.spend(meter.checks.list_by_user(meter.userid))
    pause = meter.checks.pause(meter.userid, meter.check.checkid)
    found["a check is paused, which ends the incident"] = meter.spend(pause)
    meter.database.close()
    return [f"| {action} | {reads:g} | {writes:g} |" for action, (reads, writes) in found.items()]


def test_what_actions_cost_is_as_documented():
    assert read_rows(DOCS, "What it costs") == measure()


if __name__ == "__main__":
    print("\n".join([*measure(), "", *list_patterns()]))  # noqa: T201
