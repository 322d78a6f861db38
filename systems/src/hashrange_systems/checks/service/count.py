"""How many checks a user has: the counter that limits are enforced with, and its repair."""

from __future__ import annotations

from hashrange_systems.checks.errors import NotThere
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.conflict import settle_conflicts


async def repair_count(db: Checks, userid: str) -> int:
    """Count a user's checks and correct the counter; a check that comes or goes meanwhile makes it count again.

    The index that is counted may lag behind by a moment, so this is for repair, and for users never counted.
    """
    return await settle_conflicts(lambda: _repair(db, userid), "number of checks")


async def _repair(db: Checks, userid: str) -> int:
    user = await db.user(userid).consistent()
    if user is None:
        raise NotThere("user")
    counted = len(await db.checks_of(userid))
    if user.check_count is None:
        await db.count(userid, check_count=counted)
    elif user.check_count != counted:
        await db.recount(userid, check_count=counted, seen=user.check_count)
    return counted
