"""Legacy parameters: Expected, filters, KeyConditions, AttributesToGet and AttributeUpdates."""

import pytest

from hashrange.core.errors import ValidationException
from hashrange.expr.key_condition_expression import KeyClause, check_key_condition
from hashrange.expr.parameters import BATCH_GET, DELETE, GET, PUT, QUERY, SCAN, UPDATE
from tests.unit.expr.request_reader import apply_problem, read, refusal_of

P1 = "One or more parameter values were invalid: "
ONE, TWO = {"N": "1"}, {"N": "2"}
A = {"S": "a"}


def condition(operator, *values):
    return {"ComparisonOperator": operator, "AttributeValueList": list(values)}


def expected(**conditions):
    return read(PUT, Expected=conditions).condition


def expected_problem(**conditions):
    return refusal_of(PUT, Expected=conditions)


def scan_filter(conditions, **more):
    return read(SCAN, ScanFilter=conditions, **more).filter


@pytest.mark.parametrize(
    ("operator", "values", "stored", "holds"),
    [
        ("EQ", [{"N": "1.0"}], ONE, True),
        ("EQ", [{"SS": ["b", "a"]}], {"SS": ["a", "b"]}, True),
        ("EQ", [ONE], {"S": "1"}, False),
        ("EQ", [ONE], None, False),
        ("NE", [ONE], TWO, True),
        ("NE", [ONE], ONE, False),
        ("NE", [ONE], None, True),
        ("LE", [ONE], ONE, True),
        ("LE", [ONE], None, False),
        ("LT", [TWO], ONE, True),
        ("LT", [A], ONE, False),
        ("GE", [ONE], ONE, True),
        ("GT", [{"N": "9"}], {"N": "10"}, True),
        ("GT", [ONE], {"L": [ONE]}, False),
        ("BETWEEN", [ONE, TWO], {"N": "1.5"}, True),
        ("BETWEEN", [ONE, TWO], {"N": "3"}, False),
        ("IN", [ONE, TWO], TWO, True),
        ("IN", [ONE, TWO], {"NS": ["1", "2"]}, False),
        ("IN", [ONE], None, False),
        ("BEGINS_WITH", [A], {"S": "abc"}, True),
        ("BEGINS_WITH", [A], ONE, False),
        ("CONTAINS", [A], {"S": "bab"}, True),
        ("CONTAINS", [A], {"SS": ["a"]}, True),
        ("CONTAINS", [A], {"L": [A]}, True),
        ("CONTAINS", [A], None, False),
        ("NOT_CONTAINS", [A], {"S": "bcd"}, True),
        ("NOT_CONTAINS", [A], {"SS": ["a"]}, False),
        ("NOT_CONTAINS", [A], None, False),
        ("NULL", [], None, True),
        ("NULL", [], {"NULL": True}, False),
        ("NOT_NULL", [], {"NULL": True}, True),
        ("NOT_NULL", [], None, False),
    ],
)
def test_every_operator_in_every_parameter(operator, values, stored, holds):
    item = {} if stored is None else {"a": stored}
    asked = {"a": condition(operator, *values)}
    assert read(PUT, Expected=asked).condition(item) is holds
    assert read(SCAN, ScanFilter=asked).filter(item) is holds
    keyed = {"KeyConditions": {"pk": condition("EQ", A)}}
    assert read(QUERY, QueryFilter=asked, **keyed).filter(item) is holds


def test_expected_with_value_and_exists():
    assert expected(a={"Value": ONE})({"a": ONE})
    assert not expected(a={"Value": ONE})({})
    assert expected(a={"Exists": True, "Value": ONE})({"a": ONE})
    assert expected(a={"Exists": False})({})
    assert not expected(a={"Exists": False})({"a": ONE})
    assert expected(a={"ComparisonOperator": "LT", "Value": TWO})({"a": ONE})
    assert expected(a={"ComparisonOperator": "NULL"})({})


