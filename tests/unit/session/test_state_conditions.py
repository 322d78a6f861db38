"""A write that names a state tests that the stored item is in it, whatever class its parameter has."""

from datetime import UTC, datetime
from typing import Literal, Protocol

import pytest

import hashrange
from hashrange import (
    Conflict,
    DeclarationError,
    Delete,
    Ensure,
    Get,
    Gsi,
    Item,
    Patterns,
    Table,
    Update,
    Upsert,
    ValueInvalid,
    View,
    initially,
)

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)
shops = Table("shops", "pk", indexes=[Gsi("ByCrawl", "country", "crawl_key")])
jobs = Table("jobs", "job_id", indexes=[Gsi("ByDue", "due_key", "due")])

accounts = Table("accounts", "name")


class Crawl(View["Shop"]):
    country: str
    domain: str
    priority: int = 0


class Never(Crawl, crawl_key="NEVER#{priority:03d}"): ...


class Running(Crawl, crawl_key="RUNNING#{started}"):
    started: datetime


class Leased(Running):
    worker: str
    note: str | None = None


class Shop(Item, table=shops, pk="SHOP#{domain}"):
    domain: str
    country: str
    priority: int = 0
    crawl: Never | Running = initially(Never)


class Shops(Patterns, Protocol):
    def shop(self, domain: str) -> Get[Shop]: ...
    def start(self, crawl: Never, started: datetime, worker: str) -> Update[Leased]: ...
    def restart(self, crawl: Crawl, started: datetime) -> Update[Running]: ...
    def stop(self, crawl: Leased) -> Update[Never]: ...
    def stop_any(self, crawl: Running) -> Update[Never]: ...
    def stop_either(self, crawl: Never | Leased) -> Update[Never]: ...
    def drop(self, shop: Shop) -> Delete[Never]: ...
    def drop_lease(self, domain: str) -> Delete[Leased]: ...
    def is_new(self, shop: Shop) -> Ensure[Never]: ...
    def prioritise(self, crawl: Never, priority: int) -> Update[Never]: ...


class Job(Item, table=jobs):
    job_id: str


class Queued(Job, due_key="DUE"):
    status: Literal["QUEUED"] = "QUEUED"
    due: str = "today"


class Working(Job):
    status: Literal["WORKING"] = "WORKING"
    worker: str


class Account(Item, table=accounts):
    name: str
    word: None = None
    status: Literal["open", "held", "closed"] = "open"
    closed_at: datetime | None = None
    note: str | None = None


class Active(Account):
    status: Literal["open"] = "open"
    closed_at: None = None


class Suspended(Account):
    status: Literal["held"] = "held"


class Closed(Account):
    status: Literal["closed"] = "closed"
    note: None = None


class Accounts(Patterns, Protocol):
    def account(self, name: str) -> Get[Account]: ...
    def annotate(self, name: str, note: str) -> Update[Account]: ...
    def close(self, account: Account, closed_at: datetime) -> Update[Closed]: ...
    def reopen(self, account: Active | Suspended) -> Update[Active]: ...


class Jobs(Patterns, Protocol):
    def job(self, job_id: str) -> Get[Queued | Working]: ...
    def start(self, job: Job, worker: str) -> Update[Working]: ...
    def take(self, job: Queued | Working, worker: str) -> Update[Working]: ...
    def drop(self, job: Job) -> Delete[Queued]: ...
    def is_queued(self, job: Job) -> Ensure[Queued]: ...
    def overwrite(self, job_id: str, worker: str) -> Upsert[Working]: ...


@pytest.fixture
def shop_db(database):
    hashrange.create_tables(database, Shops)
    return Shops.open(database)


@pytest.fixture
def job_db(database):
    hashrange.create_tables(database, Jobs)
    return Jobs.open(database)


def run_shop(shop_db, worker="w1"):
    """Create a shop whose crawl is leased."""
    shop_db.create(Shop(domain="a", country="AT")).run()
    return shop_db.start(shop_db.shop("a").run().crawl, NOON, worker).run()


def test_delete_of_a_state_tests_the_state_of_the_item_that_is_passed(shop_db):
    run_shop(shop_db)
    with pytest.raises(Conflict):
        shop_db.drop(shop_db.shop("a").run()).run()
    assert shop_db.shop("a").run() is not None


