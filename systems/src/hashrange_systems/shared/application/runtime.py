"""What a system builds its application from: its host's database and clock, its settings, secrets, mail.

The process that hosts it, a command and a test give the same `Host`; so there is one way to build an application.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from hashrange import Clock, Hook, Host, Keyring, Transport
from hashrange_systems.shared.application.settings import SystemSettings
from hashrange_systems.shared.channels.channel_type import SenderParts
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.own_address import ServiceLocation, find_endpoint
from hashrange_systems.shared.fetching.policy import Exemption, Policy
from hashrange_systems.shared.secret_file import find_keys, find_secret
from hashrange_systems.shared.signed_token import TokenSigner

SECRET_VARIABLE = "HASHRANGE_SECRET"  # noqa: S105 - its name

S = TypeVar("S", bound=SystemSettings)
P_co = TypeVar("P_co", covariant=True)


class OpenPatterns(Protocol[P_co]):
    """The method `open` of a class of patterns."""

    def __call__(
        self, database: Transport, *, clock: Clock, keys: Keyring, secret: bytes, hooks: Sequence[Hook]
    ) -> P_co:
        """Bind the patterns to a database."""
        ...


@dataclass(frozen=True, kw_only=True)
class Runtime(Generic[S]):
    """What every application is built from, opened once and closed once."""

    database: Transport
    clock: Clock
    settings: S
    secret: bytes = field(repr=False)  # signs cursors, sessions, links and forms
    keys: Keyring = field(repr=False)  # encrypt secret fields
    directory: Path | None  # for files; None when everything is in memory
    location: ServiceLocation
    demo: bool = False
    owns_database: bool = False  # nobody else writes to it before this process serves
    is_command: bool = False  # a command that ends soon: it serves no pages, and does no background work
    hooks: Sequence[Hook] = ()
    mailbox: Mailbox | None = None  # keeps the mails of the demo
    _closing: AsyncExitStack = field(default_factory=AsyncExitStack)

    @classmethod
    def open(cls, host: Host, settings_type: type[S], *, is_command: bool = False, hooks: Sequence[Hook] = ()) -> Self:
        """Return the runtime of a host; raise InvalidSetting if its environment is not valid.

        `hooks` are called after every operation of the patterns.
        """
        settings, directory = settings_type.read(host.environment), host.directory
        secret = find_secret(settings.secret, directory) or host.environment.get(SECRET_VARIABLE, "").encode()
        return cls(
            database=host.database,
            clock=host.clock,
            settings=settings,
            secret=secret or secrets.token_bytes(32),
            keys=find_keys(settings.keys, directory),
            directory=directory,
            location=ServiceLocation(
                base_url=settings.url or host.base_url,
                own_ports=host.own_ports,
                endpoint=find_endpoint(host.database),
            ),
            demo=host.demo,
            owns_database=host.owns_database,
            is_command=is_command,
            hooks=hooks,
            mailbox=Mailbox(host.clock) if host.demo else None,
        )

    @property
    def base_url(self) -> str:
        """The URL of the pages, without a slash at the end."""
        return self.location.base_url

    def make_sender_parts(self, fetcher: Fetcher, apprise_hosts: Collection[str] = ()) -> SenderParts:
        """Return what senders are made of: `make_senders(...)`, or `EMAIL.make_sender(...)` for e-mails alone."""
        return SenderParts(
            fetcher=fetcher,
            clock=self.clock,
            mail=self.settings.mail,
            mailbox=self.mailbox,
            apprise_hosts=apprise_hosts,
            description=f"hashrange {self.settings.system}",
        )

    @property
    def keeps_keys(self) -> bool:
        """Whether the keys are in a file, and not only in the memory of this process."""
        return self.settings.keys is not None or self.directory is not None

    @property
    def signer(self) -> TokenSigner:
        """What signs the tokens of the system."""
        return TokenSigner(self.secret, self.settings.system)

    def bind(self, open_patterns: OpenPatterns[P_co]) -> P_co:
        """Return patterns that are bound to the database: `runtime.bind(Stock.open)`."""
        return open_patterns(self.database, clock=self.clock, keys=self.keys, secret=self.secret, hooks=self.hooks)

    def make_policy(self, exempt: frozenset[Exemption] = frozenset(), ca_file: Path | None = None) -> Policy:
        """Return the policy of requests on behalf of users, which never reach the service itself."""
        location = self.location
        return Policy(exempt=exempt, ca_file=ca_file, own_ports=location.own_ports, own=location.own)

    def on_close(self, release: Callable[[], object]) -> None:
        """Call or await this when the runtime is closed, the last one first."""

        async def call() -> None:
            result = release()
            if inspect.isawaitable(result):
                await result

        self._closing.push_async_callback(call)

    async def close(self) -> None:
        """Release what the application has opened."""
        await self._closing.aclose()
