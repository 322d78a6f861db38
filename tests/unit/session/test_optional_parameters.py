"""Reads with parameters that may be left out, and with lists: what each call reads, and by which index."""

import asyncio
from itertools import chain, combinations
from typing import Annotated, Literal, Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

import hashrange
from hashrange import (
    KEYS_ONLY,
    BeginsWith,
    Contains,
    CursorInvalid,
    DeclarationError,
    Ge,
    Get,
    Gsi,
    In,
    Item,
    Key,
    Latest,
    Patterns,
    Query,
    Scan,
    Table,
    Update,
    ValueInvalid,
    View,
    where,
)

table = Table(
    "books",
    "pk",
    "sk",
    deletion_protection=False,
    indexes=[Gsi("ByAuthor", "author", "title"), Gsi("ByAuthorAndShelf", "author", "shelf", KEYS_ONLY)],
)
Language = Literal["de", "en", "pl"]


class Book(Item, table=table, pk="BOOK#{isbn}", sk="BOOK"):
    isbn: Key[str]
    author: str
    title: str
    shelf: str = "A"
    pages: int = 0
    language: Language = "pl"
    tags: set[str] = set()  # noqa: RUF012 - pydantic copies defaults


class Loan(Item, table=table, pk="BOOK#{isbn}", sk="LOAN#{day}#{reader}"):
    isbn: Key[str]
    day: Key[str]
    reader: str


class Search(Patterns, Protocol):
    def search(
        self,
        author: str,
        title: BeginsWith[str] | None = None,
        pages: Ge[int] | None = None,
        language: Language | None = None,
        tags: Contains[str] | None = None,
    ) -> Query[Book]: ...
    def latest(self, author: str, pages: Annotated[int, Field(ge=0)] | None = None) -> Latest[Book]: ...
    def left_out(self, author: str, *, pages: Ge[int] = ...) -> Query[Book]: ...
    @where("pages < {few}")
    @where("shelf = {place} OR attribute_not_exists(shelf)")
    def odd(self, author: str, few: int | None = None, place: str | None = None) -> Query[Book]: ...
    def book(self, isbn: str, language: Language | None = None, author: In[str] | None = None) -> Get[Book]: ...
    def loans(self, isbn: str, day: Ge[str] | None = None) -> Query[Loan]: ...
    def loans_of(self, isbn: str, day: str | None = None, reader: str | None = None) -> Query[Loan]: ...
    def scan(self, language: In[Language] | None = None) -> Scan[Book]: ...
    def written_in(self, author: str, language: In[Language], pages: In[int] | None = None) -> Query[Book]: ...
    def about(self, isbn: str, reader: str | None = None) -> Query[Book | Loan]: ...
    def since(self, isbn: str, day: Ge[str]) -> Query[Book | Loan]: ...
    def read_by(self, isbn: str, reader: str) -> Query[Book | Loan]: ...


LANGUAGES = ("de", "en", "pl")
BOOKS = [
    Book(
        isbn=f"{n}",
        author="Lem",
        title=f"{'SE'[n % 2]}{n:02}",
        pages=n * 50,
        language=LANGUAGES[n % 3],
        tags={f"t{n % 4}"},
    )
    for n in range(12)
]


@pytest.fixture
def database():
    with hashrange.open() as opened:
        hashrange.create_tables(opened, Search)
        yield opened


@pytest.fixture
def db(database):
    opened = Search.open(database)
    opened.batch(BOOKS).run()
    opened.batch([Loan(isbn="1", day=f"2027-01-0{n}", reader="ab"[n % 2]) for n in range(1, 6)]).run()
    return opened


FILTERS = {
    "title": ("S", lambda book: book.title.startswith("S")),
    "pages": (200, lambda book: book.pages >= 200),
    "language": ("de", lambda book: book.language == "de"),
    "tags": ("t1", lambda book: "t1" in book.tags),
}
SUBSETS = list(chain.from_iterable(combinations(FILTERS, size) for size in range(5)))


