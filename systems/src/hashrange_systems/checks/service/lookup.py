"""Finds what a user may see: themselves, and what is theirs. Anything else is not there, whoever it belongs to."""

from __future__ import annotations

from hashrange_systems.checks.errors import NotThere, Suspended
from hashrange_systems.checks.schema import ActiveUser, AnyCheck, Checks, User
from hashrange_systems.checks.service.identity import can_be_id


async def find_user(db: Checks, userid: str) -> User:
    """Return a user, whatever their status."""
    user = await db.user(userid).consistent() if can_be_id(userid) else None
    if user is None:
        raise NotThere("user")
    return user


async def find_active_user(db: Checks, userid: str) -> ActiveUser:
    """Return a user who may change things."""
    user = await find_user(db, userid)
    if not isinstance(user, ActiveUser):
        raise Suspended
    return user


async def find_own_check(db: Checks, userid: str, checkid: str) -> AnyCheck:
    """Return a check that is this user's."""
    check = await db.check(checkid).consistent() if can_be_id(checkid) else None
    if check is None or check.userid != userid:
        raise NotThere("check")
    return check
