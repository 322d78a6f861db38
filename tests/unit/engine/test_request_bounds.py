"""Work that one request may cause is bounded: entries of a batch, names, values, expired tokens."""

import time

import pytest

from hashrange.engine.transaction import TOKEN_LIFE, TOKENS_PER_SLICE
from hashrange.server.runner import serve_in_background
from tests.unit.engine.test_damage import WireCaller

PUT = {"PutRequest": {"Item": {"pk": {"S": "a"}}}}
MANY = 300_000


@pytest.fixture
def table(local):
    local.create()
    return local


def seconds_for(work):
    """CPU seconds of this thread, the least of three."""
    times = []
    for _ in range(3):
        started = time.thread_time()
        work()
        times.append(time.thread_time() - started)
    return min(times)


@pytest.mark.parametrize(
    ("operation", "few", "many"),
    [
        ("BatchWriteItem", {"RequestItems": {"tab": [PUT] * 1_000}}, {"RequestItems": {"tab": [PUT] * MANY}}),
        (
            "TransactWriteItems",
            {"TransactItems": [{"Put": {"TableName": "tab", "Item": {}}}] * 1_000},
            {"TransactItems": [{"Put": {"TableName": "tab", "Item": {}}}] * MANY},
        ),
        (
            "BatchGetItem",
            {"RequestItems": {"tab": {"Keys": [{"pk": {"S": "a"}}] * 1_000}}},
            {"RequestItems": {"tab": {"Keys": [{"pk": {"S": "a"}}] * MANY}}},
        ),
    ],
)
def test_the_entries_of_a_batch_are_counted_before_they_are_converted(table, operation, few, many):
    usual = seconds_for(lambda: table.refusal(operation, **few))
    assert seconds_for(lambda: table.refusal(operation, **many)) < 10 * usual


def test_the_names_of_attributes_to_get_are_compared_in_linear_time(table):
    def get(count):
        names = [f"a{number}" for number in range(count)]
        table.call("GetItem", TableName="tab", Key={"pk": {"S": "a"}}, AttributesToGet=names)

    assert seconds_for(lambda: get(2_500)) < 40 * seconds_for(lambda: get(250))


@pytest.mark.parametrize("member", ["AttributesToGet", "ExpressionAttributeNames"])
def test_lists_and_maps_that_the_model_does_not_limit_have_2500_elements(table, member):
    content = (
        [f"a{number}" for number in range(2_501)]
        if member == "AttributesToGet"
        else dict.fromkeys(map(str, range(2_501)), "a")
    )
    refusal = table.refusal("GetItem", TableName="tab", Key={"pk": {"S": "a"}}, **{member: content})
    assert refusal.endswith("failed to satisfy constraint: Member must have length less than or equal to 2500")


def test_a_request_with_very_many_values_is_not_converted(table):
    odd = {"BOOL": "true"}  # which the service takes
    table.call("PutItem", TableName="tab", Item={"pk": {"S": "a"}, "l": {"L": [{"S": ""}] * 100 + [odd]}})
    refusal = table.refusal(
        "PutItem", TableName="tab", Item={"pk": {"S": "a"}, "l": {"L": [{"S": ""}] * 50_000 + [odd]}}
    )
    assert refusal.startswith("SerializationException")


def transact(local, token, key):
    local.call(
        "TransactWriteItems",
        TransactItems=[{"Put": {"TableName": "tab", "Item": {"pk": {"S": key}}}}],
        ClientRequestToken=token,
    )


def count_tokens(local):
    return local.engine.store.execute("SELECT count(*) FROM token").fetchone()[0]


def test_expired_tokens_are_deleted_in_slices(table):
    for number in range(TOKENS_PER_SLICE + 20):
        transact(table, f"old{number}", "a")
    table.clock.advance(TOKEN_LIFE / 1000 + 1)
    transact(table, "new", "a")
    assert count_tokens(table) == 21
    transact(table, "newer", "a")
    assert count_tokens(table) == 2


def test_requests_over_the_wire_delete_expired_tokens_in_slices(table):
    for number in range(TOKENS_PER_SLICE + 20):
        transact(table, f"old{number}", "a")
    table.clock.advance(TOKEN_LIFE / 1000 + 1)
    left = []
    with serve_in_background(table.engine) as server:
        call = WireCaller(server.url)
        for token in ("new", "newer"):
            put = {"Put": {"TableName": "tab", "Item": {"pk": {"S": "a"}}}}
            call("TransactWriteItems", {"TransactItems": [put], "ClientRequestToken": token})
            left.append(table.engine.run_in_group(count_tokens, table))
        call.close()
    assert left == [21, 2]


def test_an_expired_token_that_is_still_stored_can_be_used_again(table):
    for number in range(TOKENS_PER_SLICE + 20):
        transact(table, f"old{number}", "a")
    table.clock.advance(TOKEN_LIFE / 1000 + 1)
    last = f"old{TOKENS_PER_SLICE + 19}"
    transact(table, last, "b")
    transact(table, last, "b")
    assert table.call("GetItem", TableName="tab", Key={"pk": {"S": "b"}})["Item"] == {"pk": {"S": "b"}}
    assert "IdempotentParameterMismatch" in table.refusal(
        "TransactWriteItems",
        TransactItems=[{"Put": {"TableName": "tab", "Item": {"pk": {"S": "c"}}}}],
        ClientRequestToken=last,
    )
