"""A write that names an item, but not the variant or state that it has, leaves no stale index key."""

from datetime import UTC, datetime
from typing import Literal, Protocol

import pytest

import hashrange
from hashrange import (
    Conflict,
    DeclarationError,
    Get,
    Gsi,
    Item,
    LocalKeys,
    Patterns,
    Query,
    Scan,
    Secret,
    Table,
    Touched,
    Update,
    Upsert,
    Version,
    View,
    initially,
)

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC)
table = Table("parcels", "pk", indexes=[Gsi("ByCity", "city", "progress", ["number"]), Gsi("Unpaid", "unpaid")])


class Journey(View["Parcel"]):
    number: str
    city: str


class Waiting(Journey, progress="WAITING#"): ...


class Travelling(Journey, progress="TRAVELLING#{sent_at}"):
    sent_at: datetime


class Parcel(Item, table=table, pk="PARCEL#{number}"):
    number: str
    city: str
    stamp: Secret[str] | None = None
    journey: Waiting | Travelling = initially(Waiting)


class Order(Item, table=table, pk="ORDER#{number}"):
    number: str
    town: str
    paid: bool


class Unpaid(Order, unpaid="TOWN#{town}"):
    paid: Literal[False] = False


class Paid(Order):
    paid: Literal[True] = True


class Post(Patterns, Protocol):
    def parcel(self, number: str) -> Get[Parcel]: ...
    def waiting(self, city: str) -> Query[Waiting]: ...
    def unpaid(self, town: str) -> Query[Unpaid]: ...
    def redirect(self, journey: Waiting, city: str) -> Update[Parcel]: ...
    def move_unpaid(self, order: Unpaid, town: str) -> Update[Unpaid]: ...
    def move_paid(self, order: Paid, town: str) -> Update[Paid]: ...


@pytest.fixture
def database():
    with hashrange.open() as opened:
        yield opened


@pytest.fixture
def db(database):
    hashrange.create_tables(database, Post)
    return Post.open(database, keys=LocalKeys.generate())


def test_a_field_of_a_state_is_not_set_through_the_item():
    with pytest.raises(DeclarationError, match=r"HR248 .*TRAVELLING#.* of Travelling would go stale where sent_at"):

        class Wrong(Patterns, Protocol):
            def postpone(self, number: str, sent_at: datetime) -> Update[Parcel]: ...


def test_what_tells_a_variant_with_a_key_is_not_set_through_the_item():
    with pytest.raises(DeclarationError, match=r"HR248 .*of Unpaid would go stale where paid changes"):

        class Wrong(Patterns, Protocol):
            def pay(self, number: str, paid: bool) -> Update[Order]: ...


def test_a_step_that_returns_the_item_leaves_its_state_alone(db):
    db.create(Parcel(number="1", city="Graz")).run()
    [waiting] = db.waiting("Graz")
    assert db.redirect(waiting, city="Linz").run().journey == Waiting(number="1", city="Linz")
    assert db.waiting("Linz").run() == [Waiting(number="1", city="Linz")]


def test_a_variant_that_is_passed_in_takes_its_key_along(db):
    order = db.create(Unpaid(number="1", town="Graz")).run()
    moved = db.move_unpaid(order, town="Linz").run()
    assert db.unpaid("Graz").run() == []
    assert db.unpaid("Linz").run() == [moved]


def test_secrets_are_not_shown_by_texts_about_an_item(db):
    parcel = db.create(Parcel(number="1", city="Graz", stamp="hush")).run()
    [waiting] = db.waiting("Graz")
    db.redirect(waiting, city="Linz").run()
    with pytest.raises(Conflict) as conflict:
        db.redirect(waiting, city="Wels").run()
    assert conflict.value.current.stamp == "hush"
    for text in (str(conflict.value), repr(parcel), str(parcel)):
        assert "hush" not in text


# ── variants with a key that the item has too ────────────────────────────────────────────────────────────────────────
issues = Table("issues", "pk", indexes=[Gsi("ByRepo", "repo", "repo_key")])


class Issue(Item, table=issues, pk="ISSUE#{number}", repo_key="ISSUE#{title}"):
    number: str
    repo: str
    title: str
    note: str = ""
    status: Literal["open", "closed"] = "open"


class OpenIssue(Issue):
    status: Literal["open"] = "open"


class ClosedIssue(Issue, repo_key="CLOSED#{title}#{reason}"):
    status: Literal["closed"] = "closed"
    reason: str = "done"


class IssueTitle(View[Issue]):
    number: str
    title: str


class Issues(Patterns, Protocol):
    def issue(self, number: str) -> Get[Issue]: ...
    def annotate(self, issue: Issue, note: str) -> Update[Issue]: ...
    def retitle_closed(self, issue: ClosedIssue, title: str) -> Update[ClosedIssue]: ...
    def retitle_open(self, issue: OpenIssue, title: str) -> Update[OpenIssue]: ...
    def reopen(self, issue: ClosedIssue) -> Update[OpenIssue]: ...


STALE = {
    "a key that the variant declares anew": "issue: Issue, title: str) -> Update[Issue]",
    "a field that only the key of the variant has": "number: str, reason: str) -> Update[Issue]",
    "a view of the item": "number: str, title: str) -> Update[IssueTitle]",
    "a view that is passed in": "title_of: IssueTitle, title: str) -> Update[IssueTitle]",
    "an upsert": "number: str, repo: str, title: str) -> Upsert[Issue]",
}


