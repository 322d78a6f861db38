"""Index keys are computed from everything that a write changes, and what they are computed from is pinned."""

from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

import pytest

import hashrange
from hashrange import (
    Add,
    Conflict,
    DeclarationError,
    Get,
    Gsi,
    Item,
    Key,
    ManualClock,
    Patterns,
    Query,
    Table,
    Touched,
    Update,
    Upsert,
    Version,
)

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)
table = Table("notes", "pk", indexes=[Gsi("ByTime", "gt", "gs"), Gsi("ByPair", "pair"), Gsi("ByStatus", "status")])


class Note(Item, table=table, pk="NOTE#{name}", gt="NOTES", gs="{updated_at}#{version:04d}", pair="{a}#{b}"):
    name: str
    a: str
    b: str | None = None
    status: str = "open"
    updated_at: Touched[datetime]
    version: Version = 0


unversioned = Table("drafts", "pk", indexes=[Gsi("ByPair", "pair"), Gsi("ByStatus", "status")])


class Draft(Item, table=unversioned, pk="DRAFT#{name}", pair="{a}#{b}"):
    name: str
    a: str
    b: str | None = None
    status: str = "open"


words = Table("words", "pk", indexes=[Gsi("ByPair", "pair")], unset="-")


class Word(Item, table=words, pk="WORD#{name}", pair="{a}#{b}"):
    name: str
    a: str
    b: str | None = None


keyed = Table("shelves", "pk", indexes=[Gsi("ByRoom", "room_key")])


class Shelf(Item, table=keyed, pk="SHELF#{name}", room_key="ROOM#{room}#{row}"):
    name: str
    room: Key[str]
    row: str
    colour: str = "white"


class Notes(Patterns, Protocol):
    def note(self, name: str) -> Get[Note]: ...
    def newest(self) -> Query[Note]: ...
    def rename(self, note: Note, *, a: str) -> Update[Note]: ...
    def touch(self, note: Note) -> Update[Note]: ...
    def draft(self, name: str) -> Get[Draft]: ...
    def edit(self, draft: Draft, *, a: str = ..., b: str | None = ..., status: str = ...) -> Update[Draft]: ...
    def set_a(self, draft: Draft, *, a: str) -> Update[Draft]: ...
    def set_b(self, draft: Draft, *, b: str | None) -> Update[Draft]: ...
    def save(self, name: str, *, a: str, b: str | None) -> Upsert[Draft]: ...
    def with_status(self, status: str) -> Query[Draft]: ...
    def word(self, name: str) -> Get[Word]: ...
    def set_word_a(self, word: Word, *, a: str) -> Update[Word]: ...
    def shelf(self, name: str) -> Get[Shelf]: ...
    def move(self, shelf: Shelf, *, room: str) -> Update[Shelf]: ...


@pytest.fixture
def clock():
    return ManualClock(NOON.timestamp())


@pytest.fixture
def database(clock):
    with hashrange.open(clock=clock) as found:
        hashrange.create_tables(found, Notes)
        yield found


@pytest.fixture
def db(database, clock):
    return Notes.open(database, clock=clock)


def stored(database, declared, key):
    response = database.call("GetItem", {"TableName": declared.physical_name, "Key": {"pk": {"S": key}}})
    return {name: next(iter(value.values())) for name, value in response["Item"].items()}


