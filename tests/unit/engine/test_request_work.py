"""What one request evaluates of stored items is bounded, before anything is written."""

import pytest

from hashrange.engine.write import MAX_DECODED_VALUES, load_row
from tests.conformance.wire import item
from tests.unit.engine.local import Local

MEMBERS = 4
ELEMENTS = 2_000


@pytest.fixture
def local():
    opened = Local()
    opened.create()
    for number in range(MEMBERS):
        opened.put(pk=f"k{number}", l=[""] * ELEMENTS)
    yield opened
    opened.close()


@pytest.fixture
def little_work(monkeypatch):
    """So little that two of the items are too many."""
    for module in ("hashrange.engine.transaction", "hashrange.operations.batch_get_item"):
        monkeypatch.setattr(f"{module}.MAX_DECODED_VALUES", ELEMENTS * 3 // 2)


def check(number):
    values = item(**{":v": "x"})
    return {
        "ConditionCheck": {
            "TableName": "tab",
            "Key": item(pk=f"k{number}"),
            "ConditionExpression": "NOT contains(l, :v)",
            "ExpressionAttributeValues": values,
        }
    }


def update(number):
    expression = {"UpdateExpression": "SET n = :n", "ExpressionAttributeValues": item(**{":n": 1})}
    return {"Update": {"TableName": "tab", "Key": item(pk=f"k{number}"), **expression}}


@pytest.mark.parametrize("make", [check, update])
def test_a_transaction_on_too_many_stored_values_is_refused_and_writes_nothing(local, little_work, make):
    before = local.items()
    put = {"Put": {"TableName": "tab", "Item": item(pk="new")}}
    refusal = local.refusal("TransactWriteItems", TransactItems=[put, *map(make, range(MEMBERS))])
    assert refusal.startswith("ValidationException: The stored items that this transaction checks or writes have more")
    assert local.items() == before
    local.call("TransactWriteItems", TransactItems=[put, make(0)])


def test_statements_in_a_transaction_count_likewise(local, little_work):
    statements = [{"Statement": f"UPDATE tab SET n = 1 WHERE pk = 'k{number}'"} for number in range(MEMBERS)]
    assert "have more than" in local.refusal("ExecuteTransaction", TransactStatements=statements)
    local.call("ExecuteTransaction", TransactStatements=statements[:1])


def test_the_estimate_is_about_the_number_of_values(local):
    table = local.engine.catalog.find("tab")
    row = load_row(local.engine, table, table.key_of(item(pk="k0")))
    assert ELEMENTS * 0.8 < row.estimate_values() < ELEMENTS * 1.2


def test_a_hundred_ordinary_items_are_far_from_the_bound(local):
    ordinary = {f"attribute{number}": "some text" for number in range(50)}
    local.put(pk="ordinary", **ordinary)
    table = local.engine.catalog.find("tab")
    row = load_row(local.engine, table, table.key_of(item(pk="ordinary")))
    assert row.estimate_values() * 100 < MAX_DECODED_VALUES / 50


def test_batch_get_item_leaves_keys_unprocessed_when_a_projection_decodes_too_much(local, little_work):
    keys = [item(pk=f"k{number}") for number in range(MEMBERS)]
    wanted = {"tab": {"Keys": keys, "ProjectionExpression": "pk, l[0]"}}
    found, rounds = [], 0
    while wanted:
        page = local.call("BatchGetItem", RequestItems=wanted)
        found += page["Responses"]["tab"]
        wanted = page["UnprocessedKeys"]
        rounds += 1
    assert [each["pk"] for each in found] == [key["pk"] for key in keys]
    assert rounds == MEMBERS
    whole = local.call("BatchGetItem", RequestItems={"tab": {"Keys": keys}})
    assert whole["UnprocessedKeys"] == {}  # stored bytes are sent as they are
