"""Every word of the vocabulary, in one schema: a library that lends books.

Both type checkers are clean on this file, strictly. `test_uses.py` imports it, which checks the declarations, and
runs it.
"""

# ruff: noqa: RUF012
# pydantic copies the defaults of fields

from datetime import datetime
from typing import Annotated, Literal, NewType, Protocol, assert_type

from pydantic import Field

import hashrange
from hashrange import (
    ALL,
    KEYS_ONLY,
    Add,
    Append,
    At,
    BeginsWith,
    Between,
    ByKey,
    Commas,
    Contains,
    Delete,
    Discard,
    Ensure,
    Eq,
    Filter,
    Formerly,
    Ge,
    Get,
    Gsi,
    Gt,
    In,
    IsoMicros,
    IsoMillis,
    Item,
    JsonPipes,
    Key,
    Latest,
    Le,
    Lsi,
    Lt,
    Millis,
    Ne,
    Once,
    OpenList,
    Patterns,
    Pipes,
    Prefixed,
    Provisioned,
    Query,
    Scan,
    Seconds,
    Secret,
    Stored,
    Table,
    Touched,
    Ttl,
    Update,
    Upsert,
    Version,
    View,
    after,
    camel,
    initially,
    via,
    where,
)

Isbn = NewType("Isbn", str)
Branch = NewType("Branch", str)

table = Table(
    "${LIBRARY_TABLE:-library}",
    "pk",
    "sk",
    indexes=[
        Lsi("ByShelf", "pk", "shelf_sk", KEYS_ONLY),
        Gsi("ByLoan", "branch", "loan_sk", ["isbn", "borrower", "due"]),
        Gsi("ByTitle", "branch", "title", ALL),
        Gsi("BySubject", "subject", project=("isbn", "title")),
    ],
    naming=camel,
    ttl="expiresAt",
    billing=Provisioned(read=5, write=5),
    stream="NEW_AND_OLD_IMAGES",
    tags={"team": "lending"},
    pitr=True,
    deletion_protection=False,
)


class Loan(View["Book"]):
    branch: Branch
    isbn: Isbn


class OnShelf(Loan, loan_sk="SHELF#"): ...


class Lent(Loan, loan_sk="LENT#{due}"):
    borrower: str
    due: datetime


class Book(
    Item,
    table=table,
    pk="BRANCH#{branch}",
    keys={"sk": "BOOK#{isbn}", "shelf_sk": "{shelf}#{isbn}"},
):
    branch: Branch
    isbn: Annotated[Isbn, Field(pattern=r"^[0-9X-]+$")]
    shelf: str
    title: str
    subject: Annotated[str, Prefixed("SUBJECT#")] | None = None
    authors: Pipes[str] = []
    tags: Commas[str] = []
    reviews: JsonPipes[dict[str, str]] = []
    languages: set[str] = set()
    remarks: list[str] = []
    ratings: dict[str, int] = {}
    state: Annotated[str, Formerly("STATE#", "S#")] = "new"
    pages: Annotated[int, Stored("pageCount")] = 0
    value: Secret[str] | None = None
    bought: Millis | None = None
    bound: Seconds | None = None
    printed: IsoMillis | None = None
    scanned: IsoMicros | None = None
    first_lent: datetime | None = None
    touched: Touched[datetime] | None = None
    version: Version = 0
    loan: OnShelf | Lent = initially(OnShelf)


class OnThatShelf(View[Book]):
    branch: Key[Branch]
    isbn: Key[Isbn]
    shelf: Key[str]


class InSubject(View[Book]):
    subject: str
    isbn: Isbn
    title: str


class Reminder(Item, table=table, pk="READER#{reader}", sk="REMINDER#{sent}"):
    reader: Key[str]
    sent: Key[datetime]
    channel: Literal["mail", "post"] = "mail"
    expires_at: Ttl = after("sent", days=30, hours=1, minutes=5)


class Post(Reminder):
    channel: Literal["post"] = "post"


class Request(Item, table=Table("requests", "pk", ttl="ends", former_ttl="milliseconds"), pk="REQUEST#{isbn}"):
    isbn: Isbn
    ends: Ttl | None = None


class Asked(Request, initial=True):
    status: Literal["ASKED"] = "ASKED"


class Bought(Request):
    status: Literal["BOUGHT"] = "BOUGHT"


class Visit(Item, table=Table("visits", "pk", "sk"), pk="{branch}#{at:month}", sk="{visitor:fold}#{at}"):
    branch: Branch
    at: datetime
    visitor: str


class Requests(Patterns, Protocol):
    def buy(self, request: Asked) -> Update[Bought, Asked]: ...


