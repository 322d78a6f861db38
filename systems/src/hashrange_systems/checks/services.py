"""The services that the web, the worker and the commands use; `application` creates them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hashrange import Clock
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.api_keys import Keys
from hashrange_systems.checks.service.channels import Channels
from hashrange_systems.checks.service.checks import CheckService
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.status_pages import Pages
from hashrange_systems.checks.service.users import Users
from hashrange_systems.shared.notifications.demo_mailbox import Mailbox
from hashrange_systems.shared.notifications.sender import Sender
from hashrange_systems.shared.signed_token import TokenSigner
from hashrange_systems.shared.web.session import SessionCookies


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services that the pages and the API call."""

    db: Checks
    clock: Clock
    users: Users
    keys: Keys
    channels: Channels
    pages: Pages
    checks: CheckService
    history: History
    senders: Mapping[str, Sender] = field(default_factory=dict)
    mailbox: Mailbox | None = None  # the demo's mails
    demo_email: str | None = None  # the user that visitors of the demo are signed in as
    admin_token: str | None = field(default=None, repr=False)  # enables the operator's API

    @property
    def sessions(self) -> SessionCookies:
        """The sessions of the pages."""
        return SessionCookies(TokenSigner(self.secret, "checks"))

    @property
    def secret(self) -> bytes:
        """The secret that signs links and sessions."""
        return self.db.session.secret
