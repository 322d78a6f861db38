"""Migrations: beside writers, after kills, the target is the converted source, and nothing happens out of order."""

from contextlib import suppress
from typing import Protocol

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import Get, Gsi, Item, Key, ManualClock, Patterns, PlanError, Query, Table, dump_item, load_item
from hashrange.provision import Dropped, Migration, apply, create_tables, plan

old_table = Table("old-orders", "id", stream="NEW_AND_OLD_IMAGES", deletion_protection=False)
new_table = Table("orders", "pk", "sk", indexes=[Gsi("ByDay", "day", "pk")], deletion_protection=False)


class OldOrder(Item, table=old_table, id="{id}"):
    id: str
    customer: str
    lines: list[str] = []  # noqa: RUF012 - pydantic copies defaults
    day: str = "2026-01-01"


class OldOrders(Patterns, Protocol):
    def order(self, id: str) -> Get[OldOrder]: ...  # noqa: A002 - the name of the field


class Order(Item, table=new_table, pk="CUSTOMER#{customer}", sk="ORDER#{number}"):
    customer: Key[str]
    number: Key[str]
    day: str


class Line(Item, table=new_table, pk="CUSTOMER#{customer}", sk="LINE#{number}#{position:03d}"):
    customer: Key[str]
    number: Key[str]
    position: Key[int]
    product: str


class Orders(Patterns, Protocol):
    def of_customer(self, customer: str) -> Query[Order | Line]: ...


migration = Migration("orders by customer", source=OldOrders, target=Orders)


@migration.convert(OldOrder)
def convert(old: OldOrder) -> list[Order | Line] | Dropped:
    if old.customer == "test":
        return Dropped("a test order")
    lines = [
        Line(customer=old.customer, number=old.id, position=position, product=product)
        for position, product in enumerate(old.lines)
    ]
    return [Order(customer=old.customer, number=old.id, day=old.day), *lines]


def put(database, number, customer="ann", lines=("a",)):
    item = dump_item(OldOrder(id=str(number), customer=customer, lines=list(lines)))
    database.call("PutItem", {"TableName": "old-orders", "Item": item})


def delete(database, number):
    database.call("DeleteItem", {"TableName": "old-orders", "Key": {"id": {"S": str(number)}}})


def scan(database, name):
    return sorted(database.call("Scan", {"TableName": name})["Items"], key=orjson.dumps)


def expected(database):
    """Return what the target should be, computed from the source by another way."""
    orders = [load_item([OldOrder], raw) for raw in scan(database, "old-orders")]
    converted = [convert(order) for order in orders]
    return sorted(
        (dump_item(item) for items in converted if not isinstance(items, Dropped) for item in items), key=orjson.dumps
    )


@pytest.fixture
def source(database):
    create_tables(database, OldOrders)
    return database


def test_items_are_copied_followed_verified_and_switched(source):
    for number in range(600):
        put(source, number, customer=("ann", "ben", "test")[number % 3])
    run = migration.open(source)
    assert run.phase == "new"
    report = run.copy()
    assert (report.items, report.written, run.phase) == (600, 800, "following")
    assert report.outcomes["OldOrder", "dropped: a test order"] == 200
    put(source, 0, customer="ann", lines=["x", "y"])
    put(source, 3, customer="cleo", lines=[])
    delete(source, 4)
    put(source, 601)
    assert not run.verify()
    assert run.follow() >= 4
    assert run.verify()
    assert scan(source, "orders") == expected(source)
    run.switch()
    assert run.phase == "switched"
    run.back()
    run.switch()
    run.finish()
    with pytest.raises(PlanError, match="is finished: nothing is left to do"):
        run.switch()


class FormerOrders(OldOrders, Protocol, names={old_table: "former-orders"}):
    pass


class NextOrders(Orders, Protocol, names={new_table: "next-orders"}):
    pass


mounted = Migration("orders into a mounted table", source=FormerOrders, target=NextOrders)
mounted.convert(OldOrder)(convert)
renamed = Migration("the same orders under another name", source=FormerOrders, target=OldOrders)


@renamed.convert(OldOrder)
def keep(old: OldOrder) -> OldOrder:
    return old


