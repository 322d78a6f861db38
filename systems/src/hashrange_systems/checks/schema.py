"""Website checks: users with tiers and limits, their checks, schedules, results, incidents and alerts."""

from datetime import date, datetime
from typing import Annotated, Literal, Protocol

from pydantic import Field

from hashrange import (
    Add,
    Between,
    Delete,
    Ensure,
    Eq,
    Ge,
    Get,
    IsoMillis,
    Item,
    Key,
    Latest,
    Le,
    Once,
    Patterns,
    Query,
    Scan,
    Secret,
    Stored,
    Ttl,
    Update,
    Upsert,
    View,
    after,
    where,
)
from hashrange_systems.checks.deployment_schema import (
    AddressPolicy,
    KeyMark,
    ManualRunBudget,
    MessageBudget,
    WorkerPresence,
)
from hashrange_systems.checks.field_types import Address, Digest, Record, Result, Short, Slug, Status, Tier
from hashrange_systems.checks.history_schema import Ended, IncidentItem, Ongoing, RollupItem, Run
from hashrange_systems.checks.table_definitions import checks, users
from hashrange_systems.shared.channels.channel_type import Shown


# ── USER ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
class User(Item, table=users, PK="{userid}", SK="USER"):
    userid: Key[str]
    email: str
    tier: str  # one of Tier, or what another system wrote
    check_limit: int
    check_count: int | None = None  # None: never counted, as the original system left it
    status: str
    created_at: datetime
    updated_at: datetime
    page_slug: str | None = None  # of the only page, before there could be several
    page_slugs: list[str] | None = None
    signed_out_at: IsoMillis | None = None  # from all sessions that were started before
    wanted_email: str | None = None  # the next address, until it is confirmed


class ActiveUser(User):
    status: Literal["ACTIVE"] = "ACTIVE"


class SuspendedUser(User):
    status: Literal["SUSPENDED"] = "SUSPENDED"


class ClosingUser(User):
    """A user who is being deleted; deleted last, so that an interrupted deletion can be repeated."""

    status: Literal["CLOSING"] = "CLOSING"


class Login(View[User]):
    """A user in the e-mail index."""

    userid: Key[str]
    email: str
    tier: str
    status: str


class EmailClaim(Item, table=users, PK="EMAIL#{address}", SK="EMAIL"):
    """Guard: one user per e-mail address, case-insensitive; written in the transaction of the user."""

    address: Key[Address]
    owner: str


class ApiKey(Item, table=users, PK="{userid}", SK="APIKEY#{key_id}"):
    """An API key as its user sees it."""

    userid: Key[str]
    key_id: Key[str]
    name: str
    digest: Digest
    created_at: datetime
    last_used_at: datetime | None = None


class KeyClaim(Item, table=users, PK="APIKEY#{digest}", SK="APIKEY"):
    """Guard: the owner of a key, by its hash; written and deleted with the key."""

    digest: Key[Digest]
    owner: str
    key_id: str


class Channel(Item, table=users, PK="{userid}", SK="CHANNEL#{channel_id}"):
    """Where alerts are sent; nothing is sent to an unverified address."""

    userid: Key[str]
    channel_id: Key[str]
    channel_type: Annotated[str, Stored("kind")]  # one of channels.types
    target: Shown
    secret: Secret[str] | None = None  # signs a webhook, or is the secret part of an address
    created_at: datetime
    asked_at: datetime | None = None  # when the last verification link was sent
    verified_at: datetime | None = None


class AlertTarget(View[Channel]):
    """What queueing an alert needs of a channel, and no secret."""

    userid: Key[str]
    channel_id: Key[str]
    verified_at: datetime | None = None


class StatusPage(Item, table=users, PK="PAGE#{slug}", SK="PAGE"):
    """A public page, found by its slug, which only one user can have."""

    slug: Key[Slug]
    owner: str
    title: Short
    checks: list[str] = []
    intro: Annotated[str, Field(max_length=4000)] = ""
    announcements: list[Record] = []


