"""Requests that pause between parts of their work: the same responses, and one state of the database in each."""

import random

import orjson
import pytest

from hashrange.core.errors import ServiceError
from hashrange.engine import jobs, partial_work, read
from hashrange.engine.partial_work import PartialWork, Paused
from hashrange.operations import OPERATIONS
from tests.conformance.wire import item
from tests.unit.engine.local import Local, sort_items

KEYS = 12


def fill(local):
    local.create("pk:S", gsi={"byn": ("n:N", "KEYS_ONLY")}, view="NEW_AND_OLD_IMAGES")
    for number in range(KEYS):
        local.put(pk=f"k{number}", n=number, l=[number, "x"])


@pytest.fixture
def local():
    opened = Local()
    fill(opened)
    yield opened
    opened.close()


def perform(local, name, request, between=lambda: None):
    """Return the response or the error of a request that pauses after each part, and how often it did."""
    partial, engine, turns = PartialWork(-1.0), local.engine, 0
    while True:
        partial.start_turn()
        engine.begin()
        try:
            work = partial if turns else None  # nothing is kept of the first turn
            return orjson.loads(engine.perform(OPERATIONS[name], request, partial=work, pause_at=0.0)), turns
        except ServiceError as refusal:
            return orjson.loads(refusal.body()), turns
        except Paused:
            turns += 1
        finally:
            engine.end()
        between()


def call(local, name, request):
    try:
        return orjson.loads(local.engine.call(name, request))
    except ServiceError as refusal:
        return orjson.loads(refusal.body())


def key(number):
    return {"TableName": "tab", "Key": item(pk=f"k{number}")}


def update(number, condition="n < :most", most=KEYS):
    values = item(**{":most": most, ":v": "new"})
    expressions = {"UpdateExpression": "SET v = :v", "ConditionExpression": condition}
    return {"Update": {**key(number), **expressions, "ExpressionAttributeValues": values}}


def put(number):
    return {"Put": {"TableName": "tab", "Item": item(pk=f"k{number}", n=number, v="put")}}


def statements(*texts):
    return [{"Statement": text} for text in texts]


UPDATE = "UPDATE tab SET v = 1 WHERE pk = 'k{}' AND n < {}"
REQUESTS = {
    "TransactWriteItems": {"TransactItems": [update(1), put(2), {"Delete": key(3)}, put(99)]},
    "TransactWriteItems with reasons": {"TransactItems": [update(1), update(5, most=2), put(2), update(7, most=1)]},
    "TransactWriteItems of an item twice": {"TransactItems": [update(1), put(2), put(2)]},
    "TransactGetItems": {"TransactItems": [{"Get": {**key(n), "ProjectionExpression": "l[0]"}} for n in (1, 2, 77)]},
    "BatchWriteItem": {"RequestItems": {"tab": [{"PutRequest": {"Item": put(n)["Put"]["Item"]}} for n in (1, 2, 50)]}},
    "BatchGetItem": {
        "RequestItems": {"tab": {"Keys": [key(n)["Key"] for n in (1, 2, 9, 77)], "ProjectionExpression": "l[1]"}}
    },
    "BatchExecuteStatement": {
        "Statements": statements(
            UPDATE.format(1, 2), UPDATE.format(5, 2), "DELETE FROM tab WHERE pk = 'k3'", "no statement",
            "INSERT INTO tab VALUE {'pk': 'k4'}", "INSERT INTO tab VALUE {'pk': 'k40'}",
            "DELETE FROM no WHERE pk = '1'",
        ),
        "ReturnConsumedCapacity": "TOTAL",
    },
    "BatchExecuteStatement of reads": {
        "Statements": statements("SELECT l[0] FROM tab WHERE pk = 'k1'", "SELECT * FROM tab WHERE pk = 'k77'")
    },
    "ExecuteTransaction": {"TransactStatements": statements(UPDATE.format(1, 2), "DELETE FROM tab WHERE pk = 'k3'")},
    "ExecuteTransaction with reasons": {"TransactStatements": statements(UPDATE.format(1, 2), UPDATE.format(5, 2))},
    "ExecuteTransaction of reads": {
        "TransactStatements": statements("SELECT l[0] FROM tab WHERE pk = 'k1'", "SELECT * FROM tab WHERE pk = 'k2'")
    },
    "Scan": {"TableName": "tab", "FilterExpression": "size(l) = :n", "ExpressionAttributeValues": item(**{":n": 2})},
    "Scan up to a limit": {"TableName": "tab", "ProjectionExpression": "n", "Limit": 7},
    "Scan of an index": {"TableName": "tab", "IndexName": "byn", "ReturnConsumedCapacity": "INDEXES"},
    "ExecuteStatement": {"Statement": "SELECT n FROM tab WHERE pk IN ['k1', 'k2', 'k3'] AND n < 3"},
}  # fmt: skip


