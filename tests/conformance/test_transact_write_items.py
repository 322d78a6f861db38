"""TransactWriteItems: all of it or none, with a reason for each action when it is none."""

import secrets

import pytest
from botocore.exceptions import ClientError

from tests.conformance.refusal import INVALID, invalid, not_found, refused
from tests.conformance.table import new_name
from tests.conformance.wire import item, nest, sized_item

FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
FINE = {"Code": "None"}


@pytest.fixture
def transact(client):
    def run(*actions, **options):
        return client.transact_write_items(TransactItems=list(actions), **options)

    return run


def values(**given):
    return {"ExpressionAttributeValues": item(**{f":{name}": content for name, content in given.items()})}


def put(table, /, condition=None, **attributes):
    action = {"TableName": table.name, "Item": item(**attributes)}
    return {"Put": action | ({"ConditionExpression": condition} if condition else {})}


def delete(table, /, condition=None, **key):
    action = {"TableName": table.name, "Key": item(**key)}
    return {"Delete": action | ({"ConditionExpression": condition} if condition else {})}


def check(table, condition, /, **key):
    return {"ConditionCheck": {"TableName": table.name, "Key": item(**key), "ConditionExpression": condition}}


def update(table, expression, /, key="a", **given):
    action = {"TableName": table.name, "Key": item(pk=key), "UpdateExpression": expression}
    return {"Update": action | (values(**given) if given else {})}


def cancelled(*codes):
    text = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{', '.join(codes)}]"
    return refused("TransactionCanceledException", text)


def reasons(caught):
    return caught.value.response["CancellationReasons"]


def test_every_kind_of_action_happens_together(transact, make_table):
    one, two = make_table("pk:S"), make_table("pk:S")
    one.put(pk="checked")
    one.put(pk="deleted")
    two.put(pk="a", n=1)
    transact(
        put(one, pk="new"),
        delete(one, pk="deleted"),
        check(one, "attribute_exists(pk)", pk="checked"),
        update(two, "SET n = n + :one", one=1),
    )
    assert sorted(found["pk"]["S"] for found in one.scan()["Items"]) == ["checked", "new"]
    assert two.get(pk="a") == item(pk="a", n=2)


def test_one_failed_condition_undoes_everything_and_each_action_learns_why(transact, table):
    table.put(pk="there")
    with cancelled("None", "ConditionalCheckFailed", "None", "ConditionalCheckFailed") as caught:
        transact(
            put(table, pk="a"),
            put(table, "attribute_not_exists(pk)", pk="there"),
            update(table, "SET n = :n", key="b", n=1),
            check(table, "attribute_exists(pk)", pk="missing"),
        )
    assert reasons(caught) == [FINE, FAILED, FINE, FAILED]
    assert table.scan()["Items"] == [item(pk="there")]


def test_the_item_that_failed_a_condition_comes_with_its_reason_when_asked_for(transact, table):
    table.put(pk="there", n=1)
    guarded = put(table, "attribute_not_exists(pk)", pk="there")
    guarded["Put"]["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    with cancelled("ConditionalCheckFailed") as caught:
        transact(guarded)
    assert reasons(caught) == [{**FAILED, "Item": item(pk="there", n=1)}]


def test_an_unmet_transaction_writes_no_index_either(transact, make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    with cancelled("None", "ConditionalCheckFailed"):
        transact(put(table, pk="p", a="x"), check(table, "attribute_exists(pk)", pk="missing"))
    assert table.scan(IndexName="gsi")["Items"] == []


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (
            lambda table: put(table, pk=1),
            "One or more parameter values were invalid: Type mismatch for key pk expected: S actual: N",
        ),
        (
            lambda table: put(table, other="a"),
            "One or more parameter values were invalid: Missing the key pk in the item",
        ),
        (lambda table: delete(table, pk=1), "The provided key element does not match the schema"),
        (
            lambda table: update(table, "SET n = n + :one", one=1),
            "The provided expression refers to an attribute that does not exist in the item",
        ),
        (
            lambda table: update(table, "ADD s :one", one=1),
            "An operand in the update expression has an incorrect data type",
        ),
        (
            lambda table: update(table, "SET big = :big", big="x" * 409_600),
            "Item size to update has exceeded the maximum allowed size",
        ),
    ],
)
def test_what_only_the_table_or_the_item_can_refuse_is_a_reason(transact, table, action, text):
    table.put(pk="a", s="text")
    with cancelled("None", "ValidationError") as caught:
        transact(put(table, pk="first"), action(table))
    assert reasons(caught) == [FINE, {"Code": "ValidationError", "Message": text}]
    assert table.get(pk="first") is None


LONG = "x" * 2_049
KEY_TOO_LONG = (
    "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
)


@pytest.mark.parametrize(
    "action",
    [
        lambda table: put(table, pk=LONG),
        lambda table: delete(table, pk=LONG),
        lambda table: check(table, "attribute_exists(pk)", pk=LONG),
        lambda table: update(table, "SET a = :a", key=LONG, a="b"),
    ],
    ids=["put", "delete", "check", "update"],
)
def test_a_key_that_is_too_long_is_a_reason(transact, table, action):
    with cancelled("None", "ValidationError") as caught:
        transact(put(table, pk="first"), action(table))
    assert reasons(caught)[1]["Message"] == KEY_TOO_LONG