@pytest.mark.parametrize("names", SUBSETS, ids=lambda names: "+".join(names) or "none")
def test_each_combination_reads_what_all_given_filters_accept(db, names):
    wanted = [book for book in sorted(BOOKS, key=lambda book: book.title) if all(FILTERS[n][1](book) for n in names)]
    given = {name: FILTERS[name][0] for name in names}
    assert db.search("Lem", **given).run() == wanted
    left_out = {name: None for name in FILTERS if name not in names}
    assert db.search("Lem", **given, **left_out).run() == wanted


def test_none_and_left_out_are_the_same_call(db):
    assert db.left_out("Lem").run() == db.latest("Lem").run()[::-1] == db.latest("Lem", None).run()[::-1]
    assert db.left_out("Lem", pages=500).run() == db.search("Lem", pages=500).run()


def test_none_for_a_parameter_that_must_be_given_is_refused_before_anything_is_sent(db):
    for call in (
        lambda: db.search(None),
        lambda: db.book(None),
        lambda: db.since("1", None),
        lambda: db.written_in("Lem", None),
        lambda: db.scan([None]),
        lambda: db.scan(["de", None]),
    ):
        with pytest.raises(ValueInvalid, match="which no stored value equals"):
            call()


def test_a_given_key_parameter_becomes_part_of_the_key_condition(db):
    assert "begins_with(title, {title})" in db.search("Lem", "S").explain().split("filter")[0]
    assert "title" not in db.search("Lem").explain().split("project")[0]
    assert "filter" not in db.search("Lem", "S").explain()
    assert [loan.day for loan in db.loans("1", "2027-01-04")] == ["2027-01-04", "2027-01-05"]
    assert len(db.loans("1").run()) == 5


def test_a_part_of_a_key_behind_one_that_is_left_out_is_a_filter(db):
    assert [loan.day[-1] for loan in db.loans_of("1", reader="a")] == ["2", "4"]
    assert [loan.reader for loan in db.loans_of("1", day="2027-01-03")] == ["b"]
    assert [loan.day[-1] for loan in db.loans_of("1", "2027-01-04", "a")] == ["4"]


def test_a_where_applies_only_when_its_parameters_are_given(db):
    assert len(db.odd("Lem").run()) == 12
    assert [book.pages for book in db.odd("Lem", few=100)] == [50, 0]
    assert db.odd("Lem", place="B").run() == []
    assert len(db.odd("Lem", 100, "A").run()) == 2


def test_a_get_checks_what_is_given(db):
    assert db.book("1").run() == BOOKS[1]
    assert db.book("1", language="en").run() == BOOKS[1]
    assert db.book("1", language="de").run() is None
    assert db.book("1", author=["Lem", "Dick"]).run() == BOOKS[1]
    assert db.book("1", author=["Dick"]).run() is None
    assert db.book("1", author=[]).run() is None


def test_a_list_finds_each_of_its_values(db):
    assert {book.language for book in db.scan({"de", "en"})} == {"de", "en"}
    assert len(db.scan().run()) == 12
    assert [book.pages for book in db.written_in("Lem", ["pl"], (100, 100, 250, 7))] == [250, 100]


def test_an_empty_list_finds_nothing_and_sends_nothing(db):
    class Silent:
        def call(self, *_):
            raise AssertionError("a request was sent")

        call_async = call

        def close(self):
            pass

    silent = Search.open(Silent())
    assert silent.written_in("Lem", []).run() == []
    assert silent.written_in("Lem", []).first().run() is None
    assert list(silent.scan(set())) == []
    assert silent.scan([]).page(3).run().cursor is None


def test_a_list_has_at_most_a_hundred_values_and_is_no_string(db):
    assert len(db.written_in("Lem", ["pl"], list(range(1, 101))).run()) == 1
    with pytest.raises(ValueInvalid, match=r"Search\.written_in: pages is 101 values: give a list of at most 100"):
        db.written_in("Lem", ["pl"], list(range(101)))
    with pytest.raises(ValueInvalid, match="language is 'de'"):
        db.scan("de")


