"""Deletes a check with everything that belongs to it; cut short anywhere, it can be begun again.

First it is taken out of the schedule, so that no run adds to it; then its results, incidents and alerts go; at last the
check itself, together with its place in the user's count.
"""

from __future__ import annotations

from contextlib import suppress

from hashrange import Conflict, NotFound
from hashrange_systems.checks.schema import Active, AnyCheck, Check, Checks
from hashrange_systems.checks.service.conflict import commit, settle_conflicts
from hashrange_systems.checks.service.count import repair_count
from hashrange_systems.checks.service.moment import from_ms

SOME = 100


async def dispose_check(db: Checks, check: AnyCheck, now: int) -> None:
    """Delete a check and all that is kept about it."""
    await settle_conflicts(lambda: _withdraw(db, check.checkid, now), "check")
    await _sweep(db, check.checkid)
    await _drop(db, check)
    await _sweep(db, check.checkid)  # what a worker wrote while it did not know yet


async def _withdraw(db: Checks, checkid: str, now: int) -> None:
    check = await db.check(checkid).consistent()
    if isinstance(check, Active):
        await db.pause(check, updated_at=from_ms(now), seen=check.state)


async def _sweep(db: Checks, checkid: str) -> None:
    """Delete what is kept about a check, some at a time."""
    after: str | None = None
    while True:
        page = await db.everything_of(checkid).page(SOME, after=after)
        await db.batch(delete=[item for item in page if not isinstance(item, Check)])
        after = page.cursor
        if after is None:
            return


async def _drop(db: Checks, check: AnyCheck) -> None:
    """Delete the check itself and give its place back; without, where the user or the count is not there."""
    try:
        await commit(db, [db.drop(check.checkid, userid=check.userid), db.free_slot(check.userid, check_count=-1)])
    except Conflict:
        if await db.check(check.checkid).consistent() is None:
            return
        with suppress(NotFound):
            await db.drop(check.checkid, userid=check.userid)
        if await db.user(check.userid).consistent() is not None:
            await repair_count(db, check.userid)
