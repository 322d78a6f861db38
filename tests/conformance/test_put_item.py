"""PutItem: the whole item is replaced, and nothing is stored that may not be."""

import pytest

from tests.conformance.refusal import CONDITION_FAILED, ENVELOPE, INVALID, invalid, not_found, refused
from tests.conformance.table import new_name
from tests.conformance.wire import item, nest, sized_item

TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)


def test_put_without_options_answers_an_empty_object(send, table):
    assert send("PutItem", {"TableName": table.name, "Item": item(pk="a")}) == (200, {})


def test_put_replaces_the_whole_item(table):
    table.put(pk="a", one=1, two=2)
    table.put(pk="a", three=3)
    assert table.get(pk="a") == item(pk="a", three=3)


def test_put_takes_the_arn_of_the_table_for_its_name(client, table):
    arn = table.describe_table()["Table"]["TableArn"]
    client.put_item(TableName=arn, Item=item(pk="a"))
    assert table.get(pk="a") == item(pk="a")


def test_an_item_comes_back_with_every_type_it_was_given(table):
    everything = item(
        pk="a",
        text="ä𝄞\n\0",
        number=-12,
        raw=b"\x00\xff",
        yes=True,
        no=False,
        nothing=None,
        strings={"a", "b"},
        numbers={1, 2},
        raws={b"x", b"y"},
        things=["a", 1, {"deep": []}],
        record={"k": {"M": {}}, "l": [None]},
    )
    table.put_item(Item=everything)
    assert table.get(pk="a") == everything


def test_empty_strings_and_binaries_are_fine_outside_the_key(table):
    given = item(pk="a", s="", b=b"", ss={""}, bs={b""})
    table.put_item(Item=given)
    assert table.get(pk="a") == given


def test_an_attribute_name_may_contain_anything(table):
    table.put_item(Item={**item(pk="a"), "a.b[0] \"'\n\0é#:": {"S": "x"}})
    assert set(table.get(pk="a")) == {"pk", "a.b[0] \"'\n\0é#:"}


# -- numbers ----------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("1000", "1000"),
        ("1e3", "1000"),
        ("+1000.0", "1000"),
        ("00042", "42"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1.e5", "100000"),
        ("-0", "0"),
        ("0e125", "0"),
        ("-1.50", "-1.5"),
        ("1E-7", "0.0000001"),
        ("1E125", "1" + "0" * 125),
        ("1E-130", "0." + "0" * 129 + "1"),
        ("9" * 38, "9" * 38),
        ("-" + "9" * 38 + "E87", "-" + "9" * 38 + "0" * 87),
        ("0." + "0" * 20 + "12345678901234567890123456789012345678", None),
    ],
)
def test_a_number_is_kept_exactly_and_in_its_normal_form(table, given, kept):
    table.put_item(Item=item(pk="a", n={"N": given}))
    assert table.get(pk="a")["n"] == {"N": kept or given}


OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
TOO_PRECISE = "Attempting to store more than 38 significant digits in a Number"
NOT_A_NUMBER = "The parameter cannot be converted to a numeric value: "


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("1" * 39, TOO_PRECISE),
        ("1E126", OVERFLOW),
        ("-1E126", OVERFLOW),
        ("1E-131", UNDERFLOW),
        ("0e126", OVERFLOW),
        ("0e-131", UNDERFLOW),
        ("1e2147483647", OVERFLOW),
        ("abc", NOT_A_NUMBER + "abc"),
        ("", NOT_A_NUMBER),
        (" 1", NOT_A_NUMBER + " 1"),
        ("NaN", NOT_A_NUMBER + "NaN"),
        ("Infinity", NOT_A_NUMBER + "Infinity"),
        ("0x10", NOT_A_NUMBER + "0x10"),
        ("1_000", NOT_A_NUMBER + "1_000"),
        ("1e99999999999999999999", NOT_A_NUMBER + "1e99999999999999999999"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda n: n, lambda n: {"L": [n]}, lambda n: {"NS": [n["N"]]}])
