"""Conditions: for which items they hold."""

import pytest

from hashrange.expr.condition import bind_condition
from hashrange.expr.nodes import And, Comparison, DocumentPath, FunctionCall, Literal
from tests.unit.expr.request_reader import condition_of

BYTES = {"B": "AH+A/w=="}  # 00 7f 80 ff
ITEM = {
    "s": {"S": "hello"},
    "n": {"N": "10"},
    "b": BYTES,
    "t": {"BOOL": True},
    "u": {"NULL": True},
    "ss": {"SS": ["a", "b"]},
    "ns": {"NS": ["1", "2.5"]},
    "bs": {"BS": ["AA==", "/w=="]},
    "l": {"L": [{"S": "x"}, {"N": "1"}, {"L": [{"S": "deep"}]}, {"SS": ["p", "q"]}]},
    "m": {"M": {"k": {"N": "5"}, "l": {"L": [{"M": {"z": {"S": "end"}}}]}}},
    "emoji": {"S": "a😀é"},
}


def holds(text, item=None, names=None, **values):
    given = {f":{name}": value for name, value in values.items()} or None
    return condition_of(text, names, given)(ITEM if item is None else item)


@pytest.mark.parametrize("operator", ["=", "<", "<=", ">", ">="])
def test_a_comparison_with_something_missing_is_false(operator):
    assert not holds(f"gone {operator} :v", v={"N": "1"})
    assert not holds(f":v {operator} gone", v={"N": "1"})
    assert not holds(f"gone {operator} absent")


def test_not_equal_is_true_when_something_is_missing():
    assert holds("gone <> :v", v={"N": "1"})
    assert holds("n <> gone")
    assert holds("gone <> absent")


def test_not_negates_every_condition():
    assert holds("NOT gone = :v", v={"N": "1"})
    assert not holds("NOT gone <> :v", v={"N": "1"})
    assert holds("NOT (gone > :v)", v={"N": "1"})
    assert holds("NOT NOT n = :v", v={"N": "10"})


def test_values_of_different_types_are_not_equal_and_not_ordered():
    assert not holds("n = :v", v={"S": "10"})
    assert holds("n <> :v", v={"S": "10"})
    assert not holds("n < :v OR n > :v", v={"S": "10"})
    assert not holds("s < n OR s > n OR s = n")


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
def test_a_stored_value_without_order_is_just_not_ordered(operator):
    assert not holds(f"ss {operator} :v", v={"S": "a"})
    assert not holds(f"t {operator} u")
    assert not holds(f"l {operator} m")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("n = :v", "10.0"),
        ("n = :v", "1e1"),
        ("n > :v", "9"),
        ("n > :v", "-100"),
        ("n < :v", "10.00000000000000000000000000000000001"),
        ("n >= :v AND n <= :v", "+10"),
        (":v < n", "9.99"),
        (":v >= n", "10"),
    ],
)
def test_numbers_compare_by_value(text, number):
    assert holds(text, v={"N": number})


def test_strings_compare_by_code_point():
    assert holds("s < :v", {"s": {"S": "\uffff"}}, v={"S": "😀"})
    assert holds("s > :v", {"s": {"S": "a"}}, v={"S": "Z"})
    assert holds("s > :v", {"s": {"S": "ab"}}, v={"S": "a"})


def test_binaries_compare_as_unsigned_bytes():
    assert holds("b > :v", {"b": {"B": "gA=="}}, v={"B": "fw=="})
    assert holds("b BETWEEN :v AND :w", {"b": {"B": "gA=="}}, v={"B": "fw=="}, w={"B": "/w=="})


@pytest.mark.parametrize("name", [name for name in ITEM if name != "emoji"])
def test_everything_equals_itself(name):
    assert holds(f"{name} = :v AND {name} IN (:v) AND NOT {name} <> :v", v=ITEM[name])


def test_equality_compares_nested_values_and_ignores_the_order_of_sets_and_maps():
    stored = {"a": {"M": {"x": {"L": [{"NS": ["1", "2"]}, {"N": "1"}]}, "y": {"SS": ["p", "q"]}}}}
    asked = {"M": {"y": {"SS": ["q", "p"]}, "x": {"L": [{"NS": ["2.0", "1e0"]}, {"N": "1.00"}]}}}
    assert holds("a = :v", stored, v=asked)
    other = {"M": {"y": {"SS": ["q", "p"]}, "x": {"L": [{"N": "1"}, {"NS": ["2", "1"]}]}}}
    assert not holds("a = :v", stored, v=other)


