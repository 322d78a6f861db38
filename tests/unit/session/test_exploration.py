"""Exploration: conditions written at run time are served by an index or refused, checked, and cost what they say."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import DeclarationError, Get, Patterns, ValueInvalid
from tests.unit.session.library import Book, Copy, Library, Novel, Reader, Shelved

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
BOOKS = [
    (Novel if n % 3 == 0 else Book)(
        isbn=f"{n:02}", author=("Lem", "Dick")[n % 2], title=f"t{n:02}", pages=n * 10, shelf="AB"[n % 4 // 2]
    )
    for n in range(24)
]


@pytest.fixture
def stored(db):
    db.batch(BOOKS).run()
    db.batch([Copy(isbn="01", number=n, place=f"p{n}", seen=NOON) for n in range(5)]).run()
    return db


def isbns(found):
    return sorted(int(book.isbn) for book in found)


@pytest.mark.parametrize(
    ("condition", "values", "key"),
    [
        ("author = {author}", {"author": "Lem"}, "author = {author}"),
        ("author = 'Lem' AND begins_with(title, 't0')", {}, "author = {author} AND begins_with(title, {title})"),
        ("title > {t} AND author = {a}", {"a": "Lem", "t": "t05"}, "author = {author} AND title > {title}"),
        ("author = 'Lem' AND title BETWEEN {a} AND {b}", {"a": "t03", "b": "t10"}, "title BETWEEN"),
        ("(author = 'Lem' AND pages > 50) AND pages < {most}", {"most": 200}, "author = {author}"),
        ("author = 'Lem' AND (pages < 50 OR kind = 'novel')", {}, "author = {author}"),
        ("isbn = {isbn}", {"isbn": "03"}, "pk = 'BOOK#{isbn}'"),
    ],
)
def test_a_condition_is_served_by_the_index_that_its_comparisons_allow(stored, condition, values, key):
    exploration = stored.explore(Book).where(condition, **values)
    assert key in exploration.explain()
    found = exploration.query().run()
    assert found
    if "isbn" in condition:
        with pytest.raises(ValueInvalid, match=r"a scan cannot test it: .* isbn, which is stored only inside keys"):
            exploration.scan()
    else:
        assert isbns(found) == isbns(exploration.scan())


def test_a_condition_without_an_index_is_a_scan_that_must_be_asked_for(stored):
    exploration = stored.explore(Book).where("pages > {few}", few=200)
    with pytest.raises(ValueInvalid, match=r"no index of library finds Book by pages: cost\(\) returns"):
        exploration.query()
    assert isbns(exploration.scan()) == isbns(exploration.scan().parallel(3)) == [21, 22, 23]
    assert "Scan Book  <- table" in exploration.explain()
    assert len(stored.explore(Book).scan().run()) == 24


def test_the_cost_is_known_before_anything_is_read(stored, database):
    calls = []
    db = Library.open(database, hooks=[lambda event: calls.append(event.operation)])
    table = database.call("DescribeTable", {"TableName": "library"})["Table"]
    scan = db.explore(Book).where("pages > 3").cost().run()
    assert (scan.operation, scan.source, scan.items) == ("Scan", "library", 29)
    assert scan.bytes == table["TableSizeBytes"]
    assert scan.read_units == -(-scan.bytes // 4096) / 2
    query = db.explore(Book).where("author = 'Lem'").cost().run()
    assert (query.operation, query.source, query.items) == ("Query", "ByAuthor", 24)
    assert str(query).startswith("Query reads one partition of ByAuthor, which has 24 items, ")
    assert set(calls) == {"DescribeTable"}


def test_views_variants_and_conditions_in_several_steps(stored):
    assert isbns(stored.explore(Novel).where("author = 'Lem'").query()) == [0, 6, 12, 18]
    shelved = stored.explore(Shelved).where("shelf = {shelf}", shelf="A").where("pages >= {n}", n=200).query().run()
    assert all(type(found) is Shelved for found in shelved)
    assert isbns(shelved) == [20, 21]
    assert [copy.number for copy in stored.explore(Copy).where("isbn = '01' AND number >= 3").query()] == [3, 4]


def test_an_exploration_is_awaited(stored):
    async def use():
        exploration = stored.explore(Book).where("author = 'Dick'")
        return await exploration.cost(), await exploration.query().limit(2)

    cost, books = asyncio.run(use())
    assert (cost.items, len(books)) == (24, 2)


@pytest.mark.parametrize(
    ("code", "condition", "values"),
    [
        ("HR210", "autor = 'Lem'", {}),
        ("HR211", "author = {a} AND pages > {n}", {"a": "Lem", "n": "many"}),
        ("HR212", "kind = {k}", {"k": "poem"}),
        ("HR212", "author = 'Lem' AND kind = 'poem'", {}),
        ("HR211", "author = 'Lem' AND pages BETWEEN {a} AND {b}", {"a": "1", "b": "2"}),
        ("HR220", "author = = 'Lem'", {}),
        ("HR222", "author = {nobody}", {}),
        ("HR223", "author = 'Lem' AND (kind = 'poem' OR pages > 3)", {}),
        ("HR226", "author = 'Lem' AND title.first = 'x'", {}),
    ],
)
def test_a_condition_is_checked_against_the_declaration(db, code, condition, values):
    with pytest.raises(DeclarationError) as caught:
        db.explore(Book).where(condition, **values)
    assert (caught.value.code, caught.value.location) == (code, "explore(Book)")


@pytest.mark.parametrize(
    ("message", "condition", "values"),
    [
        ("few is None", "pages > {few}", {"few": None}),
        (r"has no \{few\}", "pages > 3", {"few": 3}),
        ("named after a field", "author = 'Lem' AND (pages > {author} OR kind = 'novel')", {"author": 3}),
    ],
)
def test_values_that_do_not_fit_are_refused(db, message, condition, values):
    with pytest.raises(ValueInvalid, match=message):
        db.explore(Book).where(condition, **values)


def test_a_value_is_given_once(db):
    exploration = db.explore(Book).where("pages > {n}", n=3)
    with pytest.raises(ValueInvalid, match="n is given twice"):
        exploration.where("pages < {n}", n=4)


def test_patterns_of_one_tenant_do_not_explore(database):
    class Mine(Patterns, Protocol, tenant="name"):
        def reader(self, name: str) -> Get[Reader]: ...

    with pytest.raises(ValueInvalid, match="every name"):
        Mine.open(database).explore(Reader)


COMPARISONS = {
    "author = 'Lem'": lambda book: book.author == "Lem",
    "author = 'Dick'": lambda book: book.author == "Dick",
    "shelf = 'A'": lambda book: book.shelf == "A",
    "title >= 't10'": lambda book: book.title >= "t10",
    "begins_with(title, 't1')": lambda book: book.title.startswith("t1"),
    "pages BETWEEN 50 AND 150": lambda book: 50 <= book.pages <= 150,
    "NOT pages > 100": lambda book: book.pages <= 100,
    "(kind = 'novel' OR pages < 40)": lambda book: book.kind == "novel" or book.pages < 40,
}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.sampled_from(sorted(COMPARISONS)), min_size=1, max_size=4, unique=True))
def test_query_and_scan_find_what_python_does(stored, texts):
    exploration = stored.explore(Book).where(" AND ".join(texts))
    wanted = isbns(book for book in BOOKS if all(COMPARISONS[text](book) for text in texts))
    assert isbns(exploration.scan()) == wanted
    if any(text.startswith("author") for text in texts) or "shelf = 'A'" in texts:
        with suppress(ValueInvalid):  # two comparisons of one key field
            assert isbns(exploration.query()) == wanted


def test_what_is_explored_needs_no_pattern():
    with hashrange.open() as database:
        hashrange.create_tables(database, Library)

        class Empty(Patterns, Protocol):
            def reader(self, name: str) -> Get[Reader]: ...

        db = Empty.open(database)
        db.create(BOOKS[2]).run()
        assert db.explore(Book).where("author = {a}", a="Lem").query().run() == [BOOKS[2]]
