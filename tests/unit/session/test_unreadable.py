"""Items that do not match their declaration: a query stops, or skips and reports them; lists of values may be open."""

import asyncio
from typing import Literal, Protocol

import pytest
from pydantic import ValidationError

import hashrange
from hashrange import (
    BeginsWith,
    Get,
    Gsi,
    Item,
    Key,
    Latest,
    OpenList,
    Patterns,
    Query,
    Scan,
    Table,
    Unreadable,
    Update,
    ValueInvalid,
    View,
)

PageType = Literal["product", "category"]
table = Table("pages", "pk", "sk", deletion_protection=False, indexes=[Gsi("ByKind", "kind", "url", ["pk"])])


class Page(Item, table=table, pk="SHOP#{shop}", sk="PAGE#{url}"):
    shop: Key[str]
    url: str
    kind: PageType | str
    title: str
    closed: PageType = "product"
    listed: OpenList[PageType] = "product"
    optional: OpenList[PageType] | None = None


class ProductPage(Page):
    kind: Literal["product"]


class Mark(Item, table=table, pk="SHOP#{shop}", sk="MARK#{url}"):
    shop: Key[str]
    url: Key[str]
    stars: int


class Address(View[Page]):
    url: str


class Pages(Patterns, Protocol):
    def page(self, shop: str, url: str) -> Get[Page]: ...
    def pages(self, shop: str) -> Query[Page]: ...
    def latest(self, shop: str) -> Latest[Page]: ...
    def both(self, shop: str) -> Query[Page | Mark]: ...
    def both_down(self, shop: str) -> Latest[Page | Mark]: ...
    def scan(self) -> Scan[Page]: ...
    def products(self, shop: str) -> Query[ProductPage]: ...
    def of_type(self, kind: PageType | str) -> Query[Address]: ...
    def like(self, shop: str, kind: BeginsWith[str]) -> Query[Page]: ...
    def relist(self, shop: str, url: str, listed: OpenList[PageType]) -> Update[Page]: ...
    def retype(self, shop: str, url: str, kind: PageType | str) -> Update[Page]: ...


@pytest.fixture
def database():
    with hashrange.open() as opened:
        hashrange.create_tables(opened, Pages)
        db = Pages.open(opened)
        db.batch([Page(shop="a", url=f"{n}", kind="product" if n % 2 else "etc", title="t") for n in range(6)]).run()
        yield opened


@pytest.fixture
def db(database):
    return Pages.open(database)


@pytest.fixture
def broken(database):
    """Rows 2 and 4 lack a title, and row 5 has a value that its list does not have."""
    for n in (2, 4):
        raw = {"pk": {"S": "SHOP#a"}, "sk": {"S": f"PAGE#{n}"}, "url": {"S": f"{n}"}, "kind": {"S": "etc"}}
        database.call("PutItem", {"TableName": "pages", "Item": raw})
    key = {"pk": {"S": "SHOP#a"}, "sk": {"S": "PAGE#5"}}
    database.call(
        "UpdateItem",
        {
            "TableName": "pages",
            "Key": key,
            "UpdateExpression": "SET closed = :v",
            "ExpressionAttributeValues": {":v": {"S": "etc"}},
        },
    )


def urls(pages):
    return [page.url for page in pages]


def test_an_open_list_loads_and_stores_other_values(db):
    assert [page.kind for page in db.pages("a")] == ["etc", "product"] * 3
    assert {type(page) for page in db.pages("a")} == {Page, ProductPage}
    assert urls(db.products("a")) == ["1", "3", "5"]
    assert urls(db.of_type("etc")) == ["0", "2", "4"]
    assert urls(db.like("a", "et")) == ["0", "2", "4"]
    assert db.retype("a", "0", "else").run().kind == "else"
    assert db.page("a", "0").required().run().kind == "else"


def test_an_open_list_with_a_marker_reads_other_values_and_writes_its_own_only(db, database):
    raw = {"pk": {"S": "SHOP#a"}, "sk": {"S": "PAGE#9"}, "url": {"S": "9"}, "kind": {"S": "etc"}, "title": {"S": "t"}}
    others = {"listed": {"S": "auction"}, "optional": {"S": "lot"}}
    database.call("PutItem", {"TableName": "pages", "Item": {**raw, **others}})
    page = db.page("a", "9").required().run()
    assert (page.listed, page.optional) == ("auction", "lot")
    assert db.put(page).run().listed == "auction"
    with pytest.raises(ValidationError, match="Input should be 'product' or 'category'"):
        Page(shop="a", url="1", kind="etc", title="t", listed="auction")
    with pytest.raises(ValueInvalid, match="Input should be 'product' or 'category'"):
        db.relist("a", "9", "lot").run()
    assert db.relist("a", "9", "category").run().listed == "category"


