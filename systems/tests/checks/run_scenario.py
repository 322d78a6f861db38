"""Scripted targets for runs, workers on them, and the stored results."""

import asyncio
from datetime import timedelta

from hashrange import ProvisionedThroughputExceededException
from hashrange_systems.checks.deployment_schema import WorkerPresence
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Outcome, Status
from hashrange_systems.checks.schema import Channel, Checks
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.runs import Runs
from hashrange_systems.checks.worker import Worker, WorkerSettings
from hashrange_systems.shared.epoch import to_ms
from hashrange_systems.shared.work.loops import Loops
from hashrange_systems.shared.work.presence import Presence
from systems.tests.checks.check_items import NOON, due, find_due, make_check, sign_up

UP = Outcome(status=Status.UP, http_status=200, response_time=250)
DOWN = Outcome(status=Status.DOWN, cause=Cause.STATUS, http_status=500, message="answered 500", response_time=90)
UNKNOWN = Outcome(status=Status.UNKNOWN, cause=Cause.OURS, message="no resolver")
LETTERS = {"u": UP, "d": DOWN, "?": UNKNOWN}


class Target:
    """Answers each probe with the next outcome of its script; the last one repeats."""

    def __init__(self, script="u", meanwhile=None):
        self.script = list(script)
        self.probes = []
        self.meanwhile = meanwhile

    async def probe(self, url, attributes, tenant):
        self.probes.append(url)
        if self.meanwhile is not None:
            await self.meanwhile()
        notification = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return notification if isinstance(notification, Outcome) else LETTERS[notification]


class ThrottledTransport:
    """A transport that throttles the next calls of an operation."""

    def __init__(self, inner):
        self.inner = inner
        self.left = {}

    def throttle(self, operation, times):
        self.left[operation] = times

    def call(self, operation, request, *read):
        return self.inner.call(operation, request, *read)

    async def call_async(self, operation, request, *read):
        if self.left.get(operation, 0):
            self.left[operation] -= 1
            raise ProvisionedThroughputExceededException("The level of configured throughput was exceeded.")
        return await self.inner.call_async(operation, request, *read)

    def close(self):
        self.inner.close()


class SilentOutbox:
    """An outbox that sends nothing."""

    def __init__(self):
        self.asked = []

    async def send_due(self, shard):
        self.asked.append(shard)


class FakeSleep:
    """A sleep that returns at once, and records the durations."""

    def __init__(self):
        self.slept = []

    async def __call__(self, seconds):
        self.slept.append(seconds)


def make_runs(db, clock, script="u", **more):
    target = script if isinstance(script, Target) else Target(script)
    return Runs(db, clock, target, **({"sleep": FakeSleep()} | more))


def make_worker(db, clock, script="u", settings=None, **more):
    runs = make_runs(db, clock, script, **more)
    return Worker(runs, History(db, clock), SilentOutbox(), db, clock, settings or WorkerSettings())


def make_loops(worker, db, clock):
    """The loops of a worker, as its application has them."""
    presence = Presence(db, WorkerPresence, clock)
    return Loops(presence, worker.list_loops(), describe=worker.describe, finish=worker.shut_down)


def open_throttled(database, clock):
    transport = ThrottledTransport(database)
    return transport, Checks.open(transport, clock=clock)


def set_up(db, checkid="c1", **more):
    """A user with one check that is due at noon."""
    sign_up(db)
    return db.create(make_check(checkid, **more)).run()


def add_channel(db, channel_id="m1", *, verified=True, userid="u1"):
    db.create(
        Channel(
            userid=userid,
            channel_id=channel_id,
            channel_type="EMAIL",
            target=f"{channel_id}@example.com",
            created_at=NOON,
            verified_at=NOON if verified else None,
        )
    ).run()


def now_of(clock):
    return NOON + timedelta(milliseconds=clock.millis() - to_ms(NOON))


def run_due_check(db, clock, runs, checkid="c1"):
    """Claim and run the due check."""

    async def run():
        claim = await runs.claim(find_due(db, checkid, now_of(clock)))
        return await runs.perform(claim)

    return asyncio.run(run())


def next_run(db, checkid="c1"):
    return db.check(checkid).required().run().next_run_at


def wait_until_due(db, clock, checkid="c1"):
    """Move the clock to the check's next due time."""
    clock.set(next_run(db, checkid).timestamp())


def run_scheduled(db, clock, runs, count, checkid="c1"):
    """Run a check at its next due times; return the results."""
    finished = []
    for _ in range(count):
        wait_until_due(db, clock, checkid)
        finished.append(run_due_check(db, clock, runs, checkid))
    return finished


def alerts_of(db, checkid="c1"):
    return [(alert.topic, alert.channel_id) for alert in db.alerts(checkid)]


def all_due(db, clock):
    return due(db, now_of(clock))


async def until(condition):
    """Wait for something that a worker does."""
    async with asyncio.timeout(200):
        while not condition():  # noqa: ASYNC110 - what is waited for is in a database
            await asyncio.sleep(0.005)