def test_lists_are_equal_only_in_the_same_order():
    assert not holds("a = :v", {"a": {"L": [{"N": "1"}, {"N": "2"}]}}, v={"L": [{"N": "2"}, {"N": "1"}]})


def test_between_includes_its_bounds():
    assert holds("n BETWEEN :v AND :w", v={"N": "10"}, w={"N": "10"})
    assert not holds("n BETWEEN :v AND :w", v={"N": "10.1"}, w={"N": "11"})
    assert not holds("n BETWEEN :v AND :w", v={"S": "1"}, w={"S": "2"})
    assert holds(":v BETWEEN m.k AND n", v={"N": "7"})
    assert not holds("n BETWEEN gone AND n2", {"n": {"N": "1"}, "n2": {"N": "2"}})
    assert not holds("n BETWEEN m.k AND s")


def test_in_takes_options_of_any_type_and_from_the_item():
    assert holds("n IN (:v, :w)", v={"S": "10"}, w={"N": "1E1"})
    assert holds("s IN (gone, :v, twin)", ITEM | {"twin": {"S": "hello"}}, v={"L": []})
    assert not holds("gone IN (absent, :v)", v={"NULL": True})
    assert holds("ss IN (:v, :w)", v={"S": "a"}, w={"SS": ["b", "a"]})
    assert not holds("n IN (:v)", v={"N": "1"})


@pytest.mark.parametrize("path", ["s", "u", "m.k", "m.l[0].z", "l[2][0]"])
def test_attribute_exists_holds_for_a_present_attribute(path):
    assert holds(f"attribute_exists({path})")
    assert not holds(f"attribute_not_exists({path})")


@pytest.mark.parametrize("path", ["x", "m.x", "l[4]", "m[0]", "l.k", "s.a", "s[0]", "n[0].a", "l[2][1]", "ss[0]"])
def test_attribute_exists_is_false_for_a_missing_attribute(path):
    assert not holds(f"attribute_exists({path})")
    assert holds(f"attribute_not_exists({path})")


def test_a_missing_item_has_no_attributes():
    assert holds("attribute_not_exists(pk) AND pk <> :v", {}, v={"S": "a"})


def test_the_type_is_that_of_the_value():
    assert holds("attribute_type(u, :v)", v={"S": "NULL"})
    assert holds("attribute_type(:w, :v)", v={"S": "L"}, w={"L": []})
    assert not holds("attribute_type(n, :v)", v={"S": "S"})
    assert not holds("attribute_type(gone, :v)", v={"S": "NULL"})


def test_begins_with_compares_the_start_of_strings_and_of_binaries():
    assert holds("begins_with(s, :v)", v={"S": "he"})
    assert holds("begins_with(s, :v)", v={"S": ""})
    assert not holds("begins_with(s, :v)", v={"S": "el"})
    assert holds("begins_with(b, :v)", v={"B": "AH8="})
    assert not holds("begins_with(s, :v)", v={"B": "aGU="})
    assert not holds("begins_with(b, :v)", v={"S": "AH"})
    assert not holds("begins_with(n, :v)", v={"S": "1"})
    assert not holds("begins_with(gone, :v)", v={"S": ""})
    assert holds("begins_with(:v, s)", v={"S": "hello world"})
    assert not holds("begins_with(s, gone)")


def test_contains_finds_parts_of_strings_and_binaries():
    assert holds("contains(s, :v)", v={"S": "ell"})
    assert not holds("contains(s, :v)", v={"S": "Ell"})
    assert holds("contains(b, :v)", v={"B": "f4A="})
    assert not holds("contains(b, :v)", v={"S": "f4"})
    assert not holds("contains(s, :v)", v={"N": "1"})


def test_contains_finds_members_of_sets_by_their_type():
    assert holds("contains(ss, :v)", v={"S": "a"})
    assert not holds("contains(ss, :v)", v={"N": "1"})
    assert holds("contains(ns, :v)", v={"N": "2.50"})
    assert not holds("contains(ns, :v)", v={"S": "1"})
    assert holds("contains(bs, :v)", v={"B": "AA=="})
    assert not holds("contains(ss, :v)", v={"SS": ["a"]})


