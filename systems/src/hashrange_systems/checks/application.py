"""The application of checks: one of each of its services, and its background work."""

from __future__ import annotations

import logging
from functools import partial

from hashrange_systems.checks.demo.demo_data import EMAIL
from hashrange_systems.checks.demo.demo_site import DemoSite
from hashrange_systems.checks.deployment_schema import WorkerPresence
from hashrange_systems.checks.history_migration import move_history, require_moved
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.alert_outbox import AlertOutbox
from hashrange_systems.checks.service.api_keys import Keys
from hashrange_systems.checks.service.channels import Channels
from hashrange_systems.checks.service.checks import CheckService
from hashrange_systems.checks.service.deployment import LOOPBACK, DeploymentSettings
from hashrange_systems.checks.service.ebay_search import EbayAccess
from hashrange_systems.checks.service.heartbeats import Heartbeats
from hashrange_systems.checks.service.history import History
from hashrange_systems.checks.service.imports import Imports
from hashrange_systems.checks.service.manual_run_limit import ManualRunLimit
from hashrange_systems.checks.service.outbound_policy import REFRESH_S, OutboundPolicy, list_own_addresses
from hashrange_systems.checks.service.page_evaluation import PageEvaluator, make_sandbox
from hashrange_systems.checks.service.prober import Prober
from hashrange_systems.checks.service.runs import Runs
from hashrange_systems.checks.service.sessions import Sessions
from hashrange_systems.checks.service.status_pages import Pages
from hashrange_systems.checks.service.two_factor import SecondFactors
from hashrange_systems.checks.service.users import Users
from hashrange_systems.checks.settings import Settings
from hashrange_systems.checks.worker import Worker, WorkerSettings
from hashrange_systems.shared.application.application_type import ApplicationType, ReportProgress
from hashrange_systems.shared.application.runtime import Runtime
from hashrange_systems.shared.channels.channel_type import TargetRules
from hashrange_systems.shared.channels.type_registry import close_senders, make_senders
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.work.loops import Loop, Loops
from hashrange_systems.shared.work.presence import Presence

log = logging.getLogger(__name__)


class Application:
    """The services of checks."""

    def __init__(self, runtime: Runtime[Settings]) -> None:
        settings, clock, origins = runtime.settings, runtime.clock, runtime.location.own_origins
        self.runtime, self.clock, self.mailbox = runtime, clock, runtime.mailbox
        move_former_history(runtime)
        self.db = db = runtime.bind(Checks.open)
        self.demo_site = site = DemoSite(clock, settings.demo_port) if runtime.demo else None
        if site is not None:
            runtime.on_close(site.close)
        self.demo_email = EMAIL if runtime.demo else None  # the user that visitors of the demo are signed in as
        sandbox = make_sandbox()
        runtime.on_close(sandbox.close)
        policy = runtime.make_policy(ca_file=site.trust(settings.ca_file) if site else settings.ca_file)
        fetcher = Fetcher(policy, user_agent="hashrange-checks", sandbox=sandbox)
        self.senders = make_senders(runtime.make_sender_parts(fetcher, settings.apprise_hosts))
        runtime.on_close(lambda: close_senders(self.senders))
        evaluator, ebay = PageEvaluator(sandbox), find_ebay(settings, site)
        self.runs = runs = Runs(db, clock, Prober(fetcher, clock, ebay, rdap=settings.rdap_url, evaluator=evaluator))
        self.history = History(db, clock)
        self.users = Users(db, clock)
        self.keys = Keys(db, clock)
        self.second_factors = SecondFactors(db, clock)
        self.ended_sessions = Sessions(db, clock)
        self.channels = Channels(db, clock, TargetRules(own_origins=origins, apprise_hosts=settings.apprise_hosts))
        self.pages = Pages(db, clock)
        self.checks = CheckService(db, clock, runs, own_origins=origins, manual_runs=ManualRunLimit(db, clock))
        self.imports = Imports(self.checks)
        self.heartbeats = Heartbeats(db, clock)
        self.deployment = DeploymentSettings(db, clock)
        self.outbox = AlertOutbox(db=db, clock=clock, senders=self.senders, find_page=self.find_page)
        self.worker = Worker(
            runs, self.history, self.outbox, db, clock, WorkerSettings(at_once=max(1, settings.workers))
        )
        self.presence = Presence(
            db,
            WorkerPresence,
            clock,
            works=settings.works,
            addresses=list_own_addresses(runtime.location.own_ports),
        )
        runs.presence = self.presence
        self.outbound = OutboundPolicy(fetcher, policy, self.deployment, self.presence)
        policy_loop = Loop("address policy", REFRESH_S, self.outbound.refresh, in_each_process=True)
        self.loops = Loops(
            self.presence,
            [policy_loop, *self.worker.list_loops()],
            describe=self.worker.describe,
            finish=self.worker.shut_down,
        )
        self.join_deployment()

    def join_deployment(self) -> None:
        """Make sure that this process fits to the others of its database, or raise DeploymentMismatch.

        A command only applies the stored policy.
        """
        runtime, settings = self.runtime, self.runtime.settings
        if runtime.is_command:
            self.outbound.apply(self.deployment.load_policy() or settings.allow or ())
            return
        self.outbound.apply(self.deployment.agree_on_policy(settings.allow, LOOPBACK if runtime.demo else ()))
        self.deployment.verify_keys(kept=runtime.directory is not None or settings.keys is not None)
        if "EMAIL" not in self.senders:
            log.warning("no e-mails are sent: set CHECKS_SMTP_URL")

    def find_page(self, checkid: str) -> str:
        """Return the URL of a check's page."""
        return f"{self.runtime.base_url}/check/{checkid}"


def ignore_progress(_what: str, _done: int, _total: int) -> None:
    """Report nothing."""


def move_former_history(runtime: Runtime[Settings], report: ReportProgress = ignore_progress) -> None:
    """Move the history of the release before to its own table, and log what stays where it was.

    To a database that is not ours alone, processes of that release may write: then raise PlanError if there is any.
    """
    if not runtime.owns_database:
        require_moved(runtime.database, runtime.clock)
        return
    for left in move_history(runtime.database, runtime.clock, partial(report, "the history of checks")).left:
        log.warning("an item of the history stays where it was: %s", left)


def find_ebay(settings: Settings, site: DemoSite | None) -> EbayAccess:
    """Return the access to eBay; the demo without credentials uses its own page."""
    if site is None or settings.ebay.client_id:
        return settings.ebay
    return EbayAccess(site=site.url)


APPLICATION = ApplicationType(Application, Settings, (Checks,))
