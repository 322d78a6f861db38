"""Codecs: whatever a field holds comes back as it was, and what older systems wrote is read."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from hashrange import (
    Commas,
    Formerly,
    IsoMicros,
    IsoMillis,
    JsonPipes,
    Millis,
    Pipes,
    Prefixed,
    Seconds,
    Ttl,
    ValueInvalid,
)
from hashrange.core.values import check_item
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.codec import make_codec
from hashrange.schema.declare.field_kind import EPOCH, KINDS, encode
from hashrange.schema.declare.marker import Epoch


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    x: int
    label: str | None = None


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TIMES = st.integers(0, 250_000_000_000_000_000).map(lambda micros: EPOCH + timedelta(microseconds=micros))
NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20)
PLAIN = st.recursive(
    st.one_of(TEXT, st.integers(-(10**37), 10**37), st.booleans(), st.none(), st.binary(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT.filter(bool), inner, max_size=3)),
    max_leaves=8,
)
FIELDS: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(10**37), 10**37),
    bool: st.booleans(),
    bytes: st.binary(max_size=30),
    Decimal: NUMBERS,
    date: st.dates(),
    UUID: st.uuids(),
    Colour: st.sampled_from(Colour),
    Literal["a", "b"]: st.sampled_from(["a", "b"]),
    set[str]: st.sets(TEXT.filter(bool), min_size=1, max_size=4),
    set[int]: st.sets(st.integers(-99, 99), min_size=1, max_size=4),
    set[bytes]: st.sets(st.binary(min_size=1, max_size=4), min_size=1, max_size=3),
    list[str]: st.lists(TEXT, max_size=4),
    dict[str, int]: st.dictionaries(TEXT.filter(bool), st.integers(-9, 9), max_size=4),
    list[Point]: st.lists(st.builds(Point, x=st.integers(-9, 9), label=TEXT), max_size=3),
    Commas[str]: st.lists(TEXT.filter(lambda text: text and "," not in text), max_size=4),
    Pipes[str]: st.lists(TEXT.filter(lambda text: text and "|" not in text), max_size=4),
    JsonPipes[dict[str, str]]: st.lists(st.dictionaries(TEXT, TEXT, max_size=2), max_size=3),
    Annotated[str, Prefixed("COUNTRY#")]: TEXT,
    IsoMicros: TIMES,
}


@pytest.mark.parametrize("kind", FIELDS, ids=str)
@given(data=st.data())
def test_a_value_comes_back_as_it_was(kind, data):
    value = data.draw(FIELDS[kind])
    codec = make_codec(kind, hints.markers_of(kind))
    encoded = codec.encode(value)
    check_item({"attribute": encoded})  # DynamoDB takes it
    assert TypeAdapter(kind).validate_python(codec.decode(encoded)) == value


@given(PLAIN)
def test_any_plain_value_comes_back_as_it_was(value):
    assert plain(encode(value)) == value


@pytest.mark.parametrize(("kind", "digits"), [(datetime, 0), (IsoMillis, 3), (IsoMicros, 6)])
@given(first=TIMES, second=TIMES)
def test_the_order_of_texts_is_the_order_of_times(kind, digits, first, second):
    codec = make_codec(kind, hints.markers_of(kind))
    one, other = codec.text(first), codec.text(second)
    assert len(one) == len(other) == 20 + (digits + 1 if digits else 0)
    step = timedelta(microseconds=10 ** (6 - digits))
    assert (one < other) == ((first - EPOCH) // step < (second - EPOCH) // step)


@given(TIMES)
def test_a_time_is_cut_to_what_is_stored_and_rounded_up_for_a_bound(moment):
    codec = make_codec(datetime, ())
    floor = codec.decode(codec.encode(moment))
    ceiling = codec.decode(codec.encode(codec.round_up(moment)))
    assert floor <= moment <= ceiling
    assert ceiling - floor == timedelta(seconds=1 if moment.microsecond else 0)


def test_times_are_stored_in_utc_and_need_a_zone():
    berlin = timezone(timedelta(hours=1))
    assert make_codec(datetime, ()).encode(datetime(2026, 1, 15, 13, tzinfo=berlin)) == {"S": "2026-01-15T12:00:00Z"}
    with pytest.raises(ValueInvalid, match="time zone"):
        make_codec(datetime, ()).encode(datetime(2026, 1, 15))  # noqa: DTZ001 - the mistake


@pytest.mark.parametrize(
    "text",
    ["2026-01-15T12:00:00Z", "2026-01-15T12:00:00", "2026-01-15T12:00:00.000000", "2026-01-15T13:00:00+01:00"],
)
def test_times_that_other_systems_wrote_are_read(text):
    assert make_codec(datetime, ()).decode({"S": text}) == datetime(2026, 1, 15, 12, tzinfo=UTC)


def test_numbers_since_the_epoch_are_times():
    moment = datetime(2023, 11, 9, 21, 20, tzinfo=UTC)
    for kind, number in ((Millis, "1699564800000"), (Seconds, "1699564800"), (Ttl, "1699564800")):
        codec = make_codec(kind, hints.markers_of(kind))
        assert codec.encode(moment) == {"N": number}
        assert codec.decode({"N": number}) == moment
    assert make_codec(datetime, (Epoch(1, ttl=True, was_millis=True),)).decode({"N": "1699564800000"}) == moment


def test_what_stood_before_a_value_is_taken_off():
    codec = make_codec(
        Annotated[datetime, Formerly("DONE#", nothing=("NEVER#", "PROGRESS#"))],
        (Formerly("DONE#", nothing=("NEVER#", "PROGRESS#")),),
    )
    assert codec.decode({"S": "DONE#2026-01-15T12:00:00Z"}) == datetime(2026, 1, 15, 12, tzinfo=UTC)
    assert codec.decode({"S": "NEVER#"}) is None
    assert codec.decode({"S": "PROGRESS#2026-01-15T12:00:00Z"}) is None


@pytest.mark.parametrize("part", ["a|b", ""])
def test_a_part_that_would_split_is_refused(part):
    with pytest.raises(ValueInvalid):
        make_codec(Pipes[str], hints.markers_of(Pipes[str])).encode([part])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN")])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueInvalid, match="is not a number"):
        encode(value)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_floats_come_back_as_they_were(value):
    assume(value == 0 or 1e-100 < abs(value) < 1e100)
    codec = make_codec(float, ())
    assert float(codec.decode(codec.encode(value))) == value


@pytest.mark.parametrize("text", ["nonsense", '{"a": 1', '{"a":"b|c"}'])
def test_joined_json_that_cannot_be_parsed_is_not_a_list_and_so_unreadable(text):
    codec = make_codec(JsonPipes[dict[str, str]], hints.markers_of(JsonPipes[dict[str, str]]))
    assert codec.decode({"S": text}) == text


def test_a_datetime_is_no_date_and_a_bool_is_no_number():
    with pytest.raises(ValueInvalid, match=r"a datetime, where a date is declared: give its date\(\)"):
        KINDS[date].codec.encode(datetime(2027, 1, 1, tzinfo=UTC))
    with pytest.raises(ValueInvalid, match="a bool, where an int is declared"):
        KINDS[int].codec.encode(True)
    assert KINDS[date].codec.encode(date(2027, 1, 1)) == {"S": "2027-01-01"}
