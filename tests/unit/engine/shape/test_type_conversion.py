"""Type conversion: what is read into what, and the exact SerializationException of what cannot be."""

import pytest

from hashrange.core.errors import SerializationException, ServiceError
from hashrange.core.values import measure
from hashrange.engine import shape
from tests.unit.engine.shape.conversion import convert

AWS = "com.amazonaws.dynamodb.v20120810"
STRUCTURE = "Start of structure or map found where not expected"
GENERIC = (
    "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class java.lang.Class "
    "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in module java.base "
    "of loader 'bootstrap')"
)
TABLE = {"TableName": "orders"}
ATTRIBUTES = f"Unrecognized collection type java.util.Map<java.lang.String, {AWS}.AttributeValue>"


def refusal_of(operation, request):
    with pytest.raises(SerializationException) as caught:
        convert(operation, request)
    return caught.value.message


def put(**members):
    return {**TABLE, "Item": {}, **members}


def refusal_of_value(value):
    return refusal_of("PutItem", put(Item={"a": value}))


def convert_value(value):
    return convert("PutItem", put(Item={"a": value}))["Item"]["a"]


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (1, "NUMBER_VALUE cannot be converted to String"),
        (1.5, "DECIMAL_VALUE cannot be converted to String"),
        (True, "TRUE_VALUE cannot be converted to String"),
        (False, "FALSE_VALUE cannot be converted to String"),
        ([], "Unrecognized collection type class java.lang.String"),
        ({}, STRUCTURE),
    ],
)
def test_only_a_text_is_read_as_a_text(found, text):
    assert refusal_of("GetItem", {"TableName": found}) == text
    assert refusal_of_value({"S": found}) == text
    assert refusal_of_value({"SS": ["a", found]}) == text
    assert refusal_of("GetItem", {"ExpressionAttributeNames": {"#a": found}}) == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ("1", "STRING_VALUE cannot be converted to {}"),
        (True, "TRUE_VALUE cannot be converted to {}"),
        (False, "FALSE_VALUE cannot be converted to {}"),
        ([1], "Unrecognized collection type class java.lang.{}"),
        ({}, STRUCTURE),
    ],
)
def test_only_a_number_is_read_as_a_number(found, text):
    assert refusal_of("Query", {**TABLE, "Limit": found}) == text.format("Integer")
    throughput = {"ReadCapacityUnits": found}
    assert refusal_of("CreateTable", {"ProvisionedThroughput": throughput}) == text.format("Long")


@pytest.mark.parametrize(("found", "read"), [(5, 5), (5.9, 5), (1e300, 2**63 - 1)])
def test_numbers_are_floored(found, read):
    assert convert("Query", {**TABLE, "Limit": found})["Limit"] == read


def test_times_keep_their_fraction():
    assert convert("ListBackups", {"TimeRangeLowerBound": 1.5}) == {"TimeRangeLowerBound": 1.5}


@pytest.mark.parametrize(
    ("found", "read"),
    [
        (True, True),
        ("true", True),
        ("TRUE", True),
        ("1", True),
        ("yes", True),
        ("False", False),
        ("0", False),
        ("no", False),
    ],
)
def test_booleans_are_read_from_words_too(found, read):
    assert convert("Query", {**TABLE, "ConsistentRead": found})["ConsistentRead"] is read
    assert convert_value({"BOOL": found}) == {"BOOL": read}
    assert convert_value({"NULL": found}) == {"NULL": read}


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ("maybe", "Unexpected token received from parser"),
        ("", "Unexpected token received from parser"),
        (1, "NUMBER_VALUE cannot be converted to Boolean"),
        (0.5, "DECIMAL_VALUE cannot be converted to Boolean"),
        ([True], "Unrecognized collection type class java.lang.Boolean"),
        ({}, STRUCTURE),
    ],
)
def test_no_other_word_or_type_is_read_as_a_boolean(found, text):
    assert refusal_of("Query", {**TABLE, "ConsistentRead": found}) == text
    assert refusal_of_value({"BOOL": found}) == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (1, "only base-64-encoded strings are convertible to bytes"),
        (True, "only base-64-encoded strings are convertible to bytes"),
        (["YQ=="], "Unrecognized collection type class java.nio.ByteBuffer"),
        ({}, STRUCTURE),
        ("YQ=", "Base64 encoded length is expected a multiple of 4 bytes but found: 3"),
        ("a", "Base64 encoded length is expected a multiple of 4 bytes but found: 1"),
        ("YR==", "Invalid last non-pad Base64 character dectected"),
        ("!!!!", "Invalid last non-pad Base64 character dectected"),
    ],
)
def test_only_strict_base64_is_read_as_bytes(found, text):
    assert refusal_of_value({"B": found}) == text
    assert refusal_of_value({"BS": ["YQ==", found]}) == text


