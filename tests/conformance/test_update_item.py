"""UpdateItem: changes what the expression names, from the item as it was before, and creates what is absent."""

import pytest

from tests.conformance.refusal import CONDITION_FAILED, ENVELOPE, INVALID, invalid, not_found, refused
from tests.conformance.table import new_name
from tests.conformance.wire import item, nest, sized_item

KEY = item(pk="a")


def update(table, expression, /, names=None, returning=None, **values):
    options = {"UpdateExpression": expression} if expression is not None else {}
    if names:
        options["ExpressionAttributeNames"] = names
    if values:
        options["ExpressionAttributeValues"] = item(**{f":{name}": given for name, given in values.items()})
    if returning:
        options["ReturnValues"] = returning
    return table.update_item(Key=KEY, **options).get("Attributes")


def updated(table, before, expression, /, **values):
    table.put(pk="a", **before)
    update(table, expression, **values)
    after = table.get(pk="a")
    del after["pk"]
    return after


# -- creating ----------------------------------------------------------


def test_update_creates_the_item_that_is_missing(table):
    update(table, "SET n = :n", n=1)
    assert table.get(pk="a") == item(pk="a", n=1)


def test_update_without_an_expression_creates_the_bare_key(table):
    assert update(table, None) is None
    assert table.get(pk="a") == KEY


@pytest.mark.parametrize("expression", ["REMOVE n", "DELETE s :s", "REMOVE l[0]", "REMOVE m.x"])
def test_taking_away_from_a_missing_item_creates_nothing(table, expression):
    values = {"s": {"a"}} if ":s" in expression else {}
    assert update(table, expression, returning="ALL_NEW", **values) is None
    assert table.get(pk="a") is None


# -- SET ----------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "expression", "values", "after"),
    [
        ({"n": 1}, "SET n = :v", {"v": "x"}, {"n": "x"}),
        ({"n": 1, "m": 2}, "SET n = m, m = n", {}, {"n": 2, "m": 1}),
        ({"n": 1}, "SET n = n + :v", {"v": 5}, {"n": 6}),
        ({"n": 1}, "SET n = :v - n", {"v": 5}, {"n": 4}),
        ({"n": 1}, "SET m = if_not_exists(m, :v) + n", {"v": 5}, {"n": 1, "m": 6}),
        ({"n": 1}, "SET n = if_not_exists(n, :v)", {"v": 5}, {"n": 1}),
        ({"l": [1]}, "SET l = list_append(l, :v)", {"v": [2]}, {"l": [1, 2]}),
        ({"l": [1]}, "SET l = list_append(:v, l)", {"v": [2]}, {"l": [2, 1]}),
        ({}, "SET l = list_append(if_not_exists(l, :e), :v)", {"e": [], "v": [2]}, {"l": [2]}),
        ({"m": {"x": 1}}, "SET m.y = :v", {"v": 2}, {"m": {"x": 1, "y": 2}}),
        ({"l": [1, 2]}, "SET l[0] = :v", {"v": 9}, {"l": [9, 2]}),
        ({"l": [1]}, "SET l[99] = :v, l[50] = :w", {"v": "last", "w": "first"}, {"l": [1, "first", "last"]}),
        ({"l": [{"x": 1}]}, "SET l[0].x = :v", {"v": 2}, {"l": [{"x": 2}]}),
        ({"n": 1}, "SET n = (n + :v)", {"v": 1}, {"n": 2}),
        ({"n": {"N": "1E125"}}, "SET n = n - n, m = n", {}, {"n": 0, "m": {"N": "1" + "0" * 125}}),
    ],
)
def test_set_reads_the_item_as_it_was_before(table, before, expression, values, after):
    assert updated(table, before, expression, **values) == item(**after)


def test_arithmetic_is_exact_in_38_digits(table):
    big = {"N": "9" * 37}
    assert updated(table, {"n": big}, "SET n = n + :v", v=1) == {"n": {"N": "1" + "0" * 37}}
    assert updated(table, {"n": {"N": "0.1"}}, "SET n = n + :v", v={"N": "0.2"}) == {"n": {"N": "0.3"}}


@pytest.mark.parametrize("other", [{"N": "1E50"}, {"N": "9" * 38}])
def test_a_sum_that_needs_more_than_38_digits_is_refused(table, other):
    table.put(pk="a", n=other)
    before = table.get(pk="a")
    with invalid(containing="Number overflow. Attempting to store a number with magnitude larger than supported range"):
        update(table, "SET n = n + :v", v={"N": "0.1"})
    assert table.get(pk="a") == before