def test_conditions_are_joined_by_and_unless_or_is_asked_for():
    both = {"a": condition("EQ", ONE), "b": condition("EQ", TWO)}
    assert not read(PUT, Expected=both).condition({"a": ONE})
    assert not read(PUT, Expected=both, ConditionalOperator="AND").condition({"a": ONE})
    assert read(PUT, Expected=both, ConditionalOperator="OR").condition({"a": ONE})
    assert not read(PUT, Expected=both, ConditionalOperator="OR").condition({})
    assert scan_filter(both, ConditionalOperator="OR")({"b": TWO})


def test_names_are_literal():
    assert expected(**{"a.b": {"Value": ONE}})({"a.b": ONE})
    assert not expected(**{"a.b": {"Value": ONE}})({"a": {"M": {"b": ONE}}})
    assert expected(status={"Value": ONE}).attributes == {"status"}


def test_nothing_expected_is_no_condition():
    assert read(PUT, Expected={}).condition is None
    assert read(SCAN, ScanFilter={}).filter is None


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"Value": ONE, "AttributeValueList": []}, "Value and AttributeValueList cannot be used together"),
        ({"Exists": True, "ComparisonOperator": "EQ"}, "Exists and ComparisonOperator cannot be used together"),
        ({"ComparisonOperator": "EQ"}, "Value or AttributeValueList must be used with ComparisonOperator: EQ"),
        ({"AttributeValueList": [ONE]}, "AttributeValueList can only be used with a ComparisonOperator"),
        ({}, "Value must be provided when Exists is null"),
        ({"Exists": True}, "Value must be provided when Exists is true"),
        ({"Exists": False, "Value": ONE}, "Value cannot be used when Exists is false"),
    ],
)
@pytest.mark.parametrize("spec", [PUT, UPDATE, DELETE])
def test_members_of_expected_that_exclude_each_other_are_refused(spec, members, problem):
    assert refusal_of(spec, Expected={"a": members}) == f"{P1}{problem} for Attribute: a"


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("EQ", []),
        ("EQ", [ONE, ONE]),
        ("NE", [ONE, ONE]),
        ("BETWEEN", [ONE]),
        ("BETWEEN", [ONE, ONE, ONE]),
        ("IN", []),
        ("NULL", [ONE]),
        ("NOT_NULL", [ONE]),
        ("CONTAINS", [A, A]),
        ("BEGINS_WITH", []),
    ],
)
def test_the_number_of_arguments_depends_on_the_operator(operator, values):
    text = f"{P1}Invalid number of argument(s) for the {operator} ComparisonOperator"
    asked = {"a": condition(operator, *values)}
    assert refusal_of(PUT, Expected=asked) == text
    assert refusal_of(SCAN, ScanFilter=asked) == text
    assert refusal_of(QUERY, QueryFilter=asked, KeyConditions={"pk": condition("EQ", A)}) == text
    assert refusal_of(QUERY, KeyConditions=asked) == text


@pytest.mark.parametrize(
    ("operator", "values", "tag"),
    [
        ("LT", [{"SS": ["a"]}], "SS"),
        ("LE", [{"BOOL": True}], "BOOL"),
        ("GE", [{"L": []}], "L"),
        ("GT", [{"NULL": True}], "NULL"),
        ("BETWEEN", [{"M": {}}, {"M": {}}], "M"),
        ("IN", [{"NS": ["1"]}], "NS"),
        ("CONTAINS", [{"L": []}], "L"),
        ("NOT_CONTAINS", [{"BS": ["AA=="]}], "BS"),
        ("BEGINS_WITH", [ONE], "N"),
    ],
)
def test_the_types_of_arguments_depend_on_the_operator(operator, values, tag):
    text = f"{P1}ComparisonOperator {operator} is not valid for {tag} AttributeValue type"
    asked = {"a": condition(operator, *values)}
    assert refusal_of(PUT, Expected=asked) == text
    assert refusal_of(SCAN, ScanFilter=asked) == text