class Visits(Patterns, Protocol):
    def in_month(self, branch: Branch, at: ByKey[datetime]) -> Query[Visit]: ...
    def visits(self, branch: Branch, at: ByKey[datetime], visitor: ByKey[BeginsWith[str]]) -> Query[Visit]: ...


lent_long_ago = where("due < {now}")


class Library(Patterns, Protocol):
    def book(self, branch: Branch, isbn: Isbn) -> Get[Book]: ...
    @via("")
    def books(self, branch: Branch) -> Query[Book]: ...
    def shelf(self, branch: Branch, shelf: BeginsWith[str]) -> Query[OnThatShelf]: ...
    def on_shelf(self, branch: Branch) -> Query[OnShelf]: ...
    def overdue(self, branch: Branch, due: Lt[datetime]) -> Query[Lent]: ...
    def due_by(self, branch: Branch, due: Le[datetime]) -> Latest[Lent]: ...
    def due_after(self, branch: Branch, due: Gt[datetime]) -> Query[Lent]: ...
    def due_from(self, branch: Branch, due: Ge[datetime]) -> Query[Lent]: ...
    def due_between(self, branch: Branch, due: Between[datetime]) -> Query[Lent]: ...
    def titled(self, branch: Branch, title: Eq[str]) -> Query[Book]: ...
    def subject(self, subject: str) -> Query[InSubject]: ...
    def tagged(self, languages: Contains[str], state: Ne[str]) -> Scan[Book]: ...
    def longer(self, pages: Ge[int]) -> Filter[Book]: ...
    def in_channel(self, channel: In[Literal["mail", "post"]]) -> Filter[Reminder]: ...
    def by_post(self, channel: Literal["post"]) -> Filter[Post]: ...
    def reminder(self, reader: str, sent: datetime) -> Get[Reminder]: ...
    def reminders(self, reader: str) -> Latest[Reminder]: ...
    def letters(self, reader: str) -> Query[Post]: ...
    @via("ByTitle")
    @where("pages < {most}")
    def search(
        self,
        branch: Branch,
        title: BeginsWith[str] | None = None,
        state: In[str] | None = None,
        most: int | None = None,
        *,
        languages: Contains[str] = ...,
    ) -> Query[Book]: ...
    def sent(self, reader: str, channel: In[Literal["mail", "post"]]) -> Query[Reminder]: ...

    def lend(self, loan: OnShelf, borrower: str, due: datetime, first_lent: Once[datetime]) -> Update[Lent]: ...
    @lent_long_ago
    def give_up(self, loan: Lent, now: datetime) -> Update[OnShelf]: ...
    def give_back(self, loan: Lent) -> Update[OnShelf, Lent]: ...
    def rate(
        self, branch: Branch, isbn: Isbn, reader: str, stars: Annotated[Add[int], At("ratings.{reader}")]
    ) -> Update[Book]: ...
    def unrate(
        self, branch: Branch, isbn: Isbn, reader: str, stars: Annotated[None, At("ratings.{reader}")] = None
    ) -> Update[Book]: ...
    def correct(
        self, branch: Branch, isbn: Isbn, index: int, remark: Annotated[str, At("remarks[{index}]")]
    ) -> Update[Book]: ...
    def move(self, *, branch: Branch, isbn: Isbn, shelf: str) -> Update[Book]: ...
    def note(self, branch: Branch, isbn: Isbn, remarks: Append[str], languages: Add[set[str]]) -> Update[Book]: ...
    def forget(self, branch: Branch, isbn: Isbn, languages: Discard[str]) -> Update[Book]: ...
    def describe(self, branch: Branch, isbn: Isbn, title: str = ..., state: str = ...) -> Update[Book]: ...
    def remind(self, reader: str, sent: datetime, channel: Literal["mail", "post"]) -> Upsert[Reminder]: ...
    @where("state = {state}")
    def check_state(self, branch: Branch, isbn: Isbn, state: str) -> Ensure[Book]: ...
    def sell(self, branch: Branch, isbn: Isbn) -> Delete[Book]: ...


class OtherLibrary(Library, Protocol, names={table: "${OTHER_LIBRARY:-other-library}"}):
    def of_branch(self, branch: Branch) -> Query[Book]: ...


def use_the_other_library(database: hashrange.Database, keys: hashrange.Keyring) -> list[Book]:
    """Use a declaration in another table."""
    assert hashrange.create_tables(database, OtherLibrary) == ["other-library"]
    db = OtherLibrary.open(database, keys=keys)
    assert_type(db, OtherLibrary)
    book = db.create(Book(branch=Branch("main"), isbn=Isbn("3"), shelf="A1", title="Other", subject="logic", value="1"))
    assert_type(book.run(), Book)
    assert_type(db.book(Branch("main"), Isbn("3")), Get[Book])
    assert_type(db.shelf(Branch("main"), "A").first().run(), OnThatShelf | None)
    as_declared: Library = db
    return db.of_branch(Branch("main")).run() + as_declared.books(Branch("main")).run()