# -- REMOVE, ADD, DELETE ----------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "expression", "values", "after"),
    [
        ({"n": 1, "m": 2}, "REMOVE n", {}, {"m": 2}),
        ({"n": 1}, "REMOVE absent", {}, {"n": 1}),
        ({"l": [0, 1, 2, 3]}, "REMOVE l[1], l[2]", {}, {"l": [0, 3]}),
        ({"l": [0]}, "REMOVE l[0], l[99]", {}, {"l": []}),
        ({"m": {"x": 1}}, "REMOVE m.x", {}, {"m": {"M": {}}}),
        ({"n": 1}, "ADD n :v", {"v": 5}, {"n": 6}),
        ({}, "ADD n :v", {"v": 5}, {"n": 5}),
        ({"s": {"a"}}, "ADD s :v", {"v": {"a", "b"}}, {"s": {"a", "b"}}),
        ({"m": {"n": 1}}, "ADD m.n :v", {"v": 1}, {"m": {"n": 2}}),
        ({"s": {"a", "b"}}, "DELETE s :v", {"v": {"a", "x"}}, {"s": {"b"}}),
        ({"s": {"a"}}, "DELETE s :v", {"v": {"a"}}, {}),
        ({"n": 1}, "DELETE absent :v", {"v": {"a"}}, {"n": 1}),
        (
            {"a": 1, "b": 2, "c": {"x"}},
            "SET n = a REMOVE b ADD a :v DELETE c :s",
            {"v": 1, "s": {"x"}},
            {"n": 1, "a": 2},
        ),
    ],
)
def test_the_other_sections_do_what_their_names_say(table, before, expression, values, after):
    assert updated(table, before, expression, **values) == item(**after)


def test_a_set_stays_a_set_when_numbers_are_spelt_differently(table):
    after = updated(table, {"s": {1, 2}}, "ADD s :v", v={"NS": ["1.0", "3"]})
    assert after == {"s": {"NS": ["1", "2", "3"]}}


# -- refusals at run time ----------------------------------------------------------

MISSING = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
WRONG_PATH = "The document path provided in the update expression is invalid for update"


@pytest.mark.parametrize(
    ("before", "expression", "values", "text"),
    [
        ({}, "SET n = absent", {}, MISSING),
        ({}, "SET n = n + :v", {"v": 1}, MISSING),
        ({}, "SET l = list_append(l, :v)", {"v": []}, MISSING),
        ({"s": "x"}, "SET n = s + :v", {"v": 1}, WRONG_TYPE),
        ({"s": "x"}, "SET l = list_append(s, :v)", {"v": []}, WRONG_TYPE),
        ({"s": "x"}, "ADD s :v", {"v": 1}, WRONG_TYPE),
        ({"s": {"x"}}, "ADD s :v", {"v": {1}}, WRONG_TYPE),
        ({"s": "x"}, "DELETE s :v", {"v": {"x"}}, WRONG_TYPE),
        ({}, "SET m.x = :v", {"v": 1}, WRONG_PATH),
        ({"m": "x"}, "SET m.x = :v", {"v": 1}, WRONG_PATH),
        ({"m": {"x": 1}}, "SET m[0] = :v", {"v": 1}, WRONG_PATH),
        ({"l": [1]}, "SET l.x = :v", {"v": 1}, WRONG_PATH),
        ({}, "REMOVE m.x", {}, WRONG_PATH),
    ],
)
def test_an_update_that_does_not_fit_the_item_changes_nothing(table, before, expression, values, text):
    table.put(pk="a", **before)
    with invalid(text):
        update(table, expression, **values)
    assert table.get(pk="a") == item(pk="a", **before)


@pytest.mark.parametrize("expression", ["SET pk = :v", "REMOVE pk", "ADD pk :v", "SET n = :v, pk = :v"])
def test_the_key_cannot_be_updated_even_to_what_it_is(table, expression):
    with invalid(INVALID + "Cannot update attribute pk. This attribute is part of the key"):
        update(table, expression, **({} if "REMOVE" in expression else {"v": 1 if "ADD" in expression else "a"}))


def test_the_updated_item_may_have_409600_bytes_and_not_one_more(table):
    table.put_item(Item=sized_item(409_600 - 10, pk="a"))
    update(table, "SET n = :v", v="x" * 9)
    with invalid("Item size to update has exceeded the maximum allowed size"):
        update(table, "SET n = :v", v="x" * 10)


