"""The API of an account: the user, API keys, channels, the status page, the monthly report."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from hashrange_systems.checks.schema import StatusPage
from hashrange_systems.checks.service.channels import NewChannel
from hashrange_systems.checks.web.api.api_authentication import ApiDependencies, Caller, Deps, authenticate_caller
from hashrange_systems.checks.web.api.api_models import (
    ChannelInput,
    ChannelModel,
    EmailInput,
    KeyInput,
    KeyModel,
    Listed,
    NewChannelModel,
    NewKeyModel,
    PageInput,
    PageModel,
    PublicCheck,
    PublicPage,
    TokenInput,
    UserModel,
)
from hashrange_systems.checks.web.channel_verification import send_verification
from hashrange_systems.checks.web.status_page import read_page, read_public_rows, summarise_states
from hashrange_systems.shared.errors import ResourceMissing

router = APIRouter()


# ── the user ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/users/me", tags=["account"])
async def read_me(caller: Caller) -> UserModel:
    """Return your user and the limits of your tier."""
    return UserModel.model_validate(caller)


@router.patch("/users/me", tags=["account"])
async def change_me(deps: Deps, caller: Caller, body: EmailInput) -> UserModel:
    """Change your e-mail address; messages are sent there after it is verified."""
    changed = await deps.services.users.change_email(caller.userid, body.email)
    if changed.channel:
        await send_verification(deps.services, deps.base_url, changed.channel)
    return UserModel.model_validate(changed.user)


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/keys", tags=["account"])
async def list_keys(deps: Deps, caller: Caller) -> Listed[KeyModel]:
    """List your API keys, without the keys themselves."""
    return Listed(items=[KeyModel.model_validate(key) for key in await deps.services.keys.list_by_user(caller.userid)])


@router.post("/keys", status_code=201, tags=["account"])
async def make_key(deps: Deps, caller: Caller, body: KeyInput) -> NewKeyModel:
    """Create an API key. The key is only in this response."""
    new = await deps.services.keys.add(caller.userid, body.name)
    shown = KeyModel.model_validate(new.key)
    return NewKeyModel(**shown.model_dump(), key=new.text)


@router.delete("/keys/{key_id}", status_code=204, tags=["account"])
async def revoke_key(deps: Deps, caller: Caller, key_id: str) -> None:
    """Revoke an API key; it is no longer accepted."""
    await deps.services.keys.revoke(caller.userid, key_id)


# ── channels ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/channels", tags=["channels"])
async def list_channels(deps: Deps, caller: Caller) -> Listed[ChannelModel]:
    """List your channels."""
    found = await deps.services.channels.list_by_user(caller.userid)
    return Listed(items=[ChannelModel.model_validate(channel) for channel in found])


@router.post("/channels", status_code=201, tags=["channels"])
async def add_channel(deps: Deps, caller: Caller, body: ChannelInput) -> NewChannelModel:
    """Add a channel. A verification link is sent there; alerts are sent after it was opened."""
    new = await deps.services.channels.add(caller.userid, body.kind, body.target, body.secret)
    return await send_link(deps, new, secret=new.channel.secret if new.channel.kind == "WEBHOOK" else None)


@router.post("/channels/verify", tags=["channels"], dependencies=[Depends(authenticate_caller)])
async def verify_channel(deps: Deps, body: TokenInput) -> ChannelModel:
    """Verify a channel with the token that was sent there."""
    return ChannelModel.model_validate(await deps.services.channels.verify(body.token))


@router.post("/channels/{channel_id}/ask", tags=["channels"])
async def ask_channel(deps: Deps, caller: Caller, channel_id: str) -> NewChannelModel:
    """Send the verification link again, at most every ten minutes."""
    return await send_link(deps, await deps.services.channels.resend_verification(caller.userid, channel_id))


@router.delete("/channels/{channel_id}", status_code=204, tags=["channels"])
async def remove_channel(deps: Deps, caller: Caller, channel_id: str) -> None:
    """Remove a channel; alerts that wait for it are not sent."""
    await deps.services.channels.remove(caller.userid, channel_id)


async def send_link(deps: ApiDependencies, new: NewChannel, secret: str | None = None) -> NewChannelModel:
    """Send the verification link, and return the channel."""
    asked = await send_verification(deps.services, deps.base_url, new)
    shown = ChannelModel.model_validate(new.channel)
    return NewChannelModel(**shown.model_dump(), asked=asked, secret=secret)


# ── the status page ──────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/status-page", tags=["status page"])
async def read_own_page(deps: Deps, caller: Caller) -> PageModel:
    """Read your public status page."""
    if caller.page_slug is None:
        raise ResourceMissing("page")
    return to_page_model(deps, await deps.services.pages.find(caller.page_slug))


@router.put("/status-page", tags=["status page"])
async def publish(deps: Deps, caller: Caller, body: PageInput) -> PageModel:
    """Publish your status page, or change it."""
    return to_page_model(deps, await deps.services.pages.publish(caller.userid, body.slug, body.title, body.checks))


@router.delete("/status-page", status_code=204, tags=["status page"])
async def unpublish(deps: Deps, caller: Caller) -> None:
    """Unpublish your status page."""
    await deps.services.pages.unpublish(caller.userid)


@router.get("/status/{slug}", tags=["status page"])
async def read_status(deps: Deps, slug: Annotated[str, Path(description="Of any status page.")]) -> PublicPage:
    """Read a published status page; no API key is needed."""
    page, checks = await read_page(deps.services, slug)
    rows = await read_public_rows(deps.services, checks)
    shown = [PublicCheck(name=row.name, state=row.state.word, uptime=row.uptime) for row in rows]
    return PublicPage(title=page.title, state=summarise_states([row.state for row in rows]).word, checks=shown)


def to_page_model(deps: ApiDependencies, page: StatusPage) -> PageModel:
    """Return a status page with its URL."""
    url = f"{deps.base_url}/status/{page.slug}"
    return PageModel(slug=page.slug, title=page.title, checks=page.checks, url=url)
