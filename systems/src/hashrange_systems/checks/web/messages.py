"""The page of messages: what was sent to the visitor's channels, and what would have been mailed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter, Request
from markupsafe import Markup, escape
from starlette.responses import Response

from hashrange_systems.checks.model.message import Letter, read_notice, write_letter
from hashrange_systems.checks.schema import Alert, AnyCheck, Channel, Sent, Undeliverable
from hashrange_systems.checks.senders.mailbox import Mail
from hashrange_systems.checks.service.moment import from_ms
from hashrange_systems.checks.web.desk import Desk, Here, SignedIn

MOST_SHOWN = 50
MOST_CHECKS = 200

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class MailShown:
    """A mail as it is shown; addresses in it that are ours can be followed."""

    letter: Letter
    recipient: str
    at: datetime
    text: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertShown:
    """An alert, and what came of it."""

    checkid: str
    created_at: datetime
    subject: str
    channel: str
    delivery: str
    tone: str
    error: str


@router.get("/messages")
async def show_messages(request: Request, desk: Here, visitor: SignedIn) -> Response:
    """Show the latest messages."""
    userid, services = visitor.user.userid, desk.services
    mails = services.mailbox.mails(userid)[:MOST_SHOWN] if services.mailbox else []
    channels = await services.channels.of_user(userid)
    alerts = await read_alerts(desk, await services.ledger.of_user(userid))
    return desk.painter.show(
        request,
        "messages.html",
        visitor,
        mails=[show_mail(mail, desk.base_url) for mail in mails],
        alerts=[show_alert(alert, channels) for alert in alerts],
    )


async def read_alerts(desk: Desk, checks: Sequence[AnyCheck]) -> list[Alert]:
    """Return the latest alerts of these checks, the latest first."""
    queries = (desk.services.db.alerts(check.checkid) for check in checks[:MOST_CHECKS])
    found = [alert for some in await asyncio.gather(*map(_wait, queries)) for alert in some]
    return sorted(found, key=lambda alert: (alert.created_at, alert.message_id), reverse=True)[:MOST_SHOWN]


async def _wait(query: object) -> list[Alert]:
    found: list[Alert] = await query  # type: ignore[misc]  # a query is awaitable, not a coroutine
    return found


def show_mail(mail: Mail, base_url: str) -> MailShown:
    """Return a mail as it is shown."""
    return MailShown(mail.letter, mail.recipient, from_ms(mail.at), link_ours(mail.letter.text, base_url))


def link_ours(text: str, base_url: str) -> Markup:
    """Return a text in which the addresses of our own pages are links; those of others stay text."""
    lines = []
    for line in text.splitlines():
        before, found, rest = line.partition(f"{base_url}/")
        href = found + rest
        link = Markup('{}<a href="{}">{}</a>').format(before, href, href) if found and " " not in rest else escape(line)
        lines.append(link)
    return Markup("\n").join(lines)


def show_alert(alert: Alert, channels: Sequence[Channel]) -> AlertShown:
    """Return an alert as it is shown."""
    targets = {channel.channel_id: channel.target for channel in channels}
    delivery, tone = ("waiting", "pending")
    if isinstance(alert, Sent):
        delivery, tone = ("sent", "up")
    elif isinstance(alert, Undeliverable):
        delivery, tone = ("not delivered", "down")
    return AlertShown(
        checkid=alert.checkid,
        created_at=alert.created_at,
        subject=write_letter(read_notice(alert.topic, alert.checkid, alert.content)).subject,
        channel=targets.get(alert.channel_id, "removed"),
        delivery=delivery,
        tone=tone,
        error="" if isinstance(alert, Sent) else alert.last_error or "",
    )