class EndedSession(Item, table=users, PK="{userid}", SK="SIGNOUT#{session_id}"):
    """A session that its user ended, until it would have expired."""

    userid: Key[str]
    session_id: Key[str]
    expires_at: Ttl


class TwoFactor(Item, table=users, PK="{userid}", SK="TOTP"):
    """The second factor of a user: required for signing in once it is confirmed with a code."""

    userid: Key[str]
    secret: Secret[str]
    created_at: datetime
    confirmed_at: datetime | None = None
    recovery: list[str] = []  # hashes of the recovery codes that are left
    last_step: int = 0  # the time step of the last code: no code is accepted twice
    failures: int = 0  # wrong codes in a row
    locked_until: IsoMillis | None = None


# ── CHECK ────────────────────────────────────────────────────────────────────────────────────────────────────────────
class Check(Item, table=checks, PK="{checkid}", SK="CHECK"):
    checkid: Key[str]
    userid: str
    url: str
    check_type: str  # one of the model's, or of another system: readable, not runnable
    delay_ms: int
    attributes: Record = {}
    created_at: datetime
    updated_at: datetime  # of its configuration, not of runs
    last_executed_at: datetime | None = None
    last_result: Record | None = None  # written as a Result
    name: str | None = None
    state: Record | None = None  # retries, the open incident, flapping
    alert_history: Annotated[Record | None, Stored("told")] = None  # what alerts were sent
    rules: Record | None = None  # what alerts are wanted
    channels: list[str] | None = None  # which receive them; None for all of the user's
    maintenance: list[Record] | None = None
    revision: int | None = None  # counts the edits
    group: str | None = None
    tags: list[str] | None = None
    signal_key: str | None = None  # of a heartbeat: the secret part of the URL that the job calls
    signals: Record | None = None  # of a heartbeat: the latest


class ForeignCheck(Check):
    """A check in a status of another system: it can be shown and deleted."""

    status: str


class Active(Check):
    status: Literal["ACTIVE"] = "ACTIVE"


class Scheduled(Active, dueShard="{checkid:shard8}"):
    """A scheduled check; those of the original system are only Active until they are scheduled."""

    next_run_at: IsoMillis  # the due time, or while it runs the end of the worker's lease
    due_at: Annotated[IsoMillis | None, Stored("slot")] = None  # while it runs: its due time


class SuspendedCheck(Active):
    """An active check of a suspended user: unscheduled until the user is reinstated."""

    suspended_at: Annotated[datetime, Stored("shelvedAt")]


class Paused(Check):
    status: Literal["PAUSED"] = "PAUSED"


class Failed(Check):
    """Disabled automatically, because the check cannot work; a target that is down is in `last_result`."""

    status: Literal["FAILED"] = "FAILED"
    failed_reason: str | None = None


OurCheck = Active | Paused | Failed
AnyCheck = OurCheck | ForeignCheck


class Due(View[Scheduled]):
    """A due check in the due index."""

    checkid: Key[str]
    next_run_at: IsoMillis


class Typed(View[Check]):
    """A check in the index by type and status."""

    checkid: Key[str]
    userid: str
    check_type: str
    status: str
    created_at: datetime


class Alert(Item, table=checks, PK="{checkid}", SK="ALERT#{message_id}"):
    """A message for one channel; its id is derived from the event, so that it is never queued twice."""

    checkid: Key[str]
    message_id: Key[str]
    owner: str
    channel_id: str
    topic: str
    content: Record
    created_at: datetime
    attempts: int = 0
    last_error: Short | None = None
    expires_at: Ttl = after("created_at", days=90)


class Waiting(Alert, outboxShard="{checkid:shard8}"):
    delivery: Literal["WAITING"] = "WAITING"
    send_at: IsoMillis  # the time of the next attempt, or while it is sent the end of the lease


