"""The services that the web, the worker and the commands use; `application` creates them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hashrange import Clock
from hashrange_systems.aura.schema import Aura
from hashrange_systems.aura.service.changes import Changes
from hashrange_systems.aura.service.confirmations import Confirmations
from hashrange_systems.aura.service.crawler import Crawler
from hashrange_systems.aura.service.crawls import Crawls
from hashrange_systems.aura.service.damaged_shops import DamagedShops
from hashrange_systems.aura.service.health import Health
from hashrange_systems.aura.service.members import Members
from hashrange_systems.aura.service.notices import Notices
from hashrange_systems.aura.service.preview import Preview
from hashrange_systems.aura.service.products import Products
from hashrange_systems.aura.service.registry import Registry
from hashrange_systems.aura.service.scraper import Scraper
from hashrange_systems.aura.service.scrapes import Scrapes
from hashrange_systems.aura.service.watches import Watches
from hashrange_systems.aura.work_schema import Work
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.sender import Sender
from hashrange_systems.shared.signed_token import TokenSigner
from hashrange_systems.shared.web.session import SessionCookies


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services that the pages and the API call."""

    db: Aura
    work: Work
    clock: Clock
    registry: Registry
    products: Products
    changes: Changes
    members: Members
    watches: Watches
    notices: Notices
    confirmations: Confirmations
    crawls: Crawls
    scrapes: Scrapes
    crawler: Crawler
    scraper: Scraper
    preview: Preview
    health: Health
    damaged: DamagedShops
    senders: Mapping[str, Sender] = field(default_factory=dict)
    mailbox: Mailbox | None = None  # the demo's mails
    demo_shop: str | None = None  # the URL of a shop that they may add
    demo_email: str | None = None  # the member that visitors of the demo are signed in as

    @property
    def sessions(self) -> SessionCookies:
        """The sessions of the pages."""
        return SessionCookies(TokenSigner(self.secret, "aura"))

    @property
    def secret(self) -> bytes:
        """The secret that signs links and sessions."""
        return self.work.session.secret
