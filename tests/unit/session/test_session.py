"""Around the operations: deployed index names, stream records, traces."""

import asyncio
import copy
from datetime import UTC, datetime

import pytest

import hashrange
from hashrange import NotFound, ResourceNotFoundException, trace_calls
from hashrange.core.errors import AccessDeniedException
from hashrange.provision import create_request
from tests.unit.session.library import Book, Copy, Library, Reader, table

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
SOLARIS = Book(isbn="1", author="Lem", title="Solaris", shelf="A", pages=204)


def test_an_index_that_was_deployed_under_another_name_is_found_by_its_keys():
    request = create_request(table)
    request["GlobalSecondaryIndexes"][0]["IndexName"] = "GSI1"
    with hashrange.open() as database:
        database.call("CreateTable", request)
        db = Library.open(database)
        db.create(SOLARIS).run()
        assert db.by_author("Lem").run() == [SOLARIS]
        assert len(db.on_shelf("A").run()) == 1


def test_without_permission_to_describe_the_table_the_declared_index_names_are_used(intercept, db):
    def forbid(operation, request, go):
        if operation == "DescribeTable":
            raise AccessDeniedException("not you")
        return go(operation, request)

    db.create(SOLARIS).run()
    bound, _ = intercept(forbid)
    assert bound.by_author("Lem").run() == [SOLARIS]


@pytest.mark.parametrize("run", [lambda work: work.run(), lambda work: asyncio.run(wait_for(work))])
@pytest.mark.parametrize(
    "start", [lambda db: db.book("1"), lambda db: db.create(SOLARIS), lambda db: db.transact(db.create(SOLARIS))]
)
def test_a_table_that_does_not_exist_is_named_with_what_creates_it(start, run):
    with hashrange.open() as database, pytest.raises(ResourceNotFoundException) as caught:
        run(start(Library.open(database)))
    assert caught.value.message in {"Requested resource not found", "Cannot do operations on a non-existent table"}
    text = "The database has no table library. hashrange.create_tables(database, ...) and `hashrange apply` create "
    assert text in str(caught.value)


async def wait_for(work):
    return await work


def test_an_attribute_of_a_read_that_was_not_run_says_how_to_run_it(db):
    with pytest.raises(AttributeError, match=r"'Get' object has no attribute 'title': .* with \.run\(\) or await"):
        _ = db.book("1").title
    assert not hasattr(db.by_author("Lem"), "__len__")
    assert copy.copy(db.book("1")).run() is None


@pytest.mark.parametrize(
    "start",
    [
        lambda db: db.book("1"),
        lambda db: db.book("1").required(),
        lambda db: db.by_author("Lem"),
        lambda db: db.by_author("Lem").count(),
        lambda db: db.create(SOLARIS),
        lambda db: db.transact(db.create(SOLARIS)),
        lambda db: db.batch([SOLARIS]),
    ],
)
def test_what_was_not_run_is_neither_true_nor_false(db, start):
    work = start(db)
    with pytest.raises(TypeError, match=r"was not run is neither true nor false: .* \.run\(\) or await"):
        bool(work)


def read_stream(database):
    arn = database.call("DescribeTable", {"TableName": "library"})["Table"]["LatestStreamArn"]
    shard = database.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"][0]["ShardId"]
    wanted = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = database.call("GetShardIterator", wanted)["ShardIterator"]
    return arn, database.call("GetRecords", {"ShardIterator": iterator})


def test_stream_records_are_typed_items(db, database):
    db.create(SOLARIS).run()
    changed = db.retitle("1", "Fiasko").run()
    db.forget("1").run()
    database.call("PutItem", {"TableName": "library", "Item": {"pk": {"S": "x"}, "sk": {"S": "y"}}})
    _, response = read_stream(database)
    changes = list(db.changes(response))
    assert [(change.event_name, change.before, change.after) for change in changes] == [
        ("INSERT", None, SOLARIS),
        ("MODIFY", SOLARIS, changed),
        ("REMOVE", changed, None),
        ("INSERT", None, None),
    ]
    assert changes[0].keys == {"pk": {"S": "BOOK#1"}, "sk": {"S": "BOOK"}}
    assert changes[0].at == NOON
    assert not any(change.expired for change in changes)


def test_a_lambda_event_is_read_the_same_way_and_other_tables_are_skipped(db, database):
    db.create(SOLARIS).run()
    arn, response = read_stream(database)
    records = [{**record, "eventSourceARN": arn} for record in response["Records"]]
    other = [{**records[0], "eventSourceARN": arn.replace("library", "elsewhere")}]
    expired = {
        **records[0],
        "eventName": "REMOVE",
        "userIdentity": {"principalId": "dynamodb.amazonaws.com", "type": "Service"},
    }
    changes = list(db.changes({"Records": [*records, *other, expired]}))
    assert [change.after for change in changes] == [SOLARIS, SOLARIS]
    assert [change.expired for change in changes] == [False, True]
    with pytest.raises(ValueError, match="no list of Records"):
        list(db.changes({}))


class Spans:
    """Stands for a tracer: keeps what it is told."""

    def __init__(self):
        self.made = []

    def start_span(self, name, start_time, attributes):
        self.name, self.attributes, self.started = name, dict(attributes), start_time
        return self

    def set_attribute(self, name, value):
        self.attributes[name] = value

    def end(self, end_time):
        self.made.append((self.name, self.attributes, end_time - self.started))


def test_calls_become_spans(database):
    tracer = Spans()
    db = Library.open(database, hooks=[trace_calls(tracer)])
    db.book("1").run()
    with pytest.raises(NotFound):
        db.retitle("1", "x").run()
    (got, about, _), (_, failed, took) = tracer.made
    assert got == "GetItem library"
    assert about["hashrange.pattern"] == "Library.book"
    assert failed["error.type"] == "ConditionalCheckFailedException"
    assert took >= 0


def test_create_table_requests_every_declared_index(database):
    description = database.call("DescribeTable", {"TableName": "library"})["Table"]
    names = [index["IndexName"] for index in description["GlobalSecondaryIndexes"]]
    assert sorted(names) == ["ByAuthor", "ByShelf"]
    assert description["LocalSecondaryIndexes"][0]["IndexName"] == "ByPlace"
    ttl = database.call("DescribeTimeToLive", {"TableName": "library"})["TimeToLiveDescription"]
    assert ttl == {"AttributeName": "until", "TimeToLiveStatus": "ENABLED"}
    assert hashrange.create_tables(database, Library) == []


def test_items_of_several_kinds_go_in_one_batch(db):
    items = [SOLARIS, Copy(isbn="1", number=1, place="p", seen=NOON), Reader(name="ann", email="a@b.c")]
    assert db.batch(items).run() == 3
    assert db.batch(delete=items[:2]).run() == 2
    assert db.everything("1").run() == []
    assert db.reader("ann").run() == items[2]


# -- what is shown of a session -------------------------------------------------------------------------------------
def test_a_session_and_its_database_say_what_they_are(tmp_path):
    with hashrange.open() as database, hashrange.open(tmp_path) as stored:
        assert repr(database) == "<Database in memory>"
        assert repr(Library.open(stored)) == f"<Library on <Database {tmp_path}>>"
    with hashrange.connect("http://127.0.0.1:1") as remote:
        assert repr(Library.open(remote)) == "<Library on <Remote http://127.0.0.1:1>>"
