"""The account page: channels, API keys, and the link to two-factor sign-in."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.web.channel_verification import send_verification
from hashrange_systems.checks.web.dependencies import ChecksPages, Deps, PostedForm, SignedIn, UserForm
from hashrange_systems.checks.web.page_renderer import Visitor
from hashrange_systems.shared.channels.type_registry import CHANNEL_TYPES
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput, ResourceMissing
from hashrange_systems.shared.web.form import Field, group_field_errors, keep_form_values
from hashrange_systems.shared.web.templating import redirect_to

CHANNEL_OPTIONS = tuple((each.name, each.label) for each in CHANNEL_TYPES.values())
CHANNEL = (
    Field(
        path="channelType",
        label="Type",
        input_type="select",
        options=CHANNEL_OPTIONS,
    ),
    Field(path="target", label="Address", hint=", ".join(each.hint for each in CHANNEL_TYPES.values())),
)
KEY = (Field(path="key.name", label="Name", hint="deploy script"),)
PATHS = [field.path for field in (*CHANNEL, *KEY)]

router = APIRouter(prefix="/account", include_in_schema=False)


@router.get("")
async def show_account(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the account."""
    return await render_account(request, deps, visitor)


# ── channels ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/channels")
async def add_channel(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """Add a channel and send a verification link to it; the secret of a webhook is shown only once."""
    userid = sent.visitor.user.userid
    try:
        new = await deps.services.channels.add(userid, sent.text("channelType"), sent.line("target"))
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error, sent)
    asked = await send_verification(deps.services, new)
    if revealed := deps.services.channels.find_revealed(new.channel):
        return await render_account(request, deps, sent.visitor, new_secret=revealed)
    return redirect_to(request, "/account", "asked" if asked else "not-asked")


@router.post("/channels/{channel_id}/ask")
async def ask_channel(request: Request, deps: Deps, sent: PostedForm, channel_id: str) -> Response:
    """Send the verification link again."""
    try:
        new = await deps.services.channels.resend_verification(sent.visitor.user.userid, channel_id)
    except ResourceMissing:
        raise
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error)
    return redirect_to(request, "/account", "asked" if await send_verification(deps.services, new) else "not-asked")


@router.post("/channels/{channel_id}/remove")
async def remove_channel(request: Request, deps: Deps, sent: PostedForm, channel_id: str) -> Response:
    """Remove a channel."""
    await deps.services.channels.remove(sent.visitor.user.userid, channel_id)
    return redirect_to(request, "/account", "channel-removed")


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/keys")
async def make_key(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """Create an API key and show it, only once."""
    try:
        new = await deps.services.keys.add(sent.visitor.user.userid, sent.text("key.name"))
    except InvalidInput as refused:
        errors = [FieldError(f"key.{error.field}", error.message) for error in refused.errors]
        return await render_account(request, deps, sent.visitor, InvalidInput(errors), sent)
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error, sent)
    return await render_account(request, deps, sent.visitor, new_key=new.text)


@router.post("/keys/{key_id}/revoke")
async def revoke_key(request: Request, deps: Deps, sent: PostedForm, key_id: str) -> Response:
    """Revoke an API key; sessions that were started with it end."""
    await deps.services.keys.revoke(sent.visitor.user.userid, key_id)
    return redirect_to(request, "/account", "revoked")


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
async def render_account(
    request: Request,
    deps: ChecksPages,
    visitor: Visitor,
    error: ApplicationError | None = None,
    sent: UserForm | None = None,
    **shown_once: str | None,
) -> Response:
    """Render the account page with the posted values and their errors."""
    services, user = deps.services, visitor.user
    field_errors, other_errors = group_field_errors(error.errors if isinstance(error, InvalidInput) else (), PATHS)
    shown_error = "; ".join(map(str, other_errors)) if isinstance(error, InvalidInput) else str(error or "")
    values = keep_form_values(sent.form) if sent else {}
    return deps.renderer.render(
        request,
        "account.html",
        visitor,
        error.status if error else 200,
        tier=read_tier(user.tier),
        error=shown_error,
        field_errors=field_errors,
        values=values,
        second_factor=await services.second_factors.find(user.userid),
        channels=await services.channels.list_by_user(user.userid),
        keys=await services.keys.list_by_user(user.userid),
        **FORMS | {"new_key": None, "new_secret": None} | shown_once,
    )


FORMS: dict[str, Any] = {"channel_fields": CHANNEL, "key_fields": KEY}
