"""Builds the application from its parts, for the host and for the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hashrange import Clock, Transport
from hashrange_systems.kelifax.logos.logo_consumer import LogoConsumer
from hashrange_systems.kelifax.logos.logo_schema import LogoRecords
from hashrange_systems.kelifax.logos.logos import Logos
from hashrange_systems.kelifax.logos.object_store import open_store
from hashrange_systems.kelifax.record_item import WorkerPresence
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.kelifax.search.index_consumer import IndexConsumer
from hashrange_systems.kelifax.search.search import Search
from hashrange_systems.kelifax.service.admins import Admins
from hashrange_systems.kelifax.service.adoption import Adoption
from hashrange_systems.kelifax.service.analytics import Analytics
from hashrange_systems.kelifax.service.deletion import Deletion
from hashrange_systems.kelifax.service.digests import Digests
from hashrange_systems.kelifax.service.directory import Directory
from hashrange_systems.kelifax.service.duplicates import Duplicates
from hashrange_systems.kelifax.service.favourites import Favourites
from hashrange_systems.kelifax.service.link_checks import LinkChecks
from hashrange_systems.kelifax.service.mails import Mailer, MailOutbox
from hashrange_systems.kelifax.service.moderation import Moderation
from hashrange_systems.kelifax.service.ownerships import Ownerships
from hashrange_systems.kelifax.service.privacy import Privacy
from hashrange_systems.kelifax.service.proofs import Proofs
from hashrange_systems.kelifax.service.quotas import Quotas
from hashrange_systems.kelifax.service.reviews import Reviews
from hashrange_systems.kelifax.service.submissions import Submissions
from hashrange_systems.kelifax.service.suggestions import Suggestions
from hashrange_systems.kelifax.service.view_counts import ViewCounts
from hashrange_systems.kelifax.services import Services
from hashrange_systems.kelifax.settings import Settings
from hashrange_systems.kelifax.worker import Worker
from hashrange_systems.shared.channels.channel_type import SenderParts
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.sender import Sender
from hashrange_systems.shared.channels.type_registry import EMAIL
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.own_address import ServiceLocation
from hashrange_systems.shared.fetching.policy import Policy
from hashrange_systems.shared.presence import Presence
from hashrange_systems.shared.sandbox.sandbox import Sandbox
from hashrange_systems.shared.secret_file import find_secret
from hashrange_systems.shared.signed_token import TokenSigner

PATTERNS = (Kelifax, LogoRecords)  # all tables of the system


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment(ServiceLocation):
    """Where the system runs, its directory, and whether it shows the demo."""

    directory: Path | None = None
    demo_admin: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The services and the worker."""

    services: Services
    worker: Worker
    index_consumer: IndexConsumer
    sandbox: Sandbox

    async def close(self) -> None:
        """Store the last views, and release processes and files."""
        await self.services.view_counts.store()
        await self.index_consumer.close()
        self.sandbox.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What several services need."""

    db: Kelifax
    clock: Clock
    signer: TokenSigner
    mailer: Mailer
    quotas: Quotas
    duplicates: Duplicates
    proofs: Proofs
    moderation: Moderation
    deletion: Deletion
    fetcher: Fetcher
    sender: Sender | None

    @property
    def by_mail(self) -> bool:
        """Whether addresses are confirmed by mail."""
        return self.sender is not None


def build_application(database: Transport, clock: Clock, settings: Settings, deployment: Deployment) -> Application:
    """Create the services and the worker."""
    directory = deployment.directory
    secret = find_secret(settings.secret, directory)
    db = Kelifax.open(database, clock=clock, secret=secret)
    logo_records = LogoRecords.open(database, clock=clock, secret=secret)
    mailbox = Mailbox(clock) if deployment.demo_admin else None
    sandbox = Sandbox(processes=2, modules=["hashrange_systems.kelifax.logos.image"])
    logos = Logos(logo_records, db, open_store(settings.logos, directory), sandbox, clock)
    parts = make_parts(db, clock, settings, deployment, mailbox, logos)
    index_consumer = IndexConsumer(db, directory / "search" if directory else None)
    services = make_services(parts, settings, deployment, logos, Search(db, index_consumer), mailbox)
    outbox = MailOutbox(
        db=db,
        clock=clock,
        signer=parts.signer,
        sender=parts.sender,
        base_url=deployment.base_url,
        site=settings.site,
    )
    worker = Worker(services, outbox, index_consumer, LogoConsumer(db, logo_records))
    return Application(services=services, worker=worker, index_consumer=index_consumer, sandbox=sandbox)


def make_parts(
    db: Kelifax, clock: Clock, settings: Settings, deployment: Deployment, mailbox: Mailbox | None, logos: Logos
) -> Parts:
    """Create what several services need; in the demo mails stay in a mailbox."""
    signer = TokenSigner(db.session.secret, "kelifax")
    policy = Policy(
        exempt=settings.allow,
        own_ports=deployment.own_ports,
        own=deployment.own,
    )
    fetcher = Fetcher(policy, user_agent="hashrange-kelifax")
    sender = EMAIL.make_sender(SenderParts(fetcher=fetcher, clock=clock, mail=settings.mail, mailbox=mailbox))
    mailer, duplicates = Mailer(db, clock, enabled=sender is not None), Duplicates(db, clock)
    return Parts(
        db=db,
        clock=clock,
        signer=signer,
        mailer=mailer,
        quotas=Quotas(db, clock),
        duplicates=duplicates,
        proofs=Proofs(db, clock, signer.secret, settings.proof_cost),
        moderation=Moderation(db, clock, mailer, duplicates, logos.exists, logos.record_use),
        deletion=Deletion(db, clock),
        fetcher=fetcher,
        sender=sender,
    )


def make_services(
    parts: Parts, settings: Settings, deployment: Deployment, logos: Logos, search: Search, mailbox: Mailbox | None
) -> Services:
    """Create the services."""
    db, clock, signer, quotas, mailer = parts.db, parts.clock, parts.signer, parts.quotas, parts.mailer
    by_mail, moderation = parts.by_mail, parts.moderation
    submissions = Submissions(
        db, clock, signer, parts.proofs, quotas, parts.duplicates, mailer, by_mail=by_mail, renew_logo=logos.renew
    )
    reviews = Reviews(db, clock, signer, quotas, mailer, by_mail=by_mail)
    return Services(
        db=db,
        clock=clock,
        signer=signer,
        site=settings.site,
        directory=Directory(db, clock, signer),
        search=search,
        submissions=submissions,
        duplicates=parts.duplicates,
        proofs=parts.proofs,
        logos=logos,
        suggestions=Suggestions(db, clock, quotas, moderation, logos.record_suggestion),
        link_checks=LinkChecks(db, clock, parts.fetcher, quotas, moderation),
        view_counts=ViewCounts(db, clock),
        reviews=reviews,
        favourites=Favourites(db, clock),
        ownerships=Ownerships(db, clock, signer, quotas, mailer, moderation, by_mail=by_mail),
        digests=Digests(db, clock, signer, quotas, mailer, deployment.base_url),
        admins=Admins(db, clock),
        moderation=moderation,
        deletion=parts.deletion,
        analytics=Analytics(db),
        privacy=Privacy(db, clock, reviews),
        adoption=Adoption(db, clock, parts.deletion, PATTERNS),
        presence=Presence(db, WorkerPresence, clock, works=settings.works),
        mailbox=mailbox,
        demo_admin=deployment.demo_admin,
    )
