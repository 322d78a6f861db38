"""Builds the application from its parts, for the host and for the command line."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from hashrange import Clock, Transport
from hashrange_systems.checks.demo.demo_data import EMAIL
from hashrange_systems.checks.demo.demo_site import DemoSite
from hashrange_systems.checks.deployment_schema import WorkerPresence
from hashrange_systems.checks.history_migration import move_history
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.alert_outbox import AlertOutbox
from hashrange_systems.checks.service.api_keys import Keys
from hashrange_systems.checks.service.channels import Channels
from hashrange_systems.checks.service.checks import CheckService
from hashrange_systems.checks.service.deployment import LOOPBACK
from hashrange_systems.checks.service.ebay_search import EbayAccess
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.manual_run_limit import ManualRunLimit
from hashrange_systems.checks.service.outbound_policy import OutboundPolicy, list_own_addresses
from hashrange_systems.checks.service.page_evaluation import PageEvaluator, make_sandbox
from hashrange_systems.checks.service.prober import Prober
from hashrange_systems.checks.service.runs import Runs
from hashrange_systems.checks.service.status_pages import Pages
from hashrange_systems.checks.service.users import Users
from hashrange_systems.checks.services import Services
from hashrange_systems.checks.settings import Settings
from hashrange_systems.checks.worker import Worker, WorkerSettings
from hashrange_systems.shared.channels.channel_type import SenderParts, TargetRules
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.type_registry import close_senders, make_senders
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.own_address import ServiceLocation
from hashrange_systems.shared.fetching.policy import Policy
from hashrange_systems.shared.sandbox.sandbox import Sandbox
from hashrange_systems.shared.secret_file import find_keys, find_secret
from hashrange_systems.shared.work.presence import Presence

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment(ServiceLocation):
    """Where the system runs, and the pages of the demo, if any."""

    site: DemoSite | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The services and the worker."""

    services: Services
    worker: Worker
    outbound: OutboundPolicy
    sandbox: Sandbox

    async def work(self) -> None:
        """Write the presence and follow the address policy; run checks and send alerts, if this process does."""
        presence = self.services.presence
        tasks = [asyncio.create_task(presence.write_forever()), asyncio.create_task(self.outbound.follow())]
        try:
            await (self.worker.work() if presence.works else asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        """Release its threads and processes."""
        close_senders(self.services.senders)
        self.sandbox.close()


def open_tables(database: Transport, clock: Clock, settings: Settings, directory: Path | None) -> Checks:
    """Bind the patterns to a database; the secret and the keys are in the directory, or in memory without one.

    What an older release has written elsewhere is moved before.
    """
    for left in move_history(database, clock, log_move).left:
        log.warning("an item of the history stays where it was: %s", left)
    secret, keys = find_secret(settings.secret, directory), find_keys(settings.keys, directory)
    return Checks.open(database, clock=clock, keys=keys, secret=secret)


def log_move(moved: int, total: int) -> None:
    """Log how far the history is moved."""
    log.info("the history of checks is moved to its own table: %s of about %s items", f"{moved:,}", f"{total:,}")


def agree(application: Application, settings: Settings, *, keys_kept: bool, demo: bool = False) -> None:
    """Make sure that this process fits to the others of its database, or raise DeploymentMismatch."""
    deployment = application.services.deployment
    application.outbound.apply(deployment.agree_on_policy(settings.allow, LOOPBACK if demo else ()))
    deployment.verify_keys(kept=keys_kept)


def build_application(db: Checks, clock: Clock, settings: Settings, deployment: Deployment) -> Application:
    """Create the services, the senders and the worker."""
    policy, sandbox = make_policy(settings, deployment), make_sandbox()
    fetcher = Fetcher(policy, user_agent="hashrange-checks", sandbox=sandbox)
    ebay, evaluator = find_ebay(settings, deployment.site), PageEvaluator(sandbox)
    runs = Runs(db, clock, Prober(fetcher, clock, ebay, rdap=settings.rdap, evaluator=evaluator))
    history = History(db, clock)
    mailbox = Mailbox(clock) if deployment.site else None
    parts = SenderParts(
        fetcher=fetcher,
        clock=clock,
        mail=settings.mail,
        mailbox=mailbox,
        apprise_hosts=settings.apprise_hosts,
        description="hashrange checks",
    )
    senders = make_senders(parts)
    outbox = AlertOutbox(db=db, clock=clock, senders=senders, find_page=lambda checkid: find_page(deployment, checkid))
    origins = deployment.own_origins
    worker = Worker(runs, history, outbox, db, clock, WorkerSettings(at_once=max(1, settings.at_once)))
    presence = Presence(
        db,
        WorkerPresence,
        clock,
        works=settings.works,
        addresses=list_own_addresses(deployment.own_ports),
        measure=worker.describe,
    )
    runs.presence = presence
    services = Services(
        db=db,
        clock=clock,
        users=Users(db, clock),
        keys=Keys(db, clock),
        channels=Channels(db, clock, TargetRules(own_origins=origins, apprise_hosts=settings.apprise_hosts)),
        pages=Pages(db, clock),
        checks=CheckService(db, clock, runs, own_origins=origins, manual_runs=ManualRunLimit(db, clock)),
        history=history,
        presence=presence,
        senders=senders,
        mailbox=mailbox,
        demo_email=EMAIL if deployment.site else None,
        admin_token=settings.admin_token,
    )
    outbound = OutboundPolicy(fetcher, policy, services.deployment, presence)
    return Application(services=services, worker=worker, outbound=outbound, sandbox=sandbox)


def make_policy(settings: Settings, deployment: Deployment) -> Policy:
    """Return what this process alone knows of the policy: where the service is, and whom to trust."""
    site = deployment.site
    return Policy(
        ca_file=site.trust(settings.ca_file) if site else settings.ca_file,
        own_ports=deployment.own_ports,
        own=deployment.own,
    )


def find_ebay(settings: Settings, site: DemoSite | None) -> EbayAccess:
    """Return the access to eBay; the demo without credentials uses its own page."""
    if site is None or settings.ebay.client_id:
        return settings.ebay
    return EbayAccess(site=site.url)


def find_page(deployment: Deployment, checkid: str) -> str:
    """Return the URL of a check's page."""
    return f"{deployment.base_url}/check/{checkid}"