@pytest.mark.parametrize("found", [1, 0.5, True, "a"])
def test_a_scalar_is_read_neither_as_a_list_nor_as_an_object(found):
    assert refusal_of("GetItem", {"AttributesToGet": found}) == "Unexpected field type"
    assert refusal_of("GetItem", {"Key": found}) == "Unexpected field type"
    assert refusal_of("CreateTable", {"ProvisionedThroughput": found}) == "Unexpected field type"
    assert refusal_of("UpdateItem", {"AttributeUpdates": {"a": {"Value": found}}}) == "Unexpected field type"
    assert refusal_of_value({"L": found}) == "Unexpected field type"
    assert refusal_of_value({"M": found}) == "Unexpected field type"
    assert refusal_of_value({"NS": found}) == "Unexpected field type"


@pytest.mark.parametrize("found", [1, 0.5, True, "a"])
def test_a_scalar_among_objects_is_refused(found):
    assert refusal_of_value(found) == "Unexpected value type in payload"
    assert refusal_of_value({"L": [found]}) == "Unexpected value type in payload"
    assert refusal_of_value({"M": {"b": found}}) == "Unexpected value type in payload"
    assert refusal_of("CreateTable", {"KeySchema": [found]}) == "Unexpected value type in payload"
    assert refusal_of("Query", {"KeyConditions": {"a": found}}) == "Unexpected value type in payload"
    assert refusal_of("GetItem", found) == "Unexpected value type in payload"


@pytest.mark.parametrize("found", [1, "a"])
def test_a_scalar_for_a_list_or_map_that_is_itself_an_element_shows_the_java_inside(found):
    assert refusal_of("BatchGetItem", {"RequestItems": {"t": {"Keys": [found]}}}) == GENERIC
    assert refusal_of("BatchWriteItem", {"RequestItems": {"t": found}}) == GENERIC


def test_a_list_for_an_object_names_the_java_class():
    assert refusal_of("GetItem", {"Key": []}) == ATTRIBUTES
    assert refusal_of_value({"M": []}) == ATTRIBUTES
    assert refusal_of("BatchGetItem", {"RequestItems": {"t": {"Keys": [[]]}}}) == ATTRIBUTES
    names = "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>"
    assert refusal_of("GetItem", {"ExpressionAttributeNames": []}) == names
    assert refusal_of("BatchWriteItem", {"RequestItems": []}) == (
        f"Unrecognized collection type java.util.Map<java.lang.String, java.util.List<{AWS}.WriteRequest>>"
    )
    kind = f"Unrecognized collection type class {AWS}."
    assert refusal_of_value([]) == f"{kind}AttributeValue"
    assert refusal_of("CreateTable", {"KeySchema": [[]]}) == f"{kind}KeySchemaElement"
    assert refusal_of("CreateTable", {"ProvisionedThroughput": []}) == f"{kind}ProvisionedThroughput"
    assert refusal_of("GetItem", []) == f"{kind}GetItemInput"