def lend_a_book(db: Library, now: datetime, due: datetime) -> Book | None:
    """Run every kind of operation once; return what was sold in the end."""
    main, isbn = Branch("main"), Isbn("3-518-01234-5")
    book = Book(branch=main, isbn=isbn, shelf="A1", title="Tractatus", subject="logic", value="12 EUR")
    assert_type(db.create(book).run(), Book)
    assert_type(db.shelf(main, "A").first().run(), OnThatShelf | None)
    assert_type([found.title for found in db.subject("logic")], list[str])
    assert_type(db.tagged("de", "lost").run(), list[Book])
    assert_type(db.search(main).run(), list[Book])
    assert_type(db.search(main, "Tract", state={"new"}, most=None, languages="de").first().run(), Book | None)
    assert_type(db.sent("reader", ("mail",)).run() + db.sent("reader", ["post", "mail"]).run(), list[Reminder])
    assert_type(db.search(main, "T").count().run(), int)
    assert_type(db.tagged("de", "lost").parallel(4, workers=2).run(), list[Book])
    assert_type([found.title for found in db.tagged("de", "lost").parallel(4)], list[str])
    now_read = db.snapshot(db.book(main, isbn), db.reminder("reader", now)).run()
    assert_type(now_read, tuple[Book | None, Reminder | None])
    assert_type(db.snapshot_all([db.book(main, isbn)]).run(), list[Book | None])
    stained = db.explore(Book).where("branch = {branch} AND state <> {state}", branch=main, state="new")
    assert_type(stained.query().limit(3).run(), list[Book])
    assert_type(stained.scan().parallel(2).run(), list[Book])
    assert_type(stained.cost().run().read_units, float)
    long = db.longer(200) & ~db.longer(900)
    assert_type(long, Filter[Book])
    assert_type(db.search(main).filter(long | db.longer(5)).run(), list[Book])
    assert_type(db.letters("reader").filter(db.in_channel(["mail"]), db.by_post("post")).run(), list[Post])
    for loan in db.on_shelf(main):
        assert_type(db.lend(loan, "reader", due=due, first_lent=now).run(), Lent)
    assert_type(db.due_between(main, (now, due)).whole().run(), list[Book])
    for late in db.due_by(main, due):
        assert_type(late.due, datetime)
        assert_type(db.give_back(late).returning_old().run(), Lent)
    assert_type(db.move(branch=main, isbn=isbn, shelf="B2").returning_old().run(), Book)
    db.note(main, isbn, remarks=["clean"], languages={"de", "la"}).run()
    assert_type(db.rate(main, isbn, "reader", 5).run().ratings, dict[str, int])
    assert_type(db.unrate(main, isbn, "reader").run(), Book)
    assert_type(db.correct(main, isbn, 0, "stained").run().remarks, list[str])
    read = db.book(main, isbn).with_expired().required().run()
    assert_type(db.put(read).when(db.check_state(main, isbn, state="new")).returning_old().run(), Book | None)
    assert_type(db.remind("reader", now, "mail").returning_old().run(), Reminder | None)
    assert_type(db.forget(main, isbn, {"la"}).run().languages, set[str])
    described, sent = db.transact(
        db.describe(main, isbn, title="Tractatus logico-philosophicus"), db.remind("reader", now, "post")
    ).run()
    assert_type((described, sent), tuple[Book, Reminder])
    assert_type(db.letters("reader").run(), list[Post])
    (gone, _) = (
        db.transact(db.create(Reminder(reader="reader", sent=due)), db.check_state(main, isbn, state="new"))
        .with_token("reminder-1")
        .run()
    )
    assert_type(gone.expires_at, datetime)
    sold = db.sell(main, isbn).run()
    assert_type(sold, Book | None)
    return sold


def open_library(keys: hashrange.LocalKeys, database: hashrange.Database) -> Library:
    hashrange.create_tables(database, Library)
    return Library.open(database, keys=keys)


class Chair(Item, table=Table("chairs", "pk"), pk="CHAIR#{name}"):
    name: str
    use: OpenList[Literal["office", "store"]] = "office"


def skip_what_cannot_be_read(db: Library, branch: Branch) -> int:
    skipped: list[hashrange.Unreadable] = []
    assert_type(db.books(branch).skip_unreadable(skipped.append).run(), list[Book])
    use: str = Chair(name="a", use="store").use
    return len(use) + len(skipped) + db.books(branch).skip_unreadable().limit(5).page(3).run().skipped
