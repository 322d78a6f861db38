"""A small schema for the tests of sessions: books, their copies, and readers with a version."""

from datetime import datetime
from typing import Literal, Protocol

from hashrange import (
    KEYS_ONLY,
    Add,
    Append,
    BeginsWith,
    Between,
    Delete,
    Discard,
    Ensure,
    Eq,
    Ge,
    Get,
    Gsi,
    Gt,
    Item,
    Key,
    Latest,
    Le,
    Lsi,
    Lt,
    Patterns,
    Query,
    Scan,
    Table,
    Touched,
    Ttl,
    Update,
    Upsert,
    Version,
    View,
    where,
)

table = Table(
    "library",
    "pk",
    "sk",
    ttl="until",
    deletion_protection=False,
    stream="NEW_AND_OLD_IMAGES",
    indexes=[
        Gsi("ByAuthor", "author", "title"),
        Gsi("ByShelf", "shelf", "pages", KEYS_ONLY),
        Lsi("ByPlace", "pk", "place"),
    ],
)


class Book(Item, table=table, pk="BOOK#{isbn}", sk="BOOK"):
    isbn: Key[str]
    author: str
    title: str
    pages: int = 0
    shelf: str | None = None
    tags: set[str] = set()  # noqa: RUF012 - pydantic copies defaults
    notes: list[str] = []  # noqa: RUF012 - same
    kind: Literal["novel", "other"] = "other"


class Novel(Book):
    kind: Literal["novel"] = "novel"


class Copy(Item, table=table, pk="BOOK#{isbn}", sk="COPY#{number:04d}"):
    isbn: Key[str]
    number: Key[int]
    place: str
    seen: datetime


class Loan(Item, table=table, pk="BOOK#{isbn}", sk="LOAN#{at}#{reader}"):
    isbn: Key[str]
    at: Key[datetime]
    reader: str
    until: Ttl


class Reader(Item, table=table, pk="READER#{name}", sk="READER"):
    name: Key[str]
    email: str
    loans: int = 0
    changed_at: Touched[datetime] | None = None
    version: Version = 0


class Shelved(View[Book]):
    isbn: Key[str]
    shelf: str
    pages: int


class Library(Patterns, Protocol):
    def book(self, isbn: str) -> Get[Book]: ...
    def novel(self, isbn: str) -> Get[Novel]: ...
    def reader(self, name: str) -> Get[Reader]: ...
    def everything(self, isbn: str) -> Query[Book | Copy | Loan]: ...
    def lent(self, isbn: str, name: str) -> Query[Book | Reader]: ...
    def copies(self, isbn: str) -> Query[Copy]: ...
    def copies_from(self, isbn: str, number: Ge[int]) -> Query[Copy]: ...
    def copies_after(self, isbn: str, number: Gt[int]) -> Query[Copy]: ...
    def copies_before(self, isbn: str, number: Lt[int]) -> Query[Copy]: ...
    def copies_to(self, isbn: str, number: Le[int]) -> Query[Copy]: ...
    def copies_between(self, isbn: str, number: Between[int]) -> Query[Copy]: ...
    def copies_at(self, isbn: str, place: str) -> Query[Copy]: ...
    def loans(self, isbn: str) -> Latest[Loan]: ...
    def loans_until(self, isbn: str, at: Le[datetime]) -> Query[Loan]: ...
    def loans_before(self, isbn: str, at: Lt[datetime]) -> Query[Loan]: ...
    def loans_after(self, isbn: str, at: Gt[datetime]) -> Query[Loan]: ...
    def by_author(self, author: str) -> Query[Book]: ...
    def titled(self, author: str, title: BeginsWith[str]) -> Query[Book]: ...
    def novels(self, author: str) -> Query[Novel]: ...
    def on_shelf(self, shelf: str) -> Query[Shelved]: ...
    def thick(self, shelf: str, pages: Ge[int]) -> Latest[Shelved]: ...
    def all_books(self) -> Scan[Book]: ...

    def retitle(self, isbn: str, title: str) -> Update[Book]: ...
    def edit(self, isbn: str, title: str = ..., shelf: str | None = ...) -> Update[Book]: ...
    def tag(self, isbn: str, tags: set[str]) -> Update[Book]: ...
    def add_tags(self, isbn: str, tags: Add[set[str]]) -> Update[Book]: ...
    def drop_tags(self, isbn: str, tags: Discard[str]) -> Update[Book]: ...
    def note(self, isbn: str, notes: Append[str]) -> Update[Book]: ...
    def rename(self, reader: Reader, email: str) -> Update[Reader]: ...
    @where("loans < {most}")
    def lend(self, name: str, loans: Add[int], most: int) -> Update[Reader]: ...
    def visit(self, name: str, email: str, loans: Add[int]) -> Upsert[Reader]: ...
    def forget(self, isbn: str) -> Delete[Book]: ...
    def forget_by(self, isbn: str, author: Eq[str]) -> Delete[Book]: ...
    def still_by(self, isbn: str, author: Eq[str]) -> Ensure[Book]: ...
    def still_novel(self, isbn: str) -> Ensure[Novel]: ...
    def forget_novel(self, isbn: str) -> Delete[Novel]: ...
