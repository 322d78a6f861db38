"""Renders the templates of the pages, with the session cookie of the visitor."""

from __future__ import annotations

import re
from pathlib import Path

from markupsafe import Markup, escape

from hashrange_systems.checks.application import Application
from hashrange_systems.checks.model.outcome_text import format_price
from hashrange_systems.checks.schema import ActiveUser
from hashrange_systems.checks.service.check_type import show_url
from hashrange_systems.checks.web import check_view as view
from hashrange_systems.shared.charts.plot import plot_days, plot_days_small
from hashrange_systems.shared.epoch import from_ms, to_ms
from hashrange_systems.shared.web.session import SessionCookies
from hashrange_systems.shared.web.session_authenticator import SignedInVisitor
from hashrange_systems.shared.web.session_renderer import SessionRenderer

Visitor = SignedInVisitor[ActiveUser]

TIME = re.compile(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC")  # as shared.text.format_time writes it
STATIC = Path(__file__).with_name("static")
FLASH_MESSAGES = {  # shown after a redirect; the URL contains the name, never the text
    "added": "The check is added and runs right away.",
    "added-later": "The check is added. Its first run is at its regular time: no more runs at once are left for now.",
    "added-waiting": "The check is added and waits for the first signal.",
    "saved": "Saved.",
    "paused": "Paused. It does not run until you resume it.",
    "resumed": "Resumed. It runs right away.",
    "resumed-later": "Resumed. Its next run is at its regular time: no more runs at once are left for now.",
    "resumed-waiting": "Resumed. It waits for the next signal.",
    "run": "Done: the newest result is below.",
    "deleted": "The check and its history are deleted.",
    "window-added": "The maintenance window is added.",
    "window-removed": "The maintenance window is removed.",
    "channel-removed": "The channel is removed.",
    "asked": "A message with a link to confirm was sent.",
    "not-asked": "The channel is added, but the message with the link to confirm could not be sent. Try again later.",
    "revoked": "The key is revoked and no longer accepted.",
    "published": "The status page is published.",
    "announced": "The announcement is on the page.",
    "withdrawn": "The announcement is removed.",
    "two-factor-off": "Two-factor sign-in is off.",
    "unpublished": "The status page is no longer published.",
}


class PageRenderer(SessionRenderer[ActiveUser]):
    """Renders pages."""

    def __init__(self, services: Application, sessions: SessionCookies) -> None:
        base_url = services.runtime.base_url
        super().__init__(__package__, STATIC, sessions, services.clock, base_url, FLASH_MESSAGES)
        self.environment.filters["local_times"] = mark_times
        self.environment.globals |= {
            "demo": services.demo_email is not None,
            "has_mailbox": services.mailbox is not None,
            "view": view,
            "to_ms": to_ms,
            "from_ms": from_ms,
        }
        self.environment.globals |= {
            "format_price": format_price,
            "plot_days": plot_days,
            "plot_days_small": plot_days_small,
            "show_url": show_url,
        }


def mark_times(text: str) -> Markup:
    """Return a text, escaped, with its times marked, so that the page shows them in the reader's time zone."""
    marked, end = Markup(), 0
    for found in TIME.finditer(text):
        time = Markup('<time datetime="{}T{}Z" data-local>{}</time>').format(found[1], found[2], found[0])
        marked += escape(text[end : found.start()]) + time
        end = found.end()
    return marked + escape(text[end:])
