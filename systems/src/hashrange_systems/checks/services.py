"""The services that the web, the worker and the commands use; `application` creates them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hashrange import Clock
from hashrange_systems.checks.deployment_schema import WorkerPresence
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.api_keys import Keys
from hashrange_systems.checks.service.channels import Channels
from hashrange_systems.checks.service.checks import CheckService
from hashrange_systems.checks.service.deployment import DeploymentSettings
from hashrange_systems.checks.service.heartbeats import Heartbeats
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.imports import Imports
from hashrange_systems.checks.service.sessions import Sessions
from hashrange_systems.checks.service.status_pages import Pages
from hashrange_systems.checks.service.two_factor import SecondFactors
from hashrange_systems.checks.service.users import Users
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.sender import Sender
from hashrange_systems.shared.signed_token import TokenSigner
from hashrange_systems.shared.web.session import SessionCookies
from hashrange_systems.shared.work.presence import Presence


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
    presence: Presence[WorkerPresence]
    senders: Mapping[str, Sender] = field(default_factory=dict)
    mailbox: Mailbox | None = None  # the demo's mails
    demo_email: str | None = None  # the user that visitors of the demo are signed in as
    admin_token: str | None = field(default=None, repr=False)  # enables the operator's API

    @property
    def imports(self) -> Imports:
        """Imports of the files of other monitors."""
        return Imports(self.checks)

    @property
    def deployment(self) -> DeploymentSettings:
        """What the processes of this database agree on."""
        return DeploymentSettings(self.db, self.clock)

    @property
    def heartbeats(self) -> Heartbeats:
        """The signals of jobs."""
        return Heartbeats(self.db, self.clock)

    @property
    def ended_sessions(self) -> Sessions:
        """The sessions that were ended."""
        return Sessions(self.db, self.clock)

    @property
    def second_factors(self) -> SecondFactors:
        """The second factors of users."""
        return SecondFactors(self.db, self.clock)

    @property
    def sessions(self) -> SessionCookies:
        """The sessions of the pages."""
        return SessionCookies(TokenSigner(self.secret, "checks"))

    @property
    def secret(self) -> bytes:
        """The secret that signs links and sessions."""
        return self.db.session.secret
