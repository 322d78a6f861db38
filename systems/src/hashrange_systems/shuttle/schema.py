"""Inavor Shuttle: bulk import and export jobs for Shopify shops, with history, plans, tenancy.

Three tables with the layout of the original system. Added attributes are last in each class and optional.
"""

from datetime import date, datetime
from typing import Annotated, Literal, Protocol

from pydantic import Field, PositiveInt, StringConstraints

from hashrange import (
    Add,
    Between,
    Delete,
    Ensure,
    Eq,
    Ge,
    Get,
    Gsi,
    Gt,
    Item,
    Key,
    Latest,
    Le,
    Lt,
    Millis,
    Once,
    Patterns,
    Query,
    Scan,
    Secret,
    Table,
    Touched,
    Ttl,
    Update,
    Upsert,
    after,
    camel,
    via,
    where,
)

shops = Table(
    "InavorShuttle-${ENVIRONMENT:-dev}-shops", "domain",
    naming=camel, pitr=True, encryption="AWS_MANAGED",
)
jobs = Table(
    "InavorShuttle-${ENVIRONMENT:-dev}-jobs", "jobId",
    naming=camel, pitr=True, encryption="AWS_MANAGED", ttl="expiresAt", former_ttl="milliseconds", indexes=[
        Gsi("shopDomain-createdAt-index", "shopDomain", "createdAt"),
        Gsi("status-createdAt-index", "status", "createdAt"),
    ],
)
history = Table(
    "InavorShuttle-${ENVIRONMENT:-dev}-import-history", "shopDomain", "timestamp",
    naming=camel, pitr=True, encryption="AWS_MANAGED", ttl="expiresAt", former_ttl="milliseconds",
)

Domain = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]  # never the key of a counter
Ulid = Annotated[str, StringConstraints(to_upper=True)]  # ULIDs ignore case, keys do not
Month = Annotated[str, Field(pattern=r"^\d{4}-\d{2}$")]
Percentage = Annotated[int, Field(ge=0, le=100)]
Plan = Literal["FREE", "SMALL", "MEDIUM", "LARGE"]
Mode = Literal["OVERWRITE_EXISTING", "NEW_ONLY", "NEW_AND_DRAFT", "WIPE_AND_RESTORE"]


# ── shops ────────────────────────────────────────────────────────────────────────────────────────────────────────────
class Shop(Item, table=shops):
    domain: Domain
    name: str
    access_token: Secret[str] | None = None
    plan: Plan = "FREE"
    installed_at: Millis
    uninstalled_at: Millis | None = None
    billing_status: Literal["ACTIVE", "SUSPENDED", "CANCELLED"] = "ACTIVE"
    settings: dict[str, object] = {}
    created_at: Millis = after("installed_at")
    updated_at: Touched[Millis] = after("created_at")
    refresh_token: Secret[str] | None = None  # an access token is valid for an hour, a refresh token until it is used
    access_token_expires_at: Millis | None = None
    refreshing_until: Millis | None = None  # the lock of the process that uses the refresh token
    scopes: frozenset[str] = frozenset()
    key_id: str | None = None  # the key that encrypted the tokens
    redact_requested_at: Millis | None = None

class ActiveShop(Shop):
    billing_status: Literal["ACTIVE"] = "ACTIVE"
    uninstalled_at: None = None

class InstalledShop(ActiveShop):
    """A shop after the OAuth flow; nothing of an earlier installation is pending."""

    refreshing_until: None = None
    redact_requested_at: None = None

class SuspendedShop(Shop):
    billing_status: Literal["SUSPENDED"] = "SUSPENDED"

class UninstalledShop(Shop):
    """A shop that uninstalled the app: the item stays without tokens."""

    billing_status: Literal["CANCELLED"] = "CANCELLED"
    access_token: None = None
    refresh_token: None = None
    access_token_expires_at: None = None
    refreshing_until: None = None
    key_id: None = None

class Usage(Item, table=shops, domain="USAGE#{shop_domain}#{day}"):
    """Imports of a shop on a day; survives a reinstall."""

    shop_domain: Key[str]
    day: Key[date]
    imports: int = 0

