"""Builds the application from its parts, for the host and for the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hashrange import Clock, Transport
from hashrange_systems.aura.schema import Aura
from hashrange_systems.aura.service.changes import Changes
from hashrange_systems.aura.service.confirmations import Confirmations
from hashrange_systems.aura.service.crawler import Crawler, CrawlLimits
from hashrange_systems.aura.service.crawls import Crawls
from hashrange_systems.aura.service.damaged_shops import DamagedShops
from hashrange_systems.aura.service.health import Health
from hashrange_systems.aura.service.members import Members
from hashrange_systems.aura.service.notices import NoticeOutbox, Notices
from hashrange_systems.aura.service.owner import make_owner
from hashrange_systems.aura.service.preview import Preview
from hashrange_systems.aura.service.price_recorder import PriceRecorder
from hashrange_systems.aura.service.products import Products
from hashrange_systems.aura.service.registry import Registry
from hashrange_systems.aura.service.schedule import Intervals
from hashrange_systems.aura.service.scraper import Scraper
from hashrange_systems.aura.service.scrapes import Scrapes
from hashrange_systems.aura.service.site import SiteTools, make_sandbox
from hashrange_systems.aura.service.stream_registration import Registrar
from hashrange_systems.aura.service.watches import Watches
from hashrange_systems.aura.services import Services
from hashrange_systems.aura.settings import Settings
from hashrange_systems.aura.work_schema import Work, WorkerPresence
from hashrange_systems.aura.worker import Worker, WorkerParts, WorkerSettings
from hashrange_systems.shared.channels.channel_type import SenderParts, TargetRules
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.type_registry import close_senders, make_senders
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.own_address import ServiceLocation
from hashrange_systems.shared.fetching.policy import Policy, parse_exemptions
from hashrange_systems.shared.fetching.resolver import Resolver
from hashrange_systems.shared.sandbox.sandbox import Sandbox
from hashrange_systems.shared.secret_file import find_keys, find_secret
from hashrange_systems.shared.work.presence import Presence

LOOPBACK = parse_exemptions(["127.0.0.0/8", "::1"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment(ServiceLocation):
    """Where the system runs, and how names are resolved; with the demo's member."""

    demo: bool = False
    demo_email: str | None = None
    demo_shop: str | None = None  # the URL of a shop that visitors of the demo may add
    resolver: Resolver | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The patterns of both tables, bound to a database."""

    db: Aura
    work: Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The services and the worker."""

    services: Services
    worker: Worker
    sandbox: Sandbox

    def close(self) -> None:
        """Release its threads and processes."""
        close_senders(self.services.senders)
        self.sandbox.close()


def open_tables(database: Transport, clock: Clock, settings: Settings, directory: Path | None) -> Tables:
    """Bind the patterns to a database; the secret and the keys are in the directory, or in memory without one."""
    secret, keys = find_secret(settings.secret, directory), find_keys(settings.keys, directory)
    return Tables(
        db=Aura.open(database, clock=clock, secret=secret),
        work=Work.open(database, clock=clock, keys=keys, secret=secret),
    )


def build_application(tables: Tables, clock: Clock, settings: Settings, deployment: Deployment) -> Application:
    """Create the services, the senders and the worker."""
    db, work = tables.db, tables.work
    policy, sandbox = make_policy(settings, deployment), make_sandbox()
    fetcher = Fetcher(policy, resolver=deployment.resolver, user_agent=settings.user_agent, sandbox=sandbox)
    tools = SiteTools(fetcher=fetcher, sandbox=sandbox, clock=clock, agent=settings.agent)
    intervals = Intervals(crawl=settings.crawl_every, scrape=settings.scrape_every)
    limits = CrawlLimits(max_pages=settings.max_pages, at_once=settings.requests, delay_s=settings.delay_s)
    registry = Registry(db, work, clock)
    products = Products(db, work, clock, registry)
    notices = Notices(work, clock)
    watches = Watches(work, clock, products, notices)
    crawls, scrapes = Crawls(db, work, clock, intervals), Scrapes(db, work, clock, intervals)
    mailbox = Mailbox(clock) if deployment.demo and settings.mail is None else None
    senders = make_senders(
        SenderParts(fetcher=fetcher, clock=clock, mail=settings.mail, mailbox=mailbox, description="hashrange aura")
    )
    confirmations = Confirmations(work, clock, deployment.base_url)
    damaged = DamagedShops(db, clock)
    crawler = Crawler(db, work, clock, crawls, tools, limits)
    scraper = Scraper(db, work, clock, scrapes, products, PriceRecorder(db, work, clock), tools, limits)
    presence = Presence(work, WorkerPresence, clock, works=settings.works, worker_id=make_owner())
    services = Services(
        db=db,
        work=work,
        clock=clock,
        registry=registry,
        products=products,
        changes=Changes(work, clock),
        members=Members(work, clock, TargetRules(own_origins=deployment.own_origins, policy=policy)),
        watches=watches,
        notices=notices,
        confirmations=confirmations,
        crawls=crawls,
        scrapes=scrapes,
        crawler=crawler,
        scraper=scraper,
        preview=Preview(tools),
        health=Health(presence, clock, crawls, scrapes, damaged),
        damaged=damaged,
        senders=senders,
        mailbox=mailbox,
        demo_email=deployment.demo_email,
        demo_shop=deployment.demo_shop,
    )
    parts = WorkerParts(
        crawls=crawls,
        crawler=crawler,
        scrapes=scrapes,
        scraper=scraper,
        watches=watches,
        outbox=NoticeOutbox(work=work, clock=clock, senders=senders, confirmations=confirmations),
        registrar=Registrar(db, work, clock),
    )
    worker = Worker(parts, presence, clock, WorkerSettings(at_once=max(1, settings.shops_at_once)))
    return Application(services=services, worker=worker, sandbox=sandbox)


def make_policy(settings: Settings, deployment: Deployment) -> Policy:
    """Return the policy for crawls and webhooks: the demo may reach this machine, but never the service itself."""
    allowed = settings.allow | (LOOPBACK if deployment.demo else frozenset())
    return Policy(exempt=allowed, ca_file=settings.ca_file, own_ports=deployment.own_ports, own=deployment.own)