@pytest.fixture
def little_parts(monkeypatch):
    """Two rows are a part of a page."""
    monkeypatch.setattr(read, "PART_WORK", 2)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_that_pauses_has_the_response_and_the_effect_of_one_that_does_not(local, little_parts, name):
    other = Local()
    fill(other)
    operation, request = name.split()[0], REQUESTS[name]
    response, turns = perform(local, operation, request)
    assert turns >= 1
    assert response == call(other, operation, request)
    assert local.items() == other.items()
    assert local.describe()["GlobalSecondaryIndexes"] == other.describe()["GlobalSecondaryIndexes"]
    other.close()


@pytest.mark.parametrize("forward", [True, False])
def test_pages_in_parts_are_the_whole_of_an_index_in_both_directions(local, little_parts, forward):
    local.create("pk:S / sk:N", name="sorted", gsi={"all": ("a:S / b:N", "KEYS_ONLY")})
    for number in range(20):
        local.put("sorted", pk="p", sk=number, a="x", b=number // 6)
    for index, condition in ((None, "pk = :v"), ("all", "a = :v")):
        request = {
            "TableName": "sorted", "KeyConditionExpression": condition, "ProjectionExpression": "sk",
            "ExpressionAttributeValues": item(**{":v": "x" if index else "p"}), "ScanIndexForward": forward,
            **({"IndexName": index} if index else {}),
        }  # fmt: skip
        response, turns = perform(local, "Query", request)
        assert response == call(local, "Query", request)
        assert response["Count"] == 20
        assert turns >= 9


def test_a_page_in_parts_ends_at_a_megabyte(local, monkeypatch):
    monkeypatch.setattr(read, "PART_BYTES", 300_000)
    for number in range(30):
        local.put(pk=f"big{number}", text="x" * 50_000)
    request = {"TableName": "tab", "ProjectionExpression": "pk"}
    response, turns = perform(local, "Scan", request)
    assert response == call(local, "Scan", request)
    assert "LastEvaluatedKey" in response
    assert turns >= 3


def move(local, source, target):
    """Take one from an item and give it to another, if that leaves something."""
    change = "SET n = n {} :one"
    moved = [
        {
            "Update": {
                **key(number),
                "UpdateExpression": change.format(sign),
                "ConditionExpression": "n > :one" if sign == "-" else "attribute_exists(pk)",
                "ExpressionAttributeValues": item(**{":one": 1}),
            }
        }
        for number, sign in ((source, "-"), (target, "+"))
    ]
    return {"TransactItems": moved}


@pytest.mark.parametrize("seed", range(30))
def test_transactions_that_pause_are_isolated_from_what_is_written_between(local, seed):
    chosen = random.Random(seed)

    def interfere():
        if chosen.random() < 0.5:
            call(local, "TransactWriteItems", move(local, *chosen.sample(range(KEYS), 2)))
        elif chosen.random() < 0.3:
            local.set({"pk": f"k{chosen.randrange(KEYS)}"}, other=chosen.randrange(3))

    total = sum(range(KEYS))
    for _ in range(10):
        perform(local, "TransactWriteItems", move(local, *chosen.sample(range(KEYS), 2)), interfere)
        gets = {"TransactItems": [{"Get": {**key(number), "ProjectionExpression": "n"}} for number in range(KEYS)]}
        seen, _ = perform(local, "TransactGetItems", gets, interfere)
        assert sum(int(each["Item"]["n"]["N"]) for each in seen["Responses"]) == total
    numbers = [int(found["n"]["N"]) for found in local.items()]
    assert sum(numbers) == total
    assert min(numbers) >= 0
    assert local.items(index="byn") == sort_items([{"pk": found["pk"], "n": found["n"]} for found in local.items()])


def test_a_condition_that_became_false_while_it_paused_is_noticed(local):
    response, _ = perform(
        local, "TransactWriteItems", {"TransactItems": [update(1), put(2)]}, lambda: local.set({"pk": "k1"}, n=1000)
    )
    assert [reason["Code"] for reason in response["CancellationReasons"]] == ["ConditionalCheckFailed", "None"]
    assert "v" not in local.call("GetItem", **key(2))["Item"]


@pytest.mark.parametrize("name", [name for name in REQUESTS if "twice" not in name])
def test_a_table_that_is_deleted_while_a_request_pauses_is_not_found(local, little_parts, name):
    def delete():
        if "tab" in local.call("ListTables")["TableNames"]:
            local.call("DeleteTable", TableName="tab")

    response, _ = perform(local, name.split()[0], REQUESTS[name], delete)
    texts = str(response)
    assert "ResourceNotFound" in texts
    assert local.call("ListTables")["TableNames"] == []


def create_index(local, attribute, tag):
    index = {
        "IndexName": "new",
        "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    local.call(
        "UpdateTable",
        TableName="tab",
        AttributeDefinitions=[{"AttributeName": attribute, "AttributeType": tag}],
        GlobalSecondaryIndexUpdates=[{"Create": index}],
    )


def test_an_index_that_is_added_while_a_request_pauses_has_its_items(local):
    def add():
        if len(local.describe()["GlobalSecondaryIndexes"]) == 1:
            create_index(local, "v", "S")
            local.engine.finish_jobs()

    perform(local, "TransactWriteItems", {"TransactItems": [update(1), put(2)]}, add)
    perform(local, "BatchWriteItem", REQUESTS["BatchWriteItem"])
    assert [found["pk"]["S"] for found in local.items(index="new")] == ["k1", "k2", "k50"]


def remove(number):
    return {"Update": {**key(number), "UpdateExpression": "REMOVE n"}}


@pytest.mark.parametrize(
    ("name", "items", "parts"),
    [
        ("TransactWriteItems", {"TransactItems": [remove(number) for number in range(KEYS)]}, 2 * KEYS),
        (
            "BatchExecuteStatement",
            {"Statements": statements(*(f"UPDATE tab REMOVE n WHERE pk = 'k{number}'" for number in range(KEYS)))},
            KEYS,
        ),
    ],
)
def test_rows_that_a_backfill_changes_while_a_request_pauses_leave_no_index_entry(
    local, monkeypatch, name, items, parts
):
    """The backfill changes the columns of a row, not its item."""
    monkeypatch.setattr(jobs, "ROWS_PER_SLICE", 1)
    monkeypatch.setattr(jobs, "SMALL_TABLE", 0)
    create_index(local, "n", "N")
    turns = iter(range(1000))
    perform(local, name, items, lambda: next(turns) > parts and local.engine.maintain())  # while it checks the rows
    local.engine.finish_jobs()
    assert local.call("Scan", TableName="tab", IndexName="new")["Items"] == []
    assert local.describe()["GlobalSecondaryIndexes"][1]["ItemCount"] == 0


def test_a_request_whose_rows_are_changed_for_ever_ends(local, monkeypatch):
    monkeypatch.setattr(partial_work, "MAX_REPEATED", 10)
    counter = iter(range(1000))
    response, turns = perform(
        local, "TransactWriteItems", {"TransactItems": [update(1)]}, lambda: local.set({"pk": "k1"}, c=next(counter))
    )
    assert response == {}
    assert turns < 20


def count_turns(local, request, partial):
    turns = 0
    while True:
        partial.start_turn()
        local.engine.begin()
        try:
            local.engine.perform(OPERATIONS["TransactWriteItems"], request, partial=partial, pause_at=0.0)
            return turns
        except Paused:
            turns += 1
        finally:
            local.engine.end()


def test_results_of_an_engine_that_was_closed_are_not_used():
    partial, request = PartialWork(-1.0), {"TransactItems": [update(number) for number in range(KEYS)]}
    closed, opened, untouched = Local(), Local(), Local()
    for local in (closed, opened, untouched):
        fill(local)
    closed.engine.begin()
    with pytest.raises(Paused):
        closed.engine.perform(OPERATIONS["TransactWriteItems"], request, partial=partial, pause_at=0.0)
    closed.engine.end()
    assert count_turns(opened, request, partial) == count_turns(untouched, request, PartialWork(-1.0))
    for local in (closed, opened, untouched):
        local.close()
