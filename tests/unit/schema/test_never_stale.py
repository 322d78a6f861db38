"""Whatever is written through patterns, every index entry is the one that the item as it stands would have."""

from datetime import datetime
from typing import Literal, Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import (
    KEYS_ONLY,
    Add,
    Append,
    Conflict,
    Gsi,
    Item,
    Key,
    ManualClock,
    Patterns,
    Table,
    Touched,
    Update,
    Upsert,
    ValueInvalid,
    Version,
    View,
    initially,
)
from hashrange.client.local_keys import LocalKeys
from hashrange.schema.declare import introspection
from hashrange.schema.items import dumper, loader
from hashrange.schema.write.write_plan import WritePlan
from hashrange_systems.aura.schema import Aura
from hashrange_systems.checks.schema import Checks
from hashrange_systems.kelifax.schema import Kelifax
from hashrange_systems.shuttle.schema import Operator, Shuttle
from tests.unit.schema.random_items import RandomItems

table = Table(
    "orders",
    "pk",
    "sk",
    indexes=[
        Gsi("ByStatus", "status", "due"),
        Gsi("ByOwner", "owner_pk", "owner_sk"),
        Gsi("ByRegion", "region_pk", "region_sk", KEYS_ONLY),
        Gsi("ByStage", "stage_pk", "stage_sk"),
    ],
)


class Stage(View["Order"]):
    number: str


class Waiting(Stage, stage_sk="WAIT#"): ...


class Packing(Stage, stage_sk="PACK#{packed_at}"):
    packed_at: datetime


class Sent(Stage, stage_sk="SENT#{sent_at}#{carrier}"):
    packed_at: datetime
    sent_at: datetime
    carrier: str


class Order(
    Item,
    table=table,
    pk="ORDER#{number}",
    sk="ORDER",
    owner_pk="OWNER#{owner}",
    owner_sk="{priority:04d}#{number}",
    region_pk="{region}#{owner}",
    region_sk="{due}",
    stage_pk="{region}",
):
    number: Key[str]
    owner: str
    region: str | None = None
    priority: int = 0
    due: datetime | None = None
    status: Literal["open", "held", "closed"] = "open"
    notes: list[str] = []  # noqa: RUF012 - pydantic copies defaults
    changed_at: Touched[datetime] | None = None
    version: Version = 0
    stage: Waiting | Packing | Sent = initially(Waiting)


class OpenOrder(Order):
    status: Literal["open"] = "open"


class HeldOrder(Order):
    status: Literal["held"] = "held"
    reason: str


class Tally(Item, table=table, pk="TALLY#{name}", sk="TALLY", owner_pk="OWNER#{name}", owner_sk="{kind}"):
    name: Key[str]
    kind: str
    count: int = 0


class Orders(Patterns, Protocol):
    def hold(self, order: OpenOrder, reason: str) -> Update[HeldOrder]: ...
    def release(self, order: HeldOrder) -> Update[OpenOrder]: ...
    def give(self, order: Order, owner: str) -> Update[Order]: ...
    def edit(
        self,
        order: Order,
        region: str | None = ...,
        priority: int = ...,
        due: datetime | None = ...,
        notes: Append[str] = ...,
    ) -> Update[Order]: ...
    def due_on(self, number: str, due: datetime) -> Update[Order]: ...
    def pack(self, stage: Waiting, packed_at: datetime) -> Update[Packing]: ...
    def send(self, stage: Packing, sent_at: datetime, carrier: str) -> Update[Sent]: ...
    def take_back(self, stage: Sent) -> Update[Waiting]: ...
    def note(self, number: str, notes: Append[str]) -> Update[Order]: ...


class Tallies(Patterns, Protocol):
    def count(self, name: str, kind: str, count: Add[int]) -> Upsert[Tally]: ...


mixed = Table(
    "mixed",
    "pk",
    indexes=[
        Gsi("ByTime", "time_pk", "time_sk"),
        Gsi("ByPair", "pair"),
        Gsi("ByLevel", "level"),
        Gsi("ByRoom", "room_key"),
        Gsi("BySize", "size_key"),
    ],
)


