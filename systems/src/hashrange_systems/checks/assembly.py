"""Puts the parts of the system together, for who hosts it and for the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hashrange import Clock, LocalKeys, Transport
from hashrange_systems.checks.demo.fill import EMAIL
from hashrange_systems.checks.demo.site import DemoSite
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.secret import keep_secret
from hashrange_systems.checks.senders.apprise import Apprise
from hashrange_systems.checks.senders.email import Email
from hashrange_systems.checks.senders.mailbox import Mailbox
from hashrange_systems.checks.senders.sender import Sender
from hashrange_systems.checks.senders.webhook import Webhook
from hashrange_systems.checks.service.channels import Channels
from hashrange_systems.checks.service.ebay import EbayAccess
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.keys import Keys
from hashrange_systems.checks.service.ledger import Ledger
from hashrange_systems.checks.service.outbox import Outbox
from hashrange_systems.checks.service.pages import Pages
from hashrange_systems.checks.service.probe import Prober
from hashrange_systems.checks.service.runs import Runs
from hashrange_systems.checks.service.users import Users
from hashrange_systems.checks.settings import Settings
from hashrange_systems.checks.web.services import Services
from hashrange_systems.checks.worker import Worker, WorkerSettings
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions

LOOPBACK = parse_exemptions(["127.0.0.0/8", "::1", "localhost"])
OWN_HOSTS = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where the system runs: where its pages are, which ports are its own process's, and the demo's pages if any."""

    base_url: str
    own_ports: frozenset[int] = frozenset()
    site: DemoSite | None = None

    @property
    def own_origins(self) -> tuple[str, ...]:
        """The addresses that are this very service, and which nobody may check or be called at."""
        local = (f"http://{host}:{port}" for host in OWN_HOSTS for port in sorted(self.own_ports))
        return (self.base_url, *local)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """The system, ready to work."""

    services: Services
    worker: Worker
    apprise: Apprise

    def close(self) -> None:
        """Let go of what it holds."""
        self.apprise.close()


def open_tables(database: Transport, clock: Clock, settings: Settings, directory: Path | None) -> Checks:
    """Bind the patterns to a database; the secret and the keys are in the directory, or in memory without one."""
    secret = settings.secret or (keep_secret(directory / "secret") if directory else None)
    path = settings.keys or (directory / "keys.json" if directory else None)
    keys = LocalKeys(path) if path else LocalKeys.generate()
    return Checks.open(database, clock=clock, keys=keys, secret=secret)


def assemble(db: Checks, clock: Clock, settings: Settings, surroundings: Surroundings) -> Assembly:
    """Return the parts of the system, put together."""
    fetcher = Fetcher(make_policy(settings, surroundings), user_agent="hashrange-checks")
    runs = Runs(db, clock, Prober(fetcher, clock, find_ebay(settings, surroundings.site)))
    history = History(db, clock)
    apprise = Apprise(settings.apprise_hosts)
    mailbox = Mailbox(clock) if surroundings.site else None
    senders = make_senders(settings, fetcher, clock, apprise, mailbox)
    outbox = Outbox(db=db, clock=clock, senders=senders, find_page=lambda checkid: find_page(surroundings, checkid))
    origins = surroundings.own_origins
    services = Services(
        db=db,
        clock=clock,
        users=Users(db, clock),
        keys=Keys(db, clock),
        channels=Channels(db, clock, own_origins=origins, try_service=apprise.open),
        pages=Pages(db, clock),
        ledger=Ledger(db, clock, runs, own_origins=origins),
        history=history,
        senders=senders,
        mailbox=mailbox,
        demo_email=EMAIL if surroundings.site else None,
        admin_token=settings.admin_token,
    )
    worker = Worker(runs, history, outbox, db, clock, WorkerSettings(at_once=max(1, settings.at_once)))
    return Assembly(services=services, worker=worker, apprise=apprise)


def make_policy(settings: Settings, surroundings: Surroundings) -> Policy:
    """Return where checks and webhooks may go: in the demo to this machine too, but never to this process."""
    site = surroundings.site
    return Policy(
        exempt=settings.allow | (LOOPBACK if site else frozenset()),
        ca_file=site.trust(settings.ca_file) if site else settings.ca_file,
        own_ports=surroundings.own_ports,
    )


def find_ebay(settings: Settings, site: DemoSite | None) -> EbayAccess:
    """Return where eBay is: in the demo, without credentials, at the demo's own pages."""
    if site is None or settings.ebay.client_id:
        return settings.ebay
    return EbayAccess(site=site.url)


def make_senders(
    settings: Settings, fetcher: Fetcher, clock: Clock, apprise: Apprise, mailbox: Mailbox | None
) -> Mapping[str, Sender]:
    """Return who sends to which kind of channel; without a mail server nobody sends e-mails."""
    senders: dict[str, Sender] = {"WEBHOOK": Webhook(fetcher, clock), "APPRISE": apprise}
    if mailbox is not None:
        senders["EMAIL"] = mailbox
    elif settings.mail is not None:
        senders["EMAIL"] = Email(settings.mail, clock)
    return senders


def find_page(surroundings: Surroundings, checkid: str) -> str:
    """Return where a check can be looked at."""
    return f"{surroundings.base_url}/check/{checkid}"
