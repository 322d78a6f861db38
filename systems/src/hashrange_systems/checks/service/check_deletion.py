"""Deletes a check with everything that belongs to it; an interrupted deletion can be repeated.

First the check is unscheduled, so that no run adds to it; then its results, incidents and alerts are deleted; last the
check itself, in one transaction with the user's counter.
"""

from __future__ import annotations

from contextlib import suppress

from hashrange import Conflict, Item, NotFound, Page
from hashrange_systems.checks.schema import Active, AnyCheck, Checks
from hashrange_systems.checks.service.check_count import repair_count
from hashrange_systems.checks.service.commit import commit
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.work.retry import retry_on_conflict

SOME = 100


async def delete_check_data(db: Checks, check: AnyCheck, now: int) -> None:
    """Delete a check and its history."""
    await retry_on_conflict(lambda: _unschedule(db, check.checkid, now), "check")
    await _delete_records(db, check.checkid)
    await _delete_check(db, check)
    await _delete_records(db, check.checkid)  # what a worker wrote meanwhile


async def _unschedule(db: Checks, checkid: str, now: int) -> None:
    check = await db.check(checkid).consistent()
    if isinstance(check, Active):
        await db.pause(check, updated_at=from_ms(now), seen=check.state)


async def _delete_records(db: Checks, checkid: str) -> None:
    """Delete the history and the alerts of a check in batches."""
    for query in (db.history_of(checkid), db.alerts(checkid)):
        after: str | None = None
        while True:
            page: Page[Item] = await query.with_expired().page(SOME, after=after)
            await db.batch(delete=page)
            after = page.cursor
            if after is None:
                break


async def _delete_check(db: Checks, check: AnyCheck) -> None:
    """Delete the check and decrement the counter; only the check if there is no user or counter."""
    try:
        await commit(db, [db.drop(check.checkid, userid=check.userid), db.release_check(check.userid, check_count=-1)])
    except Conflict:
        if await db.check(check.checkid).consistent() is None:
            return
        with suppress(NotFound):
            await db.drop(check.checkid, userid=check.userid)
        if await db.user(check.userid).consistent() is not None:
            await repair_count(db, check.userid)
