"""Sample items: valid, of every class and state, believable, and the same each time."""

import os
import subprocess
import sys
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Protocol
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, field_validator

import hashrange
from hashrange import (
    Commas,
    Get,
    Gsi,
    Item,
    Key,
    Patterns,
    Scan,
    Table,
    Ttl,
    ValueInvalid,
    Version,
    View,
    after,
    dump_item,
    initially,
    load_item,
    sample,
)
from hashrange.schema.declare import introspection
from hashrange_systems.aura.first import FirstAura
from hashrange_systems.aura.schema import Aura
from hashrange_systems.checks.schema import Checks
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.shuttle.schema import Operator, Shuttle

SCHEMAS = [Aura, FirstAura, Checks, Kelifax, Shuttle, Operator]


@pytest.mark.parametrize("patterns", SCHEMAS)
def test_the_items_of_every_schema_are_stored_and_read_back(patterns):
    items = sample(patterns, seed=7)
    with hashrange.open() as database:
        hashrange.create_tables(database, patterns)
        for item in items:
            name = introspection.table_of(type(item)).physical_name
            database.put_item(TableName=name, Item=dump_item(item))
        stored = sum(
            database.call("Scan", {"TableName": table.physical_name, "Select": "COUNT"})["Count"]
            for table in patterns.tables()
        )
        assert stored == len(items), "each item has its own key"
    for item in items:
        assert load_item([introspection.root(type(item))], dump_item(item)) == item


@pytest.mark.parametrize("patterns", SCHEMAS)
def test_every_state_of_every_lifecycle_occurs(patterns):
    found = {type(getattr(item, name)) for item in sample(patterns) for name in introspection.lifecycles(type(item))}
    states = {
        state
        for table in patterns.tables()
        for item in introspection.items_of(table)
        for models in introspection.lifecycles(item).values()
        for state in models
    }
    assert states <= found


def test_another_process_makes_the_same_items_and_another_seed_makes_others():
    program = (
        "from hashrange import dump_item, sample\n"
        "from hashrange_systems.aura.schema import Aura\n"
        "print([dump_item(item) for item in sample(Aura, seed=7)])"
    )
    command = [sys.executable, "-c", program]
    environment = {**os.environ, "PYTHONHASHSEED": "17"}
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=environment).stdout
    assert printed.strip() == repr([dump_item(item) for item in sample(Aura, seed=7)])
    assert sample(Aura, seed=8) != sample(Aura, seed=7)


table = Table("things", "pk", ttl="expires", indexes=[Gsi("ByCode", "code")])


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(BaseModel):
    width: Annotated[int, Field(ge=10, le=12)]
    unit: Literal["cm", "in"]


class Thing(Item, table=table, pk="THING#{number:04d}"):
    number: Key[int]
    code: Annotated[str, Field(pattern=r"^[A-Z]{3}-\d{2,4}(x|yz)?$")]
    slug: Annotated[str, Field(pattern=r"[^/]+/[^/]{2}")]
    title: Annotated[str, Field(min_length=30, max_length=40)]
    email: str
    share: Annotated[Decimal, Field(gt=0, lt=2)]
    even: Annotated[int, Field(ge=5, multiple_of=4)]
    colour: Colour
    size: Size
    by_unit: dict[Literal["cm", "in"], int]
    labels: Commas[str]
    tags: set[str]
    token: UUID
    expires: Ttl
    closed_at: datetime | None = None
    version: Version = 0


class Things(Patterns, Protocol):
    def thing(self, number: int) -> Get[Thing]: ...


def sample_of(model, *declared, **options):
    found = sample(*declared, **options)
    assert all(isinstance(item, model) for item in found)
    return list(map(cast_any, found))


def cast_any(item: Any) -> Any:
    return item


def test_values_keep_constraints_and_patterns_and_do_not_expire():
    things = sample_of(Thing, Things, count=40)
    assert len({thing.number for thing in things}) == 40
    assert {thing.closed_at is None for thing in things} == {True, False}
    assert things[0].email.endswith(".example")
    with hashrange.open() as database:
        hashrange.create_tables(database, Things)
        db = Things.open(database)
        db.batch(things).run()
        assert db.thing(things[0].number).run() == things[0]


def test_values_can_be_given_by_field():
    things = sample_of(
        Thing,
        Things,
        values={"Thing.email": lambda number: f"n{number}@shop.test", "number": lambda number: number + 50},
    )
    assert [thing.number for thing in things] == [50, 51, 52]
    assert things[0].email == "n0@shop.test"


other = Table("strict", "pk")


class Strict(Item, table=other, pk="{name}"):
    name: str

    @field_validator("name")
    @classmethod
    def _refuse_all_but_one(cls, value: str) -> str:
        if value != "only this":
            raise ValueError("another name")
        return value


def test_a_class_without_a_valid_sample_says_what_to_give():
    with pytest.raises(ValueInvalid, match=r"No sample of Strict can be made: .*another name.*values="):
        sample(other)
    assert [thing.name for thing in sample_of(Strict, other, count=1, values={"name": lambda _: "only this"})] == [
        "only this"
    ]


lifecycle = Table("lifecycle", "pk", indexes=[Gsi("ByStage", "kind", "stage_key")])


class Stage(View["Parcel"]):
    number: Key[str]


class Waiting(Stage, stage_key="WAIT#"): ...


class Sent(Stage, stage_key="SENT#{sent_at}"):
    sent_at: datetime


class Parcel(Item, table=lifecycle, pk="PARCEL#{number}"):
    number: Key[str]
    kind: str
    stage: Waiting | Sent = initially(Waiting)


def test_each_state_has_as_many_items_as_asked_for():
    parcels = sample_of(Parcel, lifecycle, count=2)
    assert [type(parcel.stage) for parcel in parcels] == [Waiting, Waiting, Sent, Sent]


def test_something_that_is_neither_patterns_nor_a_table_is_refused():
    with pytest.raises(TypeError, match="Parcel is neither a Patterns class nor a Table: give one that contains its"):
        sample(Parcel)


def test_an_item_that_expires_after_a_time_of_its_own_does_not_expire():
    class Login(Item, table=Table("logins", "pk", ttl="expires_at"), pk="LOGIN#{token}"):
        token: str
        started_at: datetime
        expires_at: Ttl = after("started_at", hours=8)

    class Logins(Patterns, Protocol):
        def logins(self) -> Scan[Login]: ...

    items = sample(Logins)
    with hashrange.open() as database:
        hashrange.create_tables(database, Logins)
        db = Logins.open(database)
        db.batch(items).run()
        assert (
            {item.token for item in db.logins()} == {item.token for item in items if isinstance(item, Login)} != set()
        )