@pytest.mark.usefixtures("broken")
def test_a_query_stops_at_an_item_that_it_cannot_read(db):
    with pytest.raises(Unreadable, match=r"PAGE#2.*needs title") as caught:
        db.pages("a").run()
    assert caught.value.raw["url"] == {"S": "2"}
    with pytest.raises(Unreadable):
        db.pages("a").page(3).run()


@pytest.mark.usefixtures("broken")
def test_a_query_skips_what_it_cannot_read_and_reports_it(db):
    unreadable: list[Unreadable] = []
    query = db.pages("a").skip_unreadable(unreadable.append)
    assert urls(query) == ["0", "1", "3"]
    assert [error.raw["sk"]["S"] for error in unreadable] == ["PAGE#2", "PAGE#4", "PAGE#5"]
    assert urls(db.latest("a").skip_unreadable().limit(2)) == ["3", "1"]
    assert db.latest("a").skip_unreadable().first().run().url == "3"
    assert urls(asyncio.run(_await(query))) == ["0", "1", "3"]


async def _await(query):
    return await query


@pytest.mark.usefixtures("broken")
def test_a_page_is_full_without_the_skipped_items_and_counts_those_before_its_end(db):
    first = db.pages("a").skip_unreadable().page(2).run()
    assert (urls(first), first.skipped) == (["0", "1"], 0)
    second = db.pages("a").skip_unreadable().page(2, after=first.cursor).run()
    assert (urls(second), second.skipped, second.cursor) == (["3"], 3, None)
    assert urls(db.of_type("etc").whole().skip_unreadable()) == ["0"]


def read_pages(query, size):
    """Return the items of all pages, and the sum of what they say that they skipped."""
    found, skipped, cursor = [], 0, None
    while True:
        page = query.page(size, after=cursor).run()
        found, skipped, cursor = [*found, *page], skipped + page.skipped, page.cursor
        if cursor is None:
            return found, skipped


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("name", ["pages", "latest", "whole", "products", "scan"])
@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_lists_counts_and_pages_skip_the_same_items_and_report_each_once(db, name, size):
    reported: list[Unreadable] = []
    query = db.of_type("etc").whole() if name == "whole" else getattr(db, name)(*(["a"] if name != "scan" else []))
    query = query.skip_unreadable(reported.append)
    listed = query.run()
    wanted = sorted(error.raw["sk"]["S"] for error in reported)
    reported.clear()
    assert query.count().run() == len(listed)
    assert sorted(error.raw["sk"]["S"] for error in reported) == wanted
    reported.clear()
    assert read_pages(query, size) == (listed, len(wanted))
    assert sorted(error.raw["sk"]["S"] for error in reported) == wanted
    assert len(wanted) == {"whole": 2, "products": 1}.get(name, 3)
    assert query.limit(1).count().run() == len(query.limit(1).run())


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("name", ["both", "both_down"])
def test_pages_of_a_union_report_each_skipped_item_once(db, database, name, size):
    db.batch([Mark(shop="a", url=f"{n}", stars=n) for n in range(4)]).run()
    for prefix, n in (("MARK", 2), ("MARK", 9), ("PAGE", 9)):
        raw = {"pk": {"S": "SHOP#a"}, "sk": {"S": f"{prefix}#{n}"}}
        database.call("PutItem", {"TableName": "pages", "Item": raw})
    query = getattr(db, name)("a").skip_unreadable()
    assert read_pages(query, size) == (query.run(), 6)
    assert query.count().run() == 6


@pytest.mark.usefixtures("broken")
def test_a_session_skips_for_all_its_queries_and_a_get_still_raises(database):
    unreadable: list[Unreadable] = []
    db = Pages.open(database, on_unreadable=unreadable.append)
    assert urls(db.pages("a")) == ["0", "1", "3"]
    assert len(unreadable) == 3
    with pytest.raises(Unreadable):
        db.page("a", "2").run()
