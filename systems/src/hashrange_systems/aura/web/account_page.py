"""The account of a member: API keys, and the channels that messages go to."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.aura.service.members import name_key
from hashrange_systems.aura.web.dependencies import AuraPages, Deps, Posted, SignedIn
from hashrange_systems.aura.web.page_renderer import Visitor
from hashrange_systems.aura.work_schema import Subscription
from hashrange_systems.shared.channels.type_registry import CHANNEL_TYPES
from hashrange_systems.shared.errors import ApplicationError
from hashrange_systems.shared.web.templating import redirect_to

router = APIRouter(include_in_schema=False)
SUBSCRIPTIONS: dict[Subscription, str] = {
    "WATCHED": "My watch list and searches",
    "ALARMS": "These, and shops that break",
    "EVERYTHING": "These, and every change",
}


@router.get("/account")
async def show_account(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the account."""
    return await render_account(request, deps, visitor)


async def render_account(
    request: Request,
    deps: AuraPages,
    visitor: Visitor,
    *,
    new_key: str = "",
    secret: str = "",
    error: ApplicationError | None = None,
) -> Response:
    """Render the account, with a new key or secret, which is shown once."""
    members, mailbox = deps.services.members, deps.services.mailbox
    return deps.renderer.render(
        request,
        "account.html",
        visitor,
        error.status if error else 200,
        keys=[(name_key(key.digest), key) for key in await members.list_keys(visitor.user.member_id)],
        channels=await members.list_channels(visitor.user.member_id),
        channel_types=[each for each in CHANNEL_TYPES.values() if each.name in deps.services.senders],
        subscriptions=SUBSCRIPTIONS,
        mails=mailbox.mails(visitor.user.member_id)[:10] if mailbox else None,
        new_key=new_key,
        secret=secret,
        error=str(error or ""),
    )


@router.post("/account/key")
async def add_key(request: Request, deps: Deps, sent: Posted) -> Response:
    """Create an API key, and show it once."""
    try:
        key = await deps.services.members.add_key(sent.visitor.user.member_id, sent.line("name"))
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error=error)
    return await render_account(request, deps, sent.visitor, new_key=key)


@router.post("/account/key/revoke")
async def revoke_key(request: Request, deps: Deps, sent: Posted) -> Response:
    """Revoke an API key."""
    await deps.services.members.remove_key(sent.visitor.user.member_id, sent.line("key"))
    return redirect_to(request, "/account", "key-revoked")


@router.post("/account/channel")
async def add_channel(request: Request, deps: Deps, sent: Posted) -> Response:
    """Add a channel; the secret of a webhook is shown once."""
    members = deps.services.members
    try:
        subscription = sent.line("subscription") or "WATCHED"
        channel = await members.add_channel(
            sent.visitor.user.member_id, sent.line("channelType"), sent.line("target"), subscription
        )
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error=error)
    if revealed := members.find_revealed(channel):
        return await render_account(request, deps, sent.visitor, secret=revealed)
    return redirect_to(request, "/account", "channel-added" if channel.is_usable else "confirmation-sent")


@router.post("/account/channel/confirm")
async def ask_again(request: Request, deps: Deps, sent: Posted) -> Response:
    """Send the link to confirm an address again."""
    try:
        await deps.services.members.ask_again(sent.visitor.user.member_id, sent.line("channel"))
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error=error)
    return redirect_to(request, "/account", "confirmation-sent")


@router.get("/confirm")
async def show_confirm(request: Request, deps: Deps, token: str = "") -> Response:
    """Show a button: opening the link alone, as mail scanners do, confirms nothing."""
    return deps.renderer.render(request, "confirm.html", None, link_token=token, channel=None)


@router.post("/confirm")
async def confirm(request: Request, deps: Deps) -> Response:
    """Confirm the address that the link was sent to."""
    form = await request.form(max_files=0, max_fields=5)
    channel = await deps.services.confirmations.confirm(str(form.get("token", "")))
    return deps.renderer.render(request, "confirm.html", None, link_token="", channel=channel)


@router.post("/account/channel/remove")
async def remove_channel(request: Request, deps: Deps, sent: Posted) -> Response:
    """Remove a channel."""
    await deps.services.members.remove_channel(sent.visitor.user.member_id, sent.line("channel"))
    return redirect_to(request, "/account", "channel-removed")
