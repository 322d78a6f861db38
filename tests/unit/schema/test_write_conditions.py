"""What a write requires of the stored item: exactly that it is read like the one that the caller has seen."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Literal, Protocol

import pytest
from pydantic import Field

import hashrange
from hashrange import (
    Add,
    Conflict,
    DeclarationError,
    Delete,
    Get,
    Gsi,
    Item,
    NotFound,
    Patterns,
    Table,
    Update,
    Upsert,
    ValueInvalid,
    Version,
    View,
    WrittenUnreadable,
    after,
    initially,
)

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
table = Table("things", "pk", indexes=[Gsi("ByPlace", "place_pk", "place_sk"), Gsi("ByEnd", "end_pk")])


class Thing(
    Item, table=table, pk="THING#{code}", place_pk="{town}", place_sk="{street}#{number:04d}", end_pk="{name}#{ends_at}"
):
    code: str
    name: str
    begins_at: datetime
    ends_at: datetime = after("begins_at", days=1)
    town: str = "Wien"
    street: str = "Ring"
    number: int = 0
    version: Version = 0


class Things(Patterns, Protocol):
    def thing(self, code: str) -> Get[Thing]: ...
    def rename(self, thing: Thing, name: str) -> Update[Thing]: ...
    def move(self, thing: Thing, street: str) -> Update[Thing]: ...


@pytest.fixture
def things(database):
    hashrange.create_tables(database, Things)
    return Things.open(database)


@pytest.fixture
def database():
    with hashrange.open() as database:
        yield database


def raw_item(database, code):
    return database.call("GetItem", {"TableName": "things", "Key": {"pk": {"S": f"THING#{code}"}}}).get("Item")


def store_old_item(database, **more):
    """Store an item as it was before the fields with a default were declared."""
    old = {"pk": "THING#1", "code": "1", "name": "Uhr", "begins_at": "2026-01-15T12:00:00Z", **more}
    database.call("PutItem", {"TableName": "things", "Item": {name: {"S": value} for name, value in old.items()}})


# ── items that are older than a field ────────────────────────────────────────────────────────────────────────────────
def test_an_item_that_is_older_than_a_field_of_its_key_can_be_changed(database, things):
    store_old_item(database)
    moved = things.move(things.thing("1").run(), "Gasse").run()
    assert moved == things.thing("1").run()
    assert raw_item(database, "1")["place_sk"] == {"S": "Gasse#0000"}
    assert moved.version == 1


def test_an_item_that_is_older_than_a_time_after_another_can_be_changed(database, things):
    store_old_item(database)
    renamed = things.rename(things.thing("1").run(), "Wecker").run()
    assert raw_item(database, "1")["end_pk"] == {"S": "Wecker#2026-01-16T12:00:00Z"}
    assert renamed == things.thing("1").run()


def test_an_old_item_that_was_given_another_value_meanwhile_is_a_conflict(database, things):
    store_old_item(database)
    seen = things.thing("1").run()
    database.call(
        "UpdateItem",
        {
            "TableName": "things",
            "Key": {"pk": {"S": "THING#1"}},
            "UpdateExpression": "SET #n = :n",
            "ExpressionAttributeNames": {"#n": "number"},
            "ExpressionAttributeValues": {":n": {"N": "7"}},
        },
    )
    with pytest.raises(Conflict):
        things.move(seen, "Gasse").run()


def test_an_item_that_is_older_than_its_version_can_be_put(database, things):
    store_old_item(database)
    stored = things.put(things.thing("1").run().model_copy(update={"name": "Wecker"})).run()
    assert stored.version == 1
    assert things.thing("1").run() == stored


# ── put of an item that was deleted ──────────────────────────────────────────────────────────────────────────────────
def delete(database, code):
    database.call("DeleteItem", {"TableName": "things", "Key": {"pk": {"S": f"THING#{code}"}}})


def test_put_of_a_versioned_item_that_was_deleted_does_not_bring_it_back(database, things):
    things.create(Thing(code="1", name="Uhr", begins_at=NOON)).run()
    seen = things.thing("1").run()
    delete(database, "1")
    with pytest.raises(NotFound):
        things.put(seen).run()
    with pytest.raises(NotFound):
        things.put(seen.model_copy(update={"name": "Wecker"})).run()
    assert raw_item(database, "1") is None


def test_put_of_an_item_that_was_created_and_deleted_does_not_bring_it_back(database, things):
    created = things.create(Thing(code="1", name="Uhr", begins_at=NOON)).run()
    delete(database, "1")
    with pytest.raises(NotFound):
        things.put(created).run()


def test_put_of_a_higher_version_that_is_not_stored_is_a_conflict_unless_it_is_imported(database, things):
    foreign = Thing(code="1", name="Uhr", begins_at=NOON, version=4)
    with pytest.raises(NotFound):
        things.put(foreign).run()
    things.put(foreign).imported().run()
    assert things.thing("1").run().version == 5


def test_put_of_a_new_item_stores_it(things):
    stored = things.put(Thing(code="1", name="Uhr", begins_at=NOON)).run()
    assert stored.version == 1
    assert things.thing("1").run() == stored
    assert things.put(stored).run().version == 2


# ── an Upsert can create ─────────────────────────────────────────────────────────────────────────────────────────────
def test_an_upsert_that_may_leave_out_a_required_field_is_refused():
    with pytest.raises(
        DeclarationError, match=r"HR243 .* requires name, .*; take name as a parameter without a default"
    ):

        class Saving(Patterns, Protocol):
            def save(
                self,
                code: str,
                begins_at: datetime,
                ends_at: datetime,
                town: str,
                street: str,
                number: int,
                name: str = ...,
            ) -> Upsert[Thing]: ...


def test_an_upsert_that_may_leave_out_a_default_of_an_index_key_is_refused():
    with pytest.raises(DeclarationError, match=r"HR249 .* not in the index of place_pk"):

        class Saving(Patterns, Protocol):
            def save(
                self,
                code: str,
                begins_at: datetime,
                ends_at: datetime,
                street: str,
                number: int,
                name: str,
                town: str = ...,
            ) -> Upsert[Thing]: ...


# ── bounds of a number that is added to ──────────────────────────────────────────────────────────────────────────────
class Stock(Item, table=Table("stock", "pk"), pk="STOCK#{code}"):
    code: str
    count: Annotated[int, Field(ge=0, le=10)] = 0
    price: Annotated[Decimal, Field(gt=0)] = Decimal(1)


class Stocks(Patterns, Protocol):
    def stock(self, code: str) -> Get[Stock]: ...
    def add(self, code: str, count: Add[int]) -> Update[Stock]: ...
    def save(self, code: str, count: Add[int] = ...) -> Upsert[Stock]: ...
    def raise_price(self, code: str, price: Add[Decimal]) -> Update[Stock]: ...


@pytest.fixture
def stocks(database):
    hashrange.create_tables(database, Stocks)
    return Stocks.open(database)


def test_what_is_added_to_a_bounded_number_is_an_amount_and_the_sum_is_bounded(stocks):
    stocks.create(Stock(code="1", count=3)).run()
    assert stocks.add("1", -3).run().count == 0
    with pytest.raises(Conflict) as caught:
        stocks.add("1", -1).run()
    assert caught.value.current == Stock(code="1", count=0)
    with pytest.raises(Conflict):
        stocks.add("1", 11).run()
    assert stocks.add("1", 10).run().count == 10


def test_a_bound_is_exact_for_decimals(stocks):
    stocks.create(Stock(code="1", price=Decimal("0.3"))).run()
    with pytest.raises(Conflict):
        stocks.raise_price("1", Decimal("-0.3")).run()
    assert stocks.raise_price("1", Decimal("-0.2")).run().price == Decimal("0.1")


def test_a_number_that_is_not_stored_yet_is_counted_from_zero_within_its_bounds(database, stocks):
    assert stocks.save("1", 4).run().count == 4
    with pytest.raises(Conflict):
        stocks.save("2", -1).run()
    assert stocks.save("3").run() == Stock(code="3")
    database.call("PutItem", {"TableName": "stock", "Item": {"pk": {"S": "STOCK#4"}, "code": {"S": "4"}}})
    assert stocks.add("4", 2).run().count == 2


def test_the_plan_shows_the_bound():
    assert "if      count >= 0 - {count}" in Stocks.plan("add").explain()


# ── states ───────────────────────────────────────────────────────────────────────────────────────────────────────────
runs = Table("runs", "pk", indexes=[Gsi("ByRun", "run_pk", "run_sk")])


class Run(View["Job"]):
    code: str


class Never(Run, run_sk="NEVER#"): ...


class Running(Run, run_sk="RUNNING#{started_at}"):
    started_at: datetime


class Ended(Run, run_sk="ENDED#{ended_at}"):
    started_at: datetime
    ended_at: datetime


class Job(Item, table=runs, pk="JOB#{code}", run_pk="ALL"):
    code: str
    title: str
    run: Never | Running | Ended = initially(Never)


class Jobs(Patterns, Protocol):
    def job(self, code: str) -> Get[Job]: ...
    def start(self, run: Never | Ended, started_at: datetime) -> Update[Running]: ...
    def retitle(self, code: str, title: str) -> Update[Job]: ...
    def erase(self, code: str) -> Delete[Job]: ...


@pytest.fixture
def jobs(database):
    hashrange.create_tables(database, Jobs)
    return Jobs.open(database)


@pytest.fixture
def sent(jobs):
    """Record the operations that are sent."""
    found = []
    jobs.session.hooks = [lambda event: found.append(event.operation)]
    return found


def test_a_step_refuses_an_item_in_another_state_before_anything_is_sent(jobs, sent):
    jobs.create(Job(code="1", title="a")).run()
    running = jobs.start(Never(code="1"), NOON).run()
    sent.clear()
    with pytest.raises(ValueInvalid, match=r"Jobs.start: run is a Running, not a Never or Ended"):
        jobs.start(running, NOON)
    with pytest.raises(ValueInvalid, match=r"run is a str"):
        jobs.start("1", NOON)
    assert sent == []


def test_a_state_that_was_recognised_without_its_key_can_be_left(database, jobs):
    old = {"pk": "JOB#1", "code": "1", "title": "a"}
    database.call("PutItem", {"TableName": "runs", "Item": {name: {"S": value} for name, value in old.items()}})
    seen = jobs.job("1").run().run
    assert isinstance(jobs.start(seen, NOON).run(), Running)
    with pytest.raises(Conflict):
        jobs.start(seen, NOON).run()


# ── writes whose answer cannot be read ───────────────────────────────────────────────────────────────────────────────
def store_broken_job(database):
    database.call("PutItem", {"TableName": "runs", "Item": {"pk": {"S": "JOB#1"}, "code": {"S": "1"}}})


def test_a_delete_whose_item_cannot_be_read_says_that_it_has_happened(database, jobs):
    store_broken_job(database)
    with pytest.raises(
        WrittenUnreadable, match=r"Jobs.erase: written, but the item cannot be read: .* needs title"
    ) as caught:
        jobs.erase("1").run()
    assert caught.value.raw == {"pk": {"S": "JOB#1"}, "code": {"S": "1"}}
    assert jobs.job("1").run() is None


def test_an_update_whose_item_cannot_be_read_says_that_it_has_happened(database, jobs):
    database.call(
        "PutItem",
        {"TableName": "runs", "Item": {"pk": {"S": "JOB#1"}, "code": {"S": "1"}, "run_sk": {"S": "OTHER"}}},
    )
    with pytest.raises(WrittenUnreadable) as caught:
        jobs.retitle("1", "b").run()
    assert caught.value.raw["title"] == {"S": "b"}
    with pytest.raises(WrittenUnreadable):
        jobs.transact(jobs.retitle("1", "c")).run()


# ── transactions ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_transaction_refuses_a_read(jobs):
    with pytest.raises(ValueInvalid, match=r"Jobs.job is not a write"):
        jobs.transact(jobs.job("1"))


def test_a_transaction_refuses_the_writes_of_another_database(jobs):
    with hashrange.open() as other:
        hashrange.create_tables(other, Jobs)
        with pytest.raises(ValueInvalid, match=r"Jobs.retitle writes to another database"):
            jobs.transact(jobs.retitle("1", "b"), Jobs.open(other).retitle("1", "c"))


def test_a_transaction_takes_the_writes_of_other_patterns_on_the_same_database(database, jobs, stocks):
    jobs.transact(jobs.create(Job(code="1", title="a")), stocks.create(Stock(code="1"))).run()
    assert stocks.stock("1").run() == Stock(code="1")


def test_explain_says_when_a_write_stores_a_field_that_was_read_from_a_key():
    class Task(Item, table=Table("tasks", "pk", indexes=[Gsi("ByStatus", "status_key")]), pk="TASK#{id}"):
        id: str
        urgency: int = 3
        status: str

    class Queued(Task, status_key="QUEUED#{urgency:02d}", initial=True):
        status: Literal["QUEUED"] = "QUEUED"

    class Taken(Task):
        status: Literal["TAKEN"] = "TAKEN"
        worker: str

    class Tasks(Patterns, Protocol):
        def take(self, task: Queued, worker: str) -> Update[Taken]: ...

    lines = Tasks.plan("take").explain().splitlines()
    assert "    write   SET worker = {worker}, status = 'TAKEN'" in lines
    assert "    write   SET urgency = {task.urgency}  (if urgency was read from status_key alone)" in lines
    request, _ = Tasks.plan("take").build({"task": Queued(id="1"), "worker": "a"})
    assert "urgency" not in request["ExpressionAttributeNames"].values()
