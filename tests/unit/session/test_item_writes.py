"""Writes of whole items and their results: initial states, conditional put, old values, tokens, failed members."""

from typing import Literal, Protocol

import pytest

import hashrange
from hashrange import (
    Conflict,
    DeclarationError,
    Delete,
    Ensure,
    Eq,
    Get,
    Gsi,
    Item,
    Lt,
    Missing,
    Patterns,
    ServiceError,
    Table,
    Taken,
    TransactionCanceledException,
    Update,
    Upsert,
    ValueInvalid,
    Version,
    View,
    WrittenUnreadable,
    where,
)

table = Table("parcels", "pk", indexes=[Gsi("ByStatus", "status", "code")])


class Parcel(Item, table=table, pk="PARCEL#{code}"):
    code: str
    weight: int = 0


class Waiting(Parcel, initial=True):
    status: Literal["WAITING"] = "WAITING"


class Urgent(Waiting):
    urgent: Literal[True] = True


class Travelling(Parcel):
    status: Literal["TRAVELLING"] = "TRAVELLING"
    van: str


class Delivered(Parcel):
    status: Literal["DELIVERED"] = "DELIVERED"


class Weight(View[Parcel]):
    code: str
    weight: int


class Note(Item, table=table, pk="NOTE#{code}"):
    code: str
    text: str
    pk_: str = "x"
    f0: int = 0
    version: Version = 0


class Parcels(Patterns, Protocol):
    def parcel(self, code: str) -> Get[Parcel]: ...
    def note(self, code: str) -> Get[Note]: ...
    def weigh(self, code: str, weight: int) -> Update[Weight]: ...
    def send(self, parcel: Waiting, van: str) -> Update[Travelling, Waiting]: ...
    def edit(self, parcel: Parcel, weight: int = ...) -> Update[Parcel]: ...
    def deliver(self, parcel: Travelling) -> Update[Delivered]: ...
    def write(self, code: str, text: str) -> Upsert[Note]: ...
    def drop(self, code: str) -> Delete[Parcel]: ...
    def is_lighter(self, code: str, weight: Lt[int]) -> Ensure[Parcel]: ...
    def has_text(self, code: str, text: Eq[str]) -> Ensure[Note]: ...
    @where("f0 < {most} AND pk_ <> {word}")
    def is_low(self, code: str, most: int, word: str) -> Ensure[Note]: ...


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Parcels)
        yield Parcels.open(database)


# ── what is no item ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("given", [None, "PARCEL#1", {"code": "1"}, Weight(code="1", weight=2)], ids=repr)
def test_only_items_are_written(db, given):
    for write in (db.create, db.put, lambda item: db.batch([item]).run(), lambda item: db.batch(delete=[item]).run()):
        with pytest.raises(ValueInvalid, match="is not an item: create, put and batch take objects of an Item class"):
            write(given)
    assert db.parcel("1").run() is None


@pytest.mark.parametrize("given", [None, "x", Waiting(code="1"), [1]], ids=repr)
def test_a_transaction_takes_only_writes(db, given):
    with pytest.raises(ValueInvalid, match="is not a write"):
        db.transact(db.create(Waiting(code="2")), given)
    with pytest.raises(ValueInvalid, match="is not a write"):
        db.transact_all([given])


# ── initial states ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_item_is_created_in_an_initial_variant(db):
    db.create(Waiting(code="1")).run()
    db.create(Urgent(code="2")).run()
    for item in (Delivered(code="3"), Travelling(code="3", van="v"), Parcel(code="3")):
        with pytest.raises(ValueInvalid, match=r"starts as Waiting, not .*imported"):
            db.create(item).run()
        with pytest.raises(ValueInvalid, match="starts as Waiting"):
            db.transact(db.create(item)).run()
    assert db.parcel("3").run() is None


def test_an_imported_item_may_be_in_any_state(db):
    assert db.create(Delivered(code="1")).imported().run() == db.parcel("1").run()


def test_an_item_without_an_initial_variant_is_created_in_any(db):
    assert db.create(Note(code="1", text="a")).run().text == "a"


def test_an_upsert_into_the_middle_of_a_lifecycle_is_refused():
    with pytest.raises(DeclarationError, match="HR252"):

        class Wrong(Patterns, Protocol):
            def deliver(self, code: str) -> Upsert[Delivered]: ...


def test_initial_is_for_variants():
    class Crate(Item, table=Table("crates", "pk"), pk="CRATE#{code}", initial=True):
        code: str

    with pytest.raises(DeclarationError, match="HR161"):

        class Crates(Patterns, Protocol):
            def crate(self, code: str) -> Get[Crate]: ...


