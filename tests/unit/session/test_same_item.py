"""A write that takes an item or a state and parameters of its key refuses those of another item, before it is sent."""

from typing import Protocol

import pytest

import hashrange
from hashrange import Delete, Get, Gsi, Item, Patterns, Table, Update, ValueInvalid, View, initially

table = Table("docs", "pk", indexes=[Gsi("ByState", "shop", "state_key")])


class State(View["Doc"]):
    shop: str
    number: str


class Draft(State, state_key="DRAFT#"): ...


class Done(State, state_key="DONE#"): ...


class Doc(Item, table=table, pk="{shop}#{number}"):
    shop: str
    number: str
    state: Draft | Done = initially(Draft)


class Docs(Patterns, Protocol, tenant="shop"):
    def doc(self, shop: str, number: str) -> Get[Doc]: ...
    def finish(self, shop: str, state: Draft) -> Update[Done]: ...
    def drop(self, shop: str, doc: Doc) -> Delete[Doc]: ...


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Docs)
        yield Docs.open(database)


def test_a_step_does_not_change_the_item_of_another_tenant(db):
    ours, theirs = (db.create(Doc(shop=shop, number="1")).run() for shop in "ab")
    with pytest.raises(ValueInvalid, match=r"Docs\.finish: state and shop are of different items: shop 'a', 'b'"):
        db.finish("b", ours.state)
    with pytest.raises(ValueInvalid, match="doc and shop are of different items"):
        db.drop("b", ours)
    assert db.doc("b", "1").run() == theirs
    assert isinstance(db.finish("a", ours.state).run(), Done)
    assert db.drop("b", theirs).run() == theirs
