"""Renders the templates of the pages, with the session cookie of the visitor."""

from __future__ import annotations

from pathlib import Path

from hashrange_systems.aura.application import Application
from hashrange_systems.aura.model.domain import is_host
from hashrange_systems.aura.model.price_format import format_amount, format_price
from hashrange_systems.aura.service.damaged_shops import NO_HOST
from hashrange_systems.aura.service.notices import name_message
from hashrange_systems.aura.web import page_view as view
from hashrange_systems.aura.work_schema import Member
from hashrange_systems.shared.web.session import SessionCookies
from hashrange_systems.shared.web.session_authenticator import SignedInVisitor
from hashrange_systems.shared.web.session_renderer import SessionRenderer

STATIC = Path(__file__).with_name("static")
Visitor = SignedInVisitor[Member]
FLASH_MESSAGES = {  # shown after a redirect; the URL contains the name, never the text
    "added": "The shop is registered. A worker crawls it as soon as one is free.",
    "saved": "Saved.",
    "paused": "Paused: it is neither crawled nor scraped until you resume it.",
    "resumed": "Resumed.",
    "queued": "A worker takes it as soon as one is free.",
    "stopping": "The running crawl or scrape ends at its next page.",
    "removed": "The shop, its pages and its prices are removed.",
    "answered": "Thank you: the answer is stored for both shops.",
    "watching": "It is on your watch list.",
    "unwatched": "It is no longer on your watch list.",
    "search-saved": "The search is saved: you are told when it finds a new product.",
    "search-removed": "The search is removed.",
}


class PageRenderer(SessionRenderer[Member]):
    """Renders pages."""

    def __init__(self, services: Application, sessions: SessionCookies) -> None:
        base_url = services.runtime.base_url
        super().__init__(__package__, STATIC, sessions, services.clock, base_url, FLASH_MESSAGES)
        self.environment.globals |= {"demo_shop": services.demo_shop, "view": view}
        self.environment.globals |= {"is_host": is_host, "NO_HOST": NO_HOST}
        self.environment.globals |= {"format_price": format_price, "format_amount": format_amount}
        self.environment.globals |= {"name_message": name_message}
