"""All expressions of a request: names and values, mixed parameters, and the cached plans."""

import pytest

from hashrange.core.cache import BoundedCache
from hashrange.core.errors import RequestInvalid, ValidationException
from hashrange.core.values import WrongWireType
from hashrange.expr.parameters import (
    BATCH_GET,
    DELETE,
    GET,
    PUT,
    QUERY,
    SCAN,
    TRANSACT_CHECK,
    TRANSACT_DELETE,
    TRANSACT_GET,
    TRANSACT_PUT,
    TRANSACT_UPDATE,
    UPDATE,
)
from hashrange.expr.request_expressions import PARSED, PLANS, check_mixing, check_mixing_across
from tests.unit.expr.request_reader import condition_of, members_for, read, refusal_of

ONE = {"N": "1"}
TOO_LONG = "contains invalid key: The expression attribute map contains a key that is too long;"
CONDITION = {"ComparisonOperator": "EQ", "AttributeValueList": [ONE]}


def mixing(spec, **members):
    with pytest.raises(RequestInvalid) as caught:
        check_mixing(members, spec)
    return caught.value.message


def mixed(old, new):
    return (
        "Can not use both expression and non-expression parameters in the same request: "
        f"Non-expression parameters: {{{old}}} Expression parameters: {{{new}}}"
    )


@pytest.mark.parametrize(
    ("spec", "old", "new"),
    [
        (PUT, ["Expected"], ["ConditionExpression"]),
        (PUT, ["Expected", "ConditionalOperator"], ["ConditionExpression"]),
        (DELETE, ["ConditionalOperator"], ["ConditionExpression"]),
        (UPDATE, ["AttributeUpdates"], ["UpdateExpression"]),
        (UPDATE, ["AttributeUpdates"], ["ConditionExpression"]),
        (UPDATE, ["AttributeUpdates", "Expected", "ConditionalOperator"], ["UpdateExpression", "ConditionExpression"]),
        (GET, ["AttributesToGet"], ["ProjectionExpression"]),
        (BATCH_GET, ["AttributesToGet"], ["ProjectionExpression"]),
        (SCAN, ["AttributesToGet", "ScanFilter", "ConditionalOperator"], ["ProjectionExpression", "FilterExpression"]),
        (SCAN, ["ScanFilter"], ["ProjectionExpression"]),
        (
            QUERY,
            ["AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"],
            ["ProjectionExpression", "FilterExpression", "KeyConditionExpression"],
        ),
        (QUERY, ["KeyConditions"], ["KeyConditionExpression"]),
        (QUERY, ["QueryFilter"], ["FilterExpression"]),
    ],
)
def test_legacy_parameters_and_expressions_are_not_mixed(spec, old, new):
    members = dict.fromkeys([*reversed(new), *reversed(old)], "")
    assert mixing(spec, **members) == mixed(", ".join(old), ", ".join(new))


def test_key_conditions_are_refused_only_with_a_key_condition_expression():
    check_mixing({"KeyConditions": {}, "FilterExpression": "", "ProjectionExpression": ""}, QUERY)
    members = {"KeyConditions": {}, "QueryFilter": {}, "FilterExpression": ""}
    assert mixing(QUERY, **members) == mixed("QueryFilter", "FilterExpression")


def test_either_kind_alone_is_not_mixed():
    check_mixing({"Expected": {}, "ConditionalOperator": "AND", "AttributeUpdates": {}}, UPDATE)
    check_mixing({"UpdateExpression": "", "ConditionExpression": ""}, UPDATE)
    check_mixing({}, PUT)


def test_mixing_is_also_refused_across_tables():
    check_mixing_across([{"AttributesToGet": ["a"]}, {"Keys": []}], BATCH_GET)
    with pytest.raises(RequestInvalid) as caught:
        check_mixing_across([{"AttributesToGet": ["a"]}, {"ProjectionExpression": "a"}], BATCH_GET)
    assert caught.value.message == mixed("AttributesToGet", "ProjectionExpression")