def test_arguments_are_of_one_type():
    text = f"{P1}AttributeValues inside AttributeValueList must be of same type"
    assert expected_problem(a=condition("IN", ONE, A)) == text
    assert expected_problem(a=condition("BETWEEN", ONE, A)) == text


def test_bounds_are_in_order():
    text = "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
    assert expected_problem(a=condition("BETWEEN", {"N": "10"}, {"N": "9"})) == text


def test_values_are_canonicalised_and_refused_with_the_operations_texts():
    assert expected(a=condition("EQ", {"NS": ["2", "1.0"]}))({"a": {"NS": ["1", "2"]}})
    repeated = {"NS": ["1", "1.0"]}
    assert expected_problem(a={"Value": repeated}) == f"{P1}Input collection contains duplicates."
    assert refusal_of(SCAN, ScanFilter={"a": condition("EQ", repeated)}) == "Input collection contains duplicates"
    with pytest.raises(ValidationException) as caught:
        expected(a={"Value": {}})
    assert caught.value.message.startswith("Supplied AttributeValue is empty")


@pytest.mark.parametrize(
    ("spec", "members"),
    [
        (PUT, {}),
        (DELETE, {"Expected": {}}),
        (UPDATE, {"AttributeUpdates": {"a": {"Value": ONE}}}),
        (SCAN, {"AttributesToGet": ["a", "b"]}),
        (SCAN, {"ScanFilter": {}}),
        (QUERY, {"KeyConditions": {"pk": condition("EQ", A)}}),
        (QUERY, {}),
    ],
)
def test_a_conditional_operator_needs_conditions(spec, members):
    text = "ConditionalOperator cannot be used without Filter or Expected"
    assert refusal_of(spec, ConditionalOperator="OR", **members) == text


@pytest.mark.parametrize(
    ("spec", "members"),
    [
        (PUT, {"Expected": {"a": {"Value": ONE}}}),
        (SCAN, {"ScanFilter": {"a": condition("EQ", ONE)}}),
        (QUERY, {"QueryFilter": {"a": condition("EQ", ONE)}}),
    ],
)
def test_a_conditional_operator_needs_two_conditions(spec, members):
    text = "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    assert refusal_of(spec, ConditionalOperator="AND", **members) == text


def test_key_conditions_become_clauses():
    asked = {"sk": condition("BEGINS_WITH", A), "pk": condition("EQ", ONE)}
    key_condition = read(QUERY, KeyConditions=asked).key_condition
    assert key_condition.clauses == (KeyClause("sk", "begins_with", (A,)), KeyClause("pk", "=", (ONE,)))
    between = read(QUERY, KeyConditions={"sk": condition("BETWEEN", ONE, TWO)}).key_condition
    assert between.clauses == (KeyClause("sk", "BETWEEN", (ONE, TWO)),)
    assert read(QUERY, KeyConditions={"pk": condition("LE", ONE)}).key_condition.clauses[0].operator == "<="


@pytest.mark.parametrize("operator", ["NE", "IN", "CONTAINS", "NOT_CONTAINS", "NULL", "NOT_NULL"])
def test_some_operators_cannot_use_an_index(operator):
    values = [] if "NULL" in operator else [A]
    asked = {"pk": condition("EQ", A), "sk": condition(operator, *values)}
    key_condition = read(QUERY, KeyConditions=asked).key_condition
    with pytest.raises(ValidationException) as caught:
        check_key_condition(key_condition, [("pk", "S")], [("sk", "S")])
    assert caught.value.message == "Attempted conditional constraint is not an indexable operation"


def test_a_query_needs_a_key_condition():
    text = "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    assert refusal_of(QUERY) == text
    assert refusal_of(QUERY, QueryFilter={"a": condition("EQ", ONE)}) == text
    assert refusal_of(QUERY, ProjectionExpression="!!") == text
    assert refusal_of(QUERY, KeyConditions={}) == "Conditions can be of length 1 or 2 only"


