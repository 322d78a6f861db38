"""The API of an account: the user, API keys, channels, status pages, the monthly report."""

from __future__ import annotations

from datetime import UTC
from typing import Annotated

from fastapi import APIRouter, Depends, Path

from hashrange_systems.checks.model.announcement import read_announcements
from hashrange_systems.checks.model.uptime import NO_UPTIME
from hashrange_systems.checks.schema import StatusPage
from hashrange_systems.checks.service.channels import NewChannel
from hashrange_systems.checks.service.status_pages import PageContent
from hashrange_systems.checks.web.api.api_authentication import ApiDependencies, Caller, Deps
from hashrange_systems.checks.web.api.api_models import (
    AnnouncementInput,
    AnnouncementModel,
    ChannelInput,
    ChannelModel,
    EmailInput,
    KeyInput,
    KeyModel,
    Listed,
    MonitoringModel,
    NewChannelModel,
    NewKeyModel,
    PageInput,
    PageModel,
    PublicCheck,
    PublicPage,
    TokenInput,
    UserModel,
    to_announcement_model,
)
from hashrange_systems.checks.web.channel_verification import send_verification
from hashrange_systems.checks.web.check_view import OVERDUE, Row
from hashrange_systems.checks.web.status_page import read_page, read_public_rows, summarise_states
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.web.api import authenticate_caller
from hashrange_systems.shared.work.presence import Monitoring, WorkState

router = APIRouter()


# ── the user ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/users/me", tags=["account"])
async def read_me(caller: Caller) -> UserModel:
    """Return your user and the limits of your tier."""
    return UserModel.model_validate(caller)


@router.patch("/users/me", tags=["account"])
async def change_me(deps: Deps, caller: Caller, body: EmailInput) -> UserModel:
    """Ask for another e-mail address; it becomes yours when you confirm the message that is sent there."""
    changed = await deps.services.users.request_email(caller.userid, body.email)
    if changed.channel:
        await send_verification(deps.services, changed.channel)
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
    new = await deps.services.channels.add(caller.userid, body.channel_type, body.target, body.secret)
    return await send_link(deps, new, secret=deps.services.channels.find_revealed(new.channel))


@router.post("/channels/verify", tags=["channels"], dependencies=[Depends(authenticate_caller)])
async def verify_channel(deps: Deps, body: TokenInput) -> ChannelModel:
    """Verify a channel with the token that was sent there."""
    channel = await deps.services.channels.verify(body.token)
    await deps.services.users.confirm_email(channel)
    return ChannelModel.model_validate(channel)


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
    asked = await send_verification(deps.services, new)
    shown = ChannelModel.model_validate(new.channel)
    return NewChannelModel(**shown.model_dump(), asked=asked, secret=secret)


# ── status pages ─────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/status-pages", tags=["status pages"])
async def list_pages(deps: Deps, caller: Caller) -> Listed[PageModel]:
    """List your public status pages."""
    found = await deps.services.pages.list_by_user(caller.userid)
    return Listed(items=[to_page_model(deps, page) for page in found])


@router.get("/status-pages/{slug}", tags=["status pages"])
async def read_own_page(deps: Deps, caller: Caller, slug: str) -> PageModel:
    """Read a status page of yours."""
    return to_page_model(deps, await deps.services.pages.find_own(caller.userid, slug))


@router.put("/status-pages/{slug}", tags=["status pages"])
async def publish(deps: Deps, caller: Caller, slug: str, body: PageInput) -> PageModel:
    """Publish a status page under this address, or change it."""
    content = PageContent(title=body.title, checks=body.checks, intro=body.intro)
    return to_page_model(deps, await deps.services.pages.publish(caller.userid, slug, content))


@router.delete("/status-pages/{slug}", status_code=204, tags=["status pages"])
async def unpublish(deps: Deps, caller: Caller, slug: str) -> None:
    """Unpublish a status page."""
    await deps.services.pages.unpublish(caller.userid, slug)


@router.post("/status-pages/{slug}/announcements", status_code=201, tags=["status pages"])
async def announce(deps: Deps, caller: Caller, slug: str, body: AnnouncementInput) -> AnnouncementModel:
    """Add an announcement to a status page."""
    await deps.services.pages.find_own(caller.userid, slug)
    ends_at = (
        None
        if body.ends_at is None
        else to_ms(body.ends_at if body.ends_at.tzinfo else body.ends_at.replace(tzinfo=UTC))
    )
    new = await deps.services.pages.announce(caller.userid, slug, body.importance, body.title, body.text, ends_at)
    return to_announcement_model(new)


@router.delete("/status-pages/{slug}/announcements/{announcement_id}", status_code=204, tags=["status pages"])
async def withdraw(deps: Deps, caller: Caller, slug: str, announcement_id: str) -> None:
    """Remove an announcement."""
    await deps.services.pages.withdraw(caller.userid, slug, announcement_id)


@router.get("/status/{slug}", tags=["status pages"])
async def read_status(deps: Deps, slug: Annotated[str, Path(description="Of any status page.")]) -> PublicPage:
    """Read a published status page; no API key is needed."""
    page, checks = await read_page(deps.services, slug)
    monitoring = await deps.services.presence.read()
    rows = await read_public_rows(deps.services, checks, monitoring)
    shown = [to_public_check(row) for row in rows]
    current = [each for each in read_announcements(page.announcements) if each.is_shown(deps.services.clock.millis())]
    return PublicPage(
        title=page.title,
        intro=page.intro,
        state=summarise_states([row.state for row in rows]).word,
        monitoring=to_monitoring_model(monitoring),
        checks=shown,
        announcements=[to_announcement_model(each) for each in current],
    )


def to_public_check(row: Row) -> PublicCheck:
    """Return a check of a public page; an overdue one is Unknown."""
    state = "Unknown" if row.state.word == OVERDUE else row.state.word
    return PublicCheck(name=row.name, state=state, uptime=None if row.uptime == NO_UPTIME else row.uptime)


def to_monitoring_model(monitoring: Monitoring) -> MonitoringModel:
    """Return whether checks are being run."""
    since = monitoring.since if monitoring.state is WorkState.INTERRUPTED else None
    return MonitoringModel(state=monitoring.state.value, since=None if since is None else from_ms(since))


def to_page_model(deps: ApiDependencies, page: StatusPage) -> PageModel:
    """Return a status page with its URL."""
    url = f"{deps.base_url}/status/{page.slug}"
    announcements = [to_announcement_model(each) for each in read_announcements(page.announcements)]
    return PageModel(
        slug=page.slug, title=page.title, checks=page.checks, intro=page.intro, announcements=announcements, url=url
    )