@pytest.mark.parametrize("case", STALE)
def test_a_key_that_a_variant_declares_anew_is_not_changed_through_the_item_or_a_view(case):
    text = f"class Wrong(Patterns, Protocol):\n    def write(self, {STALE[case]}: ...\n"
    with pytest.raises(DeclarationError, match=r"HR248 .* of ClosedIssue would go stale"):
        exec(text, {**globals(), "Upsert": Upsert})


def test_a_key_that_only_the_variant_can_fill_is_not_changed_through_the_item():
    rooms = Table("rooms", "pk", indexes=[Gsi("ByGuest", "guest_key")])

    class Room(Item, table=rooms, pk="ROOM#{number}", guest_key="{floor}#{guest}"):
        number: str
        floor: str

    class Booked(Room):
        guest: str

    class Rooms(Patterns, Protocol):
        def move(self, room: Booked, floor: str) -> Update[Booked]: ...

    with pytest.raises(DeclarationError, match=r"HR248 .*\{floor\}#\{guest\}.* of Booked"):

        class Wrong(Patterns, Protocol):
            def move(self, number: str, floor: str) -> Update[Room]: ...

    assert Rooms.plan("move").moving == ("guest_key",)


def test_patterns_of_each_variant_keep_its_own_form_of_a_key(database):
    hashrange.create_tables(database, Issues)
    db = Issues.open(database)

    def stored():
        [raw] = database.scan(TableName="issues")["Items"]
        return raw["repo_key"]["S"]

    closed = db.create(ClosedIssue(number="1", repo="r", title="t")).run()
    assert stored() == "CLOSED#t#done"
    closed = db.retitle_closed(closed, "u").run()
    assert stored() == "CLOSED#u#done"
    assert db.annotate(closed, "x").run() == closed.model_copy(update={"note": "x"})
    opened = db.reopen(closed).run()
    assert stored() == "ISSUE#u"
    db.retitle_open(opened, "v").run()
    assert stored() == "ISSUE#v"


# ── variants that may lack their key ─────────────────────────────────────────────────────────────────────────────────
jobs = Table("jobs", "pk", indexes=[Gsi("ByDue", "team", "due_key")])


class Job(Item, table=jobs, pk="JOB#{name}"):
    name: str
    team: str = "t"
    due: str | None = None
    state: Literal["open", "done"]
    version: Version = 0


class OpenJob(Job, due_key="DUE#{due}"):
    state: Literal["open"] = "open"


class DoneJob(Job):
    state: Literal["done"] = "done"


class JobName(View[Job]):
    name: str
    team: str


class Jobs(Patterns, Protocol):
    def job(self, name: str) -> Get[Job]: ...
    def open_job(self, name: str) -> Get[OpenJob]: ...
    def open_jobs(self) -> Scan[OpenJob]: ...
    def due(self, team: str) -> Query[OpenJob]: ...
    def postpone(self, job: OpenJob, due: str | None) -> Update[OpenJob]: ...
    def finish(self, job: OpenJob) -> Update[DoneJob]: ...
    def name_again(self, job: Job, team: str) -> Update[Job]: ...
    def rename_team(self, job: Job, *, team: str) -> Update[JobName]: ...


@pytest.fixture
def job_db(database):
    hashrange.create_tables(database, Jobs)
    return Jobs.open(database)


def test_a_variant_that_a_value_tells_may_lack_its_key(job_db):
    job = job_db.create(OpenJob(name="1")).run()
    assert job_db.job("1").run() == job_db.open_job("1").run() == job
    assert job_db.open_jobs().run() == [job]
    assert job_db.due("t").run() == []
    job = job_db.postpone(job, "monday").run()
    assert job_db.due("t").run() == [job]
    job = job_db.postpone(job, None).run()
    assert job_db.job("1").run() == job
    assert job_db.due("t").run() == []
    assert job_db.finish(job).run() == job_db.job("1").run()


def test_a_transaction_returns_the_variant_that_is_stored(job_db):
    job = job_db.create(OpenJob(name="1")).run()
    [moved] = job_db.transact(job_db.name_again(job, "u")).run()
    assert moved == job_db.job("1").run()
    [named] = job_db.transact(job_db.rename_team(moved, team="v")).run()
    assert named == JobName(name="1", team="v")


class Memo(Item, table=Table("memos", "pk"), pk="MEMO#{name}"):
    name: str
    text: str
    changed_at: Touched[datetime] | None = None


class MemoText(View[Memo]):
    name: str
    text: str


class Memos(Patterns, Protocol):
    def memo(self, name: str) -> Get[Memo]: ...
    def rewrite(self, memo: MemoText, text: str) -> Update[MemoText]: ...


def test_a_transaction_returns_a_view_of_an_item_with_a_touched_time(database):
    hashrange.create_tables(database, Memos)
    db = Memos.open(database)
    db.create(Memo(name="1", text="a")).run()
    assert db.transact(db.rewrite(MemoText(name="1", text="a"), "b")).run() == (MemoText(name="1", text="b"),)
    assert db.memo("1").required().run().changed_at is not None