def test_an_object_for_a_list_is_refused():
    assert refusal_of("GetItem", {"AttributesToGet": {}}) == STRUCTURE
    assert refusal_of("BatchWriteItem", {"RequestItems": {"t": {}}}) == STRUCTURE
    assert refusal_of_value({"L": {}}) == STRUCTURE


def test_nulls_and_unknown_members_are_dropped():
    request = {
        **TABLE,
        "Key": {"pk": {"S": "a", "N": None, "Q": 1}},
        "ConsistentRead": None,
        "Colour": "green",
        "ExpressionAttributeNames": {"#a": "a", "#b": None},
    }
    assert convert("GetItem", request) == {
        **TABLE,
        "Key": {"pk": {"S": "a"}},
        "ExpressionAttributeNames": {"#a": "a"},
    }


def test_the_request_itself_is_left_as_it_was():
    request = put(Item={"a": {"BOOL": "true", "S": None}}, ReturnValues=None)
    convert("PutItem", request)
    assert request == put(Item={"a": {"BOOL": "true", "S": None}}, ReturnValues=None)


def test_null_for_an_attribute_value_is_a_value_of_no_type():
    assert convert_value(None) == {}
    assert convert_value({"L": [None, {"S": None}]}) == {"L": [{}, {}]}
    assert convert_value({"M": {"b": None}}) == {"M": {"b": {}}}


def test_null_is_no_member_of_a_list_of_texts():
    assert refusal_of("GetItem", {"AttributesToGet": [None]}) == "Unexpected value type in payload"


def test_the_first_misfit_in_the_order_of_the_request_is_reported():
    assert refusal_of("PutItem", {"Item": {"a": {"S": 1}}, "TableName": True}).startswith("NUMBER_VALUE")
    assert refusal_of("PutItem", {"TableName": True, "Item": {"a": {"S": 1}}}).startswith("TRUE_VALUE")
    assert refusal_of("PutItem", {"Item": {"a": {"L": [{"N": 1}]}, "b": {"S": True}}}).startswith("NUMBER_VALUE")


def test_misfits_are_reported_before_anything_else_that_is_wrong():
    assert refusal_of("PutItem", {"ReturnValues": "ODD", "Item": {"a": {"N": 5}}}) == (
        "NUMBER_VALUE cannot be converted to String"
    )


def test_what_an_attribute_value_may_hold_is_left_to_the_engine():
    item = {"a": {"SS": []}, "b": {"N": "x"}, "c": {"NULL": False}, "d": {}, "": {"S": "", "N": ""}}
    assert convert("PutItem", put(Item=item))["Item"] == item


def test_the_strict_reader_of_searchvectors_refuses_null():
    column = len('{"TableName":"orders","IndexName":null')
    text = f"invalid type: null, expected a string at line 1 column {column}"
    assert refusal_of("SearchVectors", {"TableName": "orders", "IndexName": None, "TopK": None}) == text


def nested(levels, leaf):
    for _ in range(levels):
        leaf = {"M": {"a": {"L": [leaf]}}}
    return leaf


@pytest.mark.parametrize("levels", [15, 40, 340, 20_000])
def test_no_depth_exhausts_the_stack(levels):
    request = {"RequestItems": {"t": [{"PutRequest": {"Item": {"a": nested(levels, {"S": "x"})}}}] * 26}}
    assert shape.accept("PutItem", put(Item={"a": nested(levels, {"S": "x"})}))
    assert convert("PutItem", put(Item={"a": nested(levels, {"S": "x"})}))
    with pytest.raises(ServiceError):
        convert("BatchWriteItem", request)


def test_a_misfit_within_any_depth_that_can_be_stored_is_found():
    assert refusal_of_value(nested(16, {"S": 1})) == "NUMBER_VALUE cannot be converted to String"


def test_converted_values_hold_no_type_that_the_engine_cannot_read():
    value = convert_value({"M": {"a": {"BOOL": "yes"}, "b": {"L": [{"B": "YQ=="}]}, "c": {"BS": ["YQ=="], "S": None}}})
    assert measure(value) > 0
