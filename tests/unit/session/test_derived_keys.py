"""Reads through keys that have a form of a field: each returns what the same read without an index would return."""

import operator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import (
    BeginsWith,
    Between,
    ByKey,
    Conflict,
    DeclarationError,
    Delete,
    Ge,
    Get,
    Gsi,
    Gt,
    Item,
    Latest,
    Le,
    Lt,
    Patterns,
    Query,
    Table,
    Taken,
    Touched,
    Update,
    Upsert,
)
from hashrange.schema.declare.key_format import fold

table = Table(
    "posts",
    "pk",
    indexes=[Gsi("Day", "day"), Gsi("ByDate", "site", "day_sk"), Gsi("ByName", "site", "name_sk"),
             Gsi("ByScore", "site", "score_sk"), Gsi("ByMonth", "month", "at")],
)  # fmt: skip


class Post(
    Item,
    table=table,
    pk="POST#{id:04d}",
    day="{site}#{at:date}",
    day_sk="D#{at:date}#{id:04d}",
    name_sk="N#{name:fold}#{id:04d}",
    score_sk="S#{score:+08.2f}",
    month="{site}#{at:month}",
):
    id: int
    site: str
    at: datetime
    name: str
    score: Decimal


class Posts(Patterns, Protocol):
    @hashrange.via("Day")
    def on_day(self, site: str, at: ByKey[datetime]) -> Query[Post]: ...
    def at(self, site: str, at: datetime) -> Query[Post]: ...
    def before(self, site: str, at: Lt[datetime]) -> Query[Post]: ...
    def until(self, site: str, at: Le[datetime]) -> Latest[Post]: ...
    def after(self, site: str, at: Gt[datetime]) -> Query[Post]: ...
    def since(self, site: str, at: Ge[datetime]) -> Query[Post]: ...
    def within(self, site: str, at: Between[datetime]) -> Query[Post]: ...
    @hashrange.via("ByDate")
    def days_before(self, site: str, at: ByKey[Lt[datetime]]) -> Query[Post]: ...
    @hashrange.via("ByDate")
    def days_after(self, site: str, at: ByKey[Gt[datetime]]) -> Query[Post]: ...
    def named(self, site: str, name: str) -> Query[Post]: ...
    def called(self, site: str, name: ByKey[str]) -> Query[Post]: ...
    def starting(self, site: str, name: ByKey[BeginsWith[str]]) -> Query[Post]: ...
    def below(self, site: str, score: Lt[Decimal]) -> Query[Post]: ...
    def up_to(self, site: str, score: Le[Decimal]) -> Query[Post]: ...
    def above(self, site: str, score: Gt[Decimal]) -> Query[Post]: ...
    def at_least(self, site: str, score: Ge[Decimal]) -> Latest[Post]: ...
    def scored(self, site: str, score: Between[Decimal]) -> Query[Post]: ...
    @hashrange.via("ByMonth")
    def in_month(self, site: str, at: ByKey[datetime]) -> Latest[Post]: ...


START = datetime(2027, 1, 30, 22, tzinfo=UTC)
TIMES = st.integers(0, 5 * 24 * 4).map(lambda quarters: START + timedelta(minutes=15 * quarters))
BOUNDS = st.one_of(TIMES, TIMES.map(lambda at: at + timedelta(microseconds=1)))
NAMES = st.text("aAbBßé", min_size=1, max_size=3)
SCORES = st.integers(-300, 300).map(lambda cents: Decimal(cents).scaleb(-2))
FINE = st.integers(-3050, 3050).map(lambda mills: Decimal(mills).scaleb(-3))
POSTS = st.lists(st.tuples(st.sampled_from("xy"), TIMES, NAMES, SCORES), max_size=14)


def numbers(posts):
    return [post.id for post in posts]


@pytest.fixture(scope="module")
def database():
    with hashrange.open() as opened:
        hashrange.create_tables(opened, Posts)
        yield opened


def fill(database, rows):
    for raw in database.scan(TableName="posts")["Items"]:
        database.delete_item(TableName="posts", Key={"pk": raw["pk"]})
    db = Posts.open(database)
    posts = [Post(id=at, site=s, at=t, name=n, score=c) for at, (s, t, n, c) in enumerate(rows)]
    db.batch(posts).run()
    return db, [post for post in posts if post.site == "x"]


@settings(max_examples=80, deadline=None)
@given(rows=POSTS, at=BOUNDS, other=BOUNDS, name=NAMES, score=FINE)
def test_reads_through_derived_keys_return_what_they_say(database, rows, at, other, name, score):
    db, posts = fill(database, rows)
    low, high = sorted((at.replace(microsecond=0), other.replace(microsecond=0)))
    by_time = {db.before: operator.lt, db.until: operator.le, db.after: operator.gt, db.since: operator.ge}
    for read, compare in by_time.items():
        assert sorted(numbers(read("x", at))) == [post.id for post in posts if compare(post.at, at)]
    by_score = {db.below: operator.lt, db.up_to: operator.le, db.above: operator.gt, db.at_least: operator.ge}
    for read, compare in by_score.items():
        found = read("x", score).run()
        assert sorted(numbers(found)) == [post.id for post in posts if compare(post.score, score)]
        assert [post.score for post in found] == sorted((post.score for post in found), reverse=read == db.at_least)
    assert sorted(numbers(db.within("x", (low, high)))) == [post.id for post in posts if low <= post.at <= high]
    near = sorted((score, score + 1))
    assert sorted(numbers(db.scored("x", (near[0], near[1])))) == [p.id for p in posts if near[0] <= p.score <= near[1]]
    assert sorted(numbers(db.on_day("x", at))) == [post.id for post in posts if post.at.date() == at.date()]
    assert sorted(numbers(db.days_before("x", at))) == [post.id for post in posts if post.at.date() < at.date()]
    assert sorted(numbers(db.days_after("x", at))) == [post.id for post in posts if post.at.date() > at.date()]
    assert sorted(numbers(db.in_month("x", at))) == [post.id for post in posts if post.at.month == at.month]
    assert sorted(numbers(db.named("x", name))) == [post.id for post in posts if post.name == name]
    assert sorted(numbers(db.called("x", name))) == [post.id for post in posts if fold(post.name) == fold(name)]
    assert sorted(numbers(db.starting("x", name))) == [p.id for p in posts if fold(p.name).startswith(fold(name))]
    moment = posts[0].at if posts else START
    assert sorted(numbers(db.at("x", moment))) == [post.id for post in posts if post.at == moment]


