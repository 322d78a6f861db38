"""Writes treat an item whose time to live has passed as absent, before the database deletes it, as reads do."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

import hashrange
from hashrange import (
    Add,
    Conflict,
    Database,
    Delete,
    Ensure,
    Get,
    Item,
    Key,
    ManualClock,
    Missing,
    Once,
    Patterns,
    Table,
    Taken,
    Ttl,
    Update,
    Upsert,
    Version,
)

START = 1_800_000_000
NOW = datetime.fromtimestamp(START, UTC)
LATER = NOW + timedelta(minutes=5)


class Lock(Item, table=Table("locks", "pk", ttl="until"), pk="LOCK#{name}"):
    name: Key[str]
    until: Ttl | None = None
    hits: int = 0
    note: str = ""


class Former(Item, table=Table("former", "pk", ttl="until", former_ttl="milliseconds"), pk="LOCK#{name}"):
    name: Key[str]
    until: Ttl | None = None


class Draft(Item, table=Table("drafts", "pk", ttl="until"), pk="DRAFT#{name}"):
    name: Key[str]
    until: Ttl | None = None
    version: Version = 0


mixed = Table("mixed", "pk", ttl="until")


class Kept(Item, table=mixed, pk="KEPT#{name}"):
    name: Key[str]
    note: str = ""


class Lapsing(Item, table=mixed, pk="LAPSING#{name}"):
    name: Key[str]
    until: Ttl


class Locks(Patterns, Protocol):
    def lock(self, name: str) -> Get[Lock]: ...
    def hit(self, name: str, hits: Add[int], until: Once[datetime]) -> Upsert[Lock]: ...
    def extend(self, name: str, until: datetime) -> Update[Lock]: ...
    def annotate(self, lock: Lock, note: str) -> Update[Lock]: ...
    def drop(self, lock: Lock) -> Delete[Lock]: ...
    def held(self, name: str) -> Ensure[Lock]: ...


class Others(Patterns, Protocol):
    def former(self, name: str) -> Get[Former]: ...
    def draft(self, name: str) -> Get[Draft]: ...
    def lapsing(self, name: str) -> Get[Lapsing]: ...
    def annotate(self, name: str, note: str) -> Update[Kept]: ...


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def database(clock: ManualClock) -> Iterator[Database]:
    with hashrange.open(clock=clock) as opened:
        hashrange.create_tables(opened, Locks, Others)
        yield opened


@pytest.fixture
def db(database: Database) -> Locks:
    return Locks.open(database)


@pytest.fixture
def expired(db: Locks, clock: ManualClock) -> Lock:
    """An item that has expired and is still stored."""
    lock = db.create(Lock(name="a", until=NOW + timedelta(minutes=1), hits=7, note="old")).run()
    clock.advance(120)
    return lock


def test_create_replaces_an_expired_item(db: Locks, expired: Lock) -> None:
    db.create(Lock(name="a", until=LATER)).run()
    assert db.lock("a").run() == Lock(name="a", until=LATER)
    with pytest.raises(Taken):
        db.create(Lock(name="a", until=LATER)).run()


def test_an_item_expires_at_the_second_that_it_names(db: Locks, clock: ManualClock) -> None:
    db.create(Lock(name="a", until=NOW + timedelta(seconds=60))).run()
    clock.advance(59)
    with pytest.raises(Taken):
        db.create(Lock(name="a")).run()
    clock.advance(1)
    assert db.lock("a").run() is None
    db.create(Lock(name="a")).run()


def test_an_update_of_an_expired_item_finds_none(db: Locks, expired: Lock) -> None:
    for write in (db.extend("a", until=LATER), db.annotate(expired, note="x")):
        with pytest.raises(Missing, match="the item has expired"):
            write.run()
    assert db.lock("a").with_expired().required().run() == expired


def test_an_upsert_of_an_expired_item_starts_anew(db: Locks, expired: Lock, database: Database) -> None:
    assert db.hit("a", hits=1, until=LATER).run() == Lock(name="a", until=LATER, hits=1)
    assert db.hit("a", hits=1, until=LATER + timedelta(days=1)).run() == Lock(name="a", until=LATER, hits=2)
    database.wait_until_idle()
    assert db.lock("a").required().run().hits == 2


def test_an_upsert_that_returns_the_old_item_returns_no_expired_one(db: Locks, expired: Lock) -> None:
    assert db.hit("a", hits=1, until=LATER).returning_old().run() is None


def test_an_upsert_in_a_transaction_starts_anew(db: Locks, expired: Lock) -> None:
    db.transact(db.hit("a", hits=1, until=LATER), db.create(Lock(name="b"))).run()
    assert db.lock("a").required().run().hits == 1
    assert db.lock("b").run() is not None


def test_a_transaction_in_which_another_condition_fails_deletes_nothing(db: Locks, expired: Lock) -> None:
    db.create(Lock(name="b")).run()
    with pytest.raises(Conflict):
        db.transact(db.hit("a", hits=1, until=LATER), db.create(Lock(name="b"))).run()
    assert db.lock("a").with_expired().required().run() == expired


def test_a_transaction_with_a_token_is_the_same_request_when_it_is_sent_again(db: Locks, clock: ManualClock) -> None:
    transaction = db.transact(db.create(Lock(name="a")), db.hit("b", hits=1, until=LATER)).with_token("once")
    transaction.run()
    clock.advance(90)
    transaction.run()
    assert db.lock("b").required().run().hits == 1


def test_an_expired_item_meets_no_condition_of_a_transaction(db: Locks, expired: Lock) -> None:
    with pytest.raises(Missing, match="has expired"):
        db.transact(db.held("a"), db.create(Lock(name="b"))).run()


def test_a_delete_removes_an_expired_item_and_returns_none(db: Locks, expired: Lock) -> None:
    assert db.drop(expired).run() is None
    assert db.lock("a").with_expired().run() is None


def test_put_when_absent_replaces_an_expired_item(db: Locks, expired: Lock) -> None:
    db.put(Lock(name="a", until=LATER)).when(db.held("a"), or_absent=True).run()
    assert db.lock("a").required().run().until == LATER
    with pytest.raises(Missing):
        db.put(Lock(name="z")).when(db.held("z")).run()


def test_a_first_put_of_a_versioned_item_replaces_an_expired_one(database: Database, clock: ManualClock) -> None:
    db = Others.open(database)
    draft = db.create(Draft(name="a", until=NOW + timedelta(minutes=1))).run()
    db.put(draft).run()
    clock.advance(120)
    db.put(Draft(name="a", until=LATER)).run()
    assert db.draft("a").required().run().version == 1


def test_a_former_time_in_milliseconds_expires_too(database: Database, clock: ManualClock) -> None:
    db = Others.open(database)
    for number in (START * 1000 + 60_000, START + 60):
        database.put_item(TableName="former", Item={"pk": {"S": "LOCK#a"}, "until": {"N": str(number)}})
        with pytest.raises(Taken):
            db.create(Former(name="a")).run()
        clock.advance(60)
        db.create(Former(name="a")).run()
        clock.advance(-60)


def test_classes_without_a_time_to_live_have_no_such_condition() -> None:
    assert "until" not in Others.plan("annotate").explain()
    assert "if      NOT until <= {now}" in Locks.plan("extend").explain()
