"""Filters: predicates that patterns declare, combined and given to queries at run time."""

from typing import Any, Literal, Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import (
    KEYS_ONLY,
    BeginsWith,
    Between,
    Contains,
    CursorInvalid,
    DeclarationError,
    Filter,
    Ge,
    Gsi,
    In,
    Item,
    Key,
    Patterns,
    Query,
    Scan,
    Secret,
    Table,
    ValueInvalid,
    View,
    where,
)

table = Table(
    "books",
    "pk",
    deletion_protection=False,
    indexes=[Gsi("ByAuthor", "author", "title"), Gsi("ByShelf", "shelf", "pages", KEYS_ONLY)],
)


class Book(Item, table=table, pk="BOOK#{isbn}"):
    isbn: Key[str]
    author: str
    title: str
    shelf: str = "A"
    pages: int = 0
    kind: Literal["novel", "other"] = "other"
    tags: set[str] = set()  # noqa: RUF012 - pydantic copies defaults
    note: str | None = None


class Novel(Book):
    kind: Literal["novel"] = "novel"


class Film(Item, table=table, pk="FILM#{name}"):
    name: Key[str]
    author: str
    title: str


class Shelved(View[Book]):
    isbn: Key[str]
    shelf: str
    pages: int


class Books(Patterns, Protocol):
    def by(self, author: str) -> Query[Book]: ...
    def novels(self, author: str) -> Query[Novel]: ...
    def works(self, author: str) -> Query[Book | Film]: ...
    def on_shelf(self, shelf: str) -> Query[Shelved]: ...
    def everything(self) -> Scan[Book]: ...

    def thick(self, pages: Ge[int]) -> Filter[Book]: ...
    def sized(self, pages: Between[int]) -> Filter[Book]: ...
    def of(self, kind: In[str]) -> Filter[Book]: ...
    def tagged(self, tags: Contains[str]) -> Filter[Book]: ...
    @where("attribute_exists(note)")
    def noted(self) -> Filter[Book]: ...
    @where("pages < {few} OR contains(tags, {tag})")
    def odd(self, few: int, tag: str) -> Filter[Book]: ...
    def titled(self, title: BeginsWith[str]) -> Filter[Book]: ...
    def famous(self, note: str) -> Filter[Novel]: ...
    def thin(self, pages: int) -> Filter[Shelved]: ...


BOOKS = [
    Book(isbn=f"{n:02}", author="Lem", title=f"t{n:02}", pages=n * 10, tags={f"t{n % 3}"}, note="x" if n % 4 else None)
    if n % 2
    else Novel(isbn=f"{n:02}", author="Lem", title=f"t{n:02}", pages=n * 10)
    for n in range(20)
]


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Books)
        opened = Books.open(database)
        opened.batch(BOOKS).run()
        yield opened


def numbers(books):
    return [int(book.isbn) for book in books]


def test_a_filter_applies_to_a_query_and_a_scan(db):
    assert numbers(db.by("Lem").filter(db.thick(150))) == [15, 16, 17, 18, 19]
    assert sorted(numbers(db.everything().filter(db.sized((20, 40))).parallel(2))) == [2, 3, 4]
    assert db.by("Lem").filter(db.thick(150)).count().run() == 5
    assert db.by("Lem").filter(db.thick(50)).filter(db.of(["novel"])).limit(2).run() == [BOOKS[6], BOOKS[8]]
    assert db.by("Lem").filter().run() == BOOKS


@pytest.mark.parametrize("given", [None, "pages > 3", lambda book: True], ids=["nothing", "text", "function"])
def test_what_is_no_filter_is_refused(db, given):
    with pytest.raises(ValueInvalid, match="is not a filter: it takes what patterns that return Filter make"):
        db.by("Lem").filter(given)


def test_filters_are_combined(db):
    thick, novel, odd = db.thick(150), db.of({"novel"}), db.odd(30, "t1")
    assert numbers(db.by("Lem").filter(thick, novel)) == numbers(db.by("Lem").filter(thick & novel)) == [16, 18]
    assert numbers(db.by("Lem").filter(~thick & odd)) == [0, 1, 2, 7, 13]
    assert numbers(db.by("Lem").filter(~(thick | ~novel))) == [0, 2, 4, 6, 8, 10, 12, 14]
    assert "NOT" in db.by("Lem").filter(~thick).explain()


CASES: dict[str, tuple[tuple[Any, ...], Any]] = {
    "thick": ((100,), lambda book: book.pages >= 100),
    "sized": (((30, 120),), lambda book: 30 <= book.pages <= 120),
    "of": ((["novel"],), lambda book: book.kind == "novel"),
    "tagged": (("t2",), lambda book: "t2" in book.tags),
    "noted": ((), lambda book: book.note is not None),
    "odd": ((50, "t0"), lambda book: book.pages < 50 or "t0" in book.tags),
}
LEAVES = st.sampled_from(sorted(CASES))
TREES = st.recursive(
    LEAVES,
    lambda inner: st.tuples(st.just("not"), inner) | st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    max_leaves=6,
)


def build(db, tree):
    """Return a tree as a filter, and as a function."""
    if isinstance(tree, str):
        arguments, accepts = CASES[tree]
        return getattr(db, tree)(*arguments), accepts
    parts = [build(db, part) for part in tree[1:]]
    filters, tests = [one for one, _ in parts], [one for _, one in parts]
    if tree[0] == "not":
        return ~filters[0], lambda book: not tests[0](book)
    if tree[0] == "and":
        return filters[0] & filters[1], lambda book: tests[0](book) and tests[1](book)
    return filters[0] | filters[1], lambda book: tests[0](book) or tests[1](book)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=TREES)