@pytest.mark.parametrize(("chosen", "target"), [(mounted, "next-orders"), (renamed, "old-orders")])
def test_mounted_tables_are_migrated(database, chosen, target):
    create_tables(database, FormerOrders, OldOrders)
    old = FormerOrders.open(database)
    old.batch([OldOrder(id=str(number), customer="ann", lines=["a"]) for number in range(3)]).run()
    run = chosen.open(database)
    (examples,) = run.preview().examples.values()
    assert all(str(example).startswith("former-orders (id ") for example in examples)
    run.copy()
    old.create(OldOrder(id="3", customer="ben")).run()
    database.call("DeleteItem", {"TableName": "former-orders", "Key": {"id": {"S": "0"}}})
    run.follow()
    assert run.verify()
    run.switch()
    orders = [load_item([OldOrder], raw) for raw in scan(database, "former-orders")]
    expected = [dump_item(item) for order in orders for item in chosen.apply_to(order).targets]
    assert scan(database, target) == sorted(expected, key=orjson.dumps)


def test_a_step_that_is_recorded_as_complete_can_be_run_again(source):
    put(source, 1)
    run = migration.open(source)
    run.copy()
    assert run.copy().items == 0
    assert run.phase == "following"
    run.switch()
    target = scan(source, "orders")
    put(source, 1, lines=["x", "y"])
    run.switch()
    assert (run.phase, scan(source, "orders")) == ("switched", target)
    run.finish()
    run.finish()
    assert run.phase == "finished"


def test_a_second_process_that_follows_is_told_so(source, monkeypatch):
    put(source, 1)
    run = migration.open(source)
    run.copy()
    put(source, 2)
    consumer = run._consumer()

    def follow_too(_):  # the other process, between reading and recording
        migration.open(source).follow()

    consumer.on_page(follow_too)
    monkeypatch.setattr(run, "_consumer", lambda: consumer)
    with pytest.raises(PlanError, match="Another process follows the migration 'orders by customer': end it"):
        run.follow()


def test_long_steps_report_how_far_they_are(source):
    for number in range(3):
        put(source, number)
    run = migration.open(source)
    seen = []
    for step in (run.preview, run.copy, run.verify, run.switch):
        seen.clear()
        step(report=lambda done, total: seen.append((done, total)))
        assert seen[-1] == (3, 3), step.__name__


def test_a_preview_shows_examples_of_each_kind_of_change_and_writes_nothing(source):
    for number in range(40):
        put(source, number, customer="test" if number % 2 else "ann")
    source.call("PutItem", {"TableName": "old-orders", "Item": {"id": {"S": "x"}}})
    before = source.call("ListTables", {})["TableNames"]
    report = migration.open(source).preview()
    assert {kind: len(found) for kind, found in report.examples.items()} == {
        ("OldOrder", "Order, Line"): 10,
        ("OldOrder", "dropped: a test order"): 10,
    }
    assert report.failed == 1
    assert "needs customer" in report.failures[0]
    assert source.call("ListTables", {})["TableNames"] == before


def test_changes_before_the_copy_are_not_applied_one_by_one(source):
    for _ in range(20):
        put(source, 1)
    calls = []

    class CountingTransport:
        clock = getattr(source, "clock", None)

        def call(self, operation, request, *read):
            calls.append(operation)
            return source.call(operation, request, *read)

    migration.open(CountingTransport()).copy(segments=1)
    assert "BatchGetItem" not in calls


def test_the_target_may_be_another_database(source):
    for number in range(10):
        put(source, number)
    with hashrange.open() as target:
        run = migration.open(source, target)
        run.copy()
        put(source, 3, lines=["changed"])
        run.switch()
        assert scan(target, "orders") == expected(source)
        assert "orders" not in source.call("ListTables", {})["TableNames"]


def test_what_cannot_be_converted_prevents_the_switch(source):
    source.call("PutItem", {"TableName": "old-orders", "Item": {"id": {"S": "x"}}})
    run = migration.open(source)
    run.copy()
    with pytest.raises(PlanError, match="1 could not be converted"):
        run.switch()