def test_a_read_by_an_exact_value_filters_what_its_key_finds_beyond_it():
    text = Posts.plan("named").explain()
    assert "begins_with(name_sk, 'N#{name:fold}#')" in text
    assert "filter  name = {name}" in text
    assert "filter" not in Posts.plan("called").explain()


# ── the primary key ──────────────────────────────────────────────────────────────────────────────────────────────────
people = Table("people", "pk", indexes=[Gsi("ByTown", "town", "town_sk")])


class Person(Item, table=people, pk="PERSON#{name:fold}", town_sk="{name}#{age:03d}"):
    name: str
    town: str
    age: int = 0


class People(Patterns, Protocol):
    def person(self, name: str) -> Get[Person]: ...
    def anyone(self, name: ByKey[str]) -> Get[Person]: ...
    def living_in(self, town: str) -> Query[Person]: ...
    def move_in(self, name: str, town: str, age: int) -> Upsert[Person]: ...
    def rewrite(self, name: str, age: int) -> Update[Person]: ...
    def move(self, name: ByKey[str], town: str) -> Update[Person]: ...
    def grow(self, person: Person, age: int) -> Update[Person]: ...
    def drop(self, name: str) -> Delete[Person]: ...
    def drop_any(self, name: ByKey[str]) -> Delete[Person]: ...


@pytest.fixture
def db():
    with hashrange.open() as opened:
        hashrange.create_tables(opened, People)
        yield People.open(opened)


def test_a_name_is_unique_without_regard_to_case(db):
    ann = db.create(Person(name="Ann", town="Graz")).run()
    with pytest.raises(Taken):
        db.create(Person(name="ANN", town="Linz")).run()
    assert db.person("Ann").run() == db.anyone("aNN").run() == ann
    assert db.person("ANN").run() is None
    with pytest.raises(Conflict):
        db.drop("ANN").run()
    assert db.drop_any("ANN").run() == ann


def stored(db):
    (raw,) = db.session.transport.scan(TableName="people")["Items"]
    return raw["pk"]["S"], raw["name"]["S"], raw["town_sk"]["S"]


def test_an_exact_parameter_of_a_folded_key_finds_the_item_of_that_name_only(db):
    db.move_in("Ann", town="Graz", age=3).run()
    assert stored(db) == ("PERSON#ann", "Ann", "Ann#003")
    for write in (db.rewrite("ANN", age=4), db.move_in("ANN", town="Linz", age=4)):
        with pytest.raises(Conflict) as conflict:
            write.run()
        assert conflict.value.current.name == "Ann"
    db.move("ann", town="Linz").run()
    assert stored(db) == ("PERSON#ann", "Ann", "Ann#003")
    seen = db.anyone("ann").required().run()
    db.rewrite("Ann", age=5).run()
    assert db.grow(seen, age=6).run().age == 6
    db.move_in("Ann", town="Wien", age=7).run()
    assert stored(db) == ("PERSON#ann", "Ann", "Ann#007")


def test_what_would_make_a_primary_key_stale_is_refused():
    with pytest.raises(DeclarationError, match=r"HR217 .*name is part of the key"):

        class Renaming(Patterns, Protocol):
            def rename(self, person: Person, name: str) -> Update[Person]: ...

    with pytest.raises(DeclarationError, match=r"HR242 .*because name is not known"):

        class Growing(Patterns, Protocol):
            def grow(self, name: ByKey[str], age: int) -> Update[Person]: ...

    class Counter(Item, table=Table("counters", "pk"), pk="COUNT#{page}#{at:month}"):
        page: str
        at: Touched[datetime]
        hits: int = 0

    with pytest.raises(DeclarationError, match=r"HR258 .*would set at"):

        class Counting(Patterns, Protocol):
            def hit(self, counter: Counter, hits: int) -> Update[Counter]: ...


def test_by_key_needs_a_key_that_has_a_form_of_the_field():
    with pytest.raises(DeclarationError, match="HR230"):

        class Looking(Patterns, Protocol):
            def living_in(self, town: ByKey[str]) -> Query[Person]: ...

    with pytest.raises(DeclarationError, match="HR238"):

        class Moving(Patterns, Protocol):
            def move(self, name: str, town: ByKey[str]) -> Update[Person]: ...


def test_a_derived_field_cannot_be_stored_in_the_key_alone():
    class Log(Item, table=Table("logs", "pk"), pk="LOG#{at:date}"):
        at: hashrange.Key[datetime]

    with pytest.raises(DeclarationError, match="HR125"):

        class Logs(Patterns, Protocol):
            def log(self, at: ByKey[datetime]) -> Get[Log]: ...
