"""The working table of aura, beside the original's: frontiers, reports, options, changes, members.

The original's table keeps its layout; everything that it has no attribute for is here, in a table that could be rebuilt
or emptied without losing a shop, a URL or a price.
"""

from datetime import datetime
from typing import Annotated, Literal, Protocol

from pydantic import Field

from hashrange import (
    Add,
    ByKey,
    Delete,
    Ensure,
    Eq,
    Get,
    Gsi,
    IsoMillis,
    Item,
    Key,
    Latest,
    Lsi,
    Patterns,
    Query,
    Stored,
    Table,
    Ttl,
    Update,
    Upsert,
    where,
)
from hashrange_systems.aura.model.page_type import ProductState
from hashrange_systems.aura.schema import Currency
from hashrange_systems.shared.accounts.schema import Accounts, accounts
from hashrange_systems.shared.work.presence import PresenceFields

work = Table("${AURA_WORK_TABLE:-aura-historia-work}", "pk", "sk", ttl="expires_at", indexes=[
    Lsi("FrontierIndex", "pk", "turn"),
    Gsi("GroupIndex", "group", "group_sk"),
    Gsi("TodoIndex", "todo", "todo_at"),
])
checkpoints = Table("${AURA_CHECKPOINT_TABLE:-aura-historia-checkpoints}", "consumer", "shard")

Subscription = Literal["WATCHED", "ALARMS", "EVERYTHING"]  # each with what the one before has
ChangeKind = Literal[
    "NEW", "PRICE", "STATE", "REMOVED", "ESTIMATE", "LOT", "SALE_DATE", "HAMMER", "WITHDRAWN", "BROKEN", "MENDED",
]


# ── crawling ─────────────────────────────────────────────────────────────────────────────────────────────────────────
class CrawlRun(Item, table=work, pk="CRAWL#{domain}", sk="RUN"):
    """A crawl that has begun; it survives its worker, so that the next one goes on where it stopped."""

    domain: Key[str]
    run: str
    started_at: datetime
    seeded: bool = False  # the sitemaps and the known URLs are in the frontier
    fetched: int = 0
    found: int = 0
    failed: int = 0
    unchanged: int = 0
    note: str | None = None

class ScrapeRun(Item, table=work, pk="SCRAPE#{domain}", sk="RUN"):
    """A scrape that has begun; products scraped since its start are not visited again after an interruption."""

    domain: Key[str]
    started_at: datetime
    products: int = 0
    priced: int = 0
    stated: int = 0
    titled: int = 0
    failed: int = 0
    changed: int = 0
    removed: int = 0
    skipped: int = 0

class FrontierUrl(Item, table=work, pk="CRAWL#{domain}", sk="URL#{url:fit}"):
    """A URL that a run has found: WAITING in the index until it was visited. The next run overwrites it."""

    domain: Key[str]
    url: str
    run: str
    depth: Annotated[int, Field(ge=0, le=999)] = 0
    expires_at: Ttl

class WaitingUrl(FrontierUrl, turn="{run}#{depth:03d}"):
    visit: Literal["WAITING"] = "WAITING"

class VisitedUrl(FrontierUrl):
    visit: Literal["VISITED"] = "VISITED"

class CrawlReport(Item, table=work, pk="REPORTS#{domain}", sk="CRAWL#{at}"):
    domain: Key[str]
    at: datetime
    started_at: datetime
    fetched: int = 0
    found: int = 0
    failed: int = 0
    unchanged: int = 0
    crawl_delay_s: float | None = None  # asked by robots.txt
    delay_s: float = 0  # kept
    sitemaps: int = 0
    note: str | None = None  # such as: the cap of pages was reached

class ScrapeReport(Item, table=work, pk="REPORTS#{domain}", sk="SCRAPE#{at}"):
    """The coverage of a scrape: how many products had which field."""

    domain: Key[str]
    at: datetime
    products: int = 0
    priced: int = 0
    stated: int = 0
    titled: int = 0
    failed: int = 0
    changed: int = 0
    removed: int = 0
    skipped: int = 0  # robots.txt forbids them, or the options exclude them
    broken: str | None = None  # why the alarm was raised

