"""The page of an account: its channels, API keys and public status page."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.errors import ChecksError, NotThere
from hashrange_systems.checks.model.refusal import Fault, InputRefused
from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.schema import StatusPage
from hashrange_systems.checks.web.desk import Desk, Here, Posted, SignedIn
from hashrange_systems.checks.web.door import Sent
from hashrange_systems.checks.web.form import Field, keep_sent, sort_faults
from hashrange_systems.checks.web.invitation import invite
from hashrange_systems.checks.web.painter import Visitor, go
from hashrange_systems.checks.web.view import name_check

KINDS = (("EMAIL", "e-mail"), ("WEBHOOK", "webhook"), ("APPRISE", "Apprise"))
CHANNEL = (
    Field(path="kind", label="Kind", kind="select", options=KINDS),
    Field(path="target", label="Address", hint="ann@example.com, https://… or slack://…"),
)
KEY = (Field(path="key.name", label="Name", hint="deploy script"),)
PAGE = (
    Field(path="slug", label="Address", hint="my-shop", help="Small letters, digits and dashes.", short=True),
    Field(path="title", label="Title", hint="Status of my shop"),
)
PATHS = [field.path for field in (*CHANNEL, *KEY, *PAGE)] + ["checks"]

router = APIRouter(prefix="/account", include_in_schema=False)


@router.get("")
async def show_account(request: Request, desk: Here, visitor: SignedIn) -> Response:
    """Show the account."""
    return await draw_account(request, desk, visitor)


# ── channels ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/channels")
async def add_channel(request: Request, desk: Here, sent: Posted) -> Response:
    """Add a channel and ask its address whether it wants messages; a webhook's secret is shown this once."""
    userid = sent.visitor.user.userid
    try:
        new = await desk.services.channels.add(userid, sent.text("kind"), sent.text("target").strip())
    except ChecksError as trouble:
        return await draw_account(request, desk, sent.visitor, trouble, sent)
    asked = await invite(desk.services, desk.base_url, new)
    if new.channel.kind == "WEBHOOK":
        return await draw_account(request, desk, sent.visitor, new_secret=new.channel.secret)
    return go(request, "/account", "asked" if asked else "not-asked")


@router.post("/channels/{channel_id}/ask")
async def ask_channel(request: Request, desk: Here, sent: Posted, channel_id: str) -> Response:
    """Ask an address again whether it wants messages."""
    try:
        new = await desk.services.channels.ask_again(sent.visitor.user.userid, channel_id)
    except NotThere:
        raise
    except ChecksError as trouble:
        return await draw_account(request, desk, sent.visitor, trouble)
    return go(request, "/account", "asked" if await invite(desk.services, desk.base_url, new) else "not-asked")


@router.post("/channels/{channel_id}/remove")
async def remove_channel(request: Request, desk: Here, sent: Posted, channel_id: str) -> Response:
    """Remove a channel."""
    await desk.services.channels.remove(sent.visitor.user.userid, channel_id)
    return go(request, "/account", "channel-removed")


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/keys")
async def make_key(request: Request, desk: Here, sent: Posted) -> Response:
    """Make an API key and show it, this once."""
    try:
        new = await desk.services.keys.add(sent.visitor.user.userid, sent.text("key.name"))
    except InputRefused as refused:
        faults = [Fault(f"key.{fault.field}", fault.message) for fault in refused.faults]
        return await draw_account(request, desk, sent.visitor, InputRefused(faults), sent)
    except ChecksError as trouble:
        return await draw_account(request, desk, sent.visitor, trouble, sent)
    return await draw_account(request, desk, sent.visitor, new_key=new.text)


@router.post("/keys/{key_id}/revoke")
async def revoke_key(request: Request, desk: Here, sent: Posted, key_id: str) -> Response:
    """Revoke an API key; if it is the one of this session, the session ends with it."""
    await desk.services.keys.revoke(sent.visitor.user.userid, key_id)
    return go(request, "/account", "revoked")


# ── the status page ──────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/page")
async def publish_page(request: Request, desk: Here, sent: Posted) -> Response:
    """Publish the status page, or change it."""
    userid, checks = sent.visitor.user.userid, sent.texts("checks")
    try:
        await desk.services.pages.publish(userid, sent.text("slug").strip(), sent.text("title"), checks)
    except ChecksError as trouble:
        return await draw_account(request, desk, sent.visitor, trouble, sent)
    return go(request, "/account", "published")


@router.post("/page/remove")
async def unpublish_page(request: Request, desk: Here, sent: Posted) -> Response:
    """Take the status page off the web."""
    await desk.services.pages.unpublish(sent.visitor.user.userid)
    return go(request, "/account", "unpublished")


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
async def draw_account(
    request: Request,
    desk: Desk,
    visitor: Visitor,
    trouble: ChecksError | None = None,
    sent: Sent | None = None,
    **shown_once: str | None,
) -> Response:
    """Answer with the account, what was sent, and what is wrong with it."""
    services, user = desk.services, visitor.user
    wrong, rest = sort_faults(trouble.faults if isinstance(trouble, InputRefused) else (), PATHS)
    page = await services.pages.find(user.page_slug) if user.page_slug else None
    told = "; ".join(map(str, rest)) if isinstance(trouble, InputRefused) else str(trouble or "")
    values = fill_page(page) | (keep_sent(sent.form) if sent else {})
    shown = sent.texts("checks") if sent and "slug" in sent.form else page.checks if page else []
    return desk.painter.show(
        request,
        "account.html",
        visitor,
        trouble.status if trouble else 200,
        tier=read_tier(user.tier),
        trouble=told,
        wrong=wrong,
        values=values,
        page=page,
        shown=shown,
        channels=await services.channels.of_user(user.userid),
        keys=await services.keys.of_user(user.userid),
        names=[(check.checkid, name_check(check)) for check in await services.ledger.of_user(user.userid)],
        **FORMS | {"new_key": None, "new_secret": None} | shown_once,
    )


FORMS: dict[str, Any] = {"channel_fields": CHANNEL, "key_fields": KEY, "page_fields": PAGE}


def fill_page(page: StatusPage | None) -> dict[str, str]:
    """Return what the form of the status page holds."""
    return {"slug": page.slug, "title": page.title} if page else {}
