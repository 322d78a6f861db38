"""The account page: channels, API keys, the password, and the way to the second factor.

A system may have its own `account.html`, which extends `accounts/account.html` and fills its blocks.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from starlette.responses import Response

from hashrange_systems.shared.accounts.api_keys import SCOPES
from hashrange_systems.shared.accounts.erasure import export_owner
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput, ResourceMissing
from hashrange_systems.shared.validation import parse_choice
from hashrange_systems.shared.web.account_authenticator import SIGNED_OUT
from hashrange_systems.shared.web.account_dependencies import (
    AccountDeps,
    AccountForm,
    Deps,
    Offers,
    Posted,
    SignedIn,
    Visitor,
    name_member,
    require_offer,
)
from hashrange_systems.shared.web.form import Field, group_field_errors, keep_form_values
from hashrange_systems.shared.web.session import Session
from hashrange_systems.shared.web.templating import redirect_to

SCOPE_NAMES = {"write": "everything", "read": "only reading"}
KEY_NAME = Field(path="key.name", label="Name", hint="deploy script")
KEY_SCOPE = Field(
    path="key.scope",
    label="What it may do",
    input_type="select",
    options=tuple((scope, SCOPE_NAMES[scope]) for scope in SCOPES),
)

router = APIRouter(prefix="/account", include_in_schema=False)


@router.get("")
async def show_account(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the account."""
    return await render_account(request, deps, visitor)


# ── channels ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/channels", dependencies=[require_offer("channels")])
async def add_channel(request: Request, deps: Deps, sent: Posted) -> Response:
    """Add a channel, and send the link to confirm it; the secret of a webhook is shown only once."""
    channels, subscriptions = deps.services.accounts.channels, tuple(deps.offers.subscriptions)
    try:
        channel_type = parse_choice("channelType", sent.text("channelType"), tuple(deps.services.senders))
        chosen = sent.text("subscription") or next(iter(subscriptions), "")
        subscription = parse_choice("subscription", chosen, subscriptions) if subscriptions else None
        channel = await channels.add(sent.visitor.member, channel_type, sent.line("target"), subscription)
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error, sent)
    if revealed := channels.find_revealed(channel):
        return await render_account(request, deps, sent.visitor, new_secret=revealed)
    return redirect_to(request, find_page(deps), "channel-added" if channel.confirmed_at else "asked")


@router.post("/channels/{channel_id}/ask", dependencies=[require_offer("channels")])
async def ask_channel(request: Request, deps: Deps, sent: Posted, channel_id: str) -> Response:
    """Send the link to confirm a channel again."""
    try:
        await deps.services.accounts.channels.ask_again(sent.visitor.member, channel_id)
    except ResourceMissing:
        raise
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error)
    return redirect_to(request, find_page(deps), "asked")


@router.post("/channels/{channel_id}/remove", dependencies=[require_offer("channels")])
async def remove_channel(request: Request, deps: Deps, sent: Posted, channel_id: str) -> Response:
    """Remove a channel."""
    await deps.services.accounts.channels.remove(sent.visitor.member, channel_id)
    return redirect_to(request, find_page(deps), "channel-removed")


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/keys", dependencies=[require_offer("api_keys")])
async def make_key(request: Request, deps: Deps, sent: Posted) -> Response:
    """Create an API key and show it, only once."""
    scope = sent.text("key.scope") if deps.offers.scopes else "write"
    try:
        new = await deps.services.accounts.keys.add(sent.visitor.member, sent.text("key.name"), scope)
    except InvalidInput as refused:
        errors = [FieldError(f"key.{error.field}", error.message) for error in refused.errors]
        return await render_account(request, deps, sent.visitor, InvalidInput(errors), sent)
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error, sent)
    return await render_account(request, deps, sent.visitor, new_key=new.text)


@router.post("/keys/{key_id}/revoke", dependencies=[require_offer("api_keys")])
async def revoke_key(request: Request, deps: Deps, sent: Posted, key_id: str) -> Response:
    """Revoke an API key; sessions that began with it end."""
    await deps.services.accounts.keys.revoke(sent.visitor.member, key_id)
    return redirect_to(request, find_page(deps), "revoked")


