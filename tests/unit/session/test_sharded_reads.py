"""Reads over the shards of a partition: gathered in key order, in both directions, with limits, pages and cursors."""

import asyncio
from typing import Literal, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import CursorInvalid, DeclarationError, Ge, Get, Gsi, Item, Latest, Patterns, Query, Table, Update

table = Table("tasks", "pk", indexes=[Gsi("Due", "due_shard", "due"), Gsi("Open", "open_shard")])


class Task(Item, table=table, pk="TASK#{id}", due_shard="{queue}#{id:shard3}"):
    id: str
    queue: str
    due: int
    state: Literal["open", "done"] = "open"


class Open(Task, open_shard="OPEN#{id:shard2}"):
    state: Literal["open"] = "open"


class Done(Task):
    state: Literal["done"] = "done"


class Tasks(Patterns, Protocol):
    def task(self, id: str) -> Get[Task]: ...  # noqa: A002 - a field
    def in_queue(self, queue: str) -> Query[Task]: ...
    def latest(self, queue: str) -> Latest[Task]: ...
    def due_from(self, queue: str, due: Ge[int]) -> Query[Task]: ...
    def of_one(self, queue: str, id: str) -> Query[Task]: ...  # noqa: A002
    def open_tasks(self) -> Query[Open]: ...
    def finish(self, task: Open) -> Update[Done]: ...
    def postpone(self, id: str, due: int) -> Update[Task]: ...  # noqa: A002


ROWS = st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 6), st.booleans()), max_size=16)


@pytest.fixture(scope="module")
def database():
    with hashrange.open() as opened:
        hashrange.create_tables(opened, Tasks)
        yield opened


def fill(database, rows):
    for raw in database.scan(TableName="tasks")["Items"]:
        database.delete_item(TableName="tasks", Key={"pk": raw["pk"]})
    db = Tasks.open(database)
    tasks = [
        (Open if is_open else Done)(id=f"t{at}", queue=queue, due=due) for at, (queue, due, is_open) in enumerate(rows)
    ]
    db.batch(tasks).run()
    return db, tasks


def read_pages(query, size):
    found, cursor = [], None
    while True:
        page = query.page(size, after=cursor).run()
        assert len(page) == size or page.cursor is None
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


def check(found, wanted, *, descending=False):
    """The same tasks, in the order of their due times; shards do not order equal ones."""
    assert sorted(task.id for task in found) == sorted(task.id for task in wanted)
    assert [task.due for task in found] == sorted((task.due for task in wanted), reverse=descending)


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, due=st.integers(0, 6), size=st.integers(1, 5))
def test_shards_are_gathered_in_key_order(database, rows, due, size):
    db, tasks = fill(database, rows)
    here = [task for task in tasks if task.queue == "x"]
    check(db.in_queue("x").run(), here)
    check(db.latest("x").run(), here, descending=True)
    check(list(db.latest("x")), here, descending=True)
    check(db.due_from("x", due).run(), [task for task in here if task.due >= due])
    check(read_pages(db.in_queue("x"), size), here)
    check(read_pages(db.latest("x"), size), here, descending=True)
    assert [task.due for task in db.in_queue("x").limit(size)] == sorted(task.due for task in here)[:size]
    first = db.latest("x").first().run()
    assert (first.due if first else None) == max((task.due for task in here), default=None)
    assert sorted(task.id for task in db.open_tasks()) == sorted(task.id for task in tasks if isinstance(task, Open))
    assert sorted(task.id for task in read_pages(db.open_tasks(), size)) == sorted(
        task.id for task in tasks if isinstance(task, Open)
    )
    assert db.in_queue("x").count().run() == len(here)

    async def gather():
        return [task async for task in db.in_queue("x")], await db.latest("x")

    ascending, descending = asyncio.run(gather())
    check(ascending, here)
    check(descending, here, descending=True)


def test_a_read_by_the_sharded_field_reads_one_shard_and_is_exact(database):
    db, tasks = fill(database, [("x", at, True) for at in range(9)])
    assert db.of_one("x", "t4").run() == [tasks[4]]
    assert len(Tasks.plan("of_one").branches) == 1
    assert "filter  id = {id}" in Tasks.plan("of_one").explain()


def test_explain_says_how_many_requests_a_read_takes():
    assert "due_shard = '{queue}#{id:shard3}'  in 3 requests" in Tasks.plan("in_queue").explain()
    assert "open_shard = 'OPEN#{id:shard2}'  in 2 requests" in Tasks.plan("open_tasks").explain()


def test_writes_keep_the_shards(database):
    db, [task] = fill(database, [("x", 1, True)])
    assert db.open_tasks().run() == [task]
    db.postpone("t0", due=5).run()
    later = db.task("t0").required().run()
    assert [found.due for found in db.in_queue("x")] == [5]
    db.finish(later).run()
    assert db.open_tasks().run() == []


def test_the_number_of_shards_may_grow(database):
    db, tasks = fill(database, [("x", at, True) for at in range(12)])

    class Task5(
        Item, table=Table("tasks", "pk", indexes=table.indexes), pk="TASK#{id}", due_shard="{queue}#{id:shard5}"
    ):
        id: str
        queue: str
        due: int

    class Tasks5(Patterns, Protocol):
        def in_queue(self, queue: str) -> Query[Task5]: ...
        def postpone(self, id: str, queue: str, due: int) -> Update[Task5]: ...  # noqa: A002

    grown = Tasks5.open(database)
    assert [task.id for task in grown.in_queue("x")] == [task.id for task in tasks]
    for number in range(6):
        grown.postpone(f"t{number}", queue="x", due=20 + number).run()
    assert [task.due for task in grown.in_queue("x")] == [*range(6, 12), *range(20, 26)]
    cursor = db.in_queue("x").page(2).run().cursor
    with pytest.raises(CursorInvalid):
        grown.in_queue("x").page(2, after=cursor).run()


def test_a_get_needs_the_sharded_field():
    class Row(Item, table=Table("rows", "pk", "sk"), pk="ROW#{id:shard4}", sk="{kind}"):
        id: str
        kind: str

    with pytest.raises(DeclarationError, match="HR235"):

        class Rows(Patterns, Protocol):
            def row(self, kind: str) -> Get[Row]: ...


def lint_codes(declared):
    return [(lint.code, lint.location) for lint in declared.lint() if lint.code == "HR411"]


def test_pointless_shards_are_reported():
    indexes = [Gsi("ByA", "a", "at"), Gsi("ByB", "b", "c"), Gsi("ByD", ["id", "d"])]

    class Row(
        Item,
        table=Table("rows", "pk", indexes=indexes),
        pk="ROW#{id}",
        a="{state:shard8}",
        b="{at:04d}",
        c="{id:shard8}",
        d="{id:shard4}",
    ):
        id: str
        at: int
        state: Literal["open", "done"]

    class Rows(Patterns, Protocol):
        def row(self, id: str) -> Get[Row]: ...  # noqa: A002

    assert lint_codes(Rows) == [("HR411", "Row.a"), ("HR411", "Row.c"), ("HR411", "Row.d")]
    assert lint_codes(Tasks) == []