class Mixed(
    Item,
    table=mixed,
    pk="MIXED#{name}",
    time_pk="{changed_at}",
    time_sk="{version:06d}#{first}",
    pair="{first}#{second}",
    room_key="ROOM#{room}#{level}",
    size_key="{size:04d}#{level}",
):
    """Every sort of field inside a key: touched, version, optional, defaulted, in a key only."""

    name: str
    first: str
    second: str | None = None
    level: str = "low"
    room: Key[str] | None = None
    size: int = 0
    changed_at: Touched[datetime] | None = None
    version: Version = 0


class Unversioned(Item, table=mixed, pk="PLAIN#{name}", pair="{first}#{second}", time_pk="{changed_at}"):
    """The same without a version, which would guard every write."""

    name: str
    first: str
    second: str | None = None
    level: str = "low"
    changed_at: Touched[datetime] | None = None


class MixedPatterns(Patterns, Protocol):
    def edit(
        self, item: Mixed, first: str = ..., second: str | None = ..., level: str = ..., size: int = ...
    ) -> Update[Mixed]: ...
    def set_second(self, item: Mixed, second: str | None) -> Update[Mixed]: ...
    def clear_second(self, item: Mixed, second: None) -> Update[Mixed]: ...
    def move(self, item: Mixed, room: str) -> Update[Mixed]: ...
    def touch(self, item: Mixed) -> Update[Mixed]: ...
    def edit_plain(self, item: Unversioned, first: str = ..., second: str | None = ...) -> Update[Unversioned]: ...
    def set_plain(self, item: Unversioned, first: str) -> Update[Unversioned]: ...
    def save(self, name: str, first: str, second: str | None) -> Upsert[Unversioned]: ...


SETS = [Orders, Tallies, MixedPatterns, Aura, Checks, Kelifax, Shuttle, Operator]


@pytest.mark.parametrize("patterns", SETS, ids=lambda patterns: patterns.__name__)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_no_write_leaves_a_stale_index_key(patterns, seed):
    random_items, clock = RandomItems(seed), ManualClock(1_768_478_400)
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, patterns)
        db = patterns.open(database, keys=LocalKeys.generate())
        tables = patterns.tables()
        writes = [plan for plan in patterns.plans.values() if isinstance(plan, WritePlan)]
        done, copies = 0, {}
        for at in range(30):
            clock.advance(random_items.random.randrange(100))
            plan = None if at < 6 else random_items.random.choice([None, *writes])
            done += run_one(db, random_items, plan, tables, database, copies)
            for each in tables:
                check_indexes(db, database, each)
        assert done


def run_one(db, random_items, plan, tables, database, copies):
    """Create an item, or run a pattern on an item as it is or was a few writes ago; say whether it wrote."""
    try:
        if plan is None:
            items = [kind for each in tables for item in each.items for kind in introspection.with_variants(item)]
            db.put(random_items.item(random_items.random.choice(items))).run()
            return 1
        read = copies.setdefault(plan.table.name, [])
        read.append([db.session.decrypt_item(plan.table, raw) for raw in scan(database, plan.table)])
        arguments = random_items.arguments(plan, random_items.random.choice(read[-4:]))
        if arguments is not None:
            getattr(db, plan.name)(**arguments).run()
            return 1
    except (Conflict, ValueInvalid, ValueError):
        return 0
    return 0


def scan(database, declared, **more):
    return database.call("Scan", {"TableName": declared.physical_name, **more})["Items"]


def check_indexes(db, database, declared):
    """Compare the keys in every stored item, and the contents of every index, with those computed from scratch."""
    roots = list(dict.fromkeys(introspection.root(item) for item in declared.items))
    expected = {index.name: [] for index in declared.indexes}
    for raw in scan(database, declared):
        item = loader.load(roots, db.session.decrypt_item(declared, raw))
        fresh = dumper.dump(item)
        keys = {attr: raw[attr] for attr in declared.key_names if attr in raw}
        assert keys == {attr: fresh[attr] for attr in declared.key_names if attr in fresh}, item
        for index in declared.indexes:
            if all(attr in fresh for attr in index.keys):
                expected[index.name].append({attr: fresh[attr] for attr in (*declared.keys, *index.keys)})
    for index in declared.indexes:
        found = [
            {attr: raw[attr] for attr in (*declared.keys, *index.keys)}
            for raw in scan(database, declared, IndexName=index.name)
        ]
        assert sorted(map(repr, found)) == sorted(map(repr, expected[index.name])), index.name