def test_a_request_without_expressions_has_none():
    found = read(PUT, Item={}, TableName="t")
    assert (found.condition, found.filter, found.projection, found.key_condition, found.update) == (None,) * 5


@pytest.mark.parametrize("spec", [PUT, DELETE, UPDATE, QUERY, SCAN])
def test_names_and_values_need_an_expression(spec):
    key = {"KeyConditions": {"pk": CONDITION}} if spec is QUERY else {}
    names = refusal_of(spec, ExpressionAttributeNames={}, ExpressionAttributeValues={}, **key)
    assert names == "ExpressionAttributeNames can only be specified when using expressions"
    suffix = ": FilterExpression is null" if spec is SCAN else ""
    values = refusal_of(spec, ExpressionAttributeValues={":v": {"N": "x"}}, **key)
    assert values == f"ExpressionAttributeValues can only be specified when using expressions{suffix}"


def test_a_projection_uses_no_values():
    key = {"KeyConditions": {"pk": CONDITION}}
    text = "ExpressionAttributeValues can only be specified when using expressions"
    assert refusal_of(QUERY, ProjectionExpression="a", ExpressionAttributeValues={":v": ONE}, **key) == text
    assert refusal_of(SCAN, ProjectionExpression="a", ExpressionAttributeValues={":v": ONE}) == (
        f"{text}: FilterExpression is null"
    )


@pytest.mark.parametrize("spec", [GET, BATCH_GET])
def test_operations_without_values_ignore_them(spec):
    found = read(spec, ProjectionExpression="a", ExpressionAttributeValues={":v": "whatever"})
    assert found.projection({"a": ONE}) == {"a": ONE}
    assert read(spec, ExpressionAttributeValues={":v": "whatever"}).projection is None
    assert refusal_of(spec, ExpressionAttributeNames={"#a": "a"}) == (
        "ExpressionAttributeNames can only be specified when using expressions"
    )


@pytest.mark.parametrize("spec", [TRANSACT_PUT, TRANSACT_DELETE, TRANSACT_UPDATE, TRANSACT_CHECK, TRANSACT_GET])
def test_transactions_do_not_read_names_and_values_without_an_expression(spec):
    found = read(spec, ExpressionAttributeNames={"": ""}, ExpressionAttributeValues={":v": {"N": "x"}})
    assert found.condition is found.update is found.projection is None