def test_any_combination_accepts_what_python_does(db, tree):
    made, accepts = build(db, tree)
    query = db.by("Lem").filter(made)
    wanted = [book for book in BOOKS if accepts(book)]
    assert query.run() == wanted
    assert query.count().run() == len(wanted)
    found, page = [], query.page(3).run()
    while True:
        found += page.items
        if page.cursor is None:
            break
        page = query.page(3, after=page.cursor).run()
    assert found == wanted


def test_a_filter_of_a_class_applies_to_its_variants_and_not_the_other_way_round(db):
    assert numbers(db.novels("Lem").filter(db.thick(150))) == [16, 18]
    assert db.novels("Lem").filter(db.famous("x")).run() == []
    with pytest.raises(ValueInvalid, match=r"Books\.famous is a filter of Novel, and Books\.by finds other items too"):
        db.by("Lem").filter(db.famous("x"))
    with pytest.raises(ValueInvalid, match="finds other items too"):
        db.works("Lem").filter(db.thick(3))
    with pytest.raises(ValueInvalid, match="finds other items too"):
        db.by("Lem").filter(db.thick(3) & db.famous("x"))


def test_a_filter_that_the_index_cannot_serve_is_refused_before_anything_is_sent(db):
    with pytest.raises(ValueInvalid, match="tests title, a key of ByAuthor"):
        db.by("Lem").filter(db.titled("t"))
    assert len(db.everything().filter(db.titled("t0")).run()) == 10
    with pytest.raises(ValueInvalid, match="tests pages, a key of ByShelf"):
        db.on_shelf("A").filter(db.thin(3))


def test_a_cursor_belongs_to_its_filters(db):
    cursor = db.by("Lem").filter(db.thick(20)).page(2).run().cursor
    assert len(db.by("Lem").filter(db.thick(20)).page(2, after=cursor).run()) == 2
    for other in (db.by("Lem"), db.by("Lem").filter(db.thick(30)), db.by("Lem").filter(~db.thick(20))):
        with pytest.raises(CursorInvalid):
            other.page(2, after=cursor).run()


def test_narrowing_a_union_keeps_nothing_back(db):
    class Works(Patterns, Protocol):
        def works(self, author: str) -> Query[Novel | Book]: ...
        def thick(self, pages: Ge[int]) -> Filter[Book]: ...

    works = Works.open(db.session.transport)
    assert numbers(works.works("Lem").filter(works.thick(150)).only(Novel)) == [16, 18]


def test_a_list_without_values_is_refused(db):
    with pytest.raises(ValueInvalid, match="give at least one"):
        db.of([])


class Vault(Item, table=Table("vaults", "pk"), pk="{name}"):
    name: str
    code: Secret[str]
    size: int = 0


@pytest.mark.parametrize(
    ("code", "hints", "model", "expression"),
    [
        ("HR210", {"width": Ge[int]}, Vault, ""),
        ("HR211", {"size": Ge[str]}, Vault, ""),
        ("HR225", {"code": str}, Vault, ""),
        ("HR234", {"isbn": str}, Book, ""),
        ("HR239", {}, Book, ""),
        ("HR239", {"title": str}, Book | Film, ""),
        ("HR210", {}, Book, "pagse > 3"),
        ("HR223", {}, Book, "kind = 'poem'"),
    ],
)
def test_a_filter_is_checked_at_import(code, hints, model, expression):
    names = ", ".join(f"{name}: hints['{name}']" for name in hints)
    decorator = f"    @where({expression!r})\n" if expression else ""
    text = f"class Wrong(Patterns, Protocol):\n{decorator}    def made(self, {names}) -> Filter[model]: ..."
    with pytest.raises(DeclarationError) as caught:
        exec(text, {**globals(), "hints": hints, "model": model})
    assert caught.value.code == code


def test_the_parameter_of_a_filter_cannot_be_left_out():
    with pytest.raises(DeclarationError, match="HR239"):

        class Wrong(Patterns, Protocol):
            def thick(self, pages: Ge[int] | None = None) -> Filter[Book]: ...


def test_a_filter_is_explained_and_linted():
    assert Books.plan("thick").explain() == ("thick              Filter Book\n    filter  pages >= {pages}")
    assert not [lint for lint in Books.lint() if "thick" in lint.location]


def test_a_filter_of_an_item_is_refused_for_a_query_of_its_view_with_the_type_to_declare(db):
    text = r"Books\.thick is a filter of Book, and Books\.on_shelf returns the view Shelved of it: .* Filter\[Shelved\]"
    with pytest.raises(ValueInvalid, match=text):
        db.on_shelf("A").filter(db.thick(3))


class Note(Item, table=Table("notes", "pk", "sk", deletion_protection=False), pk="SHOP#{shop}", sk="NOTE#{number}"):
    shop: Key[str]
    number: Key[str]
    text: str


class Notes(Patterns, Protocol, tenant="shop"):
    def notes(self, shop: str) -> Query[Note]: ...
    def saying(self, text: str) -> Filter[Note]: ...


def test_a_filter_of_a_tenant_class_needs_no_tenant_and_narrows_the_queries_of_one():
    with hashrange.open() as database:
        hashrange.create_tables(database, Notes)
        db = Notes.open(database)
        db.batch([Note(shop=shop, number=text, text=text) for shop in "ab" for text in "xy"]).run()
        assert db.notes("a").filter(db.saying("x")).run() == [Note(shop="a", number="x", text="x")]
        assert db.notes("a").filter(~db.saying("x")).run() == [Note(shop="a", number="y", text="y")]


def test_a_filter_on_a_field_that_only_keys_have_is_refused_with_what_to_do():
    with pytest.raises(DeclarationError, match=r"HR234 .*leave it to the query that is filtered"):

        class Refused(Patterns, Protocol, tenant="shop"):
            def saying(self, shop: str, text: str) -> Filter[Note]: ...
