"""The application of the directory: one of each of its services, and its background work."""

from __future__ import annotations

import logging
from functools import partial

from hashrange import ResourceNotFoundException
from hashrange_systems.kelifax.accounts_migration import move_accounts
from hashrange_systems.kelifax.logos.logo_consumer import LogoConsumer
from hashrange_systems.kelifax.logos.logo_schema import LogoRecords
from hashrange_systems.kelifax.logos.logos import Logos
from hashrange_systems.kelifax.logos.object_store import open_store
from hashrange_systems.kelifax.record_item import WorkerPresence
from hashrange_systems.kelifax.schema import Kelifax, KelifaxAccounts
from hashrange_systems.kelifax.search.index_consumer import IndexConsumer
from hashrange_systems.kelifax.search.search import Search
from hashrange_systems.kelifax.service.admins import AdminOwners, Admins
from hashrange_systems.kelifax.service.adoption import Adoption
from hashrange_systems.kelifax.service.analytics import Analytics
from hashrange_systems.kelifax.service.deletion import Deletion
from hashrange_systems.kelifax.service.digests import Digests
from hashrange_systems.kelifax.service.directory import Directory
from hashrange_systems.kelifax.service.duplicates import Duplicates
from hashrange_systems.kelifax.service.favourites import Favourites
from hashrange_systems.kelifax.service.link_checks import LinkChecks
from hashrange_systems.kelifax.service.mails import Mailer, MailRenderer
from hashrange_systems.kelifax.service.moderation import Moderation
from hashrange_systems.kelifax.service.ownerships import Ownerships
from hashrange_systems.kelifax.service.privacy import Privacy
from hashrange_systems.kelifax.service.proofs import Proofs
from hashrange_systems.kelifax.service.quotas import Quotas
from hashrange_systems.kelifax.service.reviews import Reviews
from hashrange_systems.kelifax.service.submissions import Submissions
from hashrange_systems.kelifax.service.suggestions import Suggestions
from hashrange_systems.kelifax.service.view_counts import ViewCounts
from hashrange_systems.kelifax.settings import Settings
from hashrange_systems.shared.accounts.account_services import make_account_services
from hashrange_systems.shared.accounts.key_mark import KeysDiffer, verify_keys
from hashrange_systems.shared.application.application_type import ApplicationType, ReportProgress
from hashrange_systems.shared.application.runtime import Runtime
from hashrange_systems.shared.channels.type_registry import EMAIL
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.sandbox.sandbox import Sandbox
from hashrange_systems.shared.work.loops import Loop, Loops
from hashrange_systems.shared.work.presence import Presence

log = logging.getLogger(__name__)

KEYS = Settings.name_variable("keys")
PATTERNS = (Kelifax, KelifaxAccounts, LogoRecords)  # all tables of the system


