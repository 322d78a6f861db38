"""The time to live of items: in seconds, unless the table says that another program wrote milliseconds."""

from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

import hashrange
from hashrange import (
    DeclarationError,
    Get,
    Gsi,
    Item,
    Latest,
    ManualClock,
    Patterns,
    Query,
    Scan,
    Table,
    Ttl,
    Update,
    ValueInvalid,
)

START = 1_768_478_400
NOW = datetime.fromtimestamp(START, UTC)
NEVER = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
plain = Table("plain", "pk", ttl="expires_at", indexes=[Gsi("ByKind", "kind", "pk")])
former = Table("former", "pk", ttl="expires_at", former_ttl="milliseconds")


class Token(Item, table=plain, pk="TOKEN#{name}"):
    name: str
    kind: str = "T"
    note: str = ""
    expires_at: Ttl | None = None


class Job(Item, table=former, pk="JOB#{name}"):
    name: str
    note: str = ""
    expires_at: Ttl | None = None


class Tokens(Patterns, Protocol):
    def token(self, name: str) -> Get[Token]: ...
    def tokens(self, kind: str) -> Query[Token]: ...
    def last(self, kind: str) -> Latest[Token]: ...
    def every(self) -> Scan[Token]: ...
    def annotate(self, token: Token, note: str) -> Update[Token]: ...


class Jobs(Patterns, Protocol):
    def job(self, name: str) -> Get[Job]: ...
    def annotate(self, job: Job, note: str) -> Update[Job]: ...


@pytest.fixture
def clock():
    return ManualClock(START)


@pytest.fixture
def database(clock):
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, Tokens)
        hashrange.create_tables(database, Jobs)
        yield database


@pytest.fixture
def tokens(database, clock):
    return Tokens.open(database, clock=clock)


@pytest.fixture
def jobs(database, clock):
    return Jobs.open(database, clock=clock)


def store(database, table, key, number):
    item = {"pk": {"S": key}, "name": {"S": "a"}, "kind": {"S": "T"}, "expires_at": {"N": str(number)}}
    database.call("PutItem", {"TableName": table, "Item": item})


def stored_ttl(database, table, key):
    return database.call("GetItem", {"TableName": table, "Key": {"pk": {"S": key}}})["Item"]["expires_at"]["N"]


def test_an_item_that_expires_in_the_year_9999_is_read(tokens):
    tokens.create(Token(name="a", expires_at=NEVER)).run()
    assert tokens.token("a").required().run().expires_at == NEVER
    assert [token.name for token in tokens.tokens("T")] == ["a"]


def test_the_unit_of_a_ttl_is_not_guessed(tokens, database):
    mistaken = START * 1000 + 90 * 86_400  # milliseconds plus seconds
    store(database, "plain", "TOKEN#a", mistaken)
    token = tokens.token("a").required().run()
    assert token.expires_at == NEVER  # as for DynamoDB, it expires after any date
    tokens.annotate(token, "read").run()
    tokens.put(tokens.token("a").required().run().model_copy(update={"note": "again"})).run()
    assert stored_ttl(database, "plain", "TOKEN#a") == str(mistaken)


def test_milliseconds_are_read_and_repaired_where_the_table_says_so(jobs, database):
    later = START + 3600
    store(database, "former", "JOB#a", later * 1000)
    job = jobs.job("a").required().run()
    assert job.expires_at == NOW + timedelta(hours=1)
    jobs.annotate(job, "read").run()
    assert stored_ttl(database, "former", "JOB#a") == str(later)


def test_such_a_table_refuses_a_time_that_it_would_read_as_milliseconds(jobs):
    with pytest.raises(ValueInvalid, match="a TTL in the year 9999 would be read as milliseconds"):
        jobs.create(Job(name="a", expires_at=NEVER)).run()


def test_a_purge_reads_expired_items_with_one_word(tokens, clock):
    tokens.create(Token(name="a", expires_at=NOW + timedelta(hours=1))).run()
    clock.advance(7200)
    assert tokens.token("a").run() is None
    assert tokens.token("a").with_expired().consistent().run() is not None
    assert tokens.tokens("T").run() == tokens.last("T").run() == tokens.every().run() == []
    for read in (tokens.tokens("T"), tokens.last("T"), tokens.every()):
        assert [token.name for token in read.with_expired().limit(5)] == ["a"]
    assert tokens.fetch([tokens.token("a").with_expired(), tokens.token("a")]).run()[1] is None


def test_an_expired_former_time_is_hidden_and_a_purge_reads_it(jobs, database):
    store(database, "former", "JOB#a", (START - 60) * 1000)
    assert jobs.job("a").run() is None
    assert jobs.job("a").with_expired().required().run().expires_at == NOW - timedelta(minutes=1)


@pytest.mark.parametrize(("ttl", "former_ttl"), [(None, "milliseconds"), ("expires_at", "minutes")])
def test_another_rule_is_refused(ttl, former_ttl):
    with pytest.raises(DeclarationError, match="HR160"):
        Table("odd", "pk", ttl=ttl, former_ttl=former_ttl)
