"""Permits that callers take and give back, divided fairly between tenants: one tenant can never have all of them.

A caller waits while its tenant, another of its limits, or everything is full. Whatever they wait for, tenants are
served in turn, so a tenant with a thousand callers delays another tenant's caller by one turn, not by a thousand.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import AsyncIterator, Hashable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Name = Hashable


class SemaphoreFull(Exception):
    """No permit within the time, or too many callers wait already."""


@dataclass(frozen=True, slots=True)
class PermitLimit:
    """At most `count` callers with this name have a permit at the same time: those of one host, or those that hang."""

    name: Name
    count: int


@dataclass(slots=True, eq=False)
class PermitRequest:
    """A caller: its limits, whether it has a permit, and the future of a caller that waits for one.

    After an early return it no longer counts in the total and for its tenant; its other limits count until its end.
    """

    tenant: str
    limits: tuple[PermitLimit, ...]
    has_permit: bool = False
    granted: asyncio.Future[None] | None = None
    returned_early: bool = False


@dataclass(slots=True)
class TurnQueue:
    """Requests that wait for the same: the first of each tenant in turn."""

    _by_tenant: OrderedDict[str, deque[PermitRequest]] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return sum(map(len, self._by_tenant.values()))

    def __bool__(self) -> bool:
        return bool(self._by_tenant)

    def append(self, request: PermitRequest) -> None:
        """Add a request: the last one of its tenant."""
        self._by_tenant.setdefault(request.tenant, deque()).append(request)

    def pop(self) -> PermitRequest:
        """Remove the request whose turn it is; the other tenants are next."""
        tenant, requests = self._by_tenant.popitem(last=False)
        request = requests.popleft()
        if requests:
            self._by_tenant[tenant] = requests
        return request

    def discard(self, request: PermitRequest) -> None:
        """Remove a request, if it is there."""
        requests = self._by_tenant.get(request.tenant, deque())
        if request in requests:
            requests.remove(request)
            if not requests:
                del self._by_tenant[request.tenant]


@dataclass(slots=True)
class FairSemaphore:
    """Gives `total` permits, at most `per_tenant` of them to a tenant; `waiting` callers may wait in all."""

    total: int
    per_tenant: int
    waiting: int = 1000
    waiting_per_tenant: int = 200
    _free: int = field(init=False)
    _queued: int = field(default=0, init=False)
    _taken: Counter[Name] = field(default_factory=Counter, init=False)
    _waiting: Counter[str] = field(default_factory=Counter, init=False)
    _at_limit: defaultdict[Name, TurnQueue] = field(default_factory=lambda: defaultdict(TurnQueue), init=False)
    _in_turn: TurnQueue = field(default_factory=TurnQueue, init=False)

    def __post_init__(self) -> None:
        if not 0 < self.per_tenant <= self.total:
            raise ValueError(f"per_tenant is {self.per_tenant}: it must be from 1 to total, which is {self.total}")
        self._free = self.total

    @property
    def taken(self) -> int:
        """How many permits are taken."""
        return self.total - self._free

    @property
    def queued(self) -> int:
        """How many callers wait."""
        return self._queued

    @asynccontextmanager
    async def enter(
        self, tenant: str, *limits: PermitLimit, timeout_s: float | None = None
    ) -> AsyncIterator[PermitRequest]:
        """Hold a permit for the block; raise SemaphoreFull after the timeout, or at once if too many wait."""
        request = PermitRequest(tenant, (*limits, PermitLimit(("tenant", tenant), self.per_tenant)))
        self._try_grant(request)
        if not request.has_permit:
            await self._wait(request, timeout_s)
        try:
            yield request
        finally:
            self._release(request)

    def return_early(self, request: PermitRequest) -> None:
        """Give the permit to another caller, although this one goes on."""
        tenant_limit = request.limits[-1]
        request.limits, request.returned_early = request.limits[:-1], True
        self._free += 1
        self._count_down([tenant_limit])
        self._serve([tenant_limit])

    async def _wait(self, request: PermitRequest, timeout_s: float | None) -> None:
        tenant = request.tenant
        if self._waiting[tenant] >= self.waiting_per_tenant or self._queued >= self.waiting:
            self._forget(request)
            raise SemaphoreFull("too many wait for a permit already")
        request.granted = asyncio.get_running_loop().create_future()
        self._queued += 1
        self._waiting[tenant] += 1
        try:
            async with asyncio.timeout(timeout_s):
                await request.granted
        except TimeoutError as error:
            self._abandon(request)
            raise SemaphoreFull("no permit became free in time") from error
        except BaseException:
            self._abandon(request)
            raise
        finally:
            self._queued -= 1
            self._waiting[tenant] -= 1
            if not self._waiting[tenant]:
                del self._waiting[tenant]

    def _abandon(self, request: PermitRequest) -> None:
        """Withdraw a request whose caller has gone; give back the permit if it was granted meanwhile."""
        assert request.granted is not None
        if request.granted.done() and not request.granted.cancelled():
            self._release(request)
            return
        self._forget(request)
        self._serve(request.limits)  # what waits behind it may not be blocked by what blocked it

    def _forget(self, request: PermitRequest) -> None:
        for limit in request.limits:
            if limit.name in self._at_limit:
                self._at_limit[limit.name].discard(request)
                self._drop_if_empty(limit)
        self._in_turn.discard(request)

    def _drop_if_empty(self, limit: PermitLimit) -> None:
        if not self._at_limit[limit.name]:
            del self._at_limit[limit.name]

    # ── granting ─────────────────────────────────────────────────────────────────────────────────────────────────────
    def _try_grant(self, request: PermitRequest) -> bool:
        """Take a permit, or queue the request; return whether none of its limits is reached."""
        if self._queue_at_limit(request):
            return False
        if not self._free:
            self._in_turn.append(request)
            return True
        self._free -= 1
        self._taken.update(limit.name for limit in request.limits)
        if request.granted is not None:
            request.granted.set_result(None)
        request.has_permit = True
        return True

    def _queue_at_limit(self, request: PermitRequest) -> bool:
        """Queue a request at the first of its limits that is reached; return whether it need not be served now."""
        if request.granted is not None and request.granted.done():
            return True  # its caller has gone
        full = next((limit for limit in request.limits if self._taken[limit.name] >= limit.count), None)
        if full is not None:
            self._at_limit[full.name].append(request)
        return full is not None

    def _release(self, request: PermitRequest) -> None:
        self._free += not request.returned_early
        self._count_down(request.limits)
        self._serve(request.limits)

    def _count_down(self, limits: Sequence[PermitLimit]) -> None:
        self._taken.subtract(limit.name for limit in limits)
        for limit in limits:
            if not self._taken[limit.name]:
                del self._taken[limit.name]

    def _serve(self, limits: Iterable[PermitLimit]) -> None:
        """Let one request for each of these limits wait for its turn, then serve who waits while permits are free."""
        self._admit(limits)
        while self._free and self._in_turn:
            request = self._in_turn.pop()
            if not self._try_grant(request):
                self._admit(request.limits)  # what it leaves to others, as it waits for another limit

    def _admit(self, limits: Iterable[PermitLimit]) -> None:
        """Move the first request that is not at another limit from the queue of each limit to those in turn."""
        for limit in limits:
            if limit.name not in self._at_limit or self._taken[limit.name] >= limit.count:
                continue
            queue = self._at_limit[limit.name]
            for _ in range(len(queue)):
                request = queue.pop()
                if not self._queue_at_limit(request):
                    self._in_turn.append(request)
                    break
            self._drop_if_empty(limit)
