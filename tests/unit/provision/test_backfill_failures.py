"""Backfill: an item that cannot be completed is listed with its key, and does not stop the others."""

from datetime import UTC, datetime
from typing import Any, Protocol

import pytest
from pydantic import Field
from typer.testing import CliRunner

import hashrange
from hashrange import Get, Gsi, Item, Key, Patterns, PlanError, Table, Ttl, after
from hashrange.cli.app import app
from hashrange.core.errors import AccessDeniedException, ItemCollectionSizeLimitExceededException, ValidationException
from hashrange.provision import apply, backfill, copy_items, export_items, plan
from hashrange.provision.item_backfill import MAX_ATTEMPTS
from tests.unit.provision.test_key_collision import InterceptedTransport

table = Table("parcels", "pk", indexes=[Gsi("ByOwner", "owner_key", "pk")], ttl="expires", deletion_protection=False)
LIMIT = 409_600


class Parcel(Item, table=table, pk="PARCEL#{number}", owner_key="OWNER#{owner}"):
    number: Key[str]
    owner: str
    at: datetime = datetime(2030, 1, 1, tzinfo=UTC)
    content: str | None = None
    expires: Ttl = after("at", days=1)


class Parcels(Patterns, Protocol):
    def parcel(self, number: str) -> Get[Parcel]: ...


def put(database, number, **attributes):
    item = {"pk": {"S": f"PARCEL#{number}"}, "owner": {"S": "ann"}, "at": {"S": "2030-01-01T00:00:00Z"}, **attributes}
    database.call("PutItem", {"TableName": "parcels", "Item": item})
    return item


def fill(database, *, extra):
    """Put an item that is as large as DynamoDB allows but for `extra` bytes, between two small ones."""
    apply(database, plan(database, Parcels))
    put(database, 1)
    empty = hashrange.core.values.measure_item(put(database, 2, content={"S": ""}))
    put(database, 2, content={"S": "x" * (LIMIT - empty - extra)})
    put(database, 3)


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_item_that_would_become_too_large_is_listed_and_the_others_are_completed(database, dry_run):
    fill(database, extra=10)
    [report] = backfill(database, Parcels, dry_run=dry_run)
    assert (report.scanned, report.repaired, report.unreadable) == (3, 2, 1)
    [failure] = report.failures
    assert failure.key == {"pk": {"S": "PARCEL#2"}}
    assert "completed it would take 409," in failure.reason
    assert str(failure).startswith("pk='PARCEL#2': completed it would take")
    assert sum(report.repairs.values()) == 2


def test_the_size_is_computed_as_the_database_does(database):
    for extra in range(20, 40):
        fill(database, extra=extra)
        [report] = backfill(database, Parcels, dry_run=True)
        foretold = report.unreadable
        item = database.call("GetItem", {"TableName": "parcels", "Key": {"pk": {"S": "PARCEL#2"}}})["Item"]
        request = {
            "TableName": "parcels",
            "Key": {"pk": item["pk"]},
            "UpdateExpression": "SET owner_key = :o, expires = :e",
            "ExpressionAttributeValues": {":o": {"S": "OWNER#ann"}, ":e": {"N": "1893542400"}},
        }
        try:
            database.call("UpdateItem", request)
        except ValidationException:
            assert foretold == 1
        else:
            assert foretold == 0


@pytest.mark.parametrize("error", [ValidationException, ItemCollectionSizeLimitExceededException])
def test_an_update_that_the_database_refuses_is_listed(database, error):
    apply(database, plan(database, Parcels))
    for number in range(5):
        put(database, number)

    class Refusing:
        def call(self, operation, request, *read):
            if operation == "UpdateItem" and request["Key"] == {"pk": {"S": "PARCEL#3"}}:
                raise error("not this one")
            return database.call(operation, request, *read)

    [report] = backfill(Refusing(), Parcels)
    assert (report.repaired, report.unreadable) == (4, 1)
    assert [(one.key["pk"]["S"], one.reason) for one in report.failures] == [("PARCEL#3", "not this one")]


def test_a_refusal_that_concerns_all_items_stops_the_backfill(database):
    apply(database, plan(database, Parcels))
    put(database, 1)

    class Refusing:
        def call(self, operation, request, *read):
            if operation == "UpdateItem":
                raise AccessDeniedException("not allowed")
            return database.call(operation, request, *read)

    with pytest.raises(AccessDeniedException):
        backfill(Refusing(), Parcels)


