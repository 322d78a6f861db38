"""Values: canonical form, sizes, and the service's errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.core.errors import RequestInvalid, ValidationException
from hashrange.core.values import (
    INVALID_PARAMETER,
    NO_TYPE,
    SEVERAL_TYPES,
    TOO_DEEP,
    ErrorWording,
    InvalidValue,
    WrongWireType,
    canonicalise,
    canonicalise_item,
    check_expression_values,
    check_item,
    check_key,
    encode_binary,
    measure,
    measure_item,
)


def values(depth=3):
    scalar = st.one_of(
        st.builds(lambda s: {"S": s}, st.text(st.characters(exclude_categories=["Cs"]), max_size=8)),
        st.builds(lambda n: {"N": str(n)}, st.integers(-(10**20), 10**20)),
        st.builds(lambda b: {"B": encode_binary(b)}, st.binary(max_size=8)),
        st.builds(lambda b: {"BOOL": b}, st.booleans()),
        st.just({"NULL": True}),
        st.builds(lambda s: {"SS": s}, st.lists(st.text("abc", max_size=3), min_size=1, unique=True)),
    )
    return st.recursive(
        scalar,
        lambda inner: st.one_of(
            st.builds(lambda items: {"L": items}, st.lists(inner, max_size=3)),
            st.builds(
                lambda items: {"M": items}, st.dictionaries(st.text("xyz", min_size=1, max_size=3), inner, max_size=3)
            ),
        ),
        max_leaves=8,
    )


@given(values())
def test_a_canonical_value_is_used_as_it_is(value):
    canonical = canonicalise(value)
    assert canonicalise(canonical) is canonical


@given(st.dictionaries(st.text("xyz", min_size=1, max_size=3), values(), max_size=3))
def test_an_item_counts_its_names_and_its_values(item):
    canonical, size = canonicalise_item(item)
    assert canonical == {name: canonicalise(value) for name, value in item.items()}
    assert size == sum(len(name) + measure(value) for name, value in item.items())
    assert measure_item(canonical) == size


@given(values())
def test_the_given_values_are_not_modified(value):
    before = repr(value)
    canonicalise_item({"a": value, "b": {"N": "1.0"}})
    assert repr(value) == before


def test_an_item_with_one_value_to_canonicalise_keeps_the_others():
    item = {"a": {"L": [{"N": "01"}, {"SS": ["b", "a"]}]}, "b": {"M": {"c": {"BS": ["/w==", "AA=="]}}}, "d": {"S": ""}}
    canonical, _ = canonicalise_item(item)
    assert canonical == {
        "a": {"L": [{"N": "1"}, {"SS": ["a", "b"]}]},
        "b": {"M": {"c": {"BS": ["AA==", "/w=="]}}},
        "d": {"S": ""},
    }
    assert canonical["d"] is item["d"]
    assert item["a"] == {"L": [{"N": "01"}, {"SS": ["b", "a"]}]}


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": "héllo"}, 6),
        ({"B": "AAEC"}, 3),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"N": "-42"}, 3),
        ({"SS": ["ab", "c"]}, 3),
        ({"NS": ["1", "12"]}, 4),
        ({"BS": ["AA==", "AAA="]}, 3),
        ({"L": []}, 3),
        ({"M": {}}, 3),
        ({"L": [{"S": "a"}, {"BOOL": True}]}, 3 + 2 + 2),
        ({"M": {"key": {"S": "a"}}}, 3 + 1 + 3 + 1),
    ],
)
def test_a_value_is_measured_in_the_services_bytes(value, size):
    assert measure(value) == size


def test_equal_sets_become_equal_values():
    left, right = {"NS": ["10", "9", "1e0"]}, {"NS": ["1", "9.0", "10"]}
    assert canonicalise(left) == canonicalise(right) == {"NS": ["1", "9", "10"]}


def nested(levels):
    value = {"S": "x"}
    for _ in range(levels):
        value = {"M": {"a": value}}
    return value


def test_31_maps_around_a_scalar_are_accepted_and_32_refused():
    canonicalise(nested(31))
    with pytest.raises(InvalidValue) as refusal:
        canonicalise(nested(32))
    assert refusal.value.text == TOO_DEEP
    assert type(refusal.value.service_error()) is ValidationException


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, NO_TYPE),
        ({"X": "a"}, NO_TYPE),
        ({"S": "a", "BOOL": True}, SEVERAL_TYPES),
        ({"N": "abc", "S": "a"}, "The parameter cannot be converted to a numeric value: abc"),
        ({"NULL": False}, f"{INVALID_PARAMETER}Null attribute value types must have the value of true"),
        ({"SS": []}, f"{INVALID_PARAMETER}An string set  may not be empty"),
        ({"NS": []}, f"{INVALID_PARAMETER}An number set  may not be empty"),
        ({"BS": []}, f"{INVALID_PARAMETER}Binary sets should not be empty"),
        ({"NS": ["1", "1.0"]}, f"{INVALID_PARAMETER}Input collection contains duplicates."),
        ({"SS": ["b", "a", "b"]}, f'{INVALID_PARAMETER}Input collection ["a", "b", "b"] contains duplicates.'),
        (
            {"BS": ["/w==", "AA==", "AA=="]},
            f'{INVALID_PARAMETER}Input collection ["AA==","/w==","AA=="]of type BS contains duplicates.',
        ),
        ({"N": ""}, "The parameter cannot be converted to a numeric value: "),
    ],
)
def test_an_invalid_value_is_refused_with_the_services_text(value, text):
    with pytest.raises(ValidationException) as refusal:
        check_item({"a": {"L": [value]}})
    assert refusal.value.message == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"N": ""}, "The parameter cannot be converted to a numeric value"),
        ({"SS": ["b", "a", "b"]}, f"{INVALID_PARAMETER}Input collection [b, a, b] contains duplicates."),
        ({"NS": ["1", "1"]}, "Input collection contains duplicates"),
        (
            {"BS": ["/w==", "AA==", "AA=="]},
            f"{INVALID_PARAMETER}Input collection [/w==, AA==, AA==]of type BS contains duplicates.",
        ),
        (
            {"N": "1e2147483647"},
            "Number underflow. Attempting to store a number with magnitude smaller than supported range",
        ),
    ],
)
def test_the_older_validator_has_texts_of_its_own(value, text):
    with pytest.raises(RequestInvalid) as refusal:
        check_item({"a": value}, ErrorWording.OLDER)
    assert refusal.value.message == text
    with pytest.raises(RequestInvalid) as wrapped:
        check_expression_values({":v": value}, ErrorWording.OLDER)
    assert wrapped.value.message == f"ExpressionAttributeValues contains invalid value: {text} for key :v"


@pytest.mark.parametrize(
    "value",
    [
        {"S": 1}, {"N": 5}, {"BOOL": "x"}, {"L": {}}, {"M": []}, {"M": {5: {"S": "a"}}}, {"SS": "a"}, {"SS": [1]},
        {"SS": ["a", 1]}, {"SS": [[], []]}, {"B": "A"}, {"B": "AB=="}, {"B": b"A"}, {"S": "\ud800"},
        {"S": "a", "N": None}, "x", "xy", 5, None, [0], ["S"], [],
    ],
)  # fmt: skip
def test_json_of_the_wrong_type_is_left_to_the_shape_check(value):
    with pytest.raises(WrongWireType):
        canonicalise(value)
    with pytest.raises(WrongWireType):
        canonicalise_item({"a": {"L": [value]}})


@pytest.mark.parametrize("wrap", [lambda item: item, lambda item: {"a": {"L": [{"M": item}]}}])
def test_a_name_may_have_65535_bytes_at_any_level(wrap):
    check_item(wrap({"n" * 65_535: {"S": ""}}))
    with pytest.raises(ValidationException, match="Attribute name is too large"):
        check_item(wrap({"é" * 32_768: {"S": ""}}))


def refuse_or(check, key):
    """What a check returns, or its error."""
    try:
        return check(key)
    except (ValidationException, WrongWireType) as refusal:
        return type(refusal), str(refusal)


ODD = (
    {},
    {"S": 1},
    {"S": None},
    {"S": "a", "N": "1"},
    {"S": "\ud800"},
    {"N": "01.0"},
    {"N": "x"},
    {"SS": []},
    {"X": "a"},
)
NAMES = st.text(max_size=3) | st.sampled_from(["n" * 255, "n" * 256, "é" * 32_768, 5])


@given(st.dictionaries(NAMES, values() | st.sampled_from(ODD), max_size=3))
def test_a_key_is_checked_like_any_item(key):
    assert refuse_or(check_key, key) == refuse_or(lambda item: check_item(item)[0], key)


def test_an_empty_attribute_name_is_refused():
    with pytest.raises(ValidationException, match="Empty attribute name"):
        check_item({"": {"S": "a"}})
