"""Loading many items at once.

An empty table is filled without its indexes, which are built at the end: a sorted build beats millions of random
inserts. Until then it is hidden, and a kill in the middle leaves it empty, not half full. A table that has items, or
whose changes are logged, takes the write path, many items to a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from hashrange.core.errors import ResourceInUseException, SerializationException
from hashrange.core.values import Item, WrongWireType, check_item
from hashrange.engine import shape, sql, write
from hashrange.engine.jobs import Job, slice_of, table_numbered
from hashrange.engine.store import NotUnique

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.engine.table import Table

BATCH = 10_000
Progress = Callable[[int], None]


def load_items(engine: Engine, table: Table, items: Iterable[Item], progress: Progress) -> int:
    """Put all items, as many to a commit as is quick; returns how many were read. Equal keys: the last one wins."""
    _clear_remains(engine, table)
    empty = engine.store.execute(f"SELECT 1 FROM t{table.n} LIMIT 1").fetchone() is None
    return (
        _fill(engine, table, items, progress) if empty and not table.logged else _merge(engine, table, items, progress)
    )


def _commit(engine: Engine, work: Callable[[], None]) -> None:
    engine.alone(lambda: engine.attempt(work))


def _clear_remains(engine: Engine, table: Table) -> None:
    """Empty a table that an earlier load, cut off, left hidden; refuse one that is being restored."""
    state = table.definition.get("restoring")
    if isinstance(state, dict):
        raise ResourceInUseException(f"Table {table.name} is being restored. Serve its directory until that is done.")
    if state:
        _commit(engine, partial(_reveal, engine, table, empty=True))


def _prepare(table: Table, item: Item) -> tuple[bytes, write.Image]:
    try:
        item, size = check_item(item)
    except WrongWireType:
        item, size = check_item(_convert(table, item))
    write.check_put_size(size)
    return table.key_of_item(item), write.prepare(table, item, size)


def _convert(table: Table, item: Item) -> Item:
    """Return an item as a put reads it, which drops nulls, or say what is wrong."""
    try:
        converted: Item = shape.convert("PutItem", {"TableName": table.name, "Item": item})["Item"]
        return converted
    except SerializationException as refusal:
        raise SerializationException(f"An attribute value is of the wrong JSON type: {refusal.message}") from None


def _merge(engine: Engine, table: Table, items: Iterable[Item], progress: Progress) -> int:
    source, total = iter(items), 0
    while batch := [_prepare(table, item) for item in islice(source, BATCH)]:
        _commit(engine, partial(_put_all, engine, table, batch))
        total += len(batch)
        progress(total)
    return total


def _put_all(engine: Engine, table: Table, batch: list[tuple[bytes, write.Image]]) -> None:
    engine.transact()
    for key, image in sorted(batch, key=lambda entry: entry[0]):  # stable: of equal keys the last still wins
        write.apply(engine, table, key, write.load(engine, table, key), image)


def _fill(engine: Engine, table: Table, items: Iterable[Item], progress: Progress) -> int:
    _commit(engine, partial(_hide, engine, table))
    total = 0
    try:
        for total, rows in _batches(table, items):
            _commit(engine, partial(_append, engine, table, rows))
            progress(total)
        _commit(engine, partial(_reveal, engine, table, empty=False))
    except BaseException:
        _commit(engine, partial(_unhide, engine, table.n))
        raise
    return total


def _batches(table: Table, items: Iterable[Item]) -> Iterator[tuple[int, list[tuple[object, ...]]]]:
    source, total = iter(items), 0
    while rows := [_make_row(table, item) for item in islice(source, BATCH)]:
        total += len(rows)
        yield total, rows


def _make_row(table: Table, item: Item) -> tuple[object, ...]:
    # The decoded item is let go of at once: ten thousand of them make the garbage collector the slowest part.
    key, image = _prepare(table, item)
    return (key, image.size, image.body, *image.columns, None)


def _append(engine: Engine, table: Table, rows: list[tuple[object, ...]]) -> None:
    engine.transact()
    engine.store.connection.executemany(table.sql.insert, rows)


def _hide(engine: Engine, table: Table) -> None:
    """Take the table out of use and its indexes away."""
    engine.transact()
    table.definition["restoring"] = True
    engine.catalog.save(table)
    for name in table.sql.indexes:
        engine.store.execute(f"DROP INDEX IF EXISTS {name}")
    engine.jobs.note("unfill", table.n, {})


def _reveal(engine: Engine, table: Table, *, empty: bool) -> None:
    """Build the indexes, count, and put the table into use."""
    engine.transact()
    execute, n = engine.store.execute, table.n
    if empty:
        execute(f"DELETE FROM t{n}")
    try:
        execute(sql.create_key_index(n))
    except NotUnique:
        _drop_repeated(engine, table)
    for statement in sql.create_indexes(n, table.definition["slots"]):
        execute(statement)
    engine.catalog.recount(table)
    table.displaced = not empty
    table.definition.pop("restoring", None)
    engine.catalog.save(table)
    engine.jobs.drop(n, "unfill")


def _drop_repeated(engine: Engine, table: Table) -> None:
    execute, n = engine.store.execute, table.n
    execute(f"CREATE INDEX t{n}repeated ON t{n} (k)")
    compared = f"SELECT id, lead(k) OVER (ORDER BY k, id) = k AS again FROM t{n}"
    execute(f"DELETE FROM t{n} WHERE id IN (SELECT id FROM ({compared}) WHERE again)")
    execute(f"DROP INDEX t{n}repeated")


def _unhide(engine: Engine, n: int) -> None:
    table = table_numbered(engine, n)  # looked up, because a rollback makes all tables anew
    if table is not None:
        _reveal(engine, table, empty=True)


@slice_of("unfill")
def _unfill(engine: Engine, job: Job) -> bool:
    """Empty a table whose filling was cut off, and put it back into use."""
    _unhide(engine, job.n)
    return True
