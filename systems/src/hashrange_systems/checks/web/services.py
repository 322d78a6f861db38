"""What the web needs of the rest of the system, in one place; `system` puts it together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hashrange import Clock
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.senders.mailbox import Mailbox
from hashrange_systems.checks.senders.sender import Sender
from hashrange_systems.checks.service.channels import Channels
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.keys import Keys
from hashrange_systems.checks.service.ledger import Ledger
from hashrange_systems.checks.service.pages import Pages
from hashrange_systems.checks.service.users import Users


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services that the pages and the API call."""

    db: Checks
    clock: Clock
    users: Users
    keys: Keys
    channels: Channels
    pages: Pages
    ledger: Ledger
    history: History
    senders: Mapping[str, Sender] = field(default_factory=dict)
    mailbox: Mailbox | None = None  # what was sent while no mail server is configured
    demo_email: str | None = None  # whose checks a visitor of the demo sees
    admin_token: str | None = field(default=None, repr=False)  # opens the operator's part of the API; None closes it

    @property
    def secret(self) -> bytes:
        """What signs links and sessions: the session's own, so that all processes with it agree."""
        return self.db.session.secret
