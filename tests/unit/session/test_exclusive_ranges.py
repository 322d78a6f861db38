"""`Lt` and `Gt` of a field of fixed width that ends a key: the key condition is exact, so that limits work."""

import operator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import Gt, Item, Key, Latest, Le, Lt, Patterns, Query, Table

table = Table("logs", "pk", "sk", deletion_protection=False)
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


class Line(Item, table=table, pk="LINE#{log}", sk="L#{number:+03d}"):
    log: Key[str]
    number: Key[int]
    text: str = ""


class Sum(Item, table=table, pk="SUM#{log}", sk="{amount:06.2f}"):
    log: Key[str]
    amount: Key[Decimal]


class Entry(Item, table=table, pk="ENTRY#{log}", sk="E#{at}"):
    log: Key[str]
    at: Key[datetime]


class Day(Item, table=table, pk="DAY#{log}", sk="D#{day}"):
    log: Key[str]
    day: Key[date]


class Word(Item, table=table, pk="WORD#{log}", sk="W#{word}"):
    log: Key[str]
    word: Key[str]


class Logs(Patterns, Protocol):
    def number_lt(self, log: str, number: Lt[int]) -> Query[Line]: ...
    def number_gt(self, log: str, number: Gt[int]) -> Query[Line]: ...
    def last_number_lt(self, log: str, number: Lt[int]) -> Latest[Line]: ...
    def last_number_le(self, log: str, number: Le[int]) -> Latest[Line]: ...
    def last_number_gt(self, log: str, number: Gt[int]) -> Latest[Line]: ...
    def amount_lt(self, log: str, amount: Lt[Decimal]) -> Query[Sum]: ...
    def amount_gt(self, log: str, amount: Gt[Decimal]) -> Query[Sum]: ...
    def last_amount_lt(self, log: str, amount: Lt[Decimal]) -> Latest[Sum]: ...
    def last_amount_gt(self, log: str, amount: Gt[Decimal]) -> Latest[Sum]: ...
    def at_lt(self, log: str, at: Lt[datetime]) -> Query[Entry]: ...
    def at_gt(self, log: str, at: Gt[datetime]) -> Query[Entry]: ...
    def last_at_lt(self, log: str, at: Lt[datetime]) -> Latest[Entry]: ...
    def last_at_gt(self, log: str, at: Gt[datetime]) -> Latest[Entry]: ...
    def day_lt(self, log: str, day: Lt[date]) -> Query[Day]: ...
    def day_gt(self, log: str, day: Gt[date]) -> Query[Day]: ...
    def last_day_lt(self, log: str, day: Lt[date]) -> Latest[Day]: ...
    def last_day_gt(self, log: str, day: Gt[date]) -> Latest[Day]: ...
    def word_lt(self, log: str, word: Lt[str]) -> Query[Word]: ...
    def word_gt(self, log: str, word: Gt[str]) -> Query[Word]: ...
    def last_word_lt(self, log: str, word: Lt[str]) -> Latest[Word]: ...
    def last_word_gt(self, log: str, word: Gt[str]) -> Latest[Word]: ...


MODELS: dict[str, Any] = {"number": Line, "amount": Sum, "at": Entry, "day": Day, "word": Word}
NUMBERS = st.integers(-999, 999)
CENTS = st.decimals(0, Decimal("999.99"), places=2)
SECONDS = st.integers(-3, 120).map(lambda n: NOON + timedelta(seconds=n))
DAYS = st.dates(date(2026, 9, 25), date(2026, 10, 12))
WORDS = st.text("ab/0:é", min_size=1, max_size=3)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "number": NUMBERS,
    "amount": CENTS,
    "at": SECONDS,
    "day": DAYS,
    "word": WORDS,
}
BOUNDS: dict[str, st.SearchStrategy[Any]] = {
    "number": st.integers(-1002, 1002) | st.sampled_from([-1000, -999, -1, 0, 999, 1000]),
    "amount": st.decimals(-1, 1001, places=3) | CENTS,
    "at": st.builds(lambda at, ms: at + timedelta(milliseconds=ms), SECONDS, st.sampled_from([0, 1, 999])),
    "day": DAYS | st.sampled_from([date.min, date.max]),
    "word": WORDS,
}


@pytest.fixture(scope="module")
def shared():
    with hashrange.open() as database:
        hashrange.create_tables(database, Logs)
        yield Logs.open(database), iter(range(10**9))


@st.composite
def _queries(draw):
    field = draw(st.sampled_from(sorted(MODELS)))
    stored = draw(st.lists(VALUES[field], unique=True, max_size=12))
    near = st.sampled_from(stored) if stored else BOUNDS[field]
    return field, stored, draw(BOUNDS[field] | near)


@settings(max_examples=150, deadline=None)
@given(query=_queries(), name=st.sampled_from(["lt", "gt"]), newest=st.booleans(), size=st.integers(1, 5))
def test_an_exclusive_range_finds_what_python_finds_whole_limited_and_in_pages(shared, query, name, newest, size):
    db, logs = shared
    field, stored, bound = query
    log = str(next(logs))
    db.batch([MODELS[field](log=log, **{field: value}) for value in stored]).run()
    wanted = sorted((value for value in stored if getattr(operator, name)(value, bound)), reverse=newest)
    found = getattr(db, f"{'last_' if newest else ''}{field}_{name}")(log, bound)
    assert [getattr(one, field) for one in found] == wanted
    assert [getattr(one, field) for one in found.limit(size)] == wanted[:size]
    assert found.count().run() == len(wanted)
    pages, cursor = [], None
    while page := found.page(size, after=cursor).run():
        pages.append([getattr(one, field) for one in page])
        cursor = page.cursor
        if cursor is None:
            break
    assert pages == [wanted[at : at + size] for at in range(0, len(wanted), size)]


@pytest.mark.parametrize("field", ["number", "amount", "at", "day"])
@pytest.mark.parametrize("name", ["lt", "gt"])
def test_an_exclusive_range_of_a_field_of_fixed_width_has_no_check(field, name):
    plan = Logs.plan(f"{field}_{name}")
    assert "check" not in plan.explain()
    assert ("before '" if name == "lt" else "after '") in plan.explain()
    assert not [line for line in Logs.lint() if f"{field}_{name}" in str(line)]


def test_a_range_of_text_that_ends_the_key_keeps_its_check():
    assert "check" in Logs.plan("word_lt").explain()


def test_older_messages_cost_as_much_as_those_up_to_the_number_before():
    with hashrange.open() as database:
        hashrange.create_tables(database, Logs)
        seen: list[Any] = []
        db = Logs.open(database, hooks=[seen.append])
        db.batch([Line(log="a", number=n, text="x" * 1000) for n in range(400)]).run()
        costs = []
        for query in (db.last_number_lt("a", 300), db.last_number_le("a", 299)):
            seen.clear()
            assert query.first().run().number == 299
            costs.append(sum(event.capacity["CapacityUnits"] for event in seen))
        assert costs == [0.5, 0.5]
