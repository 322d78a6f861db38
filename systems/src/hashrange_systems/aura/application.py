"""The application of aura: one of each of its services, and its background work."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial

from hashrange_systems.aura.accounts_migration import move_accounts
from hashrange_systems.aura.demo.demo_catalogue import DEMO_EMAIL, FREE_SHOP
from hashrange_systems.aura.demo.demo_server import DemoResolver, DemoServer
from hashrange_systems.aura.schema import Aura
from hashrange_systems.aura.service.changes import Changes
from hashrange_systems.aura.service.crawler import Crawler, CrawlLimits
from hashrange_systems.aura.service.crawls import Crawls
from hashrange_systems.aura.service.damaged_shops import DamagedShops
from hashrange_systems.aura.service.due_shops import DueShops
from hashrange_systems.aura.service.health import Health
from hashrange_systems.aura.service.members import MemberOwners, Members
from hashrange_systems.aura.service.notices import Notices, render_notice
from hashrange_systems.aura.service.owner import make_owner
from hashrange_systems.aura.service.preview import Preview
from hashrange_systems.aura.service.price_recorder import PriceRecorder
from hashrange_systems.aura.service.products import Products
from hashrange_systems.aura.service.registry import Registry
from hashrange_systems.aura.service.run_now import RunNow
from hashrange_systems.aura.service.schedule import Intervals
from hashrange_systems.aura.service.scraper import Scraper
from hashrange_systems.aura.service.scrapes import Scrapes
from hashrange_systems.aura.service.site import SiteTools, make_sandbox
from hashrange_systems.aura.service.stream_registration import Registrar
from hashrange_systems.aura.service.watches import Watches
from hashrange_systems.aura.settings import Settings
from hashrange_systems.aura.work_schema import AuraAccounts, Work, WorkerPresence
from hashrange_systems.shared.accounts.account_services import make_account_services
from hashrange_systems.shared.accounts.key_mark import verify_keys
from hashrange_systems.shared.application.application_type import ApplicationType, ReportProgress
from hashrange_systems.shared.application.runtime import Runtime
from hashrange_systems.shared.channels.channel_type import TargetRules
from hashrange_systems.shared.channels.channels import ChannelOptions
from hashrange_systems.shared.channels.outbox import Outbox, render_question
from hashrange_systems.shared.channels.type_registry import close_senders, make_senders
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.policy import parse_exemptions
from hashrange_systems.shared.fetching.resolver import SystemResolver
from hashrange_systems.shared.sandbox.sandbox import Sandbox
from hashrange_systems.shared.work.loops import Loop, Loops
from hashrange_systems.shared.work.presence import Presence

log = logging.getLogger(__name__)

PATTERNS = (Aura, Work, AuraAccounts)  # all tables; that of the checkpoints is made by who reads the stream
LOOPBACK = parse_exemptions(["127.0.0.0/8", "::1"])
DEMO_INTERVAL = timedelta(minutes=3)  # the prices of the demo change that often
DEMO_DELAY_S = 0.05
MAX_CHANNELS = 10  # of a member
PURPOSE = "messages about antiques and their prices"


class Application:
    """The services of aura; a test shares a sandbox between applications, and gives a fetcher of its own."""

    def __init__(
        self, runtime: Runtime[Settings], *, sandbox: Sandbox | None = None, fetcher: Fetcher | None = None
    ) -> None:
        settings, clock = runtime.settings, runtime.clock
        self.runtime, self.clock, self.mailbox = runtime, clock, runtime.mailbox
        move_former_accounts(runtime)
        self.db, self.work = db, work = runtime.bind(Aura.open), runtime.bind(Work.open)
        self.demo_server = DemoServer(clock, settings.demo_port) if runtime.demo else None
        if self.demo_server is not None:
            runtime.on_close(self.demo_server.close)
        self.demo_email = DEMO_EMAIL if runtime.demo else None
        self.demo_shop = self.demo_server.find_url(FREE_SHOP) if self.demo_server else None
        if sandbox is None:
            sandbox = make_sandbox()
            runtime.on_close(sandbox.close)
        # the demo may request this machine, but never the service itself
        policy = runtime.make_policy(settings.allow | (LOOPBACK if runtime.demo else frozenset()), settings.ca_file)
        fetcher = fetcher or Fetcher(
            policy,
            resolver=DemoResolver(SystemResolver()) if runtime.demo else None,
            user_agent=settings.user_agent,
            sandbox=sandbox,
        )
        self.tools = tools = SiteTools(fetcher=fetcher, sandbox=sandbox, clock=clock, agent=settings.agent)
        self.senders = senders = make_senders(runtime.make_sender_parts(fetcher))
        runtime.on_close(lambda: close_senders(senders))
        intervals, limits = find_pace(settings, demo=runtime.demo)
        self.registry = Registry(db, work, clock)
        self.products = Products(db, work, clock, self.registry)
        self.changes = Changes(work, clock)
        rules = TargetRules(own_origins=runtime.location.own_origins, policy=policy)
        self.accounts = accounts = make_account_services(
            runtime.bind(AuraAccounts.open),
            MemberOwners(work),
            clock,
            runtime.signer,
            base_url=runtime.base_url,
            demo=runtime.demo,
            channels=ChannelOptions(rules=rules, trusted={"WEBHOOK"}, most=MAX_CHANNELS),
        )
        self.members = Members(work, accounts, clock)
        self.notices = Notices(accounts.messages, accounts.channels)
        self.watches = Watches(work, clock, self.products, self.notices)
        self.outbox = Outbox(
            clock=clock,
            accounts=accounts.db,
            channels=accounts.channels,
            senders=senders,
            render=render_notice,
            render_question=partial(render_question, purpose=PURPOSE),
        )
        self.crawls, self.scrapes = Crawls(db, work, clock, intervals), Scrapes(db, work, clock, intervals)
        self.crawler = Crawler(db, work, clock, self.crawls, tools, limits)
        self.recorder = PriceRecorder(db, work, clock)
        self.scraper = Scraper(db, work, clock, self.scrapes, self.products, self.recorder, tools, limits)
        self.preview = Preview(tools)
        self.run_now = RunNow(db, self.crawls, self.crawler, self.scrapes, self.scraper)
        runtime.on_close(self.run_now.close)
        self.damaged = DamagedShops(db, clock)
        self.registrar = Registrar(db, work, clock)
        self.presence = Presence(work, WorkerPresence, clock, works=settings.works, worker_id=make_owner())
        self.health = Health(self.presence, clock, self.crawls, self.scrapes, self.damaged)
        self.due_shops = DueShops(
            self.crawls, self.crawler, self.scrapes, self.scraper, clock, self.presence.worker_id, settings.workers
        )
        self.loops = Loops(
            self.presence, self.list_loops(), describe=self.due_shops.describe, finish=self.due_shops.stop
        )
        if "EMAIL" not in senders and not runtime.is_command:
            log.warning("no e-mails are sent: set AURA_SMTP_URL")

    def list_loops(self) -> list[Loop]:
        """Return the background work: due crawls and scrapes, messages, stuck shops, shops of other programs."""
        return [
            Loop("shops", 2, self.due_shops.start_due),
            Loop("messages", 1, self.notify),
            Loop("stuck shops", 60, self.reap),
            Loop("new shops", 30, self.registrar.register_new),
        ]

    async def notify(self) -> None:
        """Write the messages of new changes, and send what is due."""
        await self.watches.notify_changes()
        await self.outbox.send_all()

    async def reap(self) -> list[str]:
        """Return stuck crawls and scrapes to the state before them; return their domains."""
        reaped = [*await self.crawls.reap(), *await self.scrapes.reap()]
        for domain in reaped:
            log.warning("a stuck shop was released", extra={"fields": {"shop": domain}})
        return reaped


def log_progress(what: str, done: int, total: int) -> None:
    """Log how far data is moved."""
    log.info("%s are moved: those of %s of %s members", what, f"{done:,}", f"{total:,}")


def move_former_accounts(runtime: Runtime[Settings], report: ReportProgress = log_progress) -> None:
    """Move the accounts of the release before to their own table, if the keys are those that sealed their secrets."""

    def verify() -> None:
        if runtime.keeps_keys:
            accounts = runtime.bind(AuraAccounts.open)
            verify_keys(accounts, runtime.clock, runtime.settings.name_variable("keys"), kept=True)

    database, clock, keys = runtime.database, runtime.clock, runtime.keys
    move = move_accounts(database, clock, keys, partial(report, "accounts"), before=verify)
    for left in move.left:
        log.warning("an item of an account stays where it was: %s", left)


def find_pace(settings: Settings, *, demo: bool) -> tuple[Intervals, CrawlLimits]:
    """Return how often shops are visited, and how fast; those of the demo are on this machine and change often."""
    crawl, scrape = timedelta(hours=settings.crawl_hours), timedelta(hours=settings.scrape_hours)
    intervals = Intervals(crawl=DEMO_INTERVAL, scrape=DEMO_INTERVAL) if demo else Intervals(crawl=crawl, scrape=scrape)
    delay_s = DEMO_DELAY_S if demo else settings.delay_ms / 1000
    return intervals, CrawlLimits(max_pages=settings.max_pages, at_once=settings.requests, delay_s=delay_s)


APPLICATION = ApplicationType(Application, Settings, PATTERNS)