def test_an_updated_value_may_not_stand_deeper_than_level_32(table):
    update(table, "SET d = :v", v=nest(31, {"S": "x"}))
    with invalid(containing="Nesting Levels have exceeded supported limits"):
        update(table, "SET d = :v", v=nest(32, {"S": "x"}))


def test_an_index_key_may_only_become_what_the_index_can_hold(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    with invalid(INVALID + "Type mismatch for Index Key a Expected: S Actual: N IndexName: gsi"):
        table.update_item(Key=KEY, UpdateExpression="SET a = :v", ExpressionAttributeValues=item(**{":v": 1}))
    text = (
        "One or more parameter values are not valid. The update expression attempted to update a secondary index key "
        "to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value."
    )
    with invalid(text):
        table.update_item(Key=KEY, UpdateExpression="SET a = :v", ExpressionAttributeValues=item(**{":v": ""}))


# -- refusals of the expression ----------------------------------------------------------

OVERLAP = "Two document paths overlap with each other; must remove or rewrite one of these paths; "
CONFLICT = "Two document paths conflict with each other; must remove or rewrite one of these paths; "


@pytest.mark.parametrize(
    ("expression", "values", "problem"),
    [
        ("", {}, "The expression can not be empty;"),
        ("SET", {}, 'Syntax error; token: "<EOF>", near: "SET"'),
        ("SET _123 = :v", {"v": 1}, 'Syntax error; token: "_", near: "SET _123"'),
        ("SET a = :v + :v + :v", {"v": 1}, 'Syntax error; token: "+", near: ":v + :v"'),
        ("SET a = :v SET b = :v", {"v": 1}, 'The "SET" section can only be used once in an update expression;'),
        ("SET a = :v, a.b = :v", {"v": 1}, OVERLAP + "path one: [a], path two: [a, b]"),
        ("SET a = :v REMOVE a", {"v": 1}, OVERLAP + "path one: [a], path two: [a]"),
        ("SET a.b = :v, a[1] = :v", {"v": 1}, CONFLICT + "path one: [a, b], path two: [a, [1]]"),
        ("SET size = :v", {"v": 1}, "Attribute name is a reserved keyword; reserved keyword: size"),
        (
            "SET a = :v",
            {},
            "An expression attribute value used in expression is not defined; attribute value: :v",
        ),
        ("SET a = nonsense(:v)", {"v": 1}, "Invalid function name; function: nonsense"),
        (
            "SET a = size(b)",
            {},
            "The function is not allowed in an update expression; function: size",
        ),
        (
            "ADD a :v",
            {"v": "x"},
            "Incorrect operand type for operator or function; operator: ADD, operand type: STRING",
        ),
        (
            "DELETE a :v",
            {"v": 1},
            "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER",
        ),
        (
            "SET a = list_append(b, :v)",
            {"v": 1},
            "Incorrect operand type for operator or function; operator or function: list_append, operand type: N",
        ),
        (
            "SET a = b + :v",
            {"v": "x"},
            "Incorrect operand type for operator or function; operator or function: +, operand type: S",
        ),
        (
            "SET a = if_not_exists(:v, :v)",
            {"v": 1},
            "Operator or function requires a document path; operator or function: if_not_exists",
        ),
        (
            "SET a = if_not_exists(b)",
            {},
            (
                "Incorrect number of operands for operator or function; operator or function: if_not_exists, "
                "number of operands: 1"
            ),
        ),
        (
            "SET a[99999999999999] = :v",
            {"v": 1},
            "List index is not within the allowable range; index: [99999999999999]",
        ),
    ],
)
def test_an_expression_that_makes_no_sense_is_explained_in_the_envelope(table, expression, values, problem):
    with invalid(f"{ENVELOPE}Invalid UpdateExpression: {problem}"):
        update(table, expression, **values)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"v": 1, "w": 1}, "Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}"),
        ({"v": {"SS": []}}, INVALID + "An string set  may not be empty"),
        ({"v": {"N": "abc"}}, "The parameter cannot be converted to a numeric value: abc"),
    ],
)
def test_the_values_of_the_expression_are_checked_in_the_envelope(table, values, text):
    with invalid(ENVELOPE + text):
        update(table, "SET a = :v", **values)


@pytest.mark.parametrize("key", [{}, item(pk=1), item(pk="a", more="b")])
def test_the_key_must_be_exactly_the_tables_key(table, key):
    with invalid("The provided key element does not match the schema"):
        table.update_item(Key=key)


def test_an_unknown_table_is_not_found(client):
    with not_found():
        client.update_item(TableName=new_name(), Key=KEY)


