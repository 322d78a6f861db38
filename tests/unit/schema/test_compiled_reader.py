"""The functions that are written out for reading items do what reading them carefully does, or leave it to that."""

import copy
import pickle
import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, ValidationError, field_validator

from hashrange import Commas, Gsi, Item, Key, Millis, Prefixed, Seconds, Table, Ttl, View, after, initially
from hashrange.core.errors import HashrangeError, ValueInvalid
from hashrange.schema.declare import introspection
from hashrange.schema.declare.model import LOADED_KEYS, Model
from hashrange.schema.items.dumper import dump
from hashrange.schema.items.loader import _readers, load
from hashrange.schema.items.reader import STATE, UNUSUAL, WHOLE
from hashrange_systems.aura import first
from hashrange_systems.aura import schema as aura
from hashrange_systems.checks import schema as checks
from hashrange_systems.kelifax import schema as kelifax
from hashrange_systems.shuttle import schema as shuttle
from tests.unit.schema.random_items import RandomItems

table = Table("things", "pk", "sk", indexes=[Gsi("Other", "other_pk", "other_sk")], ttl="gone_at", unset="-")
AT = datetime(2026, 1, 15, 12, tzinfo=UTC)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Stage(View["Thing"]):
    maker: str


class Raw(Stage, other_sk="RAW#"): ...


class Done(Stage, other_sk="DONE#{done_at}"):
    done_at: datetime


class Thing(Item, table=table, pk="MAKER#{maker}", sk="THING#{number:06d}#{code}", other_pk="{colour}"):
    """All kinds of fields that need no check."""

    maker: Key[str]
    number: Key[int]
    code: Key[str]
    colour: Colour
    kind: Literal["a", "b"] = "a"
    size: int
    weight: float = 1.5
    price: Decimal = Decimal("0.1")
    good: bool = True
    name: str | None = None
    made_at: datetime
    sold_at: Millis | None = None
    gone_at: Ttl | None = None
    words: list[str]
    texts: dict[str, str]
    tags: set[str]
    labels: Commas[str] = []  # noqa: RUF012 - pydantic copies defaults
    country: Annotated[str, Prefixed("COUNTRY#")] = "DE"
    stage: Raw | Done = initially(Raw)


class Odd(Item, table=table, pk="ODD#{name}", sk="ODD"):
    """Fields that pydantic has to look at."""

    name: Key[str]
    small: Annotated[int, Field(lt=3)] = 0
    other: int | str = 0
    upper: str = "A"
    made_at: Seconds
    until: datetime = after("made_at", days=1)

    @field_validator("upper")
    @classmethod
    def _raise(cls, value: str) -> str:
        return value.upper()


class Count(Item, table=table, pk="COUNT#{name}", sk="{day:04d}"):
    name: Key[str]
    day: Key[int]
    count: int = 0


TABLES = [
    table,
    *{  # a dictionary, not a set: every process of a parallel run must list the same tests in the same order
        item.__own_table__: None
        for module in (aura, first, shuttle, kelifax, checks)
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, Item) and item.__own_table__ is not None
    },
]
ITEMS = [shape for each in TABLES for item in each.items for shape in introspection.with_variants(item)]
BENT: list[Any] = [{"S": ""}, {"S": "x"}, {"S": "-"}, {"N": "1.5"}, {"N": "1"}, {"NULL": True}, {"BOOL": False}]
BENT += [
    {"L": [{"N": "1"}]},
    {"M": {"a": {"S": "b"}}},
    {"SS": ["a"]},
    {"S": "2026-01-15"},
    {"S": "2026-01-15T13:00:00.5+01:00"},
]


def state_of(found):
    """Everything about what was read that can be told."""
    if not isinstance(found, Model):
        return found
    parts = {name: state_of(value) for name, value in found.__dict__.items()}
    return type(found), list(found.__dict__), parts, found.model_fields_set, type(found.model_fields_set)


def check(raw, kinds):
    readers = [reader for kind in kinds for reader in _readers(kind)]
    ways = [(reader, reader.whole, WHOLE) for reader in readers]
    ways += [(reader, reader.state, STATE) for reader in readers if reader.state is not None]
    for reader, usual, way in ways:
        try:
            found = usual(dict(raw))  # type: ignore[misc]
        except UNUSUAL:
            continue
        assert state_of(found) == state_of(reader.read_uncompiled(dict(raw), way))


def make(random_items, kind):
    try:
        return dump(random_items.item(kind))
    except (ValueInvalid, ValidationError):
        return None


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9))
def test_items_are_read_as_carefully_as_step_by_step(seed):
    random_items = RandomItems(seed)
    kind = random_items.random.choice(ITEMS)
    raw = make(random_items, kind)
    if raw is None:
        return
    states = [state for kinds in introspection.lifecycles(kind).values() for state in kinds]
    check(raw, [kind, *states])


