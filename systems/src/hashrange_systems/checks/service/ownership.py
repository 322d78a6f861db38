"""Finds users and their checks; what belongs to another user is reported as missing."""

from __future__ import annotations

from hashrange_systems.checks.schema import ActiveUser, AnyCheck, Checks, User
from hashrange_systems.shared.errors import AccountSuspended, ResourceMissing
from hashrange_systems.shared.identifier import is_valid_id


async def find_user(db: Checks, userid: str) -> User:
    """Return a user of any status."""
    user = await db.user(userid).consistent() if is_valid_id(userid) else None
    if user is None:
        raise ResourceMissing("user")
    return user


async def find_active_user(db: Checks, userid: str) -> ActiveUser:
    """Return an active user; raise AccountSuspended otherwise."""
    user = await find_user(db, userid)
    if not isinstance(user, ActiveUser):
        raise AccountSuspended
    return user


async def find_own_check(db: Checks, userid: str, checkid: str) -> AnyCheck:
    """Return a check of this user."""
    check = await db.check(checkid).consistent() if is_valid_id(checkid) else None
    if check is None or check.userid != userid:
        raise ResourceMissing("check")
    return check