def test_constraints_hold_for_what_is_given(db):
    with pytest.raises(ValueInvalid, match="greater than or equal to 0"):
        db.latest("Lem", -1)
    assert db.latest("Lem", None).first().run().title == "S10"


def test_a_member_of_a_union_without_the_field_is_not_filtered(db):
    assert [type(found) for found in db.about("1", reader="a")] == [Book, Loan, Loan]
    assert len(db.about("1").run()) == 6
    assert [type(found) for found in db.read_by("1", "a")] == [Book, Loan, Loan]


def test_a_range_of_one_member_of_a_union_holds(db):
    assert [type(found) for found in db.since("1", "2027-01-04")] == [Book, Loan, Loan]


def test_a_filter_of_one_member_of_a_union_in_one_index_partition_holds():
    shared = Table("media", "pk", deletion_protection=False, indexes=[Gsi("ByYear", "year", "title")])

    class Record(Item, table=shared, pk="RECORD#{title}"):
        title: str
        year: int
        songs: int

    class Film(Item, table=shared, pk="FILM#{title}"):
        title: str
        year: int

    class Media(Patterns, Protocol):
        def of(self, year: int, songs: Ge[int]) -> Query[Record | Film]: ...

    with hashrange.open() as database:
        hashrange.create_tables(database, Media)
        media = Media.open(database)
        media.batch([Record(title=f"{n}", year=1999, songs=n) for n in range(4)]).run()
        media.batch([Film(title="1.5", year=1999)]).run()
        assert [found.title for found in media.of(1999, 2)] == ["1.5", "2", "3"]


def test_the_same_pattern_is_awaited(db):
    async def use():
        return await db.search("Lem", pages=500), [book async for book in db.scan(["de"])]

    thick, german = asyncio.run(use())
    assert ([book.pages for book in thick], len(german)) == ([550, 500], 4)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    size=st.integers(1, 4),
    pages=st.none() | st.integers(0, 600),
    languages=st.lists(st.sampled_from(LANGUAGES), max_size=4),
)
def test_pages_of_any_combination_are_the_whole_list(db, size, pages, languages):
    wanted = [book for book in BOOKS if book.language in languages and (pages is None or book.pages == pages)]
    query = db.written_in("Lem", languages, None if pages is None else [pages])
    found, page = [], query.page(size).run()
    found += page.items
    while page.cursor is not None:
        page = db.written_in("Lem", set(languages), pages if pages is None else {pages}).page(size, page.cursor).run()
        found += page.items
    assert found == sorted(wanted, key=lambda book: book.title)


def test_a_cursor_belongs_to_the_parameters_that_were_given(db):
    cursor = db.odd("Lem", few=1000).page(2).run().cursor
    assert len(db.odd("Lem", few=1000).page(2, after=cursor).run()) == 2
    for other in (db.odd("Lem"), db.odd("Lem", few=1000, place="A"), db.odd("Lem", few=999)):
        with pytest.raises(CursorInvalid):
            other.page(2, after=cursor).run()


def test_a_cursor_of_one_filter_does_not_continue_another_with_the_same_value(db):
    class Two(Patterns, Protocol):
        def both(self, author: str, language: str | None = None, shelf: str | None = None) -> Query[Book]: ...

    two = Two.open(db.session.transport, secret="x" * 16)
    cursor = two.both("Lem", language="pl").page(1).run().cursor
    with pytest.raises(CursorInvalid):
        two.both("Lem", shelf="pl").page(1, after=cursor).run()


# ── what the import refuses ──────────────────────────────────────────────────────────────────────────────────────────
def refuse(declare):
    with pytest.raises(DeclarationError) as caught:
        declare()
    return caught.value


def test_leaving_out_a_partition_key_is_refused_at_import():
    def declare():
        class Wrong(Patterns, Protocol):
            def search(self, author: str | None = None, pages: Ge[int] | None = None) -> Query[Book]: ...

    error = refuse(declare)
    assert (error.code, error.location) == ("HR230", "Wrong.search, when author is left out")