def test_the_first_wrong_enum_is_reported_alone(send, table):
    wrong = {"ReturnConsumedCapacity": "INVALID", "ReturnValues": "INVALID", "ReturnItemCollectionMetrics": "INVALID"}
    _, response = send("UpdateItem", {"TableName": table.name, "Key": KEY, **wrong})
    assert response["message"] == (
        ENVELOPE + "Failed to satisfy constraint: Member must satisfy enum value set: "
        "[ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]"
    )


# -- conditions ----------------------------------------------------------


def test_a_condition_sees_the_item_without_the_key_of_the_request(table):
    with refused("ConditionalCheckFailedException", CONDITION_FAILED):
        table.update_item(Key=KEY, ConditionExpression="attribute_exists(pk)")
    assert table.get(pk="a") is None
    table.update_item(Key=KEY, ConditionExpression="attribute_not_exists(pk)")
    assert table.get(pk="a") == KEY


def test_a_condition_guards_the_update_and_can_return_what_failed_it(table):
    table.put(pk="a", n=1)
    request = {
        "Key": KEY,
        "UpdateExpression": "SET n = n + :one",
        "ConditionExpression": "n = :n",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    table.update_item(ExpressionAttributeValues=item(**{":one": 1, ":n": 1}), **request)
    with refused("ConditionalCheckFailedException", CONDITION_FAILED) as caught:
        table.update_item(ExpressionAttributeValues=item(**{":one": 1, ":n": 1}), **request)
    assert caught.value.response["Item"] == item(pk="a", n=2)
    assert table.get(pk="a") == item(pk="a", n=2)


MISMATCH = INVALID + "Type mismatch for Index Key a Expected: S Actual: {} IndexName: gsi"


@pytest.mark.parametrize(
    ("update", "actual"),
    [
        ("SET a = :v", "N"),
        ("SET b = :v, a = :v", "N"),
        ("ADD a :v", "N"),
        ("SET a = n + :v", "N"),
        ("SET a = list_append(l, l)", "L"),
    ],
)
def test_an_index_key_of_a_type_that_is_seen_in_the_update_is_refused(make_table, update, actual):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    values = {"ExpressionAttributeValues": {":v": {"N": "1"}}} if ":v" in update else {}
    for condition in ({}, {"ConditionExpression": "attribute_exists(pk)"}):  # it comes before the condition
        with invalid(MISMATCH.format(actual)):
            table.update_item(Key=item(pk="a"), UpdateExpression=update, **values, **condition)
    with invalid(MISMATCH.format("N")):
        table.update_item(Key=item(pk="a"), AttributeUpdates={"a": {"Value": {"N": "1"}}})


def test_an_index_key_of_a_type_that_only_the_item_shows_is_refused(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    table.put(pk="a", n=1)
    text = "The update expression attempted to update the secondary index key to unsupported type"
    for update in ("SET a = n", "SET a = if_not_exists(n, n)"):
        with invalid(text):
            table.update_item(Key=item(pk="a"), UpdateExpression=update)


# -- names of attributes -----------------------------------------------

TOO_LONG = "Attribute name is too large, must be less than 65536 bytes"


@pytest.mark.parametrize("name", ["x" * 65536, "é" * 32768], ids=["ASCII", "two bytes each"])
@pytest.mark.parametrize("expression", ["SET m = :m", "SET m = if_not_exists(n, :m)", "SET l = list_append(l, :l)"])
def test_a_name_inside_a_value_has_65535_bytes_at_most(table, name, expression):
    table.put(pk="a", l=[])
    values = {":l": [{name: 1}]} if ":l" in expression else {":m": {name: 1}}
    with invalid(containing=TOO_LONG):
        table.update_item(Key=KEY, UpdateExpression=expression, ExpressionAttributeValues=item(**values))
    assert table.get(pk="a") == item(pk="a", l=[])


@pytest.mark.parametrize("path", ["#n", "m.#n"])
def test_a_name_of_a_placeholder_has_65535_bytes_at_most(table, path):
    table.put(pk="a", m={})
    with invalid(containing=TOO_LONG):
        update(table, f"SET {path} = :v", {"#n": "é" * 32768}, v=1)
    update(table, f"SET {path} = :v", {"#n": "é" * 32767 + "x"}, v=1)
    assert "é" * 32767 + "x" in (table.get(pk="a") if path == "#n" else table.get(pk="a")["m"]["M"])


def test_a_longest_name_inside_a_value_is_stored(table):
    longest = {"x" * 65535: 1}
    assert updated(table, {}, "SET m = :m", m=longest) == item(m=longest)
