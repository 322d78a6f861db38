"""The operator's API: all users, and checks by type and status. No user's key opens it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from hashrange_systems.checks.schema import Status
from hashrange_systems.checks.service.channels import NewChannel
from hashrange_systems.checks.web.api.answer import (
    Listed,
    NewUserShown,
    TypedShown,
    UserChange,
    UserShown,
    UserWish,
)
from hashrange_systems.checks.web.api.caller import Here, find_operator
from hashrange_systems.checks.web.api.checks import Cursor, Size
from hashrange_systems.checks.web.invitation import invite

UserId = Annotated[str, Path(description="The id of a user.")]

router = APIRouter(prefix="/admin", tags=["operator"], dependencies=[Depends(find_operator)])


@router.get("/users")
async def list_users(counter: Here, limit: Size = 100, cursor: Cursor = None) -> Listed[UserShown]:
    """List all users, in no order; this reads the table."""
    page = await counter.services.users.page(limit, cursor)
    return Listed(items=[UserShown.model_validate(user) for user in page], cursor=page.cursor)


@router.post("/users", status_code=201)
async def add_user(counter: Here, wish: UserWish) -> NewUserShown:
    """Take a user in; the first key is in this answer and nowhere else."""
    new = await counter.services.users.create(wish.email, wish.tier)
    await invite(counter.services, counter.base_url, NewChannel(new.channel, new.token))
    return NewUserShown(**UserShown.model_validate(new.user).model_dump(), key=new.key)


@router.get("/users/{userid}")
async def read_user(counter: Here, userid: UserId) -> UserShown:
    """Read a user."""
    return UserShown.model_validate(await counter.services.users.find(userid))


@router.patch("/users/{userid}")
async def change_user(counter: Here, userid: UserId, change: UserChange) -> UserShown:
    """Change the tier or the e-mail address of a user."""
    if change.email is not None:
        changed = await counter.services.users.change_email(userid, change.email)
        if changed.channel:
            await invite(counter.services, counter.base_url, changed.channel)
    if change.tier is not None:
        await counter.services.users.change_tier(userid, change.tier)
    return await read_user(counter, userid)


@router.post("/users/{userid}/suspend")
async def suspend_user(counter: Here, userid: UserId) -> UserShown:
    """Suspend a user: their checks are not run until they are reinstated."""
    return UserShown.model_validate(await counter.services.users.suspend(userid))


@router.post("/users/{userid}/reinstate")
async def reinstate_user(counter: Here, userid: UserId) -> UserShown:
    """Let a suspended user in again, and run their checks."""
    return UserShown.model_validate(await counter.services.users.reinstate(userid))


@router.delete("/users/{userid}", status_code=204)
async def delete_user(counter: Here, userid: UserId) -> None:
    """Delete a user and everything they own."""
    await counter.services.users.delete(userid)


@router.get("/checks")
async def list_by_type(
    counter: Here,
    check_type: Annotated[str, Query(alias="checkType", min_length=1, max_length=100)] = "AVAILABILITY",
    status: Status = "ACTIVE",
    limit: Size = 100,
    cursor: Cursor = None,
) -> Listed[TypedShown]:
    """List the checks of all users by type and status."""
    page = await counter.services.ledger.by_type(check_type, status, limit, cursor)
    return Listed(items=[TypedShown.model_validate(check) for check in page], cursor=page.cursor)