class MonthUsage(Item, table=shops, domain="MONTH#{shop_domain}#{month}"):
    """Imports of a shop in a month, such as 2026-01; survives a reinstall."""

    shop_domain: Key[str]
    month: Key[Month]
    imports: int = 0


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
class Job(Item, table=jobs):
    job_id: Ulid
    shop_domain: str
    type: Literal["IMPORT", "EXPORT"]
    mode: Mode | None = None  # of imports
    is_dry_run: bool = False
    total_products: int = 0
    processed_products: int = 0
    successful_products: int = 0
    failed_products: int = 0
    progress_percentage: int = 0
    s3_key: str | None = None
    error_summary: dict[str, int] = {}
    shopify_api_calls_used: int = 0
    created_by: str
    created_at: Millis
    updated_at: Touched[Millis] = after("created_at")
    expires_at: Ttl = after("created_at", days=90)
    attempts: int = 0  # how often it was taken over from a worker that stopped

class Queued(Job):
    status: Literal["QUEUED"] = "QUEUED"

class Processing(Job):
    status: Literal["PROCESSING"] = "PROCESSING"
    started_at: Millis
    estimated_completion_at: Millis | None = None

class Leased(Processing):
    """A job with the lease of its worker; those of the original system have none."""

    worker: str
    lease_until: Millis

class Completed(Job):
    status: Literal["COMPLETED"] = "COMPLETED"
    started_at: Millis
    completed_at: Millis

class Failed(Job):
    status: Literal["FAILED"] = "FAILED"
    started_at: Millis | None = None
    completed_at: Millis

class Cancelled(Job):
    status: Literal["CANCELLED"] = "CANCELLED"
    started_at: Millis | None = None
    completed_at: Millis

AnyJob = Queued | Processing | Completed | Failed | Cancelled


# ── history ──────────────────────────────────────────────────────────────────────────────────────────────────────────
class Import(Item, table=history):
    """A finished job, written in the transaction that ends it; if the millisecond is taken, with the next one."""

    shop_domain: str
    timestamp: Millis
    job_id: Ulid
    products_imported: int
    status: Literal["COMPLETED", "FAILED", "CANCELLED"]
    error_count: int = 0
    mode: Mode | None = None
    shopify_api_calls_used: int = 0
    duration_ms: int
    expires_at: Ttl = after("timestamp", days=365)
    type: Literal["IMPORT", "EXPORT"] = "IMPORT"
    is_dry_run: bool = False
    failed: int = 0  # products, where errorCount counts errors


# ── patterns ─────────────────────────────────────────────────────────────────────────────────────────────────────────
class Shuttle(Patterns, Protocol, tenant="shop_domain"):
    """The access patterns of a shop: each takes the shop's domain."""

    def job(self, shop_domain: Domain, job_id: Ulid) -> Get[AnyJob]: ...
    def jobs(self, shop_domain: Domain) -> Latest[AnyJob]: ...
    @via("shopDomain-createdAt-index")
    def unfinished(self, shop_domain: Domain) -> Latest[Queued | Processing]: ...
    def cancel(self, shop_domain: Domain, job: Queued | Processing, completed_at: datetime) -> Update[Cancelled]: ...

    def imports(self, shop_domain: Domain) -> Latest[Import]: ...
    def imports_since(self, shop_domain: Domain, timestamp: Gt[datetime]) -> Latest[Import]: ...
    def imports_between(self, shop_domain: Domain, timestamp: Between[datetime]) -> Latest[Import]: ...

    def usage(self, shop_domain: Domain, day: date) -> Get[Usage]: ...
    def month_usage(self, shop_domain: Domain, month: Month) -> Get[MonthUsage]: ...
    @where("attribute_not_exists(imports) OR imports < {limit}")
    def use_quota(
        self, shop_domain: Domain, day: date, imports: Add[Literal[1]], limit: PositiveInt,
    ) -> Upsert[Usage]: ...
    @where("attribute_not_exists(imports) OR imports < {limit}")
    def use_month(
        self, shop_domain: Domain, month: Month, imports: Add[Literal[1]], limit: PositiveInt,
    ) -> Upsert[MonthUsage]: ...


