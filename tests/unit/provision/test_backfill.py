"""Backfill: existing items get what the declaration asks for, beside writers, after kills, and nothing else changes."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import (
    Conflict,
    Get,
    Gsi,
    Item,
    Key,
    Patterns,
    PlanError,
    Query,
    Table,
    Update,
    Version,
    View,
    initially,
)
from hashrange.provision import apply, backfill, plan
from hashrange.schema.items.dumper import dump
from hashrange.schema.items.loader import load

table = Table(
    "orders",
    "pk",
    indexes=[Gsi("ByCustomer", "customer_key", "placed_key"), Gsi("ByStage", "status", "stage_key")],
    deletion_protection=False,
)


class Stage(View["Order"]):
    number: Key[str]


class Waiting(Stage, stage_key="WAIT#"): ...


class Sent(Stage, stage_key="SENT#{sent_at}"):
    sent_at: datetime


class Order(
    Item, table=table, pk="ORDER#{number}", customer_key="CUSTOMER#{customer}", placed_key="{placed:08d}#{number}"
):
    number: Key[str]
    customer: str
    placed: int = 0
    status: Literal["open", "closed"] = "open"
    note: str | None = None
    version: Version = 0
    stage: Waiting | Sent = initially(Waiting)


class Orders(Patterns, Protocol):
    def order(self, number: str) -> Get[Order]: ...
    def move(self, order: Order, customer: str, placed: int) -> Update[Order]: ...
    def send(self, stage: Waiting, sent_at: datetime) -> Update[Sent]: ...


def put_old(database, number, **attributes):
    """Write an order as a program without indexes does."""
    item = {"pk": {"S": f"ORDER#{number}"}, "customer": {"S": "ann"}, **attributes}
    database.call("PutItem", {"TableName": "orders", "Item": item})


def read_all(database, **options):
    found, request = [], {"TableName": "orders", **options}
    while True:
        response = database.call("Scan", request)
        found += response["Items"]
        if "LastEvaluatedKey" not in response:
            return found
        request["ExclusiveStartKey"] = response["LastEvaluatedKey"]


def check_indexes(database):
    """Every index entry is the one that the declaration computes from the item, and no other."""
    items = {item["pk"]["S"]: item for item in read_all(database)}
    for index in table.indexes:
        wanted = {}
        for pk, item in items.items():
            loaded = load([Order], item)
            computed = dump(loaded) if loaded is not None else {}
            if all(attr in computed for attr in index.keys):
                wanted[pk] = [computed[attr] for attr in index.keys]
        found = {
            item["pk"]["S"]: [item[attr] for attr in index.keys] for item in read_all(database, IndexName=index.name)
        }
        assert found == wanted


@pytest.fixture
def orders(database):
    apply(database, plan(database, Orders))
    return database


def test_items_get_index_keys_defaults_and_versions_and_nothing_else_changes(orders):
    put_old(orders, 1, other={"S": "kept"}, placed={"N": "7"})
    [report] = backfill(orders, Orders)
    assert (report.scanned, report.repaired, report.undeclared, report.unreadable) == (1, 1, 0, 0)
    [item] = read_all(orders)
    assert item == {
        "pk": {"S": "ORDER#1"},
        "customer": {"S": "ann"},
        "other": {"S": "kept"},
        "placed": {"N": "7"},
        "status": {"S": "open"},
        "version": {"N": "0"},
        "customer_key": {"S": "CUSTOMER#ann"},
        "placed_key": {"S": "00000007#1"},
        "stage_key": {"S": "WAIT#"},
    }
    check_indexes(orders)
    [again] = backfill(orders, Orders)
    assert (again.scanned, again.repaired) == (1, 0)


def test_a_stale_index_key_is_corrected_and_one_without_a_reason_is_removed(orders):
    put_old(orders, 1, customer_key={"S": "CUSTOMER#bob"}, placed_key={"S": "00000009#1"})
    backfill(orders, Orders)
    check_indexes(orders)


def test_a_dry_run_counts_and_shows_examples_and_changes_nothing(orders):
    for number in range(12):
        put_old(orders, number, **({"note": {"S": "x"}} if number % 2 else {}))
    before = read_all(orders)
    tables = orders.call("ListTables", {})["TableNames"]
    [report] = backfill(orders, Orders, dry_run=True)
    assert report.repaired == 12
    [(what, examples)] = report.examples.items()
    assert what == ("Order", ("customer_key", "placed", "placed_key", "stage_key", "status", "version"))
    assert len(examples) == 3
    assert examples[0].sets["customer_key"] == {"S": "CUSTOMER#ann"}
    assert read_all(orders) == before
    assert orders.call("ListTables", {})["TableNames"] == tables


def test_what_cannot_be_read_is_listed_and_what_is_not_declared_is_counted(orders):
    put_old(orders, 1, placed={"S": "soon"})
    put_old(orders, 2)
    orders.call("PutItem", {"TableName": "orders", "Item": {"pk": {"S": "CUSTOMER#ann"}}})
    [report] = backfill(orders, Orders)
    assert (report.scanned, report.repaired, report.undeclared, report.unreadable) == (3, 1, 1, 1)
    [failure] = report.failures
    assert failure.key == {"pk": {"S": "ORDER#1"}}
    assert "placed" in failure.reason


def test_an_item_in_a_state_that_was_removed_from_the_declaration_is_listed_and_kept(orders):
    put_old(orders, 1, stage_key={"S": "RETURNED#2026-01-02"})
    before = read_all(orders)
    for dry_run in (True, False):
        [report] = backfill(orders, Orders, dry_run=dry_run)
        assert (report.repaired, report.unreadable) == (0, 1)
        found, _, forms = str(report.failures[0]).partition(": stage_key is ")
        assert found == "pk='ORDER#1' in orders: Order.stage is in none of its states"
        assert forms.startswith("'RETURNED#2026-01-02', which is not ")
    assert read_all(orders) == before


def test_the_rate_is_limited(orders):
    for number in range(300):
        put_old(orders, number)
    started = time.monotonic()
    backfill(orders, Orders, max_rate=600, segments=2)
    assert time.monotonic() - started >= 0.4


def test_a_table_that_does_not_exist_is_refused(database):
    with pytest.raises(PlanError, match="There is no table orders: create it first"):
        backfill(database, Orders)


STORED = st.fixed_dictionaries(
    {},
    optional={
        "placed": st.integers(0, 9).map(lambda number: {"N": str(number)}),
        "status": st.sampled_from(["open", "closed"]).map(lambda text: {"S": text}),
        "note": st.just({"S": "n"}),
        "version": st.just({"N": "3"}),
        "sent_at": st.just({"S": "2026-01-02T03:04:05Z"}),
        "customer_key": st.sampled_from(["CUSTOMER#ann", "CUSTOMER#bob", "x"]).map(lambda text: {"S": text}),
        "placed_key": st.sampled_from(["00000001#0", "x"]).map(lambda text: {"S": text}),
        "stage_key": st.sampled_from(["WAIT#", "SENT#2026-01-02T03:04:05Z", "SENT#2025-01-02T03:04:05Z"]).map(
            lambda text: {"S": text}
        ),
    },
)


class InterruptingTransport:
    """Between two calls of the backfill, another program writes; one call in so many fails as if killed."""

    def __init__(self, database, writes, kill_after):
        self.database, self.writes, self.left = database, iter(writes), kill_after

    def call(self, operation, request, *read):
        self.left -= 1
        if self.left == 0:
            raise InterruptedError
        if operation == "UpdateItem" and request["TableName"] == "orders":
            write = next(self.writes, None)
            if write is not None:
                write(self.database)
        return self.database.call(operation, request, *read)


def edit(number, customer, placed):
    def write(database):
        db = Orders.open(database)
        with suppress(Conflict):
            order = db.order(str(number)).run()
            if order is not None:
                db.move(order, customer=customer, placed=placed).run()

    return write


def send(number):
    def write(database):
        db = Orders.open(database)
        with suppress(Conflict):
            order = db.order(str(number)).run()
            if order is not None and isinstance(order.stage, Waiting):
                db.send(order.stage, sent_at=datetime(2026, 5, 6, tzinfo=UTC)).run()

    return write


def delete(number):
    return lambda database: database.call(
        "DeleteItem", {"TableName": "orders", "Key": {"pk": {"S": f"ORDER#{number}"}}}
    )


WRITES = st.lists(
    st.one_of(
        st.builds(edit, st.integers(0, 5), st.sampled_from(["bob", "cid"]), st.integers(0, 9)),
        st.builds(send, st.integers(0, 5)),
        st.builds(delete, st.integers(0, 5)),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(items=st.lists(STORED, min_size=1, max_size=6), writes=WRITES, kill_after=st.integers(0, 40))
def test_beside_writers_and_after_a_kill_every_index_entry_is_as_computed_from_scratch(items, writes, kill_after):
    with hashrange.open() as database:
        apply(database, plan(database, Orders))
        for number, item in enumerate(items):
            put_old(database, number, **item)
        transport = InterruptingTransport(database, writes, kill_after)
        try:
            backfill(transport, Orders, segments=1)
        except InterruptedError:
            backfill(database, Orders, segments=1)
        check_indexes(database)


def test_a_killed_backfill_continues_where_it_stopped(tmp_path):
    with hashrange.open(tmp_path) as database:
        apply(database, plan(database, Orders))
        for number in range(4_000):
            put_old(database, number)
    program = (
        "import sys, hashrange\n"
        "from tests.unit.provision.test_backfill import Orders\n"
        "from hashrange.provision import backfill\n"
        "with hashrange.open(sys.argv[1]) as database:\n"
        "    backfill(database, Orders, report=lambda found: print(found.scanned, flush=True))\n"
    )
    running = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    lines = [running.stdout.readline() for _ in range(3)]
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    running.stdout.close()
    assert int(lines[-1]) >= 500
    with hashrange.open(tmp_path) as database:
        seen = []
        [report] = backfill(database, Orders, report=lambda found: seen.append(found.scanned))
        assert seen[0] > int(lines[0]), "it counts on from the pages that were recorded"
        assert report.scanned == 4_000
        check_indexes(database)


def test_a_backfill_gives_items_the_key_of_the_variant_that_their_values_make():
    table = Table("bills", "pk", indexes=[Gsi("Unpaid", "unpaid", "pk")])

    class Bill(Item, table=table, pk="BILL#{number}"):
        number: str
        paid: bool

    class UnpaidBill(Bill, unpaid="1"):
        paid: Literal[False]

    class Bills(Patterns, Protocol):
        def bill(self, number: str) -> Get[Bill]: ...
        def unpaid(self) -> Query[UnpaidBill]: ...

    with hashrange.open() as database:
        hashrange.create_tables(database, Bills)
        for number, paid in (("1", False), ("2", True)):  # as a program wrote them before there was an index
            item = {"pk": {"S": f"BILL#{number}"}, "number": {"S": number}, "paid": {"BOOL": paid}}
            database.call("PutItem", {"TableName": "bills", "Item": item})
        backfill(database, Bills)
        db = Bills.open(database)
        assert [bill.number for bill in db.unpaid().run()] == ["1"]
