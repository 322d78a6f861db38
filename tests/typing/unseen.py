"""Mistakes that are no type errors by nature; where a tool finds one all the same, the mark names it.

`test_unseen.py` shows what catches each of them when it runs.
"""

# ruff: noqa: T201
# what is printed is used

from datetime import datetime
from typing import Protocol

from hashrange import Get, Item, Patterns, Table, Update
from hashrange_systems.aura.schema import Aura, LeasedCrawl, NeverCrawled, Url
from hashrange_systems.shuttle.schema import Operator


def build_and_forget(db: Aura) -> None:
    db.rename("antik.de", shop_name="Antik")  # nothing is written; by option unused-awaitable


async def forget_to_wait(db: Aura) -> None:
    db.rename("antik.de", shop_name="Antik")  # nothing is written; by option unused-awaitable


def name_and_forget(db: Aura) -> None:
    db.rename  # noqa: B018 - by ruff B018


def swap(db: Aura) -> Url | None:
    return db.url("https://antik.de/a", "antik.de").run()  # both are text


def start_twice(db: Aura, seen: NeverCrawled, now: datetime) -> LeasedCrawl:
    db.start_crawl(seen, now, "one", now).run()
    return db.start_crawl(seen, now, "another", now).run()  # what was seen is still a NeverCrawled here


def check_nothing_else(db: Operator) -> None:
    db.is_active("a.myshopify.com").run()  # a condition, of no write


def forget_the_protocol() -> None:
    class Page(Item, table=Table("pages", "pk", "sk"), pk="{domain}", sk="{path}"):
        domain: str
        path: str

    class Pages(Patterns):
        def page(self, domain: str, path: str) -> Get[Page]: ...  # by mypy empty-body

    print(Pages)


def misspell_a_key() -> None:
    class Page(Item, table=Table("pages", "pk", "sk"), pk="{domain}", ks="{path}"):
        domain: str
        path: str

    class Pages(Patterns, Protocol):
        def page(self, domain: str, path: str) -> Get[Page]: ...

    print(Pages)


def misspell_a_template() -> None:
    class Page(Item, table=Table("pages", "pk", "sk"), pk="{domian}", sk="{path}"):
        domain: str
        path: str

    class Pages(Patterns, Protocol):
        def page(self, domain: str, path: str) -> Get[Page]: ...

    print(Pages)


def misspell_a_field() -> None:
    class Page(Item, table=Table("pages", "pk", "sk"), pk="{domain}", sk="{path}"):
        domain: str
        path: str
        title: str

    class Pages(Patterns, Protocol):
        def retitle(self, domain: str, path: str, titel: str) -> Update[Page]: ...

    print(Pages)