def test_each_combination_of_key_parameters_is_checked_at_import():
    class OnShelf(View[Book]):
        isbn: Key[str]
        author: str
        shelf: str

    class Fine(Patterns, Protocol):
        def shelved(self, author: str, shelf: str) -> Query[OnShelf]: ...

    def declare():
        class Wrong(Patterns, Protocol):
            def loans(self, isbn: str | None = None, author: str | None = None) -> Query[Loan | Book]: ...

    assert "left out" in refuse(declare).location


def test_a_part_of_the_key_of_a_get_cannot_be_left_out():
    def declare():
        class Wrong(Patterns, Protocol):
            def book(self, isbn: str | None = None) -> Get[Book]: ...

    assert refuse(declare).code == "HR235"


def test_the_tenant_cannot_be_left_out():
    def declare():
        class Wrong(Patterns, Protocol, tenant="author"):
            def search(self, author: str | None = None) -> Scan[Book]: ...

    error = refuse(declare)
    assert (error.code, error.problem) == ("HR209", "may leave out author")


def test_a_default_other_than_none_is_refused():
    def declare():
        class Wrong(Patterns, Protocol):
            def search(self, author: str, pages: Ge[int] = 10) -> Query[Book]: ...

    assert refuse(declare).code == "HR207"


def test_a_parameter_that_must_be_given_cannot_be_none():
    def declare():
        class Wrong(Patterns, Protocol):
            def search(self, author: str, pages: Ge[int] | None) -> Query[Book]: ...

    error = refuse(declare)
    assert error.code == "HR213"
    assert "= None" in error.remedy


def test_a_list_is_no_key_and_no_condition_of_a_write():
    def by_authors():
        class Wrong(Patterns, Protocol):
            def search(self, author: In[str]) -> Query[Book]: ...

    def write():
        class Wrong(Patterns, Protocol):
            def edit(self, isbn: str, shelf: str, language: In[Language]) -> Update[Book]: ...

    def of_sets():
        class Wrong(Patterns, Protocol):
            def search(self, author: str, tags: In[str]) -> Query[Book]: ...

    def of_numbers():
        class Wrong(Patterns, Protocol):
            def search(self, author: str, title: In[int]) -> Query[Book]: ...

    def misspelt():
        class Wrong(Patterns, Protocol):
            def search(self, author: str, language: In[Literal["pl", "fr"]]) -> Query[Book]: ...

    assert [refuse(it).code for it in (by_authors, write, of_sets, of_numbers, misspelt)] == [
        "HR230", "HR229", "HR224", "HR211", "HR212"
    ]  # fmt: skip


def test_at_most_four_parts_of_keys_can_be_left_out():
    class Event(Item, table=Table("events", "pk", "sk"), pk="{a}", sk="{b}#{c}#{d}#{e}#{f}"):
        a: str
        b: str
        c: str
        d: str
        e: str
        f: str

    def declare():
        class Wrong(Patterns, Protocol):
            def events(
                self,
                a: str,
                b: str | None = None,
                c: str | None = None,
                d: str | None = None,
                e: str | None = None,
                f: str | None = None,
            ) -> Query[Event]: ...

    assert refuse(declare).code == "HR219"


# ── explained and linted ─────────────────────────────────────────────────────────────────────────────────────────────
def test_explain_shows_what_may_be_left_out():
    text = Search.plan("search").explain()
    assert "    option  pages, language, tags: no filter when left out" in text
    assert "    option  title: ByAuthor, author = {author} AND begins_with(title, {title})" in text
    assert "language IN ({language})" in Search.plan("scan").explain()


def test_an_index_that_only_an_alternative_reads_is_used():
    other = Table("films", "pk", deletion_protection=False, indexes=[Gsi("ByYear", "studio", "year")])

    class Film(Item, table=other, pk="{studio}#{title}"):
        studio: str
        title: str
        year: int

    class Films(Patterns, Protocol):
        def films(self, studio: str, year: Ge[int] | None = None) -> Query[Film]: ...

    assert [lint.code for lint in Films.lint() if lint.code == "HR404"] == []
    assert "HR402" in {lint.code for lint in Search.lint()}
