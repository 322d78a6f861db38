"""Permits go to tenants in turn, whatever they wait for."""

import asyncio
import random
from collections import Counter

import pytest

from hashrange_systems.shared.work.fair_semaphore import FairSemaphore, PermitLimit, SemaphoreFull


def serve(permits, callers):
    """Let all callers wait for the first ones, whose tenants are the same; return who is served, in order."""
    served = []

    async def call(tenant, limits, first):
        async with permits.enter(tenant, *limits):
            served.append(tenant)
            await first.wait()

    async def work():
        first = asyncio.Event()
        calls = [asyncio.create_task(call(tenant, limits, first)) for tenant, limits in callers]
        while permits.queued + permits.taken < len(calls):  # noqa: ASYNC110 - a semaphore has no event
            await asyncio.sleep(0)
        first.set()
        await asyncio.gather(*calls)

    asyncio.run(work())
    assert len(served) == len(callers)
    assert (permits.taken, permits.queued) == (0, 0)
    return served


@pytest.mark.parametrize("limits", [(), (PermitLimit("host", 1),)], ids=["no permit is free", "a limit is reached"])
def test_a_tenant_with_many_callers_delays_another_by_one_turn(limits):
    permits = FairSemaphore(3, 3) if limits else FairSemaphore(1, 1)
    served = serve(permits, [("many", limits)] * 50 + [("few", limits)])
    assert served.index("few") <= 2


def test_tenants_that_have_all_they_may_have_do_not_give_their_permits_to_themselves():
    served = serve(FairSemaphore(2, 1), [("a", ()), ("b", ())] * 25 + [("few", ())])
    assert served.index("few") <= 3


@pytest.mark.parametrize("seed", range(20))
def test_no_caller_is_forgotten_and_no_limit_exceeded_whoever_gives_up(seed):
    chance = random.Random(seed)
    limits = [PermitLimit("x", 2), PermitLimit("y", 3), PermitLimit("z", 1)]
    taken: Counter[object] = Counter()

    async def call(permits, tenant):
        mine = chance.sample(limits, chance.randrange(3))
        patience = chance.choice([None, None, 0.001])
        try:
            async with permits.enter(tenant, *mine, timeout_s=patience) as request:
                taken.update(limit.name for limit in mine)
                assert all(taken[limit.name] <= limit.count for limit in limits)
                await asyncio.sleep(chance.random() / 500)
                if chance.random() < 0.3:
                    permits.return_early(request)
                    await asyncio.sleep(chance.random() / 500)
                taken.subtract(limit.name for limit in mine)
        except SemaphoreFull:
            assert patience

    async def work():
        permits = FairSemaphore(4, 3)
        async with asyncio.timeout(200):
            await asyncio.gather(*(call(permits, chance.choice("abc")) for _ in range(100)))
        return permits

    permits = asyncio.run(work())
    assert (permits.taken, permits.queued) == (0, 0)
    assert not permits._in_turn
    assert not permits._at_limit
