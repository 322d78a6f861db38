"""All services on one database, and helpers for users, checks, races and crashes."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from hashrange import LocalKeys
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.api_keys import Keys
from hashrange_systems.checks.service.channels import Channels
from hashrange_systems.checks.service.check_input import CheckInput
from hashrange_systems.checks.service.checks import CheckService
from hashrange_systems.checks.service.status_pages import Pages
from hashrange_systems.checks.service.users import Users
from hashrange_systems.shared.channels.channel_type import TargetRules
from hashrange_systems.shared.errors import ApplicationError
from systems.tests.checks.check_items import NOON, due
from systems.tests.checks.run_scenario import Target, make_runs

SECRET = b"a secret of the tests, long enough"
KEYS = LocalKeys.generate()
OWN = ("http://127.0.0.1:8002", "https://checks.example")


class ServiceSet:
    """All services on one database."""

    def __init__(self, database, clock, secret=SECRET):
        self.database, self.clock = database, clock
        self.db = Checks.open(database, clock=clock, keys=KEYS, secret=secret)
        self.target = Target()
        self.users = Users(self.db, clock)
        self.keys = Keys(self.db, clock)
        self.channels = Channels(self.db, clock, TargetRules(own_origins=OWN))
        self.pages = Pages(self.db, clock)
        self.checks = CheckService(self.db, clock, make_runs(self.db, clock, self.target), own_origins=OWN)

    def sign_up(self, name="ann", tier="FREE"):
        return do(self.users.create(f"{name}@example.com", tier))

    def add(self, userid, count=1, **more):
        """Add so many checks, a second apart; return the ids."""
        return [self._add(userid, **more) for _ in range(count)]

    def _add(self, userid, **more):
        self.clock.advance(1)
        return do(self.checks.create(userid, draft(**more))).checkid

    def check(self, checkid):
        return self.db.check(checkid).run()

    def due(self, at=None):
        return due(self.db, at or NOON.replace(year=2027))

    def run(self, userid, checkid, script):
        """Run a check by hand, a minute apart, with these outcomes."""
        for notification in script:
            self.target.script = [notification]
            self.clock.advance(60)
            do(self.checks.run_now(userid, checkid))

    def stored(self, *tables):
        """Every key that these tables hold, but for the daily counters of messages, which stay until they expire."""
        rows = [row for table in tables for row in self.database.call("Scan", {"TableName": table})["Items"]]
        kept = [row for row in rows if not row["PK"]["S"].startswith("MESSAGES#")]
        return sorted(f"{row['PK']['S']}/{row['SK']['S']}" for row in kept)


def do(coroutine):
    return asyncio.run(coroutine)


def draft(**more):
    return CheckInput(**({"url": "https://example.com/"} | more))


def race(count, attempt):
    """Run attempts concurrently, each on its own event loop; return the results, including errors."""

    def run(number):
        try:
            return asyncio.run(attempt(number))
        except ApplicationError as refusal:
            return refusal

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def winners(outcomes):
    return [found for found in outcomes if not isinstance(found, ApplicationError)]


class Crash(Exception):
    """The process is gone."""


class CrashingTransport:
    """A transport that raises Crash after a number of calls: instead of the next one, or once that is done."""

    def __init__(self, inner, calls, *, afterwards=False):
        self.inner, self.left, self.afterwards = inner, calls, afterwards

    def call(self, operation, request, *read):
        return self.inner.call(operation, request, *read)

    async def call_async(self, operation, request, *read):
        if self.left == 0:
            if self.afterwards:
                self.afterwards = False
                await self.inner.call_async(operation, request, *read)
            raise Crash
        self.left -= 1
        return await self.inner.call_async(operation, request, *read)

    def close(self):
        self.inner.close()


class InterferingTransport:
    """A transport that runs another action once, just before or after the first call of an operation."""

    def __init__(self, inner, operation, meanwhile, *, afterwards):
        self.inner, self.operation, self.meanwhile, self.afterwards = inner, operation, meanwhile, afterwards

    def call(self, operation, request, *read):
        return self.inner.call(operation, request, *read)

    async def call_async(self, operation, request, *read):
        if operation != self.operation or self.meanwhile is None:
            return await self.inner.call_async(operation, request, *read)
        act, self.meanwhile = self.meanwhile, None
        if not self.afterwards:
            await act()
            return await self.inner.call_async(operation, request, *read)
        response = await self.inner.call_async(operation, request, *read)
        await act()
        return response

    def close(self):
        self.inner.close()


def interfere(services, meanwhile, operation="TransactWriteItems", *, afterwards=False):
    """The same services, with another writer just before or after the first write."""
    return ServiceSet(
        InterferingTransport(services.database, operation, meanwhile, afterwards=afterwards), services.clock
    )


def fail_at_every_call(services, prepare, act, resolved):
    """Crash an action after its first call, its second, and so on; a repetition must complete it."""
    for calls in range(500):
        subject = prepare(calls)
        dying = ServiceSet(CrashingTransport(services.database, calls), services.clock)
        try:
            asyncio.run(act(dying, subject))
        except Crash:
            asyncio.run(act(services, subject))
            resolved(subject)
        else:
            resolved(subject)
            return calls
    raise AssertionError("it never ends")
