"""Expected, the legacy form of conditions, on the operations that take it."""

import pytest

from tests.conformance.refusal import CONDITION_FAILED, ENVELOPE, INVALID, invalid, refused
from tests.conformance.wire import item


@pytest.mark.parametrize(
    ("expected", "holds"),
    [
        ({"n": {"Value": {"N": "1.0"}}}, True),
        ({"n": {"Value": {"N": "2"}}}, False),
        ({"n": {"Exists": False}}, False),
        ({"other": {"Exists": False}}, True),
        ({"n": {"ComparisonOperator": "GT", "AttributeValueList": [{"N": "0"}]}}, True),
        ({"n": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"N": "2"}, {"N": "3"}]}}, False),
        ({"n": {"ComparisonOperator": "NOT_NULL"}}, True),
        ({"other": {"ComparisonOperator": "NULL"}}, True),
        ({"other": {"ComparisonOperator": "NE", "AttributeValueList": [{"N": "1"}]}}, True),
        ({"s": {"ComparisonOperator": "BEGINS_WITH", "AttributeValueList": [{"S": "ab"}]}}, True),
        ({"s": {"ComparisonOperator": "CONTAINS", "AttributeValueList": [{"S": "bc"}]}}, True),
        ({"s": {"ComparisonOperator": "IN", "AttributeValueList": [{"S": "x"}, {"S": "abc"}]}}, True),
    ],
)
def test_expected_guards_a_put(table, expected, holds):
    table.put(pk="a", n=1, s="abc")
    if holds:
        table.put_item(Item=item(pk="a"), Expected=expected)
        return
    with refused("ConditionalCheckFailedException", CONDITION_FAILED):
        table.put_item(Item=item(pk="a"), Expected=expected)


def test_expected_conditions_are_joined_as_asked(table):
    table.put(pk="a", n=1)
    expected = {"n": {"Value": {"N": "1"}}, "other": {"Value": {"N": "1"}}}
    with refused("ConditionalCheckFailedException"):
        table.put_item(Item=item(pk="a"), Expected=expected)
    table.put_item(Item=item(pk="a"), Expected=expected, ConditionalOperator="OR")


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ({"a": {}}, "Value must be provided when Exists is null for Attribute: a"),
        ({"a": {"Exists": True}}, "Value must be provided when Exists is true for Attribute: a"),
        ({"a": {"Exists": False, "Value": {"S": "x"}}}, "Value cannot be used when Exists is false for Attribute: a"),
        (
            {"a": {"ComparisonOperator": "EQ"}},
            "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a",
        ),
        (
            {"a": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"N": "1"}]}},
            "Invalid number of argument(s) for the BETWEEN ComparisonOperator",
        ),
        (
            {"a": {"ComparisonOperator": "LT", "AttributeValueList": [{"SS": ["x"]}]}},
            "ComparisonOperator LT is not valid for SS AttributeValue type",
        ),
    ],
)
def test_a_malformed_expected_is_refused(table, expected, text):
    with invalid(ENVELOPE + INVALID + text):
        table.put_item(Item=item(pk="a"), Expected=expected)


def test_a_range_whose_bounds_are_swapped_is_refused(table):
    expected = {"a": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"N": "2"}, {"N": "1"}]}}
    text = "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    with invalid(containing=text):
        table.put_item(Item=item(pk="a"), Expected=expected)


def test_a_conditional_operator_needs_two_conditions_to_join(table):
    text = "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    with invalid(containing=text):
        table.put_item(Item=item(pk="a"), Expected={"a": {"Exists": False}}, ConditionalOperator="AND")


def test_expected_guards_an_update_and_a_delete(table):
    table.put(pk="a", n=1)
    unmet = {"n": {"Value": {"N": "2"}}}
    with refused("ConditionalCheckFailedException", CONDITION_FAILED):
        table.update_item(Key=item(pk="a"), AttributeUpdates={"n": {"Value": {"N": "5"}}}, Expected=unmet)
    with refused("ConditionalCheckFailedException", CONDITION_FAILED):
        table.delete_item(Key=item(pk="a"), Expected=unmet)
    assert table.get(pk="a") == item(pk="a", n=1)
    table.delete_item(Key=item(pk="a"), Expected={"n": {"Value": {"N": "1"}}})
    assert table.get(pk="a") is None


@pytest.mark.parametrize(
    ("name", "text"),
    [("", "Empty attribute name"), ("x" * 65536, "Attribute name is too large, must be less than 65536 bytes")],
    ids=["empty", "too long"],
)
def test_conditions_name_attributes_that_can_exist(table, name, text):
    with invalid(text):
        table.put_item(Item=item(pk="a"), Expected={name: {"Exists": False}})
    with invalid(text):
        table.scan(ScanFilter={name: {"ComparisonOperator": "NULL"}})
    key = {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}
    with invalid(text):
        table.query(KeyConditions={"pk": key}, QueryFilter={name: {"ComparisonOperator": "NULL"}})
    with invalid(text):
        table.query(KeyConditions={name: key})
