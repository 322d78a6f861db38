"""Indexes whose keys have several attributes: planned as DynamoDB takes conditions, in order, and never stale."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import (
    BeginsWith,
    Between,
    DeclarationError,
    Ge,
    Get,
    Gsi,
    Item,
    Latest,
    Lsi,
    Lt,
    Patterns,
    Query,
    Table,
    Update,
    via,
)
from hashrange.provision.table_request import create_request

table = Table("matches", "pk", indexes=[
    Gsi("ByRound", ["cup", "region"], ["round", "court", "starts"]),
    Gsi("ByState", ("cup", "state_key"), "round", ["court"]),
])  # fmt: skip


class Match(Item, table=table, pk="MATCH#{number:05d}", state_key="STATE#{state}"):
    number: int
    cup: str
    region: str
    state: Literal["open", "done"] = "open"
    round: int
    court: str | None = None
    starts: datetime


class Matches(Patterns, Protocol):
    def match(self, number: int) -> Get[Match]: ...
    def of_region(self, cup: str, region: str) -> Query[Match]: ...
    def latest(self, cup: str, region: str) -> Latest[Match]: ...
    def of_round(self, cup: str, region: str, round: int) -> Query[Match]: ...  # noqa: A002 - a field
    def rounds_before(self, cup: str, region: str, round: Lt[int]) -> Query[Match]: ...  # noqa: A002
    def rounds(self, cup: str, region: str, round: Between[int]) -> Latest[Match]: ...  # noqa: A002
    def on_courts(self, cup: str, region: str, round: int, court: BeginsWith[str]) -> Query[Match]: ...  # noqa: A002
    def coming(self, cup: str, region: str, round: int, court: str, starts: Ge[datetime]) -> Query[Match]: ...  # noqa: A002
    def assign(self, match: Match, court: str | None) -> Update[Match]: ...
    def advance(self, number: int, round: int) -> Update[Match]: ...  # noqa: A002


START = datetime(2027, 1, 1, tzinfo=UTC)
COURTS = st.sampled_from([None, "A1", "A2", "B1"])
ROWS = st.lists(st.tuples(st.sampled_from("xy"), st.integers(1, 3), COURTS, st.integers(0, 3)), max_size=14)


@pytest.fixture(scope="module")
def database():
    with hashrange.open() as opened:
        hashrange.create_tables(opened, Matches)
        yield opened


def fill(database, rows):
    for raw in database.scan(TableName="matches")["Items"]:
        database.delete_item(TableName="matches", Key={"pk": raw["pk"]})
    db = Matches.open(database)
    matches = [
        Match(number=at, cup="c", region=region, round=round_, court=court, starts=START + timedelta(hours=hours))
        for at, (region, round_, court, hours) in enumerate(rows)
    ]
    db.batch(matches).run()
    return db, matches


def indexed(matches):
    """The matches of a region that are in the index: those with every attribute of its key, in its order."""
    found = [match for match in matches if match.region == "x" and match.court is not None]
    return sorted(found, key=lambda match: (match.round, match.court, match.starts))


def places(matches):
    return [(match.round, match.court, match.starts) for match in matches]


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, wanted=st.integers(1, 3), hours=st.integers(0, 3), size=st.integers(1, 4))
def test_reads_compare_from_the_left_and_come_in_order(database, rows, wanted, hours, size):
    db, matches = fill(database, rows)
    here, since = indexed(matches), START + timedelta(hours=hours)
    assert places(db.of_region("c", "x")) == places(here)
    assert places(db.latest("c", "x")) == places(here)[::-1]
    assert places(db.of_round("c", "x", wanted)) == places(m for m in here if m.round == wanted)
    assert places(db.rounds_before("c", "x", wanted)) == places(m for m in here if m.round < wanted)
    assert places(db.rounds("c", "x", (1, wanted))) == places(m for m in here if m.round <= wanted)[::-1]
    assert places(db.on_courts("c", "x", wanted, "A")) == places(
        m for m in here if m.round == wanted and m.court.startswith("A")
    )
    assert places(db.coming("c", "x", wanted, "A1", since)) == places(
        m for m in here if m.round == wanted and m.court == "A1" and m.starts >= since
    )
    found, cursor = [], None
    while True:
        page = db.of_region("c", "x").page(size, after=cursor).run()
        found += places(page)
        cursor = page.cursor
        if cursor is None:
            break
    assert found == places(here)

    async def gather():
        return [match async for match in db.latest("c", "x")]

    assert places(asyncio.run(gather())) == places(here)[::-1]


def test_a_write_moves_an_item_in_the_index_and_out_of_it(database):
    db, [match, *_] = fill(database, [("x", 1, None, 0)])
    assert db.of_region("c", "x").run() == []
    placed = db.assign(match, court="A1").run()
    assert db.of_region("c", "x").run() == [placed]
    moved = db.advance(0, round=2).run()
    assert db.of_round("c", "x", 2).run() == [moved]
    assert db.of_round("c", "x", 1).run() == []
    db.assign(moved, court=None).run()
    assert db.of_region("c", "x").run() == []


def test_the_plan_and_the_table_have_every_attribute():
    assert "cup = {cup} AND region = {region} AND round = {round} AND begins_with(court, {court})" in (
        Matches.plan("on_courts").explain()
    )
    [by_round, _] = create_request(table)["GlobalSecondaryIndexes"]
    assert [(part["AttributeName"], part["KeyType"]) for part in by_round["KeySchema"]] == [
        ("cup", "HASH"),
        ("region", "HASH"),
        ("round", "RANGE"),
        ("court", "RANGE"),
        ("starts", "RANGE"),
    ]
    types = {part["AttributeName"]: part["AttributeType"] for part in create_request(table)["AttributeDefinitions"]}
    assert (types["round"], types["court"]) == ("N", "S")


def test_what_dynamodb_cannot_compare_is_refused():
    with pytest.raises(DeclarationError, match="HR230"):

        class Partial(Patterns, Protocol):
            def cup(self, cup: str) -> Query[Match]: ...

    with pytest.raises(DeclarationError, match=r"HR234 .*a filter on court, which is its key"):

        class Gap(Patterns, Protocol):
            @via("ByRound")
            def on_court(self, cup: str, region: str, court: str) -> Query[Match]: ...

    with pytest.raises(DeclarationError, match="HR155"):
        Gsi("Many", ["a", "b", "c", "d", "e"])
    with pytest.raises(DeclarationError, match="HR109"):
        Gsi("Twice", ["a", "b"], ["c", "a"])
    with pytest.raises(DeclarationError, match="HR106"):
        Table("local", "pk", "sk", indexes=[Lsi("Local", "pk", ["a", "b"])])