# ── old values ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_update_returns_what_the_item_was_before(db):
    waiting = db.create(Waiting(code="1", weight=3)).run()
    assert db.send(waiting, "van 1").returning_old().run() == waiting
    assert db.weigh("1", 4).returning_old().run() == Weight(code="1", weight=3)
    assert db.parcel("1").run() == Travelling(code="1", weight=4, van="van 1")


def test_an_upsert_returns_nothing_where_it_created(db):
    assert db.write("1", "a").returning_old().run() is None
    old = db.write("1", "b").returning_old().run()
    assert old is not None
    assert old.text == "a"


def test_a_put_returns_what_it_replaced(db):
    note = Note(code="1", text="a")
    assert db.put(note).returning_old().run() is None
    replaced = db.put(db.note("1").required().run().model_copy(update={"text": "b"})).returning_old().run()
    assert replaced is not None
    assert replaced.text == "a"


def test_an_update_that_does_not_declare_what_the_item_was_says_so(db):
    travelling = db.create(Travelling(code="1", van="v")).imported().run()
    with pytest.raises(ValueInvalid, match=r"declare what it was before: Update\[Delivered, Travelling\]"):
        db.deliver(travelling).returning_old().run()
    assert db.parcel("1").run() == travelling


def test_an_old_value_that_cannot_be_read_is_an_error_after_the_write(db):
    item = {"pk": {"S": "PARCEL#1"}, "weight": {"N": "1"}}
    db.session.transport.call("PutItem", {"TableName": "parcels", "Item": {**item, "weight": {"S": "heavy"}}})
    with pytest.raises(WrittenUnreadable):
        db.weigh("1", 4).returning_old().run()
    assert db.session.transport.call("GetItem", {"TableName": "parcels", "Key": {"pk": item["pk"]}})["Item"][
        "weight"
    ] == {"N": "4"}


def test_another_class_before_is_refused():
    with pytest.raises(DeclarationError, match="HR251"):

        class Wrong(Patterns, Protocol):
            def deliver(self, parcel: Waiting | Travelling) -> Update[Delivered, Waiting]: ...


# ── conditional put ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_put_replaces_only_what_meets_the_condition(db):
    db.create(Waiting(code="1", weight=3)).run()
    heavier = Waiting(code="1", weight=9)
    with pytest.raises(Conflict) as caught:
        db.put(heavier).when(db.is_lighter("1", 3)).run()
    assert caught.value.current == Waiting(code="1", weight=3)
    assert db.put(heavier).when(db.is_lighter("1", 4)).returning_old().run() == Waiting(code="1", weight=3)


def test_a_conditional_put_needs_an_item_unless_it_may_be_absent(db):
    parcel = Waiting(code="1", weight=3)
    with pytest.raises(Missing):
        db.put(parcel).when(db.is_lighter("1", 9)).run()
    db.put(parcel).when(db.is_lighter("1", 3), or_absent=True).run()
    with pytest.raises(Conflict):
        db.put(parcel).when(db.is_lighter("1", 3), or_absent=True).run()


def test_an_imported_item_keeps_the_condition_of_its_put(db):
    db.create(Waiting(code="1", weight=3)).run()
    heavier = Delivered(code="1", weight=9)
    for put in (
        db.put(heavier).when(db.is_lighter("1", 3)).imported(),
        db.put(heavier).imported().when(db.is_lighter("1", 3)),
    ):
        with pytest.raises(Conflict):
            put.run()
    with pytest.raises(Missing):
        db.put(Delivered(code="2")).when(db.is_lighter("2", 3)).imported().run()
    db.put(heavier).when(db.is_lighter("1", 4)).imported().run()


def test_the_condition_is_added_to_the_version_and_uses_its_own_names(db):
    note = db.put(Note(code="1", text="a")).run()
    changed = db.put(note.model_copy(update={"text": "b"})).when(db.is_low("1", 1, "y")).run()
    assert changed.version == 2
    with pytest.raises(Conflict):  # the version
        db.put(note).when(db.has_text("1", "b")).run()
    with pytest.raises(Conflict):  # the condition
        db.transact(db.put(changed).when(db.has_text("1", "a"))).run()
    db.transact(db.put(changed).when(db.has_text("1", "b"))).run()


def test_a_condition_on_another_item_or_on_a_new_one_is_refused(db):
    with pytest.raises(ValueInvalid, match="another item"):
        db.put(Waiting(code="1")).when(db.is_lighter("2", 1))
    with pytest.raises(ValueInvalid, match="use put"):
        db.create(Waiting(code="1")).when(db.is_lighter("1", 1))


