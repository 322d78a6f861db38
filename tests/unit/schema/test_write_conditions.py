"""What a write requires of the stored item: exactly that it is read like the one that the caller has seen."""

from datetime import UTC, datetime
from typing import Protocol

import pytest

import hashrange
from hashrange import (
    DeclarationError,
    Get,
    Gsi,
    Item,
    NotFound,
    Patterns,
    Table,
    Update,
    Upsert,
    Version,
    after,
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
    with pytest.raises(hashrange.Conflict):
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
