"""UpdateItem, what it returns: the whole item, or exactly the parts that the expression touched."""

import pytest

from tests.conformance.wire import item

KEY = item(pk="a")


def returned(table, choice, before, expression, **values):
    if before is not None:
        table.put(pk="a", **before)
    options = {"ExpressionAttributeValues": item(**{f":{name}": v for name, v in values.items()})} if values else {}
    response = table.update_item(Key=KEY, UpdateExpression=expression, ReturnValues=choice, **options)
    return response.get("Attributes")


def test_nothing_is_returned_unless_asked_for(table):
    assert returned(table, "NONE", {"n": 1}, "SET n = :v", v=2) is None


def test_all_old_and_all_new_are_whole_items_with_their_key(table):
    assert returned(table, "ALL_OLD", {"n": 1, "m": 1}, "SET n = :v", v=2) == item(pk="a", n=1, m=1)
    assert returned(table, "ALL_NEW", {"n": 1, "m": 1}, "SET n = :v", v=2) == item(pk="a", n=2, m=1)


def test_all_old_of_a_missing_item_is_nothing(table):
    assert returned(table, "ALL_OLD", None, "SET n = :v", v=2) is None


@pytest.mark.parametrize(
    ("before", "expression", "values", "old", "new"),
    [
        ({"n": 1, "m": 1}, "SET n = :v", {"v": 2}, {"n": 1}, {"n": 2}),
        ({"m": {"x": 1, "y": 1}}, "SET m.x = :v", {"v": 2}, {"m": {"x": 1}}, {"m": {"x": 2}}),
        ({"m": {"x": {"z": 1, "w": 1}}}, "SET m.x.z = :v", {"v": 2}, {"m": {"x": {"z": 1}}}, {"m": {"x": {"z": 2}}}),
        ({"l": [0, 1, 2, 3]}, "SET l[3] = :v, l[1] = :v", {"v": 9}, {"l": [1, 3]}, {"l": [9, 9]}),
        ({"n": 1}, "SET spare = :v", {"v": 2}, None, {"spare": 2}),
        ({"n": 1, "m": 1}, "REMOVE n", {}, {"n": 1}, None),
        ({"n": 1}, "REMOVE absent", {}, None, None),
        ({"l": [0, 1, 2]}, "REMOVE l[1]", {}, {"l": [1]}, {"l": [2]}),
        ({"l": [0]}, "SET l[99] = :v", {"v": 9}, None, None),
        ({"n": 1}, "ADD n :v", {"v": 2}, {"n": 1}, {"n": 3}),
        ({"s": {"a", "b"}}, "DELETE s :v", {"v": {"a"}}, {"s": {"a", "b"}}, {"s": {"b"}}),
        ({"s": {"a"}}, "DELETE s :v", {"v": {"a"}}, {"s": {"a"}}, None),
        ({"n": 1, "m": 2}, "SET n = m REMOVE m", {}, {"n": 1, "m": 2}, {"n": 2}),
    ],
)
def test_updated_old_and_updated_new_hold_only_the_touched_parts(table, before, expression, values, old, new):
    assert returned(table, "UPDATED_OLD", before, expression, **values) == (old and item(**old))
    assert returned(table, "UPDATED_NEW", before, expression, **values) == (new and item(**new))


# -- the legacy form of updates ----------------------------------------------------------


def change(action, content=None):
    given = item(v=content) if content is not None else {}
    return {"Action": action, **({"Value": given["v"]} if given else {})}


@pytest.mark.parametrize(
    ("before", "name", "action", "after"),
    [
        ({"n": 1}, "n", change("PUT", 5), {"n": 5}),
        ({"n": 1}, "n", change("ADD", 5), {"n": 6}),
        ({}, "n", change("ADD", 5), {"n": 5}),
        ({"s": {"a"}}, "s", change("ADD", {"b"}), {"s": {"a", "b"}}),
        ({"l": [1]}, "l", change("ADD", [2]), {"l": [1, 2]}),
        ({"n": 1, "m": 1}, "n", change("DELETE"), {"m": 1}),
        ({"s": {"a", "b"}}, "s", change("DELETE", {"a"}), {"s": {"b"}}),
        ({"a.b": 1}, "a.b", change("PUT", 2), {"a.b": 2}),
    ],
)
def test_attribute_updates_change_whole_attributes(table, before, name, action, after):
    table.put(pk="a", **before)
    table.update_item(Key=KEY, AttributeUpdates={name: action})
    assert table.get(pk="a") == item(pk="a", **after)


def test_an_empty_attribute_updates_creates_the_bare_item(table):
    table.update_item(Key=KEY, AttributeUpdates={})
    assert table.get(pk="a") == KEY


def test_attribute_updates_return_what_they_touched(table):
    table.put(pk="a", n=1, m=1)
    response = table.update_item(Key=KEY, AttributeUpdates={"n": change("ADD", 1)}, ReturnValues="UPDATED_NEW")
    assert response["Attributes"] == item(n=2)