# ── signing in ───────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/password", dependencies=[require_offer("password")])
async def change_password(request: Request, deps: Deps, sent: Posted) -> Response:
    """Change the password for who knows the current one; every other session ends."""
    accounts, member = deps.services.accounts, sent.visitor.member
    try:
        await accounts.credentials.change_password(member, sent.text("current"), sent.text("password"))
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error)
    cookie = await accounts.sign_in.start(member, sent.visitor.session.key_id or None)
    return deps.renderer.redirect(request, Session("", "", cookie), find_page(deps))


@router.post("/sign-out-everywhere")
async def sign_out_everywhere(request: Request, deps: Deps, sent: Posted) -> Response:
    """End all sessions of the account."""
    await deps.services.accounts.sign_in.end_all(sent.visitor.member)
    return deps.renderer.redirect(request, SIGNED_OUT, f"{deps.offers.prefix}/sign-in")


@router.get("/export", dependencies=[require_offer("export")])
async def export_account(deps: Deps, visitor: SignedIn) -> Response:
    """Return what is stored of the account, without secrets, as a file."""
    exported = await export_owner(deps.services.accounts.db, visitor.member)
    return JSONResponse(exported, headers={"Content-Disposition": 'attachment; filename="account.json"'})


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def find_page(deps: AccountDeps) -> str:
    """Return the path of the account page."""
    return f"{deps.offers.prefix}/account"


async def render_account(
    request: Request,
    deps: AccountDeps,
    visitor: Visitor,
    error: ApplicationError | None = None,
    sent: AccountForm | None = None,
    **shown_once: str | None,
) -> Response:
    """Render the account page with the posted values and their errors, or what is shown once."""
    accounts, offers, member = deps.services.accounts, deps.offers, visitor.member
    forms = make_forms(deps)
    paths = [field.path for fields in forms.values() for field in fields]
    field_errors, other_errors = group_field_errors(error.errors if isinstance(error, InvalidInput) else (), paths)
    shown_error = "; ".join(map(str, other_errors)) if isinstance(error, InvalidInput) else str(error or "")
    credentials = await accounts.credentials.find(member)
    page = deps.renderer.render(
        request,
        "account.html",
        visitor,
        error.status if error else 200,
        at=offers.prefix,
        offers=offers,
        user_name=await name_member(deps, visitor),
        error=shown_error,
        field_errors=field_errors,
        values=keep_form_values(sent.form) if sent else {},
        channels=await accounts.channels.list_by_owner(member) if offers.channels else [],
        keys=await accounts.keys.list_by_owner(member) if offers.api_keys else [],
        second_factor=await accounts.factors.find(member) if offers.second_factor else None,
        has_password=credentials is not None and credentials.password_hash is not None,
        **{"new_key": None, "new_secret": None} | forms | shown_once,
        **await offers.add_context(deps.services, visitor),
    )
    page.headers.update(error.headers if error else {})
    return page


def make_forms(deps: AccountDeps) -> dict[str, Any]:
    """Return the fields of the forms."""
    return {
        "channel_fields": make_channel_fields(deps),
        "key_fields": (KEY_NAME, KEY_SCOPE) if deps.offers.scopes else (KEY_NAME,),
    }


def make_channel_fields(deps: AccountDeps) -> tuple[Field, ...]:
    """Return the fields of a channel: of the types that can be sent to, and the subscriptions of the system."""
    types = deps.services.accounts.channels.types
    offered = [each for each in types.values() if each.name in deps.services.senders]
    options = tuple((each.name, each.label) for each in offered)
    return (
        Field(path="channelType", label="Type", input_type="select", options=options),
        Field(path="target", label="Address", hint=", ".join(each.hint for each in offered)),
        *make_subscription_fields(deps.offers),
    )


def make_subscription_fields(offers: Offers) -> tuple[Field, ...]:
    """Return the field for what a channel gets, if there is a choice."""
    if not offers.subscriptions:
        return ()
    options = tuple(offers.subscriptions.items())
    return (Field(path="subscription", label="What is sent there", input_type="select", options=options),)