class ShopOptions(Item, table=work, pk="OPTIONS#{domain}", sk="OPTIONS", group="OPTIONS", group_sk="{domain}"):
    """What the operator set for one shop; None where the settings of the process hold."""

    domain: Key[str]
    price_selector: str | None = None
    state_selector: str | None = None
    crawl_every_h: int | None = None
    scrape_every_h: int | None = None
    delay_ms: int | None = None
    max_pages: int | None = None
    excludes: list[str] = []  # parts of paths that are not crawled
    paused: bool = False
    stop: bool = False  # a running crawl or scrape ends at its next page, and goes on when this is cleared

class SameShop(Item, table=work, pk="RELATED#{domain}", sk="{other}"):
    """The answer to "same shop?" for two domains; stored for both."""

    domain: Key[str]
    other: Key[str]
    same: bool | None = None  # nobody has answered
    decided_at: datetime

class WorkerPresence(PresenceFields, Item, table=work, pk="WORKERS", sk="{worker_id}"): ...

class RepairProgress(Item, table=work, pk="JOBS", sk="REPAIR"):
    """Where an interrupted repair goes on."""

    table_name: str
    cursor: str | None = None
    complete: bool = False  # every item was looked at
    repaired: int = 0
    countries: set[str] = set()

class MigrationProgress(Item, table=work, pk="JOBS", sk="MIGRATION#{source}"):
    """Where an interrupted migration of a table goes on, and what it has done."""

    source: str
    cursor: str | None = None
    items: int = 0
    added: int = 0
    kept: int = 0
    mended: int = 0
    undeclared: int = 0
    unreadable: int = 0
    failures: list[str] = []

class DemoProgress(Item, table=work, pk="DEMO", sk="DEMO"):
    """The start time of the demo data, and whether it is complete."""

    started_at: datetime
    complete: bool = False


# ── changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
class Change(Item, table=work, pk="CHANGES#{at:date}", sk="{at}#{change_id}",
             group="SHOP#{domain}", group_sk="CHANGE#{at}#{change_id}"):
    """One thing that changed, for the feed; written in the transaction that records it."""

    at: IsoMillis
    change_id: str
    domain: str
    shop_country: str
    url: str
    kind: ChangeKind
    title: str | None = None
    state: ProductState | None = None
    price_minor: int | None = None
    currency: Currency | None = None
    old_state: ProductState | None = None
    old_price_minor: int | None = None
    old_currency: Currency | None = None
    detail: str | None = None

class NewChange(Change, todo="NOTIFY", todo_at="{at}"):
    """A change for which watch lists and saved searches were not yet notified."""

    notified: Annotated[Literal[False], Stored("told")] = False

class NotifiedChange(Change):
    notified: Annotated[Literal[True], Stored("told")] = True

class ProductWord(Item, table=work, pk="WORD#{word}", sk="{domain}#{url:sha}"):
    """A product under each word of its title, for the search."""

    word: Key[str]
    domain: str
    url: str
    title: str
    shop_country: str
    state: ProductState | None = None
    price_minor: int | None = None
    currency: Currency | None = None
    seen_at: datetime


# ── members ──────────────────────────────────────────────────────────────────────────────────────────────────────────
class Member(Item, table=work, pk="MEMBER#{member_id}", sk="MEMBER", group="MEMBERS", group_sk="{email}"):
    member_id: Key[str]
    email: str
    created_at: datetime
    operator: bool = False  # may remove shops, and add any number of them
    shops_added: int = 0  # how many, also those that were removed since

class Watch(Item, table=work, pk="MEMBER#{member_id}", sk="WATCH#{domain}#{url:sha}",
            group="WATCHED#{domain}#{url:sha}", group_sk="{member_id}"):
    """A product on a watch list, with the alerts that its member wants."""

    member_id: Key[str]
    domain: str
    url: str
    title: str | None = None
    created_at: datetime
    below_minor: int | None = None
    above_minor: int | None = None
    percent: int | None = None  # of the price of the last notification, in either direction
    states: bool = True  # notify of every change of state
    currency: Currency | None = None  # of the limits
    base_minor: int | None = None  # what `percent` is measured from
    armed_below: bool = True
    armed_above: bool = True

class SavedSearch(Item, table=work, pk="MEMBER#{member_id}", sk="SEARCH#{search_id}",
                  group="SEARCHES", group_sk="{member_id}#{search_id}"):
    member_id: Key[str]
    search_id: Key[str]
    text: str
    shop_country: str | None = None
    min_minor: int | None = None
    max_minor: int | None = None
    currency: Currency | None = None
    created_at: datetime
    notify: bool = True