def rewrite(database, **attributes):
    """Return a transport that lets another program write an item before each update."""
    turns = iter(range(1_000))

    class Writing:
        def call(self, operation, request, *read):
            if operation == "UpdateItem" and request["TableName"] == "parcels":
                put(database, 1, **{name: value(next(turns)) for name, value in attributes.items()})
            return database.call(operation, request, *read)

    return Writing()


def test_an_item_that_changes_before_each_attempt_is_listed(database):
    apply(database, plan(database, Parcels))
    put(database, 1)
    put(database, 2)
    [report] = backfill(rewrite(database, owner=lambda turn: {"S": f"owner {turn}"}), Parcels)
    assert (report.repaired, report.unreadable) == (1, 1)
    assert "changes faster than it can be completed" in report.failures[0].reason
    assert MAX_ATTEMPTS > 1


def test_an_item_that_becomes_unreadable_meanwhile_is_listed(database):
    apply(database, plan(database, Parcels))
    put(database, 1)
    [report] = backfill(rewrite(database, owner=lambda _: {"N": "5"}), Parcels)
    assert (report.repaired, report.unreadable) == (0, 1)
    assert "Parcel.owner" in str(report.failures[0])


def test_a_default_after_another_time_is_computed_from_the_time_that_is_stored(database):
    apply(database, plan(database, Parcels))
    put(database, 1)
    written = []

    def move(operation, request, _response):
        if operation == "Scan" and request["TableName"] == "parcels" and not written:
            written.append(put(database, 1, at={"S": "2031-01-01T00:00:00Z"}))

    backfill(InterceptedTransport(database, move), Parcels, segments=1)
    item = database.call("GetItem", {"TableName": "parcels", "Key": {"pk": {"S": "PARCEL#1"}}})["Item"]
    assert item["at"] == {"S": "2031-01-01T00:00:00Z"}
    assert item["expires"] == {"N": str(int(datetime(2031, 1, 2, tzinfo=UTC).timestamp()))}


sums = Table("sums", "pk", deletion_protection=False)


def add(data: dict[str, Any]) -> int:
    return data["first"] + data["second"]


class Sum(Item, table=sums, pk="SUM#{number}"):
    number: Key[str]
    first: int
    second: int
    total: int = Field(default_factory=add)


class Sums(Patterns, Protocol):
    def sum(self, number: str) -> Get[Sum]: ...


def test_a_default_that_a_function_computes_is_of_the_stored_values(database):
    apply(database, plan(database, Sums))
    item = {"pk": {"S": "SUM#1"}, "first": {"N": "1"}, "second": {"N": "2"}}
    database.call("PutItem", {"TableName": "sums", "Item": item})

    def change(operation, request, _response):
        if operation == "Scan" and request["TableName"] == "sums":
            database.call("PutItem", {"TableName": "sums", "Item": {**item, "second": {"N": "5"}}})

    backfill(InterceptedTransport(database, change), Sums, segments=1)
    assert Sums.open(database).sum("1").run().total == 6


@pytest.mark.parametrize("segments", [0, -1, 1_001])
def test_a_number_of_segments_that_cannot_be_read_is_refused(database, tmp_path, segments):
    apply(database, plan(database, Parcels))
    for work in (
        lambda: backfill(database, Parcels, segments=segments),
        lambda: export_items(database, "parcels", tmp_path / "file.jsonl", segments=segments),
        lambda: copy_items(database, "parcels", database, "other", create=True, segments=segments),
    ):
        with pytest.raises(PlanError, match="give 1 to 1,000"):
            work()
    assert database.call("ListTables", {})["TableNames"] == ["parcels"]


@pytest.mark.parametrize("rate", [0, -5, float("nan")])
def test_a_rate_that_is_no_rate_is_refused(database, rate):
    apply(database, plan(database, Parcels))
    with pytest.raises(PlanError, match="give the items to read in a second, more than 0"):
        backfill(database, Parcels, max_rate=rate)


def test_the_command_prints_the_key_of_an_item_that_is_too_large_and_exits_with_1(tmp_path):
    with hashrange.open(tmp_path) as database:
        fill(database, extra=10)
        apply(database, plan(database, Sums))
    for more in (["--dry-run"], []):
        shown = CliRunner().invoke(app, ["backfill", __name__, "--target", str(tmp_path), *more])
        assert shown.exit_code == 1
        assert "1 item could not be completed" in shown.output
        assert "pk='PARCEL#2': completed it would take" in shown.output