def test_a_number_that_cannot_be_kept_exactly_is_refused_wherever_it_stands(table, given, text, wrap):
    with invalid(ENVELOPE + text):
        table.put_item(Item=item(pk="a", n=wrap({"N": given})))


def test_numbers_written_differently_are_one_key(make_table):
    table = make_table("pk:N")
    for form in ("1000", "1e3", "+1000.0"):
        table.put_item(Item={"pk": {"N": form}, "form": {"S": form}})
    assert table.scan()["Items"] == [{"pk": {"N": "1000"}, "form": {"S": "+1000.0"}}]


# -- values ----------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"SS": []}, INVALID + "An string set  may not be empty"),
        ({"NS": []}, INVALID + "An number set  may not be empty"),
        ({"BS": []}, INVALID + "Binary sets should not be empty"),
        ({"NULL": False}, INVALID + "Null attribute value types must have the value of true"),
        ({"SS": ["b", "a", "b"]}, INVALID + 'Input collection ["a", "b", "b"] contains duplicates.'),
        ({"NS": ["1", "1.0"]}, INVALID + "Input collection contains duplicates."),
        (
            {"BS": [b"\xff", b"\x00", b"\x00"]},
            INVALID + 'Input collection ["AA==","/w==","AA=="]of type BS contains duplicates.',
        ),
    ],
)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"M": {"in": {"L": [v]}}}], ids=["top", "nested"])
def test_a_value_that_breaks_its_types_rules_is_refused_at_any_depth(table, wrong, text, wrap):
    with invalid(ENVELOPE + text):
        table.put_item(Item=item(pk="a", wrong=wrap(wrong)))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        ({"X": "a"}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        (
            {"S": "a", "N": "1"},
            (
                "Supplied AttributeValue has more than one datatypes set, "
                "must contain exactly one of the supported datatypes"
            ),
        ),
    ],
)
def test_a_value_has_exactly_one_type(send, table, wrong, text):
    status, response = send("PutItem", {"TableName": table.name, "Item": {"pk": {"S": "a"}, "wrong": wrong}})
    assert (status, response["message"]) == (400, text)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"N": 5}, "NUMBER_VALUE cannot be converted to String"),
        ({"S": 5.5}, "DECIMAL_VALUE cannot be converted to String"),
        ({"S": True}, "TRUE_VALUE cannot be converted to String"),
        ({"S": ["a"]}, "Unrecognized collection type class java.lang.String"),
        ({"S": {"a": 1}}, "Start of structure or map found where not expected"),
        ({"B": 5}, "only base-64-encoded strings are convertible to bytes"),
        ({"B": "abc"}, "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
        ({"BOOL": "maybe"}, "Unexpected token received from parser"),
        ({"SS": "a"}, "Unexpected field type"),
        ("a", "Unexpected value type in payload"),
    ],
)
def test_json_of_the_wrong_type_is_a_serialization_error(send, table, wrong, text):
    status, response = send("PutItem", {"TableName": table.name, "Item": {"pk": {"S": "a"}, "wrong": wrong}})
    assert status == 400
    assert response == {"__type": "com.amazon.coral.service#SerializationException", "Message": text}


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'"text"', b"\xff\xfe", b'{"TableName": NaN}'])
def test_a_body_that_is_no_json_object_is_a_serialization_error(send, body):
    status, response = send("PutItem", body)
    assert (status, response["__type"]) == (400, "com.amazon.coral.service#SerializationException")


def test_a_null_member_counts_as_absent(send, table):
    request = {"TableName": table.name, "Item": item(pk="a"), "ConditionExpression": None, "ReturnValues": None}
    assert send("PutItem", request) == (200, {})


def test_an_unknown_member_is_ignored(send, table):
    assert send("PutItem", {"TableName": table.name, "Item": item(pk="a"), "Colour": "blue"}) == (200, {})