class Operator(Patterns, Protocol):
    """The access patterns of workers and operators, across all shops."""

    def shop(self, domain: Domain) -> Get[Shop]: ...
    def shops(self) -> Scan[Shop]: ...
    def active_shops(self) -> Scan[ActiveShop]: ...
    def job(self, job_id: Ulid) -> Get[AnyJob]: ...
    def next_queued(self) -> Query[Queued]: ...  # oldest first, so that none is starved
    def processing(self) -> Latest[Processing]: ...
    def completed(self) -> Latest[Completed]: ...
    def failed(self) -> Latest[Failed]: ...
    def cancelled(self) -> Latest[Cancelled]: ...
    def recent(self, created_at: Ge[datetime]) -> Scan[AnyJob]: ...
    def silent(self, lease_until: Lt[datetime]) -> Query[Leased]: ...

    def start(self, job: Queued, started_at: datetime, worker: str, lease_until: datetime) -> Update[Leased]: ...
    def extend(self, job: Leased, worker: Eq[str], lease_until: datetime) -> Update[Leased]: ...
    @where("attribute_not_exists(processed_products) OR processed_products < {processed_products}")  # counted once
    def progress(
        self, job: Leased, worker: Eq[str], processed_products: int, successful_products: int, failed_products: int,
        progress_percentage: Percentage, lease_until: datetime, error_summary: dict[str, int] = ...,
        shopify_api_calls_used: int = ..., estimated_completion_at: datetime = ...,
    ) -> Update[Leased]: ...
    def complete(self, job: Leased, worker: Eq[str], completed_at: datetime) -> Update[Completed]: ...
    def fail(
        self, job: Leased, worker: Eq[str], completed_at: datetime, error_summary: dict[str, int],
    ) -> Update[Failed]: ...
    @where("attribute_not_exists(lease_until) OR lease_until < {now}")  # also a job of the original system
    def requeue(self, job: Processing, attempts: Add[Literal[1]], now: datetime) -> Update[Queued]: ...
    @where("attribute_not_exists(lease_until) OR lease_until < {now}")
    def give_up(
        self, job: Processing, completed_at: datetime, error_summary: dict[str, int], now: datetime,
    ) -> Update[Failed]: ...

    def install(
        self, domain: Domain, name: str, plan: Plan, installed_at: datetime, created_at: Once[datetime],
        access_token: str, refresh_token: str | None, access_token_expires_at: datetime | None,
        scopes: frozenset[str], key_id: str | None,
    ) -> Upsert[InstalledShop]: ...
    @where("billing_status = 'ACTIVE'")
    def is_active(self, domain: Domain) -> Ensure[Shop]: ...
    def configure(self, domain: Domain, settings: dict[str, object]) -> Update[Shop]: ...
    def subscribe(self, shop: ActiveShop | SuspendedShop, plan: Plan) -> Update[ActiveShop]: ...
    def suspend(self, shop: ActiveShop) -> Update[SuspendedShop]: ...
    @where("attribute_exists(refresh_token)")
    @where("attribute_not_exists(refreshing_until) OR refreshing_until < {now}")
    def begin_refresh(self, domain: Domain, refreshing_until: datetime, now: datetime) -> Update[Shop]: ...
    @where("refreshing_until = {held_until}")  # after losing the lock the tokens are void
    def finish_refresh(
        self, domain: Domain, held_until: datetime, refreshing_until: None, access_token: str, refresh_token: str,
        access_token_expires_at: datetime, key_id: str | None,
    ) -> Update[Shop]: ...
    @where("installed_at < {uninstalled_at}")  # a late webhook after a reinstall is ignored
    def uninstall(self, shop: Shop, uninstalled_at: datetime) -> Update[UninstalledShop]: ...
    @where("billing_status = 'CANCELLED' AND installed_at < {redact_requested_at}")
    def request_redaction(self, domain: Domain, redact_requested_at: datetime) -> Update[Shop]: ...
    def redactions(self, redact_requested_at: Le[datetime]) -> Scan[Shop]: ...
    @where("attribute_exists(redact_requested_at)")
    def forget(self, domain: Domain) -> Delete[Shop]: ...