def test_contains_finds_elements_of_lists_of_any_type():
    assert holds("contains(l, :v)", v={"N": "1.0"})
    assert holds("contains(l, :v)", v={"L": [{"S": "deep"}]})
    assert holds("contains(l, :v)", v={"SS": ["q", "p"]})
    assert not holds("contains(l, :v)", v={"S": "deep"})


@pytest.mark.parametrize("name", ["n", "t", "u", "m", "gone"])
def test_contains_finds_nothing_in_anything_else(name):
    assert not holds(f"contains({name}, :v)", v={"S": "k"})


def test_contains_takes_values_and_paths_on_both_sides():
    assert holds("contains(:v, s)", v={"S": "say hello"})
    assert holds("contains(:v, s)", v={"SS": ["hello"]})
    assert holds("contains(l, m.one)", ITEM | {"m": {"M": {"one": {"N": "1"}}}})
    assert not holds("contains(:v, gone)", v={"L": []})


@pytest.mark.parametrize(
    ("path", "size"),
    [("s", 5), ("emoji", 4), ("b", 4), ("ss", 2), ("ns", 2), ("bs", 2), ("l", 4), ("m", 2), ("m.l", 1)],
)
def test_the_size_counts_code_units_bytes_or_elements(path, size):
    assert holds(f"size({path}) = :v AND :v = size({path})", v={"N": str(size)})
    assert holds(f"size({path}) BETWEEN :v AND :v AND size({path}) IN (:v)", v={"N": str(size)})


@pytest.mark.parametrize("name", ["n", "t", "u", "gone"])
def test_what_has_no_size_compares_as_missing(name):
    assert not holds(f"size({name}) >= :v", v={"N": "0"})
    assert holds(f"size({name}) <> :v", v={"N": "0"})


def test_the_size_may_be_compared_with_anything():
    assert not holds("size(s) = :v", v={"S": "5"})
    assert holds("size(s) < n")
    assert holds("size(:v) = :w", v={"S": "abc"}, w={"N": "3"})
    assert holds("size(s) <> size(l)")


def test_and_or_and_not_join_any_number_of_conditions():
    assert holds("n = :a AND s = :b AND t = :c", a={"N": "10"}, b={"S": "hello"}, c={"BOOL": True})
    assert not holds("n = :a AND s = :b AND t = :c", a={"N": "10"}, b={"S": "hello"}, c={"BOOL": False})
    assert holds("n = :a OR s = :b OR t = :c", a={"N": "1"}, b={"S": "x"}, c={"BOOL": True})
    assert not holds("n = :a OR s = :b OR t = :c", a={"N": "1"}, b={"S": "x"}, c={"BOOL": False})
    assert holds("n = :a OR s = :b AND t = :b", a={"N": "10"}, b={"S": "x"})
    assert not holds("(n = :a OR s = :b) AND t = :b", a={"N": "10"}, b={"S": "x"})


def test_a_name_with_a_dot_is_one_name():
    assert holds("#a = :v", {"a.b": {"N": "1"}, "a": {"M": {"b": {"N": "2"}}}}, {"#a": "a.b"}, v={"N": "1"})
    assert holds("a.b = :v", {"a.b": {"N": "1"}, "a": {"M": {"b": {"N": "2"}}}}, v={"N": "2"})


def test_a_predicate_lists_the_attributes_that_it_reads():
    test = condition_of("#a.b = :v AND contains(c, d[0]) OR size(a) > e", {"#a": "x"}, {":v": {"N": "1"}})
    assert test.attributes == {"x", "c", "d", "a", "e"}
    assert test.document_attributes == ("x", "d")
    assert test.run(ITEM) is test(ITEM)


def test_a_condition_can_be_built_without_parsing():
    condition = And(
        (
            Comparison(">", DocumentPath(("n",)), Literal({"N": "9"})),
            FunctionCall("attribute_exists", (DocumentPath(("m", "k")),)),
        )
    )
    test = bind_condition(condition)
    assert test(ITEM)
    assert not test({"n": {"N": "10"}})
    assert (test.attributes, test.document_attributes) == ({"n", "m"}, ("m",))