def test_differences_can_be_repaired(source):
    for number in range(5):
        put(source, number)
    run = migration.open(source)
    run.copy()
    [first, second, *_] = scan(source, "orders")
    keys = [{"pk": raw["pk"], "sk": raw["sk"]} for raw in (first, second)]
    source.call("DeleteItem", {"TableName": "orders", "Key": keys[0]})
    source.call("PutItem", {"TableName": "orders", "Item": {**second, "sk": {"S": "ORDER#surplus"}, "day": {"S": "d"}}})
    report = run.verify(repair=True)
    assert (report.missing, report.surplus) == (1, 1)
    assert (run.verify().missing, run.verify().surplus) == (0, 1)
    run.verify(repair=True, allow_loss=True)
    assert run.verify()
    assert scan(source, "orders") == expected(source)


def test_a_source_without_a_stream_is_refused(database):
    create_tables(database, Table("old-orders", "id", deletion_protection=False))
    with pytest.raises(PlanError, match="old-orders needs a stream with NEW_AND_OLD_IMAGES"):
        migration.open(database).copy()
    assert database.call("ListTables", {})["TableNames"] == ["old-orders"]


def test_a_stream_that_was_trimmed_while_nobody_followed_begins_again():
    clock = ManualClock(1_768_478_400)
    with hashrange.open(clock=clock) as database:
        create_tables(database, OldOrders)
        for number in range(3):
            put(database, number)
        run = migration.open(database)
        run.copy()
        delete(database, 1)
        clock.advance(49 * 3600)
        database.wait_until_idle()
        put(database, 2, customer="ben")
        with pytest.raises(PlanError, match="The migration begins again") as caught:
            run.follow()
        assert "has not followed old-orders for a day" in str(caught.value)
        assert "forget()" not in str(caught.value), "the migration does that itself"
        assert run.phase == "new"
        run.copy()
        run.verify(repair=True, allow_loss=True)
        run.switch()
        assert scan(database, "orders") == expected(database)


def test_a_stream_that_was_enabled_for_the_migration_and_trimmed_is_noticed():
    clock = ManualClock(1_768_478_400)
    with hashrange.open(clock=clock) as database:
        create_tables(database, Table("old-orders", "id", deletion_protection=False))
        for number in range(3):
            put(database, number)
        apply(database, plan(database, OldOrders))
        migration.open(database).copy()
        delete(database, 1)
        clock.advance(25 * 3600)
        database.wait_until_idle()
        run = migration.open(database)
        with pytest.raises(PlanError, match="The migration begins again"):
            run.follow()
        run.copy()
        run.follow()
        run.verify(repair=True, allow_loss=True)
        run.switch()
        assert scan(database, "orders") == expected(database)


class Interrupted(BaseException):
    """A kill."""


class InterruptingTransport:
    """Between two calls of the migration another program writes; one call is the last, as if killed there."""

    def __init__(self, database, writes, kill_after):
        self.database, self.writes, self.left = database, iter(writes), kill_after
        self.clock = database.clock

    def call(self, operation, request, *read):
        self.left -= 1
        if self.left == 0:
            raise Interrupted
        write = next(self.writes, None)
        if write is not None:
            write(self.database)
        return self.database.call(operation, request, *read)


WRITES = st.lists(
    st.one_of(
        st.none(),
        st.builds(
            lambda number, customer, lines: lambda database: put(database, number, customer, lines),
            st.integers(0, 7),
            st.sampled_from(["ann", "ben", "test"]),
            st.lists(st.sampled_from("xyz"), max_size=3),
        ),
        st.builds(lambda number: lambda database: delete(database, number), st.integers(0, 7)),
    ).map(lambda write: write or (lambda database: None)),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(writes=st.lists(WRITES, max_size=4), kills=st.lists(st.integers(1, 60), max_size=4))
def test_killed_anywhere_beside_writers_the_target_becomes_the_converted_source(writes, kills):
    with hashrange.open() as database:
        create_tables(database, OldOrders)
        for number in range(6):
            put(database, number, customer=("ann", "ben", "test")[number % 3])
        for number, kill_after in enumerate(kills):
            beside = writes[number] if number < len(writes) else []
            with suppress(Interrupted):
                advance(migration.open(InterruptingTransport(database, beside, kill_after)))
        run = migration.open(database)
        advance(run)
        run.switch()
        assert scan(database, "orders") == expected(database)


def advance(run):
    """Do what is next."""
    if run.phase in {"new", "copying"}:
        run.copy(segments=1)
    run.follow()