class Application:
    """The services of the directory; `service/__init__.py` says for whom each is."""

    def __init__(self, runtime: Runtime[Settings]) -> None:
        settings, clock, directory = runtime.settings, runtime.clock, runtime.directory
        fetcher = Fetcher(runtime.make_policy(settings.allow), user_agent="hashrange-kelifax")
        signer, sender = runtime.signer, EMAIL.make_sender(runtime.make_sender_parts(fetcher))
        by_mail = sender is not None
        self.runtime, self.clock, self.mailbox = runtime, clock, runtime.mailbox
        move_former_accounts(runtime)
        self.db = db = runtime.bind(Kelifax.open)
        logo_records = runtime.bind(LogoRecords.open)
        sandbox = Sandbox(processes=2, modules=["hashrange_systems.kelifax.logos.image"])
        runtime.on_close(sandbox.close)
        self.index_consumer = IndexConsumer(db, directory / "search" if directory else None)
        runtime.on_close(self.index_consumer.close)
        self.search = Search(db, self.index_consumer)
        self.logos = logos = Logos(logo_records, db, open_store(settings.logos, directory), sandbox, clock)
        self.logo_consumer = LogoConsumer(db, logo_records)
        self.account_db = account_db = runtime.bind(KelifaxAccounts.open)
        self.accounts = make_account_services(
            account_db, AdminOwners(account_db), clock, signer, base_url=runtime.base_url
        )
        self.messages = self.accounts.messages
        mailer, quotas = Mailer(self.messages, enabled=by_mail), Quotas(db, clock)
        self.outbox = self.accounts.make_outbox(
            {} if sender is None else {EMAIL.name: sender},
            MailRenderer(signer, clock, runtime.base_url, settings.site).render,
        )
        self.directory = Directory(db, clock, signer)
        self.duplicates = duplicates = Duplicates(db, clock)
        self.proofs = Proofs(db, clock, runtime.secret, settings.proof_cost)
        self.submissions = Submissions(
            db, clock, signer, self.proofs, quotas, duplicates, mailer, by_mail=by_mail, renew_logo=logos.renew
        )
        self.moderation = moderation = Moderation(db, clock, mailer, duplicates, logos.exists, logos.record_use)
        self.suggestions = Suggestions(db, clock, quotas, moderation, logos.record_suggestion)
        self.link_checks = LinkChecks(db, clock, fetcher, quotas, moderation)
        self.view_counts = ViewCounts(db, clock)
        runtime.on_close(self.view_counts.store)
        self.reviews = Reviews(db, clock, signer, quotas, mailer, by_mail=by_mail)
        self.favourites = Favourites(db, clock)
        self.ownerships = Ownerships(db, clock, signer, quotas, mailer, moderation, by_mail=by_mail)
        self.digests = Digests(db, clock, signer, quotas, mailer, runtime.base_url)
        self.admins = Admins(account_db, self.accounts, self.verify_keys)
        self.deletion = Deletion(db, clock)
        self.analytics = Analytics(db)
        self.privacy = Privacy(db, clock, self.reviews, self.messages)
        self.adoption = Adoption(db, clock, self.deletion, PATTERNS)
        self.presence = Presence(db, WorkerPresence, clock, works=settings.works)
        self.loops = Loops(self.presence, self.list_loops())

        if not runtime.is_command:
            self.verify_keys()

    def verify_keys(self) -> None:
        """Raise KeysDiffer unless the other processes of the database can read what this one encrypts."""
        if self.runtime.is_command and not self.runtime.keeps_keys:
            raise KeysDiffer(f"Passwords are encrypted: set {KEYS} to keys.json of the directory of the server.")
        verify_keys(self.account_db, self.clock, KEYS, kept=self.runtime.keeps_keys)

    def list_loops(self) -> list[Loop]:
        """Return the background work: mails, view counts, features, links, digests, search, logos, foreign writes."""
        foreign_writes = self.adoption.make_consumer()
        loops = [
            Loop("search", 0.5, self.index_consumer.catch_up, in_each_process=True),  # each has an index of its own
            Loop("mails", 1, self.outbox.send_all),
            Loop("views", 5, self.view_counts.store),
            Loop("view counts", 300, self.view_counts.flush),
            Loop("features", 30, self.moderation.run_due_features),
            Loop("digests", 60, self.digests.send_due),
            Loop("facets", 600, self.directory.count_facets),
            Loop("foreign writes", 2, lambda: self.adoption.follow(foreign_writes)),
            Loop("damage reasons", 3600, self.adoption.replace_reasons),
            Loop("logos", 2, self.logo_consumer.catch_up),
            Loop("unused logos", 600, self.logos.sweep),
        ]
        if not self.runtime.demo:  # its hosts do not exist
            loops.append(Loop("links", 30, self.link_checks.run_due))
        return loops


def log_progress(what: str, done: int, total: int) -> None:
    """Log how far data is moved."""
    log.info("%s are moved: %s of about %s records are read", what, f"{done:,}", f"{total:,}")


def move_former_accounts(runtime: Runtime[Settings], report: ReportProgress = log_progress) -> None:
    """Move the admins and mails of the release before to their own table, if this process has keys for them."""
    if not runtime.keeps_keys:
        return
    try:
        move = move_accounts(runtime.database, runtime.clock, runtime.keys, partial(report, "admins and mails"))
    except ResourceNotFoundException:  # the tables are made later
        return
    for left in move.left:
        log.warning("an admin or a mail stays where it was: %s", left)


APPLICATION = ApplicationType(Application, Settings, PATTERNS)