def test_a_value_may_stand_on_level_32_and_no_deeper(table):
    table.put_item(Item=item(pk="a", deep=nest(31, {"S": "x"})))
    assert table.get(pk="a")["deep"] == nest(31, {"S": "x"})
    with invalid(TOO_DEEP):
        table.put_item(Item=item(pk="a", deep=nest(32, {"S": "x"})))


def test_an_absurdly_deep_item_is_refused_and_the_service_lives_on(send, table):
    depth = 2_000
    body = f'{{"TableName": "{table.name}", "Item": {{"pk": {{"S": "a"}}, "d": '.encode()
    body += b'{"L": [' * depth + b'{"S": "x"}' + b"]}" * depth + b"}}"
    status, _ = send("PutItem", body)
    assert status == 400
    table.put(pk="a")


def test_an_item_may_have_409600_bytes_and_not_one_more(table):
    table.put_item(Item=sized_item(409_600, pk="a"))
    with invalid("Item size has exceeded the maximum allowed size"):
        table.put_item(Item=sized_item(409_601, pk="a"))
    assert len(table.get(pk="a")["fill"]["S"]) == 409_600 - len("pk") - len("a") - len("fill")


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"N": "0"}, 1),
        ({"N": "12"}, 2),
        ({"N": "123"}, 3),
        ({"N": "100.5"}, 4),
        ({"N": "1.5"}, 3),
        ({"N": "-42"}, 3),
        ({"N": "1E125"}, 2),
        ({"S": "é𝄞"}, 6),
        ({"B": b"1234"}, 4),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["ab", "c"]}, 3),
        ({"NS": ["1", "12"]}, 4),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"N": "1"}]}, 3 + 1 + 2 + 1 + 2),
        ({"M": {}}, 3),
        ({"M": {"key": {"S": "ab"}}}, 3 + 1 + 3 + 2),
    ],
)
def test_the_size_of_an_item_is_counted_byte_for_byte(table, value, size):
    rest = 409_600 - len("v") - size
    table.put_item(Item={**sized_item(rest, pk="a"), "v": value})
    with invalid("Item size has exceeded the maximum allowed size"):
        table.put_item(Item={**sized_item(rest + 1, pk="a"), "v": value})


def test_the_size_is_checked_before_the_table_is_looked_up(client):
    with invalid("Item size has exceeded the maximum allowed size"):
        client.put_item(TableName=new_name(), Item=sized_item(409_601, pk="a"))


# -- keys ----------------------------------------------------------


def test_every_key_attribute_must_be_there(sorted_table):
    with invalid(INVALID + "Missing the key sk in the item"):
        sorted_table.put(pk="a")
    with invalid(INVALID + "Missing the key pk in the item"):
        sorted_table.put(sk=1)


def test_a_key_attribute_must_have_its_declared_type(sorted_table):
    with invalid(INVALID + "Type mismatch for key pk expected: S actual: N"):
        sorted_table.put(pk=1, sk=1)
    with invalid(INVALID + "Type mismatch for key sk expected: N actual: S"):
        sorted_table.put(pk="a", sk="1")


@pytest.mark.parametrize(("kind", "empty", "word"), [("S", "", "string"), ("B", b"", "binary")])
def test_a_key_value_may_not_be_empty(make_table, kind, empty, word):
    table = make_table(f"pk:{kind}")
    text = (
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
        f"{word} value. Key: pk"
    )
    with invalid(text):
        table.put(pk=empty)


