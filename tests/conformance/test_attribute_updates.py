"""AttributeUpdates, the legacy form of updates: what it refuses."""

import pytest

from tests.conformance.refusal import ENVELOPE, INVALID, invalid
from tests.conformance.wire import item

KEY = item(pk="a")


@pytest.mark.parametrize(
    ("update", "text"),
    [
        ({"Action": "PUT"}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "DELETE", "Value": {"S": "x"}}, "DELETE action with value is not supported for the type S"),
        ({"Action": "ADD", "Value": {"S": "x"}}, "ADD action is not supported for the type S"),
    ],
)
def test_an_action_must_suit_its_value(table, update, text):
    with invalid(containing=INVALID + text):
        table.update_item(Key=KEY, AttributeUpdates={"a": update})


def test_adding_to_another_type_is_refused(table):
    table.put(pk="a", s="x")
    with invalid("Type mismatch for attribute to update"):
        table.update_item(Key=KEY, AttributeUpdates={"s": {"Action": "ADD", "Value": {"N": "1"}}})


def test_the_key_cannot_be_updated(table):
    with invalid(INVALID + "Cannot update attribute pk. This attribute is part of the key"):
        table.update_item(Key=KEY, AttributeUpdates={"pk": {"Action": "PUT", "Value": {"S": "a"}}})


def test_old_and_new_ways_to_update_do_not_mix(table):
    text = (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributeUpdates} Expression parameters: {UpdateExpression}"
    )
    with invalid(ENVELOPE + text):
        table.update_item(
            Key=KEY,
            AttributeUpdates={"a": {"Action": "PUT", "Value": {"S": "x"}}},
            UpdateExpression="REMOVE a",
        )


@pytest.mark.parametrize(
    ("name", "text"),
    [("", "Empty attribute name"), ("é" * 32768, "Attribute name is too large, must be less than 65536 bytes")],
    ids=["empty", "too long"],
)
@pytest.mark.parametrize("action", ["PUT", "ADD", "DELETE"])
def test_an_attribute_name_has_a_byte_at_least_and_65535_at_most(table, name, text, action):
    with invalid(text):
        table.update_item(Key=KEY, AttributeUpdates={name: {"Action": action, "Value": {"NS": ["1"]}}})
    assert table.get(pk="a") is None
    longest = "x" * 65535
    table.update_item(Key=KEY, AttributeUpdates={longest: {"Value": {"N": "1"}}})
    assert table.get(pk="a") == {**KEY, longest: {"N": "1"}}


def test_a_name_inside_a_value_has_65535_bytes_at_most(table):
    with invalid(containing="Attribute name is too large, must be less than 65536 bytes"):
        table.update_item(Key=KEY, AttributeUpdates={"m": {"Action": "PUT", "Value": {"M": {"x" * 65536: {"S": ""}}}}})
    assert table.get(pk="a") is None