def test_transactions_read_their_expressions():
    request = {"ConditionExpression": "a = :v", "ExpressionAttributeValues": {":v": ONE}}
    for spec in (TRANSACT_PUT, TRANSACT_DELETE, TRANSACT_CHECK):
        assert read(spec, **request).condition({"a": ONE})
    assert read(TRANSACT_UPDATE, UpdateExpression="REMOVE a", **request).update({"a": ONE}) == {}
    assert read(TRANSACT_GET, ProjectionExpression="a").projection({"a": ONE, "b": ONE}) == {"a": ONE}
    assert refusal_of(TRANSACT_PUT, ConditionExpression="") == (
        "Invalid ConditionExpression: The expression can not be empty;"
    )
    assert refusal_of(TRANSACT_CHECK, ConditionExpression="a = b", ExpressionAttributeValues={":v": ONE}) == (
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}"
    )


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        (
            {"ExpressionAttributeNames": {}, "ExpressionAttributeValues": {}},
            "ExpressionAttributeNames must not be empty",
        ),
        (
            {"ExpressionAttributeNames": {"a": "a"}, "ExpressionAttributeValues": {}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "a"',
        ),
        (
            {"ExpressionAttributeNames": {"#": "a"}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "#"',
        ),
        (
            {"ExpressionAttributeNames": {"#a-b": "a"}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "#a-b"',
        ),
        (
            {"ExpressionAttributeNames": {"#é": "a"}},
            'ExpressionAttributeNames contains invalid key: Syntax error; key: "#é"',
        ),
        (
            {"ExpressionAttributeNames": {"#" + "a" * 255 + "-": "a"}},
            f"ExpressionAttributeNames {TOO_LONG} size of key: 257",
        ),
        (
            {"ExpressionAttributeNames": {"#a": ""}},
            "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a",
        ),
        ({"ExpressionAttributeValues": {}}, "ExpressionAttributeValues must not be empty"),
        (
            {"ExpressionAttributeValues": {":b": {"N": "x"}, "b": ONE}},
            'ExpressionAttributeValues contains invalid key: Syntax error; key: "b"',
        ),
        (
            {"ExpressionAttributeValues": {":" + "a" * 255: ONE}},
            f"ExpressionAttributeValues {TOO_LONG}",
        ),
        (
            {"ExpressionAttributeValues": {":v": {"N": "x"}}},
            "The parameter cannot be converted to a numeric value: x",
        ),
        ({}, "Invalid ConditionExpression: The expression can not be empty;"),
    ],
)
def test_the_maps_are_checked_before_any_expression(members, problem):
    assert refusal_of(PUT, ConditionExpression="", **members) == problem


def test_a_key_may_have_255_characters():
    names, values = {"#" + "a" * 254: "a"}, {":" + "b" * 254: ONE}
    assert condition_of(f"{next(iter(names))} = {next(iter(values))}", names, values)({"a": ONE})


def test_an_invalid_value_is_refused_with_the_operations_text():
    scan = {"FilterExpression": "a = :v", "ExpressionAttributeValues": {":v": {"SS": ["b", "a", "b"]}}}
    assert refusal_of(SCAN, **scan) == (
        "ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: "
        "Input collection [b, a, b] contains duplicates. for key :v"
    )
    put = {"ConditionExpression": "a = :v", "ExpressionAttributeValues": {":v": {"SS": ["b", "a", "b"]}}}
    assert refusal_of(PUT, **put) == (
        'One or more parameter values were invalid: Input collection ["a", "b", "b"] contains duplicates.'
    )


def test_an_empty_or_too_deep_value_is_refused_without_envelope():
    deep = {"S": "x"}
    for _ in range(32):
        deep = {"L": [deep]}
    for value in ({}, deep):
        with pytest.raises(ValidationException) as caught:
            read(PUT, ConditionExpression="a = :v", ExpressionAttributeValues={":v": value})
        assert type(caught.value) is ValidationException


def test_json_of_the_wrong_type_is_left_to_the_shape_check():
    with pytest.raises(WrongWireType):
        read(PUT, ConditionExpression="a = :v", ExpressionAttributeValues={":v": {"N": 1}})


def test_values_are_compared_in_canonical_form():
    test = condition_of("a = :v AND b = :w", None, {":v": {"N": "1.50"}, ":w": {"SS": ["b", "a"]}})
    assert test({"a": {"N": "1.5"}, "b": {"SS": ["a", "b"]}})


def test_unused_names_are_refused_before_unused_values():
    request = {
        "UpdateExpression": "SET #a = :a",
        "ConditionExpression": "b = :b",
        "ExpressionAttributeNames": {"#a": "a", "#y": "y", "#x": "x"},
        "ExpressionAttributeValues": {":a": ONE, ":b": ONE, ":x": ONE, ":y": ONE},
    }
    assert refusal_of(UPDATE, **request) == (
        "Value provided in ExpressionAttributeNames unused in expressions: keys: {#y, #x}"
    )
    request["ExpressionAttributeNames"] = {"#a": "a"}
    assert refusal_of(UPDATE, **request) == (
        "Value provided in ExpressionAttributeValues unused in expressions: keys: {:x, :y}"
    )


def test_a_name_counts_as_used_even_if_never_evaluated():
    assert condition_of("a = :v OR b = :w", None, {":v": ONE, ":w": ONE})({"a": ONE})


def test_names_and_values_are_shared_by_all_expressions():
    found = read(
        QUERY,
        KeyConditionExpression="#k = :v",
        FilterExpression="#f > :v",
        ProjectionExpression="#f, #p",
        ExpressionAttributeNames={"#k": "pk", "#f": "f", "#p": "p"},
        ExpressionAttributeValues={":v": ONE},
    )
    assert found.key_condition.clauses == (("pk", "=", (ONE,)),)
    assert found.filter({"f": {"N": "2"}})
    assert found.projection({"f": ONE, "p": ONE, "x": ONE}) == {"f": ONE, "p": ONE}


@pytest.mark.parametrize(
    ("spec", "texts", "named"),
    [
        (UPDATE, {"UpdateExpression": "", "ConditionExpression": ""}, "UpdateExpression: The expression can not"),
        (UPDATE, {"UpdateExpression": "!", "ConditionExpression": ""}, "ConditionExpression: The expression can not"),
        (UPDATE, {"UpdateExpression": "!", "ConditionExpression": "!"}, "UpdateExpression: Syntax"),
        (QUERY, {"KeyConditionExpression": "!", "FilterExpression": ""}, "KeyConditionExpression: Syntax"),
        (
            QUERY,
            {"KeyConditionExpression": "a = b", "FilterExpression": ""},
            "FilterExpression: The expression can not",
        ),
        (
            QUERY,
            {"KeyConditionExpression": "a = b", "FilterExpression": "!", "ProjectionExpression": ""},
            "FilterExpression: Syntax",
        ),
        (
            QUERY,
            {"KeyConditionExpression": "a = b", "ProjectionExpression": ""},
            "ProjectionExpression: The expression can not",
        ),
        (SCAN, {"FilterExpression": "!", "ProjectionExpression": "!"}, "FilterExpression: Syntax"),
    ],
)
def test_expressions_are_read_in_the_order_of_the_service(spec, texts, named):
    assert refusal_of(spec, **texts).startswith(f"Invalid {named}")


def test_the_form_of_a_key_condition_is_checked_last():
    request = {"KeyConditionExpression": "a = b", "ExpressionAttributeNames": {"#x": "x"}}
    assert refusal_of(QUERY, **request).startswith("Value provided in ExpressionAttributeNames unused")
    del request["ExpressionAttributeNames"]
    assert refusal_of(QUERY, **request).startswith("Invalid KeyConditionExpression: Invalid condition in")


@pytest.mark.parametrize(
    ("spec", "parameter", "text", "detail"),
    [
        (PUT, "ConditionExpression", "a" * 4000 + " = :v" + " " * 92, " expression size: 4097"),
        (SCAN, "FilterExpression", "(" * 20000, " expression size: 20000"),
        (SCAN, "FilterExpression", "é" * 2049, " expression size: 4098"),
        (QUERY, "KeyConditionExpression", "(" * 20000, ""),
        (UPDATE, "UpdateExpression", "(" * 20000, ""),
        (GET, "ProjectionExpression", "(" * 20000, ""),
    ],
)
def test_the_size_of_a_text_is_checked_before_it_is_parsed(spec, parameter, text, detail):
    expected = f"Invalid {parameter}: Expression size has exceeded the maximum allowed size;{detail}"
    assert refusal_of(spec, **{parameter: text}) == expected


def test_4096_bytes_are_accepted():
    text = "a = :v"
    assert condition_of(text + " " * (4096 - len(text)), None, {":v": ONE})({"a": ONE})


MAPS = 2 * 1024 * 1024
TOO_LARGE = (
    "ExpressionAttributeNames and ExpressionAttributeValues together have exceeded the maximum allowed size; "
    "allowed size: 2097152"
)


def fill(size):
    """A value of that size."""
    return {"S": "é" * (size // 2) + "x" * (size % 2)}


@pytest.mark.parametrize("spec", [PUT, UPDATE, DELETE, TRANSACT_CHECK])
def test_all_values_together_have_at_most_2_mb(spec):
    for _ in range(2):  # the second time the plan is cached
        half, other = fill(MAPS // 2), fill(MAPS // 2)
        members = members_for("ConditionExpression", "a = :v OR a = :w", None, {":v": half, ":w": other})
        assert read(spec, **members).condition({"a": other})
        members["ExpressionAttributeValues"] = {":v": half, ":w": fill(MAPS // 2 + 1)}
        assert refusal_of(spec, **members) == TOO_LARGE


def test_names_count_like_values():
    text, names = "#a = :v", {"#a": "é" * 1000}
    assert condition_of(text, names, {":v": fill(MAPS - 2000)})({"é" * 1000: fill(MAPS - 2000)})
    assert refusal_of(PUT, **members_for("ConditionExpression", text, names, {":v": fill(MAPS - 1999)})) == TOO_LARGE


def test_names_alone_have_at_most_2_mb():
    names = {f"#n{at}": f"{at:02d}" + "x" * (MAPS // 64 - 2) for at in range(64)}
    assert read(GET, **members_for("ProjectionExpression", ", ".join(names), names)).projection
    names["#n0"] += "x"
    assert refusal_of(GET, **members_for("ProjectionExpression", ", ".join(names), names)) == TOO_LARGE


def test_a_syntax_error_comes_before_too_large_a_value():
    members = members_for("FilterExpression", "a = = :v", None, {":v": fill(MAPS + 1)})
    assert refusal_of(SCAN, **members).startswith("Invalid FilterExpression: Syntax error")


def test_a_plan_is_cached_for_the_next_request_of_the_same_shape():
    request = {"ConditionExpression": "kept = :v", "ExpressionAttributeValues": {":v": {"S": "a"}}}
    read(PUT, **request)
    plans, parsed = len(PLANS), len(PARSED)
    second = read(PUT, ConditionExpression="kept = :v", ExpressionAttributeValues={":v": {"S": "b"}})
    assert (len(PLANS), len(PARSED)) == (plans, parsed)
    assert second.condition({"kept": {"S": "b"}})
    assert not second.condition({"kept": {"S": "a"}})


def test_a_cached_plan_is_not_used_for_another_request():
    text = "#a < :v"
    assert condition_of(text, {"#a": "x"}, {":v": ONE})({"x": {"N": "0"}})
    assert condition_of(text, {"#a": "y"}, {":v": ONE})({"y": {"N": "0"}})
    assert not condition_of(text, {"#a": "y"}, {":v": {"S": "1"}})({"y": {"N": "0"}})
    refusals = [
        {"ExpressionAttributeNames": {"#a": "x"}, "ExpressionAttributeValues": {":v": {"BOOL": True}}},
        {"ExpressionAttributeNames": {"#a": "x"}},
        {"ExpressionAttributeNames": {"#a": "x", "#b": "y"}, "ExpressionAttributeValues": {":v": ONE}},
        {"ExpressionAttributeNames": {"#a": "x"}, "ExpressionAttributeValues": {":v": ONE, ":w": ONE}},
        {"ExpressionAttributeValues": {":v": ONE}},
        {"ExpressionAttributeNames": {}, "ExpressionAttributeValues": {":v": ONE}},
    ]
    for members in refusals:
        assert refusal_of(PUT, ConditionExpression=text, **members)


def test_the_plan_of_a_filter_is_not_used_for_a_condition():
    read(SCAN, FilterExpression="a = b")
    found = read(PUT, ConditionExpression="a = b")
    assert (found.filter, found.condition is None) == (None, False)


def test_names_that_look_like_values_have_another_plan():
    read(PUT, ConditionExpression="a = :v", ExpressionAttributeValues={":v": {"S": "x"}})
    assert refusal_of(PUT, ConditionExpression="a = :v", ExpressionAttributeNames={":v": "S"}) == (
        'ExpressionAttributeNames contains invalid key: Syntax error; key: ":v"'
    )


def test_the_cache_removes_the_oldest_entry():
    cache = BoundedCache(max_entries=2, max_weight=100)
    for key in "abc":
        cache.store(key, key.upper(), 1)
    assert (len(cache), cache.get("a"), cache.get("b"), cache.get("c")) == (2, None, "B", "C")


def test_the_cache_removes_entries_until_the_weight_fits():
    cache = BoundedCache(max_entries=100, max_weight=10)
    cache.store("a", "A", 4)
    cache.store("b", "B", 4)
    cache.store("c", "C", 6)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (None, "B", "C")
    cache.store("c", "D", 10)
    assert (len(cache), cache.get("c")) == (1, "D")
    cache.store("d", "D", 11)
    assert (len(cache), cache.get("d")) == (1, None)
