"""Formats of fields in keys: numbers and periods sort as their values, folded text has no case, nothing is lost."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hashrange
from hashrange import ByKey, Item, Key, Patterns, Query, Table, ValueInvalid
from hashrange.schema.declare import key_format
from hashrange.schema.declare.key_codec import key_codecs
from hashrange.schema.declare.key_format import FORMATS, FormatEntry, KeyFormat, Order, find_format, fold

table = Table("things", "pk", "sk")


class Signed(Item, table=table, pk="SIGNED#{whole:+09d}", sk="{cents:+012.2f}#{rate:+08.3f}#{name}"):
    whole: Key[int]
    cents: Key[Decimal]
    rate: Key[float]
    name: Key[str]


class Dated(Item, table=table, pk="DATED#{day:month}#{at:year}", sk="{at:month}#{at_hour:hour}#{at_date:date}"):
    day: date
    at: datetime
    at_hour: datetime
    at_date: datetime


class Named(Item, table=table, pk="NAMED#{name:fold}", sk="{town:fold}#{number:03d}"):
    name: str
    town: str
    number: int


WHOLES = st.integers(-999_999_999, 999_999_999)
CENTS = st.integers(-99_999_999_999, 99_999_999_999).map(lambda cents: Decimal(cents).scaleb(-2))
RATES = st.integers(-9_999_999, 9_999_999).map(lambda thousandths: thousandths / 1000)
EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=11))])
TIMES = st.datetimes(EARLIEST.replace(tzinfo=None), LATEST.replace(tzinfo=None), timezones=ZONES)


def make(cls, attr, **values):
    return key_codecs(cls)[attr].make(values.get)["S"]


def write(name, value, codec=None):
    return find_format(name).write(value, codec, 100)


@given(WHOLES, CENTS, RATES)
def test_numbers_of_both_signs_come_back(whole, cents, rate):
    values = {"whole": whole, "cents": cents, "rate": rate, "name": "n"}
    found = {}
    for attr in ("pk", "sk"):
        found |= key_codecs(Signed)[attr].parse({"S": make(Signed, attr, **values)})
    assert found == {**values, "rate": Decimal(str(rate))}
    read = Signed.model_validate(found)
    assert (read.rate, type(read.rate)) == (rate, float)


@pytest.mark.parametrize(
    ("name", "numbers"), [("+09d", WHOLES), ("+012.2f", CENTS), ("+08.3f", RATES), ("09d", st.integers(0, 10**9 - 1))]
)
def test_numbers_sort_as_text(name, numbers):
    @given(numbers, numbers)
    def check(one, other):
        assert (write(name, one) < write(name, other)) == (one < other)
        assert (write(name, one) == write(name, other)) == (one == other)
        assert not write(name, one).startswith(write(name, other)) or one == other

    check()


def test_a_key_without_a_sign_stays_as_it_is_when_it_gets_one():
    assert write("06d", 42) == write("+06d", 42) == "000042"
    assert write("+06d", -42) == "-999957"
    assert write("+08.2f", Decimal("-0")) == write("08.2f", 0.0) == "00000.00"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("04d", 10_000, "does not fit into 4 digits"),
        ("04d", -1, "is negative"),
        ("+06.2f", Decimal("1.005"), "more than 2 decimals"),
        ("+06.2f", Decimal(1000), "does not fit"),
    ],
)
def test_a_number_that_a_key_cannot_hold_is_refused(name, value, reason):
    with pytest.raises(ValueInvalid, match=reason):
        write(name, value)


@pytest.mark.parametrize("name", ["year", "month", "date", "hour"])
def test_periods_sort_as_times_and_are_those_of_utc(name):
    @given(TIMES, TIMES)
    def check(one, other):
        first, second = write(name, one), write(name, other)
        assert (first <= second) if one <= other else (first >= second)
        assert one.astimezone(UTC).strftime("%Y").zfill(4) == first[:4]
        assert find_format(name).order is Order.COARSE

    check()


def test_the_periods_of_a_time():
    at = datetime(2027, 3, 1, 0, 30, tzinfo=timezone(timedelta(hours=1)))
    assert [write(name, at) for name in ("year", "month", "date", "hour")] == [
        "2027",
        "2027-02",
        "2027-02-28",
        "2027-02-28T23",
    ]
    assert write("month", date(2027, 3, 1)) == "2027-03"


@given(st.text().filter(lambda text: "\N{LATIN SMALL LETTER DOTLESS I}" not in text))  # its capital letter is I
def test_folding_twice_changes_nothing_and_case_is_no_difference(text):
    assert fold(fold(text)) == fold(text)
    assert fold(text.swapcase().casefold()) == fold(text.casefold())


@pytest.mark.parametrize(
    ("one", "other"),
    [("STRASSE", "straße"), ("É", "e\u0301"), ("\ufb01x", "FIX"), ("ΑΣ", "ας"), ("\u212b", "å")],
)
def test_names_that_differ_in_case_or_form_fold_to_the_same_text(one, other):
    assert fold(one) == fold(other)


def test_folded_text_may_not_contain_what_ends_it():
    assert make(Named, "sk", town="GRAZ", number=1) == "graz#001"
    with pytest.raises(ValueInvalid, match="contains '#'"):
        make(Named, "sk", town="a#b", number=1)
    assert key_codecs(Named)["sk"].parse({"S": "graz#001"}) == {"number": 1}


def test_every_format_has_its_facts_in_one_entry():
    examples = [name for entry in FORMATS for name in entry.example.split(", ")]
    formats = [find_format(name) for name in examples]
    assert all(
        isinstance(found, KeyFormat) and found.name == name for found, name in zip(formats, examples, strict=True)
    )
    assert {found.name for found in formats if found.order is not Order.NONE and not found.ends_itself} == set()
    assert all(found.is_injective for found in formats if found.read is not None)


@pytest.mark.parametrize("name", ["6d", "02.2f", "shard0", "week", "+fit", "06.d", "shard12345"])
def test_what_is_no_format_is_none(name):
    assert find_format(name) is None


def test_a_new_format_is_one_entry(monkeypatch):
    def make_initial(found):
        def write(value, codec, _room):
            return codec.text(value)[0].upper()

        return KeyFormat(
            name=found[0], types=(str,), write=write, pattern="[A-Z]", is_injective=False, ends_itself=True
        )

    monkeypatch.setattr(key_format, "FORMATS", (*FORMATS, FormatEntry("initial", "initial", make_initial)))
    find_format.cache_clear()

    class Word(Item, table=Table("words", "pk", "sk"), pk="WORDS#{word:initial}", sk="{word}"):
        word: str

    class Words(Patterns, Protocol):
        def starting(self, word: ByKey[str]) -> Query[Word]: ...

    with hashrange.open() as database:
        hashrange.create_tables(database, Words)
        db = Words.open(database)
        db.batch([Word(word=word) for word in ("ant", "Ape", "bee")]).run()
        assert [found.word for found in db.starting("anything")] == ["Ape", "ant"]
    find_format.cache_clear()