def test_a_touched_time_and_a_version_inside_a_key_move_with_every_write(db, database, clock):
    note = db.create(Note(name="n", a="a1", updated_at=NOON)).run()
    clock.advance(60)
    db.rename(note, a="a2").run()
    later = (NOON + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = stored(database, table, "NOTE#n")
    assert (found["updated_at"], found["version"], found["gs"]) == (later, "1", f"{later}#0001")


def test_a_write_that_only_touches_moves_the_key_too(db, database, clock):
    note = db.create(Note(name="n", a="a1", updated_at=NOON)).run()
    clock.advance(60)
    db.touch(note).run()
    found = stored(database, table, "NOTE#n")
    assert found["gs"] == f"{found['updated_at']}#0001"


def test_a_version_that_only_the_database_counts_cannot_be_in_a_key_that_is_written():
    with pytest.raises(DeclarationError, match=r"HR246.*; take the Note itself, whose version is known"):

        class Counting(Patterns, Protocol):
            def bump(self, name: str, *, a: str, b: str) -> Update[Note]: ...


def test_two_edits_from_one_stale_copy_do_not_mix_their_keys(db, database):
    draft = db.create(Draft(name="d", a="a1", b="b1")).run()
    db.edit(draft, a="a2").run()
    with pytest.raises(Conflict):
        db.edit(draft, b="b9").run()
    found = stored(database, unversioned, "DRAFT#d")
    assert (found["a"], found["b"], found["pair"]) == ("a2", "b1", "a2#b1")


def test_what_an_edit_sets_and_what_it_leaves_alone_is_not_pinned(db, database):
    draft = db.create(Draft(name="d", a="a1", b="b1")).run()
    db.edit(draft, a="a2").run()
    db.edit(draft, a="a3", b="b3").run()
    db.edit(draft, status="done").run()
    found = stored(database, unversioned, "DRAFT#d")
    assert (found["a"], found["b"], found["pair"], found["status"]) == ("a3", "b3", "a3#b3", "done")


def test_an_optional_field_that_a_key_is_made_of_is_pinned(db, database):
    draft = db.create(Draft(name="d", a="a1", b="b1")).run()
    db.set_b(draft, b=None).run()
    with pytest.raises(Conflict):
        db.set_a(draft, a="a2").run()
    assert "pair" not in stored(database, unversioned, "DRAFT#d")
    assert db.draft("d").required().run().b is None


def test_an_optional_field_that_was_absent_is_pinned_as_absent(db, database):
    draft = db.create(Draft(name="d", a="a1")).run()
    db.set_a(draft, a="a2").run()
    db.set_b(draft.model_copy(update={"a": "a2"}), b="b1").run()
    with pytest.raises(Conflict):
        db.set_a(draft, a="a3").run()
    found = stored(database, unversioned, "DRAFT#d")
    assert (found["a"], found["pair"]) == ("a2", "a2#b1")


@pytest.mark.parametrize("nothing", [{"S": "-"}, {"NULL": True}, None])
def test_an_absent_field_is_absent_however_it_is_stored(db, database, nothing):
    item = {"pk": {"S": "WORD#w"}, "name": {"S": "w"}, "a": {"S": "a1"}, **({"b": nothing} if nothing else {})}
    database.call("PutItem", {"TableName": words.physical_name, "Item": item})
    assert db.set_word_a(db.word("w").required().run(), a="a2").run().a == "a2"


def test_an_upsert_stores_a_default_that_is_an_index_key(db, database):
    saved = db.save("d", a="a1", b="b1").run()
    assert saved.status == stored(database, unversioned, "DRAFT#d")["status"] == "open"
    assert [draft.name for draft in db.with_status("open").run()] == ["d"]


def test_an_upsert_keeps_an_index_key_that_is_there(db, database):
    db.create(Draft(name="d", a="a1", status="done")).run()
    assert db.save("d", a="a2", b=None).run().status == "done"
    assert stored(database, unversioned, "DRAFT#d")["status"] == "done"


def test_a_field_that_lives_in_an_index_key_only_can_be_set(db, database):
    shelf = db.create(Shelf(name="s", room="r1", row="3")).run()
    assert db.move(shelf, room="r2").run().room == "r2"
    assert stored(database, keyed, "SHELF#s")["room_key"] == "ROOM#r2#3"


def test_a_key_made_of_a_sum_is_refused():
    counts = Table("counts", "pk", indexes=[Gsi("ByTotal", "total_key")])

    class Count(Item, table=counts, pk="COUNT#{name}", total_key="TOTAL#{total:06d}"):
        name: str
        total: int

    with pytest.raises(DeclarationError, match="HR246"):

        class Counts(Patterns, Protocol):
            def add(self, count: Count, total: Add[int]) -> Update[Count]: ...


# ── fields that are stored in keys alone ─────────────────────────────────────────────────────────────────────────────
racks = Table("racks", "pk", indexes=[Gsi("ByRoom", "room_key"), Gsi("ByOwner", "owner_key")])


class Rack(Item, table=racks, pk="RACK#{name}", room_key="{room}", owner_key="{room}#{owner}"):
    name: str
    room: Key[str]
    owner: str | None = None


class Racks(Patterns, Protocol):
    def rack(self, name: str) -> Get[Rack]: ...
    def move(self, rack: Rack, room: str) -> Update[Rack]: ...
    def give(self, rack: Rack, owner: str) -> Update[Rack]: ...


def test_a_field_of_keys_alone_is_pinned_by_a_key_that_every_item_has(database):
    hashrange.create_tables(database, Racks)
    db = Racks.open(database)
    rack = db.create(Rack(name="r", room="a")).run()  # without an owner it has no owner_key
    db.move(rack, "b").run()
    with pytest.raises(Conflict):
        db.give(rack, "ann").run()
    assert db.give(db.rack("r").required().run(), "ann").run() == Rack(name="r", room="b", owner="ann")
    assert stored(database, racks, "RACK#r")["owner_key"] == "b#ann"


def test_a_field_of_keys_alone_needs_a_key_that_no_other_field_can_remove():
    lost = Table("lost", "pk", indexes=[Gsi("ByRoom", "room_key")])

    class Lost(Item, table=lost, pk="LOST#{name}", room_key="{room}#{owner}"):
        name: str
        room: Key[str] | None = None
        owner: str | None = None

    with pytest.raises(DeclarationError, match=r"HR125 Lost\.room"):

        class Finds(Patterns, Protocol):
            def find(self, name: str) -> Get[Lost]: ...


# ── an upsert that leaves another variant ────────────────────────────────────────────────────────────────────────────
tickets = Table("tickets", "pk", indexes=[Gsi("ByRank", "rank_pk", "rank_key")])


class Ticket(Item, table=tickets, pk="TICKET#{name}", rank_pk="ALL"):
    name: str
    state: Literal["new", "old"]
    rank: str | None = None


class NewTicket(Ticket, rank_key="NEW#{rank}"):
    state: Literal["new"] = "new"


class OldTicket(Ticket, rank_key="OLD#{rank}"):
    state: Literal["old"] = "old"


def test_an_upsert_that_may_leave_out_a_field_of_the_key_that_it_enters_is_refused(database):
    with pytest.raises(DeclarationError, match=r"HR242 .*because rank is not known here"):

        class Wrong(Patterns, Protocol):
            def renew(self, name: str, rank: str | None = ...) -> Upsert[NewTicket]: ...

    class Tickets(Patterns, Protocol):
        def renew(self, name: str, rank: str | None) -> Upsert[NewTicket]: ...

    hashrange.create_tables(database, Tickets)
    db = Tickets.open(database)
    db.create(OldTicket(name="t", rank="3")).run()
    db.renew("t", "4").run()
    assert stored(database, tickets, "TICKET#t")["rank_key"] == "NEW#4"