class AccountsMove(Item, table=work, pk="JOBS", sk="ACCOUNTS"):
    """The mark of a move of the accounts that is complete; `left` names items that could not be moved."""

    moved_at: datetime
    left: list[str] = []


class Work(Patterns, Protocol):
    def run(self, domain: str) -> Get[CrawlRun]: ...
    def end_run(self, domain: str) -> Delete[CrawlRun]: ...
    def mark_seeded(self, domain: str, seeded: Literal[True], run: Eq[str]) -> Update[CrawlRun]: ...
    def count_run(self, domain: str, run: Eq[str], fetched: Add[int], found: Add[int], failed: Add[int],
                  unchanged: Add[int]) -> Update[CrawlRun]: ...
    def note_run(self, domain: str, run: Eq[str], note: str) -> Update[CrawlRun]: ...
    def scrape_run(self, domain: str) -> Get[ScrapeRun]: ...
    def end_scrape_run(self, domain: str) -> Delete[ScrapeRun]: ...
    def count_scrape(self, domain: str, products: Add[int], priced: Add[int], stated: Add[int], titled: Add[int],
                     failed: Add[int], changed: Add[int], removed: Add[int],
                     skipped: Add[int]) -> Update[ScrapeRun]: ...
    def frontier_url(self, domain: str, url: str) -> Get[WaitingUrl | VisitedUrl]: ...
    def waiting(self, domain: str, run: str) -> Query[WaitingUrl]: ...
    def frontier(self, domain: str) -> Query[FrontierUrl]: ...

    def crawl_reports(self, domain: str) -> Latest[CrawlReport]: ...
    def scrape_reports(self, domain: str) -> Latest[ScrapeReport]: ...
    def options(self, domain: str) -> Get[ShopOptions]: ...
    def all_options(self) -> Query[ShopOptions]: ...
    def drop_options(self, domain: str) -> Delete[ShopOptions]: ...
    def request_stop(self, domain: str, stop: bool) -> Upsert[ShopOptions]: ...
    def pause(self, domain: str, paused: bool) -> Upsert[ShopOptions]: ...
    def same_shops(self, domain: str) -> Query[SameShop]: ...
    def workers(self) -> Query[WorkerPresence]: ...
    def forget_worker(self, worker_id: str) -> Delete[WorkerPresence]: ...
    def repair_progress(self) -> Get[RepairProgress]: ...
    def end_repair(self) -> Delete[RepairProgress]: ...
    def migration_progress(self, source: str) -> Get[MigrationProgress]: ...
    def end_migration(self, source: str) -> Delete[MigrationProgress]: ...
    def demo(self) -> Get[DemoProgress]: ...
    def accounts_move(self) -> Get[AccountsMove]: ...

    def changes_on(self, at: ByKey[datetime]) -> Latest[NewChange | NotifiedChange]: ...
    def changes_of(self, domain: str) -> Latest[NewChange | NotifiedChange]: ...
    def new_changes(self) -> Query[NewChange]: ...
    def mark_notified(self, change: NewChange) -> Update[NotifiedChange]: ...
    def products_with(self, word: str) -> Query[ProductWord]: ...

    def member(self, member_id: str) -> Get[Member]: ...
    def members(self) -> Query[Member]: ...
    def set_operator(self, member_id: str, operator: bool) -> Update[Member]: ...
    @where("attribute_not_exists(shops_added) OR shops_added < {most}")
    def count_shop(self, member_id: str, shops_added: Add[int], most: int) -> Update[Member]: ...
    def is_member(self, member_id: str) -> Ensure[Member]: ...

    def watches(self, member_id: str) -> Query[Watch]: ...
    def watch(self, member_id: str, domain: str, url: str) -> Get[Watch]: ...
    def watchers(self, domain: str, url: str) -> Query[Watch]: ...
    def rearm(self, watch: Watch, armed_below: bool, armed_above: bool, base_minor: int | None) -> Update[Watch]: ...
    def unwatch(self, member_id: str, domain: str, url: str) -> Delete[Watch]: ...
    def searches(self, member_id: str) -> Query[SavedSearch]: ...
    def search(self, member_id: str, search_id: str) -> Get[SavedSearch]: ...
    def all_searches(self) -> Query[SavedSearch]: ...
    def drop_search(self, member_id: str, search_id: str) -> Delete[SavedSearch]: ...


class AuraAccounts(Accounts, Protocol, names={accounts: "${AURA_ACCOUNTS_TABLE:-aura-historia-accounts}"}):
    """The keys, channels and messages of members."""