def test_ensure_of_a_state_tests_the_state_of_the_item_that_is_passed(shop_db):
    run_shop(shop_db)
    shop = shop_db.shop("a").run()
    other = shop_db.create(Shop(domain="b", country="AT")).run()
    with pytest.raises(Conflict):
        shop_db.transact(shop_db.is_new(shop), shop_db.prioritise(other.crawl, 3)).run()
    assert shop_db.shop("b").run().priority == 0


def test_a_transition_from_an_item_with_a_lifecycle_is_refused():
    with pytest.raises(DeclarationError, match=r"HR244 .*shop: Shop does not say .* Never \| Running"):

        class Refused(Patterns, Protocol):
            def start(self, shop: Shop, started: datetime) -> Update[Running]: ...


def test_a_transition_from_the_base_of_the_states_tests_the_state_that_is_passed(shop_db, job_db):
    shop_db.create(Shop(domain="a", country="AT")).run()
    seen = shop_db.shop("a").run().crawl
    shop_db.restart(seen, NOON).run()
    with pytest.raises(Conflict):
        shop_db.restart(seen, NOON.replace(hour=13)).run()
    queued = job_db.create(Queued(job_id="1")).run()
    working = job_db.start(queued, "w1").run()
    with pytest.raises(Conflict):
        job_db.start(queued, "w2").run()
    assert job_db.start(working, "w3").run().worker == "w3"
    with pytest.raises(ValueInvalid, match="job is a Job, not a Queued or Working"):
        job_db.start(Job(job_id="1"), "w4")


def test_a_step_from_several_variants_tests_the_one_that_is_passed(job_db):
    queued = job_db.create(Queued(job_id="1")).run()
    job_db.take(queued, "w1").run()
    with pytest.raises(Conflict):
        job_db.take(queued, "w2").run()


def test_a_step_from_several_states_does_not_take_one_for_another(shop_db):
    leased = run_shop(shop_db)
    shop_db.stop(leased).run()
    with pytest.raises(Conflict):
        shop_db.stop_either(leased).run()


def test_delete_and_ensure_of_a_variant_test_it_where_the_base_is_passed(job_db):
    working = job_db.start(job_db.create(Queued(job_id="1")).run(), "w1").run()
    with pytest.raises(Conflict):
        job_db.drop(working).run()
    with pytest.raises(Conflict):
        job_db.transact(job_db.is_queued(working), job_db.create(Queued(job_id="2"))).run()


def test_an_upsert_of_a_state_leaves_no_key_or_field_of_another(job_db, database):
    job_db.create(Queued(job_id="1")).run()
    job_db.overwrite("1", "w1").run()
    (stored,) = database.call("Scan", {"TableName": "jobs"})["Items"]
    assert stored == {"job_id": {"S": "1"}, "status": {"S": "WORKING"}, "worker": {"S": "w1"}}


def test_the_fields_that_a_state_adds_are_part_of_the_condition(shop_db):
    first = run_shop(shop_db, "w1")
    shop_db.stop(first).run()
    second = shop_db.start(shop_db.shop("a").run().crawl, NOON, "w2").run()
    with pytest.raises(Conflict):
        shop_db.stop(first).run()
    assert shop_db.stop(second).run() == Never(country="AT", domain="a")


def test_a_wider_state_is_left_without_the_fields_that_a_kind_of_it_adds(shop_db):
    leased = run_shop(shop_db)
    assert shop_db.stop_any(leased).run() == Never(country="AT", domain="a")


def test_delete_of_a_state_tests_the_fields_that_it_adds(shop_db):
    shop_db.create(Shop(domain="a", country="AT")).run()
    shop_db.restart(shop_db.shop("a").run().crawl, NOON).run()
    with pytest.raises(Conflict):
        shop_db.drop_lease("a").run()


def test_a_state_is_told_by_its_value_and_not_by_the_fields_that_it_drops(database):
    hashrange.create_tables(database, Accounts)
    db = Accounts.open(database)
    account = db.create(Account(name="ann", note="n")).run()
    assert type(account) is Active
    closed = db.close(db.annotate("ann", "changed").run(), NOON).run()
    assert (closed.note, closed.closed_at) == (None, NOON)
    with pytest.raises(Conflict):
        db.close(account, NOON).run()
    held = db.create(Suspended(name="bo")).run()
    assert db.reopen(held).run() == Active(name="bo")
    with pytest.raises(Conflict):
        db.reopen(held).run()
