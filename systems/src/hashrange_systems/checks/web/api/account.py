"""The API of an account: the user, API keys, channels, the status page, the monthly report."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path

from hashrange_systems.checks.errors import NotThere
from hashrange_systems.checks.schema import StatusPage
from hashrange_systems.checks.service.channels import NewChannel
from hashrange_systems.checks.web.api.answer import (
    ChannelShown,
    ChannelWish,
    EmailWish,
    KeyShown,
    KeyWish,
    Listed,
    NewChannelShown,
    NewKeyShown,
    PageShown,
    PageWish,
    PublicCheck,
    PublicPage,
    TokenWish,
    UserShown,
)
from hashrange_systems.checks.web.api.caller import Caller, Counter, Here, find_caller
from hashrange_systems.checks.web.invitation import invite
from hashrange_systems.checks.web.status import read_page, read_public_rows, sum_up

router = APIRouter()


# ── the user ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/users/me", tags=["account"])
async def read_me(caller: Caller) -> UserShown:
    """Tell who you are, and what your tier allows."""
    return UserShown.model_validate(caller)


@router.patch("/users/me", tags=["account"])
async def change_me(counter: Here, caller: Caller, wish: EmailWish) -> UserShown:
    """Change your e-mail address; messages go there once it is confirmed."""
    changed = await counter.services.users.change_email(caller.userid, wish.email)
    if changed.channel:
        await invite(counter.services, counter.base_url, changed.channel)
    return UserShown.model_validate(changed.user)


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/keys", tags=["account"])
async def list_keys(counter: Here, caller: Caller) -> Listed[KeyShown]:
    """List your API keys; their texts are nowhere."""
    return Listed(items=[KeyShown.model_validate(key) for key in await counter.services.keys.of_user(caller.userid)])


@router.post("/keys", status_code=201, tags=["account"])
async def make_key(counter: Here, caller: Caller, wish: KeyWish) -> NewKeyShown:
    """Make an API key. Its text is in this answer and nowhere else."""
    new = await counter.services.keys.add(caller.userid, wish.name)
    shown = KeyShown.model_validate(new.key)
    return NewKeyShown(**shown.model_dump(), key=new.text)


@router.delete("/keys/{key_id}", status_code=204, tags=["account"])
async def revoke_key(counter: Here, caller: Caller, key_id: str) -> None:
    """Revoke an API key: from now on it opens nothing."""
    await counter.services.keys.revoke(caller.userid, key_id)


# ── channels ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/channels", tags=["channels"])
async def list_channels(counter: Here, caller: Caller) -> Listed[ChannelShown]:
    """List where your messages go."""
    found = await counter.services.channels.of_user(caller.userid)
    return Listed(items=[ChannelShown.model_validate(channel) for channel in found])


@router.post("/channels", status_code=201, tags=["channels"])
async def add_channel(counter: Here, caller: Caller, wish: ChannelWish) -> NewChannelShown:
    """Add a channel; a link is sent there, and messages once it was followed."""
    new = await counter.services.channels.add(caller.userid, wish.kind, wish.target, wish.secret)
    return await ask(counter, new, secret=new.channel.secret if new.channel.kind == "WEBHOOK" else None)


@router.post("/channels/verify", tags=["channels"], dependencies=[Depends(find_caller)])
async def verify_channel(counter: Here, wish: TokenWish) -> ChannelShown:
    """Confirm an address with the token that was sent there."""
    return ChannelShown.model_validate(await counter.services.channels.verify(wish.token))


@router.post("/channels/{channel_id}/ask", tags=["channels"])
async def ask_channel(counter: Here, caller: Caller, channel_id: str) -> NewChannelShown:
    """Send the link to confirm again, at most every ten minutes."""
    return await ask(counter, await counter.services.channels.ask_again(caller.userid, channel_id))


@router.delete("/channels/{channel_id}", status_code=204, tags=["channels"])
async def remove_channel(counter: Here, caller: Caller, channel_id: str) -> None:
    """Remove a channel; what waits to be sent there is not sent."""
    await counter.services.channels.remove(caller.userid, channel_id)


async def ask(counter: Counter, new: NewChannel, secret: str | None = None) -> NewChannelShown:
    """Send the link, and return the channel."""
    asked = await invite(counter.services, counter.base_url, new)
    shown = ChannelShown.model_validate(new.channel)
    return NewChannelShown(**shown.model_dump(), asked=asked, secret=secret)


# ── the status page ──────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/status-page", tags=["status page"])
async def read_own_page(counter: Here, caller: Caller) -> PageShown:
    """Read your public status page."""
    if caller.page_slug is None:
        raise NotThere("page")
    return show_page(counter, await counter.services.pages.find(caller.page_slug))


@router.put("/status-page", tags=["status page"])
async def publish(counter: Here, caller: Caller, wish: PageWish) -> PageShown:
    """Publish your status page, or change it."""
    return show_page(counter, await counter.services.pages.publish(caller.userid, wish.slug, wish.title, wish.checks))


@router.delete("/status-page", status_code=204, tags=["status page"])
async def unpublish(counter: Here, caller: Caller) -> None:
    """Take your status page off the web."""
    await counter.services.pages.unpublish(caller.userid)


@router.get("/status/{slug}", tags=["status page"])
async def read_status(counter: Here, slug: Annotated[str, Path(description="Of any status page.")]) -> PublicPage:
    """Read a status page that somebody published; this needs no key."""
    page, checks = await read_page(counter.services, slug)
    rows = await read_public_rows(counter.services, checks)
    shown = [PublicCheck(name=row.name, state=row.state.word, uptime=row.uptime) for row in rows]
    return PublicPage(title=page.title, state=sum_up([row.state for row in rows]).word, checks=shown)


def show_page(counter: Counter, page: StatusPage) -> PageShown:
    """Return a status page as its owner sees it."""
    url = f"{counter.base_url}/status/{page.slug}"
    return PageShown(slug=page.slug, title=page.title, checks=page.checks, url=url)