def test_key_conditions_go_with_expressions():
    request = {
        "KeyConditions": {"pk": condition("EQ", A)},
        "FilterExpression": "a = :v",
        "ProjectionExpression": "a",
        "ExpressionAttributeValues": {":v": ONE},
    }
    found = read(QUERY, **request)
    assert found.key_condition.clauses == (KeyClause("pk", "=", (A,)),)
    assert found.filter({"a": ONE})
    assert found.projection({"a": ONE, "b": TWO}) == {"a": ONE}


@pytest.mark.parametrize("spec", [GET, BATCH_GET, SCAN])
def test_attributes_to_get_are_top_level_names(spec):
    projection = read(spec, AttributesToGet=["a.b", "name", "gone"]).projection
    assert projection({"a.b": ONE, "name": TWO, "a": A}) == {"a.b": ONE, "name": TWO}


@pytest.mark.parametrize("spec", [GET, BATCH_GET, SCAN, QUERY])
def test_attributes_to_get_are_named_once(spec):
    text = f"{P1}Duplicate value in attribute name: a"
    assert refusal_of(spec, AttributesToGet=["b", "a", "c", "a"]) == text


def updates(**attributes):
    return read(UPDATE, AttributeUpdates=attributes).update


def test_attribute_updates_put_add_and_delete():
    item = {"n": ONE, "s": {"SS": ["a", "b"]}, "l": {"L": [ONE]}, "x": A, "y": A}
    update = updates(
        n={"Action": "ADD", "Value": TWO},
        s={"Action": "DELETE", "Value": {"SS": ["a"]}},
        l={"Action": "ADD", "Value": {"L": [TWO]}},
        x={"Action": "DELETE"},
        y={"Value": ONE},
        z={"Action": "PUT", "Value": ONE},
        t={"Action": "ADD", "Value": {"NS": ["1"]}},
    )
    assert update(item) == {
        "n": {"N": "3"},
        "s": {"SS": ["b"]},
        "l": {"L": [ONE, TWO]},
        "y": ONE,
        "z": ONE,
        "t": {"NS": ["1"]},
    }
    assert update.attributes == {"n", "s", "l", "x", "y", "z", "t"}
    assert not update.removes_only


def test_attribute_updates_name_attributes_literally():
    assert updates(**{"a.b": {"Value": ONE}})({}) == {"a.b": ONE}


def test_no_attribute_updates_are_no_update():
    assert read(UPDATE, AttributeUpdates={}).update is None


def test_attribute_updates_that_only_delete_create_nothing():
    assert updates(a={"Action": "DELETE"}, b={"Action": "DELETE", "Value": {"SS": ["a"]}}).removes_only


@pytest.mark.parametrize("action", ["ADD", "DELETE"])
@pytest.mark.parametrize("stored", [{"SS": ["1"]}, ONE, {"L": []}])
def test_attribute_updates_require_the_stored_type(action, stored):
    update = updates(a={"Action": action, "Value": {"NS": ["1"]}})
    assert apply_problem(update, {"a": stored}) == "Type mismatch for attribute to update"


@pytest.mark.parametrize(
    ("update", "problem"),
    [
        ({"Action": "PUT"}, "Only DELETE action is allowed when no attribute value is specified"),
        ({}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "ADD"}, "Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "DELETE", "Value": A}, "DELETE action with value is not supported for the type S"),
        ({"Action": "DELETE", "Value": {"L": []}}, "DELETE action with value is not supported for the type L"),
        ({"Action": "ADD", "Value": A}, "ADD action is not supported for the type S"),
        ({"Action": "ADD", "Value": {"M": {}}}, "ADD action is not supported for the type M"),
        ({"Action": "PUT", "Value": {"SS": []}}, "An string set  may not be empty"),
    ],
)
def test_attribute_updates_are_refused(update, problem):
    assert refusal_of(UPDATE, AttributeUpdates={"a": update}) == f"{P1}{problem}"