@settings(max_examples=600, deadline=None)
@given(st.integers(0, 10**9))
def test_items_that_others_wrote_are_read_as_carefully(seed):
    random_items = RandomItems(seed)
    kind = random_items.random.choice([Thing, Odd, Count] if seed % 2 else ITEMS)
    raw = make(random_items, kind)
    if raw is None:
        return
    for _ in range(1 + random_items.random.randrange(2)):
        damage(random_items.random, raw)
    states = [state for kinds in introspection.lifecycles(kind).values() for state in kinds]
    check(raw, [kind, *states, random_items.random.choice(ITEMS)])


def damage(rng: random.Random, raw):
    name = rng.choice([*raw, "another"])
    if rng.random() < 0.3:
        raw.pop(name, None)
    else:
        raw[name] = rng.choice(BENT)


def thing(**more):
    given: dict[str, Any] = {
        "colour": Colour.RED,
        "size": 3,
        "made_at": AT,
        "words": ["a"],
        "texts": {"b": "c"},
        "tags": {"t"},
    }
    return Thing(**{"maker": "m", "number": 7, "code": "c", **given, **more})


@pytest.mark.parametrize("kind", ITEMS, ids=lambda kind: f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}")
def test_the_items_of_every_system_are_usual(kind):
    found = [make(RandomItems(seed), kind) for seed in range(40)]
    usual = 0
    for raw in filter(None, found):
        try:
            usual += isinstance(_readers(kind)[-1].whole(raw), Model)  # type: ignore[misc]
        except UNUSUAL:
            continue
    assert usual or not any(found)


def test_a_thing_comes_back_as_it_was():
    for made in (thing(), thing(name="n", sold_at=AT, stage=Done(maker="m", done_at=AT), labels=["x", "y"])):
        loaded = load([Thing], dump(made))
        assert loaded == made
        assert list(loaded.__dict__) == [*Thing.model_fields, LOADED_KEYS]
        assert loaded.model_copy(update={"size": 4}).size == 4
        assert Thing.model_validate_json(loaded.model_dump_json()) == loaded


def test_fields_that_were_stored_are_the_ones_that_are_set():
    assert "name" not in load([Thing], dump(thing())).model_fields_set
    assert "name" in load([Thing], dump(thing(name="n"))).model_fields_set


def test_defaults_are_not_shared():
    one, other = load([Thing], dump(thing())), load([Thing], dump(thing()))
    one.labels.append("x")
    assert other.labels == []


def test_what_pydantic_has_to_check_is_checked():
    odd = Odd(name="o", made_at=AT)
    raw = {**dump(odd), "upper": {"S": "low"}}
    assert load([Odd], raw).upper == "LOW"
    assert load([Odd], raw).until == AT + timedelta(days=1)
    with pytest.raises(HashrangeError, match=r"Odd\.small is 5"):
        load([Odd], {**raw, "small": {"N": "5"}})


@pytest.mark.parametrize("key", ["summary", "00001", "0001x", "-001", "+001", " 001", "12345"])
def test_a_key_with_no_such_number_is_of_another_shape(key):
    raw = dump(Count(name="n", day=1))
    assert load([Count], raw) == Count(name="n", day=1)
    assert load([Count], {**raw, "sk": {"S": key}}) is None


def test_a_key_with_no_time_is_of_another_shape():
    raw = dump(thing(stage=Done(maker="m", done_at=AT)))
    assert isinstance(load([Thing], raw).stage, Done)
    with pytest.raises(HashrangeError, match="none of its states"):
        load([Thing], {**raw, "other_sk": {"S": "DONE#never"}})


def test_a_number_that_does_not_fit_its_key_is_refused():
    with pytest.raises(ValueInvalid, match="does not fit into 4 digits"):
        dump(Count(name="n", day=12345))


@pytest.mark.parametrize("made", [thing(), thing(name="n", sold_at=AT)], ids=["defaults", "given"])
def test_what_is_read_has_the_state_that_pydantic_gives_its_objects(made):
    raw = dump(made)
    (reader,) = _readers(Thing)
    read, validated = reader.whole(raw), reader.read_uncompiled(raw, WHOLE)  # type: ignore[misc]
    assert read.__getstate__() == validated.__getstate__()
    assert pickle.loads(pickle.dumps(read)) == read.model_copy() == copy.deepcopy(read) == validated


def test_a_class_with_nothing_but_optional_fields_is_read():
    class Note(Item, table=Table("notes", "pk"), pk="NOTE"):
        content: Any | None = None

    assert load([Note], {"pk": {"S": "NOTE"}}) == Note()
    assert load([Note], {"pk": {"S": "NOTE"}, "content": {"N": "1"}}) == Note(content=1)
