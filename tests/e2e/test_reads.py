"""Reads of a session over HTTP give what they give in process: options, lists, filters, counts, snapshots, segments."""

import asyncio

import pytest

import hashrange
from tests.e2e.served import Served
from tests.unit.session.test_filters import BOOKS as FILTERED
from tests.unit.session.test_filters import Books
from tests.unit.session.test_optional_parameters import BOOKS, Book, Search


@pytest.fixture(scope="module")
def remote(tmp_path_factory):
    served = Served(errors=tmp_path_factory.mktemp("served") / "errors")
    with hashrange.connect(served.url) as connected:
        yield connected
    served.stop()


def use(transport):
    """Return what each kind of read returns, in process or over HTTP."""
    hashrange.create_tables(transport, Search)
    db = Search.open(transport)
    db.batch(BOOKS).run()
    titles = [book.title for book in db.search("Lem", "S", pages=100, language=None)]
    listed = [book.title for book in db.written_in("Lem", ["de", "pl"], [100, 150, 250])]
    counted = db.search("Lem", pages=100).count().run(), db.scan(["de"]).count().run()
    read = db.snapshot(db.book("1"), db.book("2"), db.book("none")).run()
    segments = sorted(book.title for book in db.scan().parallel(4, workers=2))
    explored = db.explore(Book).where("author = 'Lem' AND pages < {few}", few=100)
    cost = explored.cost().run()

    async def wait():
        return sorted([book.title async for book in db.scan().parallel(3)]), await db.search("Lem").count()

    return titles, listed, counted, read, segments, explored.query().run(), cost, asyncio.run(wait())


def test_every_read_is_the_same_over_http(remote):
    with hashrange.open() as database:
        assert use(remote) == use(database)


def test_filters_are_evaluated_by_the_server(remote):
    remote.call("DeleteTable", {"TableName": "books"})
    hashrange.create_tables(remote, Books)
    db = Books.open(remote)
    db.batch(FILTERED).run()
    query = db.by("Lem").filter((db.thick(100) & ~db.tagged("t0")) | db.of(["novel"]))
    wanted = [book for book in FILTERED if (book.pages >= 100 and "t0" not in book.tags) or book.kind == "novel"]
    assert query.run() == wanted
    assert query.count().run() == len(wanted)
