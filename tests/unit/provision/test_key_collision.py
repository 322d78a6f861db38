"""Two items of the source that become one item of the target are noticed before one replaces the other."""

from typing import Protocol

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange import Item, Key, Patterns, PlanError, Query, Table
from hashrange.cli.app import app
from hashrange.provision import Migration, create_tables
from tests.unit.provision.test_migration import Interrupted, OldOrder, OldOrders, put

table = Table("days", "pk", "sk", deletion_protection=False)


class Day(Item, table=table, pk="CUSTOMER#{customer}", sk="DAY#{day}"):
    customer: Key[str]
    day: Key[str]
    number: str


class Days(Patterns, Protocol):
    def of_customer(self, customer: str) -> Query[Day]: ...


migration = Migration("days", source=OldOrders, target=Days)


@migration.convert(OldOrder)
def convert(old: OldOrder) -> Day:
    return Day(customer=old.customer, day=old.day, number=old.id)


@pytest.fixture
def source(database):
    create_tables(database, OldOrders)
    for number, customer in enumerate(["ann", "ben", "cleo"]):
        put(database, number, customer=customer)
    return database


def test_a_copy_stops_with_both_source_keys(source):
    put(source, 7, customer="ben")
    run = migration.open(source)
    with pytest.raises(PlanError) as caught:
        run.copy()
    assert "old-orders (id 1)" in str(caught.value)
    assert "old-orders (id 7)" in str(caught.value)
    assert "both become days (pk CUSTOMER#ben, sk DAY#2026-01-01)" in str(caught.value)
    assert run.phase == "copying"
    put(source, 7, customer="dora")
    assert (run.copy().items, run.phase) == (4, "following")
    run.follow()
    run.verify(repair=True, allow_loss=True)
    run.switch()


class InterceptedTransport:
    """A transport whose responses a function may change."""

    def __init__(self, database, intercept):
        self.database, self.intercept = database, intercept
        self.clock = getattr(database, "clock", None)

    def call(self, operation, request, *read):
        response = self.database.call(operation, request, *read)
        self.intercept(operation, request, response)
        return response


def test_a_copy_that_goes_on_knows_what_the_earlier_one_copied(database):
    create_tables(database, OldOrders)
    for number in range(501):  # two pages: the first is recorded, then the process is killed
        put(database, number, customer=str(number))
    order = [raw["id"]["S"] for raw in database.call("Scan", {"TableName": "old-orders"})["Items"]]
    put(database, order[-1], customer=order[0])

    def kill(operation, request, _response):
        if (
            operation == "PutItem"
            and request["TableName"] == "hashrange-jobs"
            and "copy" in request["Item"]["job"]["S"]
        ):
            raise Interrupted

    with pytest.raises(Interrupted):
        migration.open(InterceptedTransport(database, kill)).copy(segments=1)
    run = migration.open(database)
    with pytest.raises(PlanError, match=rf"\(id {order[0]}\) and old-orders \(id {order[-1]}\) both become"):
        run.copy(segments=1)
    put(database, order[-1], customer="other")
    assert run.copy(segments=1).items == 501
    run.follow()
    run.verify(repair=True, allow_loss=True)
    run.switch()


def test_an_item_that_is_gone_meanwhile_is_no_collision(source):
    gone = {"id": {"S": "gone"}, "customer": {"S": "ann"}, "day": {"S": "2026-01-01"}, "lines": {"L": []}}

    def add_gone(operation, request, response):
        if operation == "Scan" and request["TableName"] == "old-orders":
            response["Items"].append(gone)

    report = migration.open(InterceptedTransport(source, add_gone)).copy()
    assert report.outcomes["OldOrder", "Day"] > 3


def test_a_preview_and_a_verification_name_both_and_exit_with_2(tmp_path):
    with hashrange.open(tmp_path) as database:
        create_tables(database, OldOrders)
        put(database, 1, customer="ann")
        run = migration.open(database)
        run.copy()
        put(database, 2, customer="ann")
        run.follow()
        report = run.verify()
        assert (bool(report), report.collided) == (False, 1)
        with pytest.raises(PlanError, match="1 become what others become too"):
            run.switch()
    for step in ("preview", "verify"):
        name = f"{__name__}:migration"
        shown = CliRunner().invoke(app, ["migrate", step, name, "--target", str(tmp_path)])
        assert shown.exit_code == 2
        assert "old-orders (id 1) and old-orders (id 2) both become" in shown.output or (
            "old-orders (id 2) and old-orders (id 1) both become" in shown.output
        )
