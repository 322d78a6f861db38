"""The operator's API: all users, and checks by type and status. API keys of users are not accepted."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from hashrange_systems.checks.field_types import Status
from hashrange_systems.checks.service.channels import NewChannel
from hashrange_systems.checks.web.api.api_authentication import Deps, authenticate_operator
from hashrange_systems.checks.web.api.api_models import (
    Listed,
    NewUserModel,
    TypedCheckModel,
    UserChange,
    UserInput,
    UserModel,
)
from hashrange_systems.checks.web.api.checks_api import Cursor, Size
from hashrange_systems.checks.web.channel_verification import send_verification

UserId = Annotated[str, Path(description="The id of a user.")]

router = APIRouter(prefix="/admin", tags=["operator"], dependencies=[Depends(authenticate_operator)])


@router.get("/users")
async def list_users(deps: Deps, limit: Size = 100, cursor: Cursor = None) -> Listed[UserModel]:
    """List all users, in no order; this scans the table."""
    page = await deps.services.users.page(limit, cursor)
    return Listed(items=[UserModel.model_validate(user) for user in page], cursor=page.cursor)


@router.post("/users", status_code=201)
async def add_user(deps: Deps, body: UserInput) -> NewUserModel:
    """Add a user. The first API key is only in this response."""
    new = await deps.services.users.create(body.email, body.tier)
    await send_verification(deps.services, NewChannel(new.channel, new.token))
    return NewUserModel(**UserModel.model_validate(new.user).model_dump(), key=new.key)


@router.get("/users/{userid}")
async def read_user(deps: Deps, userid: UserId) -> UserModel:
    """Read a user."""
    return UserModel.model_validate(await deps.services.users.find(userid))


@router.patch("/users/{userid}")
async def change_user(deps: Deps, userid: UserId, change: UserChange) -> UserModel:
    """Change the tier or the e-mail address of a user."""
    if change.email is not None:
        changed = await deps.services.users.change_email(userid, change.email)
        if changed.channel:
            await send_verification(deps.services, changed.channel)
    if change.tier is not None:
        await deps.services.users.change_tier(userid, change.tier)
    return await read_user(deps, userid)


@router.post("/users/{userid}/suspend")
async def suspend_user(deps: Deps, userid: UserId) -> UserModel:
    """Suspend a user: the checks are not run until the user is reinstated."""
    return UserModel.model_validate(await deps.services.users.suspend(userid))


@router.post("/users/{userid}/reinstate")
async def reinstate_user(deps: Deps, userid: UserId) -> UserModel:
    """Reinstate a suspended user, and run the checks again."""
    return UserModel.model_validate(await deps.services.users.reinstate(userid))


@router.delete("/users/{userid}", status_code=204)
async def delete_user(deps: Deps, userid: UserId) -> None:
    """Delete a user and everything that belongs to them."""
    await deps.services.users.delete(userid)


@router.get("/checks")
async def list_by_type(
    deps: Deps,
    check_type: Annotated[str, Query(alias="checkType", min_length=1, max_length=100)] = "AVAILABILITY",
    status: Status = "ACTIVE",
    limit: Size = 100,
    cursor: Cursor = None,
) -> Listed[TypedCheckModel]:
    """List the checks of all users by type and status."""
    page = await deps.services.checks.by_type(check_type, status, limit, cursor)
    return Listed(items=[TypedCheckModel.model_validate(check) for check in page], cursor=page.cursor)