def test_a_partition_key_has_up_to_2048_bytes_and_a_sort_key_up_to_1024(make_table):
    table = make_table("pk:S / sk:S")
    table.put(pk="é" * 1024, sk="é" * 512)
    assert table.get(pk="é" * 1024, sk="é" * 512)
    with invalid(INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"):
        table.put(pk="x" * 2049, sk="b")
    with invalid(INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"):
        table.put(pk="a", sk="x" * 1025)


def test_an_index_key_attribute_must_have_its_declared_type(make_table):
    table = make_table("pk:S", gsi={"gsi2": "a:S", "gsi1": "b:N"})
    with invalid(INVALID + "Type mismatch for Index Key a Expected: S Actual: N IndexName: gsi2"):
        table.put(pk="a", a=1)
    with invalid(INVALID + "Type mismatch for Index Key b Expected: N Actual: S IndexName: gsi1"):
        table.put(pk="a", a=1, b="x")
    with invalid(INVALID + "Type mismatch for Index Key a Expected: S Actual: NULL IndexName: gsi2"):
        table.put(pk="a", a=None)


def test_an_index_key_value_may_not_be_empty(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    text = (
        "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
        "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: gsi, IndexKey: a"
    )
    with invalid(text):
        table.put(pk="a", a="")


def test_an_unknown_table_is_not_found(client):
    with not_found():
        client.put_item(TableName=new_name(), Item=item(pk="a"))


def test_a_malformed_table_name_is_invalid_rather_than_unknown(client):
    with invalid():
        client.put_item(TableName="no spaces allowed", Item=item(pk="a"))


def test_an_empty_table_name_is_reported_alone(send):
    _, response = send("PutItem", {"TableName": "", "Item": item(pk="a"), "ReturnValues": "WRONG"})
    assert response["message"] == (
        ENVELOPE
        + "Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1"
    )


def test_wrong_enums_are_reported_together(send, table):
    wrong = {"ReturnConsumedCapacity": "INVALID", "ReturnValues": "INVALID", "ReturnItemCollectionMetrics": "INVALID"}
    _, response = send("PutItem", {"TableName": table.name, "Item": item(pk="a"), **wrong})
    assert response["message"] == (
        "3 validation errors detected: Value 'INVALID' at 'returnConsumedCapacity' failed to satisfy constraint: "
        "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; "
        "Failed to satisfy constraint: Member must satisfy enum value set: "
        "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]; ReturnItemCollectionMetrics can only be SIZE or NONE"
    )


# -- conditions ----------------------------------------------------------


def test_all_old_returns_what_was_replaced_and_nothing_when_there_was_nothing(table):
    assert "Attributes" not in table.put_item(Item=item(pk="a", n=1), ReturnValues="ALL_OLD")
    response = table.put_item(Item=item(pk="a", n=2), ReturnValues="ALL_OLD")
    assert response["Attributes"] == item(pk="a", n=1)


@pytest.mark.parametrize("choice", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_only_the_old_item_can_be_returned(table, choice):
    with invalid(ENVELOPE + "ReturnValues can only be ALL_OLD or NONE"):
        table.put_item(Item=item(pk="a"), ReturnValues=choice)


def test_a_condition_sees_the_stored_item_and_not_the_new_one(table):
    condition = {"ConditionExpression": "attribute_not_exists(pk)"}
    table.put_item(Item=item(pk="a", n=1), **condition)
    with refused("ConditionalCheckFailedException", CONDITION_FAILED):
        table.put_item(Item=item(pk="a", n=2), **condition)
    assert table.get(pk="a") == item(pk="a", n=1)


def test_the_item_that_failed_the_condition_comes_with_the_refusal_when_asked_for(table):
    table.put(pk="a", n=1)
    options = {"ConditionExpression": "n = :n", "ExpressionAttributeValues": item(**{":n": 2})}
    with refused("ConditionalCheckFailedException", CONDITION_FAILED) as caught:
        table.put_item(Item=item(pk="a"), ReturnValuesOnConditionCheckFailure="ALL_OLD", **options)
    assert caught.value.response["Item"] == item(pk="a", n=1)
    with refused("ConditionalCheckFailedException") as caught:
        table.put_item(Item=item(pk="b"), ReturnValuesOnConditionCheckFailure="ALL_OLD", **options)
    assert "Item" not in caught.value.response


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"ConditionExpression": ""}, "Invalid ConditionExpression: The expression can not be empty;"),
        (
            {"ConditionExpression": "INVALID SYNTAX"},
            'Invalid ConditionExpression: Syntax error; token: "SYNTAX", near: "INVALID SYNTAX"',
        ),
        (
            {"ConditionExpression": "size = :v", "ExpressionAttributeValues": {":v": {"S": "a"}}},
            "Invalid ConditionExpression: Attribute name is a reserved keyword; reserved keyword: size",
        ),
        (
            {"ConditionExpression": "#x = :v", "ExpressionAttributeValues": {":v": {"S": "a"}}},
            (
                "Invalid ConditionExpression: An expression attribute name used in the document path is not defined; "
                "attribute name: #x"
            ),
        ),
        (
            {"ConditionExpression": "a = :v"},
            (
                "Invalid ConditionExpression: An expression attribute value used in expression is not defined; "
                "attribute value: :v"
            ),
        ),
        (
            {"ConditionExpression": "((a = :v))", "ExpressionAttributeValues": {":v": {"S": "a"}}},
            "Invalid ConditionExpression: The expression has redundant parentheses;",
        ),
        (
            {"ConditionExpression": "a = a"},
            (
                "Invalid ConditionExpression: The first operand must be distinct from the remaining operands for this "
                "operator or function; operator: =, first operand: [a]"
            ),
        ),
        (
            {"ConditionExpression": "attribute_exists(a)", "ExpressionAttributeValues": {":v": {"S": "a"}}},
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}",
        ),
        (
            {"ConditionExpression": "attribute_exists(a)", "ExpressionAttributeNames": {"#x": "a"}},
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}",
        ),
        (
            {"ExpressionAttributeNames": {"#x": "a"}},
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            {"ExpressionAttributeValues": {":v": {"S": "a"}}},
            "ExpressionAttributeValues can only be specified when using expressions",
        ),
        (
            {"ConditionExpression": "attribute_exists(a)", "Expected": {"a": {"Exists": False}}},
            (
                "Can not use both expression and non-expression parameters in the same request: "
                "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}"
            ),
        ),
    ],
)
def test_a_condition_that_makes_no_sense_is_explained_in_the_envelope(table, options, text):
    with invalid(ENVELOPE + text):
        table.put_item(Item=item(pk="a"), **options)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"SS": [None]}, INVALID + "An string set may not have a null string as a member"),
        ({"SS": ["a", None]}, INVALID + "An string set may not have a null string as a member"),
        ({"L": [{"SS": ["a", None]}]}, INVALID + "An string set may not have a null string as a member"),
        (
            {"NS": ["1", None]},
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
        (
            {"BS": ["QQ==", None]},
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
    ],
)
def test_null_is_no_member_of_a_set(send, table, value, text):
    for operation, request in (
        ("PutItem", {"Item": {"pk": {"S": "a"}, "v": value}}),
        ("Scan", {"FilterExpression": "a = :v", "ExpressionAttributeValues": {":v": value}}),
    ):
        status, response = send(operation, {"TableName": table.name, **request})
        assert (status, response["__type"].partition("#")[2], response["message"]) == (400, "ValidationException", text)


def test_the_text_of_a_failed_condition_is_the_same_member_beside_the_item(send, table):
    table.put(pk="a", n=1)
    request = {
        "TableName": table.name,
        "Item": {"pk": {"S": "a"}},
        "ConditionExpression": "attribute_not_exists(pk)",
    }
    name = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
    assert send("PutItem", request) == (400, {"__type": name, "message": "The conditional request failed"})
    status, response = send("PutItem", {**request, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"})
    assert status == 400
    assert response == {
        "__type": name,
        "message": "The conditional request failed",
        "Item": {"pk": {"S": "a"}, "n": {"N": "1"}},
    }
