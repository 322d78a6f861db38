"""The names that people write in signatures of fixtures, services and scripts: each is public, and means what it says.

Both type checkers are clean on this file, strictly; `test_uses.py` also runs it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, assert_type

import hashrange
from hashrange import (
    Clock,
    Consumer,
    Database,
    DeadLetter,
    Event,
    Get,
    Gsi,
    Item,
    ItemChange,
    Keyring,
    Lint,
    ManualClock,
    Model,
    Page,
    Put,
    Query,
    ReadPlan,
    Remote,
    Runnable,
    Session,
    Table,
    Transaction,
    Transport,
    Update,
    Write,
    WritePlan,
)
from tests.typing.declarations import Book, Branch, Isbn, Lent, Library, Loan

M = TypeVar("M", bound=Model)


# ── fixtures ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def make_database(path: Path, clock: ManualClock) -> Iterator[Database]:
    with hashrange.open(path, clock=clock) as database:
        yield database


def open_library(transport: Transport, keys: Keyring | None = None, clock: Clock | None = None) -> Library:
    return Library.open(transport, keys=keys, clock=clock)


def connect_library(endpoint: str) -> Remote:
    return hashrange.connect(endpoint)


def load(database: Database, table: Table, items: list[Item]) -> None:
    for item in items:
        database.put_item(TableName=table.physical_name, Item=hashrange.dump_item(item))


# ── services ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def store(db: Library, book: Book) -> Put[Book]:
    return db.create(book)


def find(db: Library, branch: Branch, isbn: Isbn) -> Get[Book]:
    return db.book(branch, isbn)


def give_back(db: Library, loan: Lent) -> Update[Any]:
    return db.give_back(loan)


def first_page(query: Query[M]) -> Page[M]:
    page = query.page(10).run()
    assert_type(page, Page[M])
    return page


def run(work: Runnable[M]) -> M:
    return work.run()


def both(db: Library, one: Write[Book], other: Write[Loan]) -> Transaction[tuple[Book, Loan]]:
    return db.transact(one, other)


# ── scripts and hooks ────────────────────────────────────────────────────────────────────────────────────────────────
def costs(declared: type[Any]) -> Mapping[str, ReadPlan | WritePlan]:
    plans: Mapping[str, ReadPlan | WritePlan] = declared.plans
    return plans


def codes(found: list[Lint]) -> list[str]:
    return [lint.code for lint in found]


BY_YEAR = Gsi("ByYear", ("branch", "subject"), ["year", "title"], ["pages"])


def widest(indexes: list[Gsi]) -> Gsi:
    return max(indexes, key=lambda index: len(index.attributes))


def session_of(db: Library) -> Session:
    return db.session


def tell(event: Event) -> None:
    assert event.seconds >= 0


# ── consumers ────────────────────────────────────────────────────────────────────────────────────────────────────────
def watch(db: Library, checkpoints: Table, seen: list[str]) -> Consumer:
    consumer = db.consumer("watch", checkpoints, attempts=2, after_attempts="stop")

    @consumer.on(Book)
    def note(change: ItemChange[Book]) -> None:
        assert_type(change.before, Book | None)
        if change.after is not None:
            seen.append(change.after.title)

    @consumer.on(Lent)
    async def remind(change: ItemChange[Lent]) -> None:
        assert_type(change.after, Lent | None)

    assert_type(consumer.lambda_handler({"Records": []}), dict[str, Any])
    assert_type(consumer.redrive().run(), int)
    return consumer


def failures(consumer: Consumer) -> list[DeadLetter]:
    return consumer.dead_letters().run()
