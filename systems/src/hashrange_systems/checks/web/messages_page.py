"""The page of messages: alerts to the visitor's channels, and the demo's mails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request
from markupsafe import Markup, escape
from starlette.responses import Response

from hashrange_systems.checks.model.alert_message import read_alert_context, render_notification
from hashrange_systems.checks.schema import Alert, Channel, Sent, Undeliverable
from hashrange_systems.checks.web.dependencies import Deps, SignedIn
from hashrange_systems.shared.channels.demo_mailbox import Mail
from hashrange_systems.shared.channels.sender import Notification
from hashrange_systems.shared.epoch import from_ms

MAX_SHOWN = 50

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class MailRow:
    """A mail; URLs of our own pages in it are links."""

    notification: Notification
    recipient: str
    at: datetime
    text: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRow:
    """An alert and its delivery."""

    checkid: str
    created_at: datetime
    subject: str
    channel: str
    delivery: str
    tone: str
    error: str


@router.get("/messages")
async def show_messages(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the latest messages."""
    userid, services = visitor.user.userid, deps.services
    mails = services.mailbox.mails(userid)[:MAX_SHOWN] if services.mailbox else []
    channels = await services.channels.list_by_user(userid)
    alerts: list[Alert] = list(await services.db.alerts_of(userid).whole().page(MAX_SHOWN))
    return deps.renderer.render(
        request,
        "messages.html",
        visitor,
        mails=[make_mail_row(mail, deps.base_url) for mail in mails],
        alerts=[make_alert_row(alert, channels) for alert in alerts],
    )


def make_mail_row(mail: Mail, base_url: str) -> MailRow:
    """Return the row of a mail."""
    return MailRow(
        mail.notification, mail.recipient, from_ms(mail.at), link_own_pages(mail.notification.text, base_url)
    )


def link_own_pages(text: str, base_url: str) -> Markup:
    """Return a text with links for the URLs of our own pages only."""
    lines = []
    for line in text.splitlines():
        before, found, rest = line.partition(f"{base_url}/")
        href = found + rest
        link = Markup('{}<a href="{}">{}</a>').format(before, href, href) if found and " " not in rest else escape(line)
        lines.append(link)
    return Markup("\n").join(lines)


def make_alert_row(alert: Alert, channels: Sequence[Channel]) -> AlertRow:
    """Return the row of an alert."""
    targets = {channel.channel_id: channel.target for channel in channels}
    delivery, tone = ("waiting", "pending")
    if isinstance(alert, Sent):
        delivery, tone = ("sent", "up")
    elif isinstance(alert, Undeliverable):
        delivery, tone = ("not delivered", "down")
    return AlertRow(
        checkid=alert.checkid,
        created_at=alert.created_at,
        subject=render_notification(read_alert_context(alert.topic, alert.checkid, alert.content)).subject,
        channel=targets.get(alert.channel_id, "removed"),
        delivery=delivery,
        tone=tone,
        error="" if isinstance(alert, Sent) else alert.last_error or "",
    )
