"""The account page: channels, API keys and the public status page."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.model.tier import read_tier
from hashrange_systems.checks.schema import StatusPage
from hashrange_systems.checks.web.authentication import FormPost
from hashrange_systems.checks.web.channel_verification import send_verification
from hashrange_systems.checks.web.check_view import name_check
from hashrange_systems.checks.web.dependencies import Deps, PageDependencies, PostedForm, SignedIn
from hashrange_systems.checks.web.page_renderer import Visitor
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput, ResourceMissing
from hashrange_systems.shared.web.form import Field, group_field_errors, keep_form_values
from hashrange_systems.shared.web.templating import redirect_to

CHECK_TYPES = (("EMAIL", "e-mail"), ("WEBHOOK", "webhook"), ("APPRISE", "Apprise"))
CHANNEL = (
    Field(path="kind", label="Kind", kind="select", options=CHECK_TYPES),
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
async def show_account(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the account."""
    return await render_account(request, deps, visitor)


# ── channels ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/channels")
async def add_channel(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """Add a channel and send a verification link to it; the secret of a webhook is shown only once."""
    userid = sent.visitor.user.userid
    try:
        new = await deps.services.channels.add(userid, sent.text("kind"), sent.text("target").strip())
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error, sent)
    asked = await send_verification(deps.services, deps.base_url, new)
    if new.channel.kind == "WEBHOOK":
        return await render_account(request, deps, sent.visitor, new_secret=new.channel.secret)
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
    return redirect_to(
        request, "/account", "asked" if await send_verification(deps.services, deps.base_url, new) else "not-asked"
    )


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


# ── the status page ──────────────────────────────────────────────────────────────────────────────────────────────────
@router.post("/page")
async def publish_page(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """Publish the status page, or change it."""
    userid, checks = sent.visitor.user.userid, sent.texts("checks")
    try:
        await deps.services.pages.publish(userid, sent.text("slug").strip(), sent.text("title"), checks)
    except ApplicationError as error:
        return await render_account(request, deps, sent.visitor, error, sent)
    return redirect_to(request, "/account", "published")


@router.post("/page/remove")
async def unpublish_page(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """Unpublish the status page."""
    await deps.services.pages.unpublish(sent.visitor.user.userid)
    return redirect_to(request, "/account", "unpublished")


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
async def render_account(
    request: Request,
    deps: PageDependencies,
    visitor: Visitor,
    error: ApplicationError | None = None,
    sent: FormPost | None = None,
    **shown_once: str | None,
) -> Response:
    """Render the account page with the posted values and their errors."""
    services, user = deps.services, visitor.user
    field_errors, other_errors = group_field_errors(error.errors if isinstance(error, InvalidInput) else (), PATHS)
    page = await services.pages.find(user.page_slug) if user.page_slug else None
    told = "; ".join(map(str, other_errors)) if isinstance(error, InvalidInput) else str(error or "")
    values = fill_page(page) | (keep_form_values(sent.form) if sent else {})
    shown = sent.texts("checks") if sent and "slug" in sent.form else page.checks if page else []
    return deps.renderer.render(
        request,
        "account.html",
        visitor,
        error.status if error else 200,
        tier=read_tier(user.tier),
        error=told,
        field_errors=field_errors,
        values=values,
        page=page,
        shown=shown,
        channels=await services.channels.list_by_user(user.userid),
        keys=await services.keys.list_by_user(user.userid),
        names=[(check.checkid, name_check(check)) for check in await services.checks.list_by_user(user.userid)],
        **FORMS | {"new_key": None, "new_secret": None} | shown_once,
    )


FORMS: dict[str, Any] = {"channel_fields": CHANNEL, "key_fields": KEY, "page_fields": PAGE}


def fill_page(page: StatusPage | None) -> dict[str, str]:
    """Return the values of the status page form."""
    return {"slug": page.slug, "title": page.title} if page else {}