def test_the_first_validation_error_is_reported_alone(transact, table):
    with cancelled("None", "ValidationError", "None"):
        transact(check(table, "attribute_exists(pk)", pk="missing"), put(table, pk=1), put(table, pk=2))


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (
            lambda table: put(table, pk=""),
            "The AttributeValue for a key attribute cannot contain an empty string value.",
        ),
        (
            lambda table: {"Put": {"TableName": table.name, "Item": sized_item(409_601, pk="a")}},
            "Item size has exceeded the maximum allowed size",
        ),
        (lambda table: put(table, pk="a", n={"N": "abc"}), "The parameter cannot be converted to a numeric value: abc"),
        (lambda table: put(table, pk="a", s={"SS": []}), "An string set  may not be empty"),
        (lambda table: put(table, pk="a", d=nest(32, {"S": "x"})), "Nesting Levels have exceeded supported limits"),
        (lambda table: update(table, "SET"), 'Invalid UpdateExpression: Syntax error; token: "<EOF>", near: "SET"'),
        (
            lambda table: update(table, "SET a = :a", a=1, b=1),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}",
        ),
        (lambda table: check(table, "a = :v", pk="a"), "attribute value: :v"),
    ],
)
def test_what_the_request_alone_shows_to_be_wrong_is_no_cancellation(transact, table, action, text):
    with invalid(containing=text):
        transact(put(table, pk="first"), action(table))
    assert table.get(pk="first") is None


def test_an_item_takes_part_once(transact, table):
    with invalid("Transaction request cannot include multiple operations on one item"):
        transact(put(table, pk="a"), delete(table, pk="a"))


def test_an_item_takes_part_once_however_its_number_is_spelt(transact, make_table):
    table = make_table("pk:N")
    with invalid("Transaction request cannot include multiple operations on one item"):
        transact(put(table, pk=1000), delete(table, pk={"N": "1e3"}))


def test_an_action_does_one_thing(transact, table):
    with invalid("TransactItems can only contain one of Check, Put, Update or Delete"):
        transact(put(table, pk="a") | delete(table, pk="b"))


def test_a_hundred_actions_are_fine_and_one_more_is_not(transact, table):
    actions = [put(table, pk=f"{number}") for number in range(101)]
    transact(*actions[:100])
    assert table.scan()["Count"] == 100
    with invalid(containing="Member must have length less than or equal to 100"):
        transact(*actions)


def test_no_actions_are_refused(transact):
    with invalid():
        transact()


def test_an_unknown_table_is_not_found_as_a_whole(transact, client, table):
    with not_found():
        transact(put(table, pk="a"), {"Put": {"TableName": new_name(), "Item": item(pk="a")}})
    assert table.get(pk="a") is None


# -- idempotency ----------------------------------------------------------


def test_the_same_token_does_the_same_request_once(transact, table):
    token = secrets.token_hex(16)
    request = update(table, "ADD n :one", one=1)
    for _ in range(3):
        transact(request, ClientRequestToken=token)
    assert table.get(pk="a") == item(pk="a", n=1)


def test_a_token_belongs_to_its_request(transact, table):
    token = secrets.token_hex(16)
    transact(put(table, pk="a"), ClientRequestToken=token)
    with refused("IdempotentParameterMismatchException"):
        transact(put(table, pk="b"), ClientRequestToken=token)
    assert table.get(pk="b") is None


def test_a_token_has_at_most_36_characters(transact, table):
    with invalid(containing="Member must have length less than or equal to 36"):
        transact(put(table, pk="a"), ClientRequestToken="x" * 37)


def test_a_repeated_token_is_charged_as_reading(transact, table):
    token = secrets.token_hex(16)
    options = {"ClientRequestToken": token, "ReturnConsumedCapacity": "TOTAL"}
    transact(put(table, pk="a"), **options)
    (consumed,) = transact(put(table, pk="a"), **options)["ConsumedCapacity"]
    assert consumed == {"TableName": table.name, "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}


# -- capacity ----------------------------------------------------------


def test_a_transaction_costs_double_on_the_table_and_single_on_indexes(transact, make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    response = transact(
        put(table, pk="1", a="x"),
        {"Put": {"TableName": table.name, "Item": sized_item(1500, pk="2")}},
        check(table, "attribute_not_exists(pk)", pk="3"),
        ReturnConsumedCapacity="INDEXES",
    )
    assert response["ConsumedCapacity"] == [
        {
            "TableName": table.name,
            "CapacityUnits": 9.0,
            "WriteCapacityUnits": 9.0,
            "Table": {"CapacityUnits": 8.0, "WriteCapacityUnits": 8.0},
            "GlobalSecondaryIndexes": {"gsi": {"CapacityUnits": 1.0, "WriteCapacityUnits": 1.0}},
        }
    ]


def test_collection_metrics_are_listed_per_table(transact, make_table):
    table = make_table("pk:S / sk:S", lsi={"lsi": "pk:S / a:S"})
    response = transact(put(table, pk="p", sk="s"), ReturnItemCollectionMetrics="SIZE")
    (metrics,) = response["ItemCollectionMetrics"][table.name]
    assert metrics["ItemCollectionKey"] == item(pk="p")


def test_the_type_of_an_index_key_in_an_update_is_a_reason_to_cancel(client, make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    update = {"UpdateExpression": "SET a = :v", "ExpressionAttributeValues": {":v": {"N": "1"}}}
    with pytest.raises(ClientError) as caught:
        client.transact_write_items(
            TransactItems=[{"Update": {"TableName": table.name, "Key": item(pk="a"), **update}}]
        )
    text = INVALID + "Type mismatch for Index Key a Expected: S Actual: N IndexName: gsi"
    assert caught.value.response["CancellationReasons"] == [{"Code": "ValidationError", "Message": text}]


def test_a_transaction_of_more_than_four_mebibytes_names_its_size(client, table):
    puts = [{"Put": {"TableName": table.name, "Item": item(pk=f"{at}", x="x" * 390_000)}} for at in range(12)]
    text = "Transaction payload size cannot exceed 4MB. Payload Size: "
    with invalid(containing=f"{text}: {text}4"):
        client.transact_write_items(TransactItems=puts)
    assert table.get(pk="0") is None