# ── transactions ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_call_that_changes_nothing_only_tests_its_conditions_in_a_transaction(db):
    parcel = db.create(Waiting(code="1", weight=3)).run()
    first, note = db.transact(db.edit(parcel), db.create(Note(code="1", text="a"))).run()
    assert (first, note.text) == (parcel, "a")
    with pytest.raises(Missing):
        db.transact(db.edit(Waiting(code="2")), db.create(Note(code="2", text="a"))).run()
    assert db.edit(parcel).run() == parcel


def test_a_token_makes_a_repeated_transaction_harmless(db):
    for _ in range(2):
        db.transact(db.write("1", "a")).with_token("order-17").run()
    assert db.note("1").required().run().version == 1
    with pytest.raises(ServiceError, match="token"):
        db.transact(db.write("1", "b")).with_token("order-17").run()


def test_a_token_of_a_transaction_that_failed_can_be_used_again(db):
    db.create(Note(code="2", text="a")).run()
    for expected in (Taken, None):
        writes = [db.create(Note(code="2", text="b")), db.write("1", "a")]
        if expected is None:
            db.session.transport.call("DeleteItem", {"TableName": "parcels", "Key": {"pk": {"S": "NOTE#2"}}})
            db.transact_all(writes).with_token("order-17").run()
        else:
            with pytest.raises(expected):
                db.transact_all(writes).with_token("order-17").run()
    assert db.note("2").required().run().text == "b"


@pytest.mark.parametrize("token", ["", "x" * 37])
def test_a_token_has_1_to_36_characters(db, token):
    with pytest.raises(ValueInvalid, match="1 to 36"):
        db.transact(db.write("1", "a")).with_token(token)


def test_a_conflict_says_which_members_failed_and_why(db):
    db.create(Note(code="1", text="old")).run()
    waiting = db.create(Waiting(code="1")).run()
    claim, other, send = db.create(Note(code="1", text="new")), db.write("2", "x"), db.send(waiting, "v")
    gone = db.weigh("9", 1)
    with pytest.raises(Taken) as caught:
        db.transact(other, claim, send, gone).run()
    first, second = caught.value.failures
    assert (first.position, first.write, type(first.error)) == (1, claim, Taken)
    assert isinstance(first.error, Conflict)
    assert first.error.current.text == "old"
    assert (second.position, second.write, type(second.error)) == (3, gone, Missing)
    assert db.note("2").run() is None


def test_a_member_that_dynamodb_refuses_is_named_too(db):
    item = {"pk": {"S": "NOTE#1"}, "code": {"S": "1"}, "text": {"S": "a"}, "version": {"S": "one"}}
    db.session.transport.call("PutItem", {"TableName": "parcels", "Item": item})
    writes = [db.write("2", "x"), db.write("1", "y")]
    with pytest.raises(TransactionCanceledException) as caught:
        db.transact_all(writes).run()
    (failure,) = caught.value.failures
    assert (failure.position, failure.write) == (1, writes[1])
    assert "operand" in str(failure.error)


def test_a_conflict_alone_names_no_members(db):
    db.create(Note(code="1", text="a")).run()
    with pytest.raises(Taken) as caught:
        db.create(Note(code="1", text="b")).run()
    assert caught.value.failures == ()


class Draft(Item, table=Table("drafts", "pk"), pk="DRAFT#{id}"):
    id: str
    note: str | None = None
    pages: int = 0
    version: Version = 0


class Drafts(Patterns, Protocol):
    def draft(self, id: str) -> Get[Draft]: ...  # noqa: A002
    def clear(self, draft: Draft, note: None = None) -> Update[Draft]: ...
    def count(self, draft: Draft, pages: int) -> Update[Draft]: ...


@pytest.fixture
def drafts(database):
    hashrange.create_tables(database, Drafts)
    return Drafts.open(database)


def test_a_transaction_returns_a_versioned_item_without_what_it_removed(drafts):
    draft = drafts.create(Draft(id="1", note="a")).run()
    (cleared,) = drafts.transact(drafts.clear(draft)).run()
    assert cleared == drafts.draft("1").run() == Draft(id="1", version=cleared.version)


def test_a_transaction_returns_what_is_stored_of_an_item_that_was_deleted_and_created_again(drafts, database):
    old = drafts.create(Draft(id="1", note="old")).run()
    database.call("DeleteItem", {"TableName": "drafts", "Key": {"pk": {"S": "DRAFT#1"}}})
    drafts.create(Draft(id="1", note="new")).run()
    (counted,) = drafts.transact(drafts.count(old, 5)).run()
    assert counted == drafts.draft("1").run()
    assert counted.note == "new"
