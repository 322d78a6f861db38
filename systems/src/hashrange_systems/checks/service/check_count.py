"""The number of checks of a user: the counter that enforces the limit, and its repair."""

from __future__ import annotations

from hashrange_systems.checks.schema import Checks
from hashrange_systems.shared.errors import ResourceMissing
from hashrange_systems.shared.work.retry import retry_on_conflict


async def repair_count(db: Checks, userid: str) -> int:
    """Count a user's checks and correct the counter; repeated if a check is added or deleted meanwhile.

    The index is eventually consistent, so this is only for repair and for users without a counter.
    """
    return await retry_on_conflict(lambda: _repair(db, userid), "number of checks")


async def _repair(db: Checks, userid: str) -> int:
    user = await db.user(userid).consistent()
    if user is None:
        raise ResourceMissing("user")
    counted = len(await db.checks_of(userid))
    if user.check_count is None:
        await db.count(userid, check_count=counted)
    elif user.check_count != counted:
        await db.recount(userid, check_count=counted, seen=user.check_count)
    return counted