class Sent(Alert):
    delivery: Literal["SENT"] = "SENT"
    sent_at: datetime


class Undeliverable(Alert):
    delivery: Literal["UNDELIVERABLE"] = "UNDELIVERABLE"


class ListedAlert(View[Alert]):
    """An alert in the index by owner."""

    checkid: Key[str]
    message_id: Key[str]


class Outgoing(View[Waiting]):
    """An alert in the outbox index."""

    checkid: Key[str]
    message_id: Key[str]
    send_at: IsoMillis


below_limit = where("check_count < check_limit")
above_zero = where("check_count > 0")
uncounted = where("attribute_not_exists(check_count)")
unchanged = where("state = {seen}")  # no run has been recorded since it was read


class Checks(Patterns, Protocol):
    # deployment
    def address_policy(self) -> Get[AddressPolicy]: ...
    @where("revision = {seen}")
    def change_policy(
        self, allow: list[str], updated_at: datetime, revision: int, seen: int
    ) -> Update[AddressPolicy]: ...
    def key_mark(self) -> Get[KeyMark]: ...
    def workers(self) -> Query[WorkerPresence]: ...
    def forget_worker(self, worker_id: str) -> Delete[WorkerPresence]: ...
    @where("attribute_not_exists(sent) OR sent < {most}")
    def spend_message(
        self, scope: str, day: date, sent: Add[int], expires_at: datetime, most: int
    ) -> Upsert[MessageBudget]: ...
    @where("attribute_not_exists(refilled_at) OR refilled_at <= {now}")
    def spend_first_run(
        self, userid: str, refilled_at: int, expires_at: datetime, now: int
    ) -> Upsert[ManualRunBudget]: ...
    @where("refilled_at > {now} AND refilled_at <= {latest}")
    def spend_run(
        self, userid: str, refilled_at: Add[int], expires_at: datetime, now: int, latest: int
    ) -> Upsert[ManualRunBudget]: ...

    # users
    def user(self, userid: str) -> Get[User]: ...
    def all_users(self) -> Scan[User]: ...  # for operators
    def login(self, email: str) -> Query[Login]: ...
    def claim(self, address: str) -> Get[EmailClaim]: ...  # casefolded
    def owned_items(self, userid: str) -> Query[User | ApiKey | Channel]: ...
    def api_key(self, userid: str, key_id: str) -> Get[ApiKey]: ...
    def api_keys(self, userid: str) -> Query[ApiKey]: ...
    def key_owner(self, digest: str) -> Get[KeyClaim]: ...
    def channel(self, userid: str, channel_id: str) -> Get[Channel]: ...
    def channels(self, userid: str) -> Query[Channel]: ...
    def all_channels(self) -> Scan[Channel]: ...  # for the first check of the keys
    def alert_targets(self, userid: str) -> Query[AlertTarget]: ...
    def page(self, slug: str) -> Get[StatusPage]: ...
    def ended_session(self, userid: str, session_id: str) -> Get[EndedSession]: ...
    def ended_sessions(self, userid: str) -> Query[EndedSession]: ...
    def two_factor(self, userid: str) -> Get[TwoFactor]: ...

    @where("attribute_not_exists(confirmed_at)")
    def confirm_two_factor(
        self, userid: str, confirmed_at: datetime, last_step: int, recovery: list[str]
    ) -> Update[TwoFactor]: ...
    @where("last_step < {step}")
    def accept_code(
        self, userid: str, step: int, last_step: int, failures: int, locked_until: datetime | None
    ) -> Update[TwoFactor]: ...
    @where("recovery = {seen}")
    def change_recovery(
        self, userid: str, recovery: list[str], seen: list[str], failures: int = ...,
        locked_until: datetime | None = ...,
    ) -> Update[TwoFactor]: ...
    @where("failures = {seen}")
    def reject_code(
        self, userid: str, failures: int, seen: int, locked_until: datetime | None
    ) -> Update[TwoFactor]: ...
    def remove_two_factor(self, userid: str) -> Delete[TwoFactor]: ...


    @below_limit
    def reserve_check(self, user: ActiveUser, check_count: Add[int]) -> Update[ActiveUser]: ...
    @above_zero
    def release_check(self, userid: str, check_count: Add[int]) -> Update[User]: ...
    @uncounted
    def count(self, userid: str, check_count: int) -> Update[User]: ...
    @where("check_count = {seen}")
    def recount(self, userid: str, check_count: int, seen: int) -> Update[User]: ...
    def is_active(self, user: ActiveUser) -> Ensure[ActiveUser]: ...
    def is_suspended(self, user: SuspendedUser) -> Ensure[SuspendedUser]: ...
    @where("check_count <= check_limit")
    def is_within_limit(self, user: ActiveUser) -> Ensure[ActiveUser]: ...
    def change_tier(self, userid: str, tier: Tier, check_limit: int, updated_at: datetime) -> Update[User]: ...
    def change_email(self, user: User, email: str, updated_at: datetime, wanted_email: None = ...) -> Update[User]: ...
    def want_email(self, userid: str, wanted_email: str | None, updated_at: datetime) -> Update[User]: ...
    def suspend(self, user: ActiveUser, updated_at: datetime) -> Update[SuspendedUser]: ...
    def reinstate(self, user: SuspendedUser, updated_at: datetime) -> Update[ActiveUser]: ...
    def close(self, user: User, updated_at: datetime) -> Update[ClosingUser]: ...
    @where("page_slugs = {seen}")
    def list_pages(
        self, userid: str, page_slugs: list[str], updated_at: datetime, seen: list[str] | None,
        page_slug: str | None = ...,
    ) -> Update[User]: ...
    def sign_out_everywhere(self, userid: str, signed_out_at: datetime) -> Update[User]: ...
    def delete_user(self, userid: str, email: Eq[str]) -> Delete[User]: ...
    def release_email(self, address: str, owner: Eq[str]) -> Delete[EmailClaim]: ...
    @where("attribute_not_exists(last_used_at) OR last_used_at <= {before}")
    def used_key(self, userid: str, key_id: str, last_used_at: datetime, before: datetime) -> Update[ApiKey]: ...
    def delete_key(self, userid: str, key_id: str, digest: Eq[str]) -> Delete[ApiKey]: ...
    def release_key(self, digest: str, owner: Eq[str]) -> Delete[KeyClaim]: ...
    @where("attribute_not_exists(asked_at) OR asked_at <= {before}")
    def ask(self, userid: str, channel_id: str, asked_at: datetime, before: datetime) -> Update[Channel]: ...
    def verify(self, userid: str, channel_id: str, verified_at: datetime) -> Update[Channel]: ...
    def delete_channel(self, userid: str, channel_id: str) -> Delete[Channel]: ...
    def edit_page(
        self, slug: str, owner: Eq[str], title: str, checks: list[str], intro: str
    ) -> Update[StatusPage]: ...
    @where("announcements = {seen}")
    def announce(
        self, slug: str, owner: Eq[str], announcements: list[Record], seen: list[Record]
    ) -> Update[StatusPage]: ...
    def release_page(self, slug: str, owner: Eq[str]) -> Delete[StatusPage]: ...

    # checks
    def check(self, checkid: str) -> Get[AnyCheck]: ...
    def checks_of(self, userid: str) -> Query[AnyCheck]: ...
    def by_type(self, check_type: str, status: Status) -> Query[Typed]: ...
    def due(self, due_shard: str, next_run_at: Le[datetime]) -> Query[Due]: ...
    def scheduled(self, due_shard: str) -> Query[Due]: ...

    @where("revision = {seen}")
    def edit(
        self, check: OurCheck, updated_at: datetime, revision: int, seen: int | None,
        url: str = ..., delay_ms: int = ..., attributes: Record = ...,
        name: str | None = ..., rules: Record | None = ..., channels: list[str] | None = ...,
        maintenance: list[Record] | None = ..., group: str | None = ..., tags: list[str] | None = ...,
    ) -> Update[Check]: ...
    @unchanged
    def pause(
        self, check: Active, updated_at: datetime, seen: Record | None, state: Record = ..., alert_history: Record = ...
    ) -> Update[Paused]: ...
    def schedule(self, check: OurCheck, updated_at: datetime, next_run_at: datetime) -> Update[Scheduled]: ...
    def disable(self, check: Active, updated_at: datetime, failed_reason: str = ...) -> Update[Failed]: ...
    @unchanged
    def suspend_check(
        self, check: Active, suspended_at: datetime,
        seen: Record | None, state: Record = ..., alert_history: Record = ...,
    ) -> Update[SuspendedCheck]: ...
    def resume_schedule(self, check: Active, next_run_at: datetime) -> Update[Scheduled]: ...  # suspended, or foreign
    def drop(self, checkid: str, userid: Eq[str]) -> Delete[Check]: ...

    # runs
    def claim_run(
        self, due: Due | Scheduled, next_run_at: datetime, due_at: Once[datetime] = ...
    ) -> Update[Scheduled]: ...
    def finish_run(
        self, check: Scheduled, next_run_at: datetime, last_executed_at: datetime, last_result: Result,
        state: Record = ..., alert_history: Record = ..., due_at: datetime | None = ...,
    ) -> Update[Scheduled]: ...
    @where("next_run_at = {lease}")
    def fail_run(
        self, check: Scheduled, lease: datetime, updated_at: datetime, failed_reason: str,
        last_executed_at: datetime = ..., last_result: Result = ..., state: Record = ..., alert_history: Record = ...,
    ) -> Update[Failed]: ...
    def reschedule(
        self, check: Scheduled, next_run_at: datetime, due_at: datetime | None = ...
    ) -> Update[Scheduled]: ...
    @where("signals = {seen}")
    def receive(
        self, check: Scheduled, seen: Record | None, signals: Record, next_run_at: datetime = ...
    ) -> Update[Scheduled]: ...
    def record(self, check: Active, last_executed_at: datetime, last_result: Result) -> Update[Active]: ...
    def history_of(self, checkid: str) -> Query[Run | RollupItem | IncidentItem]: ...
    def runs(self, checkid: str) -> Latest[Run]: ...
    def runs_between(self, checkid: str, at: Between[datetime]) -> Query[Run]: ...
    def runs_until(self, checkid: str, at: Le[datetime]) -> Latest[Run]: ...
    def runs_from(self, checkid: str, at: Ge[datetime]) -> Query[Run]: ...
    def rollups(self, checkid: str, day: Between[date]) -> Query[RollupItem]: ...
    def incidents(self, checkid: str) -> Latest[Ongoing | Ended]: ...
    def end_incident(self, incident: Ongoing, ended_at: datetime, interrupted: bool) -> Update[Ended]: ...

    # alerts
    def alerts(self, checkid: str) -> Query[Waiting | Sent | Undeliverable]: ...
    def alerts_of(self, owner: str) -> Latest[ListedAlert]: ...
    def outbox(self, outbox_shard: str, send_at: Le[datetime]) -> Query[Outgoing]: ...
    def claim_alert(self, alert: Outgoing, send_at: datetime, attempts: Add[int]) -> Update[Waiting]: ...
    def retry_alert(self, alert: Waiting, send_at: datetime, last_error: str) -> Update[Waiting]: ...
    def sent(self, alert: Waiting, sent_at: datetime) -> Update[Sent]: ...
    @where("send_at = {lease}")
    def give_up(self, alert: Waiting, lease: datetime, last_error: str) -> Update[Undeliverable]: ...
