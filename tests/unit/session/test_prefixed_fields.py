"""Prefixed fields: items are equal to what is read of them, and comparisons know the prefix."""

from typing import Annotated, Protocol

import pytest

import hashrange
from hashrange import (
    BeginsWith,
    Contains,
    DeclarationError,
    Get,
    Gsi,
    Item,
    Patterns,
    Prefixed,
    Query,
    Scan,
    Table,
    Update,
    Upsert,
    where,
)


class Shop(Item, table=Table("shops", "pk", indexes=[Gsi("ByTown", "town", "pk")]), pk="SHOP#{domain}"):
    domain: str
    town: Annotated[str, Prefixed("TOWN#", upper=True)]
    guild: Annotated[str, Prefixed("GUILD#")] = "none"


class Shops(Patterns, Protocol):
    def shop(self, domain: str) -> Get[Shop]: ...
    def in_town(self, town: str) -> Query[Shop]: ...
    def town_begins(self, town: BeginsWith[str]) -> Scan[Shop]: ...
    @where("begins_with(guild, {start})")
    def guild_begins(self, start: str) -> Scan[Shop]: ...
    def move(self, shop: Shop, town: str) -> Update[Shop]: ...
    def found(self, domain: str, town: str) -> Upsert[Shop]: ...


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Shops)
        yield Shops.open(database)


@pytest.fixture
def shop(db):
    return db.create(Shop(domain="a.de", town="Graz", guild="smiths")).run()


def test_a_value_in_capitals_is_so_before_it_is_stored(db, shop):
    assert shop.town == "GRAZ"
    assert db.shop("a.de").run() == shop
    assert list(db.in_town("graz")) == [shop]


def test_writes_return_what_is_read(db, shop):
    moved = db.move(shop, "wien").run()
    assert db.shop("a.de").run() == moved == shop.model_copy(update={"town": "WIEN"})
    assert db.found("b.de", "linz").run() == db.shop("b.de").run() == Shop(domain="b.de", town="LINZ")


def test_a_value_that_another_program_stored_in_small_letters_is_read_in_capitals(db):
    item = {"pk": {"S": "SHOP#c.de"}, "domain": {"S": "c.de"}, "town": {"S": "TOWN#linz"}}
    db.session.transport.call("PutItem", {"TableName": "shops", "Item": item})
    assert db.shop("c.de").run() == Shop(domain="c.de", town="linz")


def test_how_a_value_begins_is_compared_with_the_prefix(db, shop):
    assert list(db.town_begins("gr")) == list(db.guild_begins("smi")) == [shop]
    assert list(db.town_begins("az")) == list(db.guild_begins("ths")) == []


def test_a_search_inside_a_prefixed_field_is_refused():
    with pytest.raises(DeclarationError, match="HR262"):

        class ByParameter(Patterns, Protocol):
            def like(self, town: Contains[str]) -> Scan[Shop]: ...

    with pytest.raises(DeclarationError, match="HR262"):

        class ByText(Patterns, Protocol):
            @where("contains(town, {part})")
            def like(self, part: str) -> Scan[Shop]: ...
