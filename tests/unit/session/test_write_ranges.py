"""Ranges as conditions of writes and as filters: bounds that enclose no stored value hold for no item."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

import hashrange
from hashrange import (
    Between,
    Conflict,
    Delete,
    Ensure,
    Filter,
    Get,
    Item,
    Millis,
    Missing,
    Patterns,
    Scan,
    Table,
    Update,
    Upsert,
    ValueInvalid,
    where,
)
from hashrange.core.errors import ValidationException

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)
table = Table("visits", "pk", deletion_protection=False)


class Visit(Item, table=table, pk="VISIT#{name}"):
    name: str
    at: datetime
    left: Millis | None = None
    guests: int = 1


class Visits(Patterns, Protocol):
    def visit(self, name: str) -> Get[Visit]: ...
    def visits(self) -> Scan[Visit]: ...
    def invite(self, name: str, at: Between[datetime], guests: int) -> Update[Visit]: ...
    def invite_left(self, name: str, left: Between[datetime], guests: Between[int], at: datetime) -> Update[Visit]: ...
    def save(self, name: str, left: Between[datetime], at: datetime) -> Upsert[Visit]: ...
    def drop(self, name: str, at: Between[datetime]) -> Delete[Visit]: ...
    def was_in(self, name: str, at: Between[datetime]) -> Ensure[Visit]: ...
    @where("at BETWEEN {since} AND {until}")
    def invite_within(self, name: str, guests: int, since: datetime, until: datetime) -> Update[Visit]: ...
    @where("at >= {moment}")
    def not_before(self, moment: datetime) -> Scan[Visit]: ...
    @where("at < {moment}")
    def before(self, moment: datetime) -> Scan[Visit]: ...
    @where("{moment} > at AND {moment} <= left")
    def between_both(self, moment: datetime) -> Scan[Visit]: ...
    @where("at <= {moment} AND left <= {moment}")
    def over(self, moment: datetime) -> Scan[Visit]: ...
    @where("left < {at}")
    def extend(self, name: str, at: datetime) -> Update[Visit]: ...
    @where("size(name) < {most}")
    def short(self, most: int) -> Scan[Visit]: ...
    def during(self, at: Between[datetime]) -> Filter[Visit]: ...
    def with_guests(self, guests: Between[int]) -> Filter[Visit]: ...


def after(**more: float) -> datetime:
    return NOON + timedelta(**more)


EMPTY = after(milliseconds=200), after(milliseconds=800)  # a visit is stored to the second
AROUND = after(milliseconds=-200), after(milliseconds=800)


@pytest.fixture
def db(database):
    hashrange.create_tables(database, Visits)
    opened = Visits.open(database)
    opened.create(Visit(name="a", at=NOON, left=NOON)).run()
    return opened


def test_bounds_that_enclose_no_stored_time_are_a_conflict(db):
    stored = db.visit("a").required().run()
    for write in (
        db.invite("a", EMPTY, 2),
        db.drop("a", EMPTY),
        db.transact(db.invite("a", EMPTY, 2)),
        db.transact(db.was_in("a", EMPTY), db.create(Visit(name="b", at=NOON))),
        db.put(stored).when(db.was_in("a", EMPTY)),
    ):
        with pytest.raises(Conflict) as caught:
            write.run()
        assert caught.value.current == stored
    with pytest.raises(Missing):
        db.invite("b", EMPTY, 2).run()
    assert db.visits().run() == [stored]


def test_bounds_around_a_stored_time_hold(db):
    assert db.invite("a", AROUND, 2).run().guests == 2
    assert db.invite("a", (NOON, NOON), 3).run().guests == 3
    assert db.transact(db.was_in("a", AROUND), db.create(Visit(name="b", at=NOON))).run()
    assert db.drop("a", AROUND).run() is not None


def test_an_empty_range_beside_one_that_holds_is_a_conflict(db):
    within_a_millisecond = after(microseconds=200), after(microseconds=700)
    with pytest.raises(Conflict):
        db.invite_left("a", within_a_millisecond, (1, 1), after(hours=1)).run()
    with pytest.raises(Conflict):
        db.save("a", within_a_millisecond, after(hours=1)).run()
    assert db.invite_left("a", (NOON, after(microseconds=700)), (1, 1), after(hours=1)).run().at == after(hours=1)


def test_bounds_in_the_wrong_order_are_refused(db):
    for bounds in ((after(hours=1), NOON), EMPTY[::-1]):
        with pytest.raises(ValueInvalid, match="the lower bound is above the upper one"):
            db.invite("a", bounds, 2)
    with pytest.raises(ValueInvalid, match=r"\(5, 3\): the lower bound"):
        db.invite_left("a", AROUND, (5, 3), NOON)


def test_a_filter_with_bounds_that_enclose_nothing_is_combined_as_any_other(db):
    one = db.visit("a").required().run()
    assert db.visits().filter(db.during(EMPTY)).run() == []
    assert db.visits().filter(db.during(EMPTY) | db.with_guests((1, 1))).run() == [one]
    assert db.visits().filter(~db.during(EMPTY)).run() == [one]
    assert db.visits().filter(~db.during(AROUND)).run() == []


# ── the same in @where ───────────────────────────────────────────────────────────────────────────────────────────────
def test_a_time_in_where_that_is_more_precise_than_the_stored_one_is_compared_exactly(db):
    half = after(milliseconds=500)
    assert db.not_before(half).run() == []
    assert len(db.not_before(after(milliseconds=-500)).run()) == 1
    assert len(db.before(half).run()) == 1
    assert db.before(NOON).run() == []


def test_a_parameter_of_where_is_compared_with_each_field_as_that_field_is_stored(db):
    db.put(Visit(name="a", at=NOON, left=after(seconds=2))).run()
    assert len(db.between_both(after(milliseconds=500)).run()) == 1
    assert db.between_both(NOON).run() == []
    assert db.over(after(milliseconds=1999)).run() == []
    assert len(db.over(after(milliseconds=2000)).run()) == 1
    with pytest.raises(Conflict):
        db.extend("a", after(seconds=2)).run()
    assert db.extend("a", after(seconds=3)).run().at == after(seconds=3)


def test_a_parameter_of_where_that_a_size_is_compared_with_is_a_number(db):
    assert len(db.short(2).run()) == 1
    assert db.short(1).run() == []


def test_bounds_in_where_that_enclose_no_stored_time_are_a_conflict(db):
    with pytest.raises(Conflict):
        db.invite_within("a", 2, *EMPTY).run()
    assert db.invite_within("a", 2, *AROUND).run().guests == 2
    with pytest.raises(ValidationException, match="upper bound"):
        db.invite_within("a", 2, after(hours=1), NOON).run()
