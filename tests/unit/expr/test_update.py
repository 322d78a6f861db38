"""Updates: the items they return."""

import pytest

from hashrange.expr.nodes import AddAction, DocumentPath, Literal, RemoveAction, SetAction
from hashrange.expr.update import bind_update
from tests.unit.expr.request_reader import apply_problem, update_of

MISSING = "The provided expression refers to an attribute that does not exist in the item"
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
WRONG_PATH = "The document path provided in the update expression is invalid for update"


def N(number):  # noqa: N802 - reads as the wire does
    return {"N": str(number)}


def numbered(*numbers):
    return {"L": [N(number) for number in numbers]}


def update(text, item, names=None, **values):
    given = {f":{name}": value for name, value in values.items()} or None
    return update_of(text, names, given)(item)


def problem(text, item, **values):
    given = {f":{name}": value for name, value in values.items()} or None
    return apply_problem(update_of(text, None, given), item)


def test_set_puts_values_and_keeps_the_rest():
    assert update("SET a = :v, b = :w", {"a": N(1), "c": N(3)}, v=N(7), w={"S": "x"}) == {
        "a": N(7),
        "b": {"S": "x"},
        "c": N(3),
    }


def test_right_sides_read_the_item_as_it_was():
    assert update("SET a = b, b = a", {"a": N(1), "b": N(2)}) == {"a": N(2), "b": N(1)}
    assert update("SET b = a REMOVE a", {"a": N(1)}) == {"b": N(1)}
    assert problem("SET x = :v, y = x", {}, v=N(1)) == MISSING


def test_the_old_item_stays_as_it_is():
    item = {"a": {"M": {"b": numbered(1, 2)}}, "s": {"SS": ["a"]}, "n": N(1)}
    before = repr(item)
    update("SET a.b[0] = :v, a.c = :v ADD s :s, n :v REMOVE a.b[1]", item, v=N(9), s={"SS": ["b"]})
    assert repr(item) == before


def test_reading_a_missing_attribute_is_refused():
    for text in ("SET a = b", "SET a = b.c", "SET a = b + :v", "SET a = list_append(b, :l)", "SET a = :v - c"):
        values = {name: value for name, value in {"v": N(1), "l": numbered()}.items() if f":{name}" in text}
        assert problem(text, {"c1": N(1)}, **values) == MISSING


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("SET n = n + :v", "15"),
        ("SET n = :v - n", "-5"),
        ("SET n = (n - :v)", "5"),
        ("SET n = n + n", "20"),
        ("SET n = if_not_exists(x, :v) + n", "15"),
    ],
)
def test_sums(text, result):
    assert update(text, {"n": N(10)}, **({"v": N(5)} if ":v" in text else {})) == {"n": {"N": result}}


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        ("0.1", "0.2", "0.3"),
        ("9" * 36, "1", "1" + "0" * 36),
        ("9" * 38, "1", "1" + "0" * 38),
        ("-5", "5", "0"),
        ("1e-130", "-1e-130", "0"),
        ("99999999999999999999999999999999999999", "-0.5", None),
        ("9.9e125", "9.9e125", None),
    ],
)
def test_sums_are_exact_or_refused(left, right, total):
    bound = update_of("SET n = :l + :r", None, {":l": {"N": left}, ":r": {"N": right}})
    if total is not None:
        assert bound({}) == {"n": {"N": total}}
    else:
        assert apply_problem(bound, {}) == (
            "Number overflow. Attempting to store a number with magnitude larger than supported range"
        )


def test_a_difference_too_close_to_zero_is_refused():
    bound = update_of("SET n = a - :v", None, {":v": {"N": "1.5e-129"}})
    assert apply_problem(bound, {"a": {"N": "0." + "0" * 128 + "155"}}) == (
        "Number underflow. Attempting to store a number with magnitude smaller than supported range"
    )


@pytest.mark.parametrize("text", ["SET a = s + :v", "SET a = :v - s", "ADD s :v"])
def test_sums_of_anything_but_numbers_are_refused(text):
    assert problem(text, {"s": {"S": "1"}}, v=N(1)) == WRONG_TYPE


def test_lists_are_appended_to_on_either_side():
    item = {"l": numbered(1, 2)}
    assert update("SET l = list_append(l, :v)", item, v=numbered(3)) == {"l": numbered(1, 2, 3)}
    assert update("SET l = list_append(:v, l)", item, v=numbered(3)) == {"l": numbered(3, 1, 2)}
    assert update("SET l = list_append(if_not_exists(x, :v), l)", item, v=numbered()) == {"l": numbered(1, 2)}
    assert problem("SET l = list_append(s, :v)", {"s": {"S": "x"}}, v=numbered()) == WRONG_TYPE
    assert problem("SET l = list_append(l, if_not_exists(x, :v))", item, v=N(1)) == WRONG_TYPE


def test_if_not_exists_returns_the_attribute_or_the_default():
    assert update("SET a = if_not_exists(a, :v)", {"a": N(1)}, v=N(2)) == {"a": N(1)}
    assert update("SET a = if_not_exists(b, :v)", {"a": N(1)}, v=N(2)) == {"a": N(2)}
    assert update("SET a = if_not_exists(b, if_not_exists(c, d))", {"d": N(4)}) == {"a": N(4), "d": N(4)}
    assert update("SET a = if_not_exists(m.x, m.y)", {"m": {"M": {"y": N(3)}}})["a"] == N(3)
    assert update("SET a = if_not_exists(u, :v)", {"u": {"NULL": True}}, v=N(1))["a"] == {"NULL": True}
    assert problem("SET a = if_not_exists(b, c)", {}) == MISSING


def test_hundreds_of_if_not_exists_may_be_nested():
    text = "SET a=" + "if_not_exists(b," * 230 + ":v" + ")" * 230
    assert update(text, {}, v=N(1)) == {"a": N(1)}


def test_set_writes_inside_documents():
    item = {"m": {"M": {"a": N(1), "l": numbered(1, 2)}}}
    assert update("SET m.b = :v, m.l[1] = m.a", item, v=N(5)) == {
        "m": {"M": {"a": N(1), "b": N(5), "l": numbered(1, 1)}}
    }
    assert update("SET m.#n = :v", item, {"#n": "x.y"}, v=N(5))["m"]["M"]["x.y"] == N(5)


def test_elements_beyond_the_end_are_appended_in_the_order_of_their_indices():
    item = {"l": numbered(1, 2, 3)}
    assert update("SET l[7] = :v", item, v=N(9)) == {"l": numbered(1, 2, 3, 9)}
    assert update("SET l[84] = :a, l[37] = :b, l[17] = :c, l[50] = :d", item, a=N(4), b=N(5), c=N(6), d=N(7)) == {
        "l": numbered(1, 2, 3, 6, 5, 7, 4)
    }
    assert update("SET l[0] = :v", {"l": numbered()}, v=N(1)) == {"l": numbered(1)}


def test_indices_are_those_before_the_update():
    item = {"l": numbered(1, 2, 3, 4)}
    assert update("REMOVE l[1] SET l[3] = :v", item, v=N(9)) == {"l": numbered(1, 3, 9)}
    assert update("SET l[3] = :v REMOVE l[1]", item, v=N(9)) == {"l": numbered(1, 3, 9)}
    assert update("REMOVE l[0], l[2]", item) == {"l": numbered(2, 4)}
    assert update("SET l[9] = :v REMOVE l[0]", item, v=N(9)) == {"l": numbered(2, 3, 4, 9)}


def test_everything_at_once():
    item = {"a": N(9), "b": {"M": {"a": N(1), "b": N(2), "c": N(3)}}, "c": numbered(1, 3)}
    text = "SET b.c=((c[1])+(b.a)),b.a=a,c[1]=a,c[4]=b.a-b.b,c[2]=b.c ADD c[8] :b, c[6] :a DELETE d :b REMOVE e"
    assert update(text, item, a=N(2), b={"SS": ["a"]}) == {
        "a": N(9),
        "b": {"M": {"a": N(9), "b": N(2), "c": N(4)}},
        "c": {"L": [N(1), N(9), N(3), N(-1), N(2), {"SS": ["a"]}]},
    }


@pytest.mark.parametrize("path", ["x.a", "x[0]", "s.a", "s[0]", "m[0]", "l.a", "m.x.y", "l[0].a", "l[9].a"])
@pytest.mark.parametrize("action", ["SET {} = :v", "REMOVE {}", "ADD {} :v", "DELETE {} :v"])
def test_a_path_to_set_must_exist_up_to_its_last_element(path, action):
    item = {"s": {"S": "x"}, "m": {"M": {}}, "l": numbered(1)}
    values = {"v": {"SS": ["a"]}} if ":v" in action else {}
    assert problem(action.format(path), item, **values) == WRONG_PATH


def test_removing_a_missing_attribute_does_nothing():
    item = {"m": {"M": {"a": N(1)}}, "l": numbered(1)}
    assert update("REMOVE x, m.b, l[7]", item) == item
    assert update("DELETE x :v, m.b :v, l[7] :v", item, v={"SS": ["a"]}) == item


def test_removing_the_last_member_leaves_an_empty_map_or_list():
    assert update("REMOVE m.a, l[0]", {"m": {"M": {"a": N(1)}}, "l": numbered(1)}) == {"m": {"M": {}}, "l": {"L": []}}


def test_removing_from_an_item_that_does_not_exist_is_ignored():
    key = {"pk": {"S": "1"}}
    assert update_of("REMOVE a.b, c[0]")(key, fresh=True) == key
    mixed = update_of("SET x = pk REMOVE a.b.c DELETE d.e :v", None, {":v": {"SS": ["a"]}})
    assert mixed(key, fresh=True) == {"pk": {"S": "1"}, "x": {"S": "1"}}
    assert apply_problem(mixed, key) == WRONG_PATH
    both = update_of("REMOVE a.b SET a.c = :v", None, {":v": N(1)})
    assert apply_problem(both, key, fresh=True) == WRONG_PATH


def test_add_counts_from_zero_and_up():
    assert update("ADD n :v", {}, v=N(5)) == {"n": N(5)}
    assert update("ADD n :v, m.k :v", {"n": N(1), "m": {"M": {}}}, v=N(5)) == {"n": N(6), "m": {"M": {"k": N(5)}}}
    assert update("ADD n :v", {"n": {"N": "0.5"}}, v={"N": "-0.75"}) == {"n": {"N": "-0.25"}}


def test_add_returns_the_sorted_union_of_sets():
    assert update("ADD s :v", {"s": {"SS": ["b", "d"]}}, v={"SS": ["c", "b", "a"]}) == {
        "s": {"SS": ["a", "b", "c", "d"]}
    }
    assert update("ADD s :v", {"s": {"NS": ["-1", "10"]}}, v={"NS": ["9", "1e1"]}) == {"s": {"NS": ["-1", "9", "10"]}}
    assert update("ADD s :v", {"s": {"BS": ["AA=="]}}, v={"BS": ["/w==", "AAE="]}) == {
        "s": {"BS": ["AA==", "AAE=", "/w=="]}
    }
    assert update("ADD s :v", {}, v={"SS": ["b", "a"]}) == {"s": {"SS": ["a", "b"]}}


def test_add_and_delete_require_the_stored_type():
    for stored in ({"SS": ["a"]}, N(1), {"L": []}, {"S": "a"}):
        assert problem("ADD s :v", {"s": stored}, v={"NS": ["1"]}) == WRONG_TYPE
        assert problem("DELETE s :v", {"s": stored}, v={"NS": ["1"]}) == WRONG_TYPE
    assert problem("ADD s :v", {"s": {"NS": ["1"]}}, v=N(1)) == WRONG_TYPE


def test_delete_removes_members_and_an_empty_set():
    item = {"s": {"SS": ["a", "b", "c"]}}
    assert update("DELETE s :v", item, v={"SS": ["b", "x"]}) == {"s": {"SS": ["a", "c"]}}
    assert update("DELETE s :v", item, v={"SS": ["c", "b", "a"]}) == {}
    assert update("DELETE n :v", {"n": {"NS": ["1", "2"]}}, v={"NS": ["1.0"]}) == {"n": {"NS": ["2"]}}
    assert update("DELETE m.s :v", {"m": {"M": item}}, v={"SS": ["a", "b", "c"]}) == {"m": {"M": {}}}


def test_an_update_lists_the_paths_that_it_changes():
    bound = update_of("SET a.b = c.d, e = f REMOVE g[0] ADD h :v", None, {":v": N(1)})
    assert bound.paths == (("a", "b"), ("e",), ("g", 0), ("h",))
    assert bound.attributes == {"a", "e", "g", "h"}
    assert bound.document_attributes == ("a", "g", "c")
    assert not bound.removes_only
    assert update_of("REMOVE a DELETE b :v", None, {":v": {"SS": ["a"]}}).removes_only
    assert not update_of("ADD a :v", None, {":v": N(1)}).removes_only


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("SET x = :v", {}, {"x": N(8)}),
        ("SET a.b = :v", {"a": {"M": {"b": N(1)}}}, {"a": {"M": {"b": N(8)}}}),
        (
            "SET a.l[1] = :v, n = :v",
            {"a": {"M": {"l": numbered(2)}}, "n": N(0)},
            {"a": {"M": {"l": numbered(8)}}, "n": N(8)},
        ),
        ("SET a.x = :v", {}, {"a": {"M": {"x": N(8)}}}),
        ("SET a.l[100] = :v", {}, {}),
        ("REMOVE a.l[1], a.l[3]", {"a": {"M": {"l": numbered(2)}}}, {"a": {"M": {"l": numbered(3)}}}),
        ("REMOVE n", {"n": N(0)}, {}),
    ],
)
def test_updated_attributes_contain_only_the_updated_paths(text, old, new):
    item = {"a": {"M": {"b": N(1), "l": numbered(1, 2, 3)}}, "n": N(0)}
    bound = update_of(text, None, {":v": N(8)} if ":v" in text else None)
    assert bound.updated_attributes(item) == old
    assert bound.updated_attributes(bound(item)) == new


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("SET p = :v", 3 + 19 + 1 + 5),
        ("SET abc = :v, d = :v", 3 + (19 + 3 + 5) + (19 + 1 + 5)),
        ("SET m.abc[10] = :v", 3 + 19 + 1 + (4 + 3) + (4 + 2) + 5),
        ("REMOVE r", 3 + 2),
        ("REMOVE r, m.x", 3 + 2 + 1 + 1 + 4 + 1),
        ("DELETE s :s", 3 + 1 + 1),
        ("ADD s :s", 3 + 19 + 1 + 3),
        ("SET c = m.z", 3 + 19 + 1 + 1 + 15 + 15),
        ("SET n = n + :n", 3 + 19 + 1 + 34 + (1 + 15) + 2),
        ("SET n = :n - n", 3 + 19 + 1 + 37 + (1 + 15) + 2),
        ("SET n = if_not_exists(n, :v)", 3 + 19 + 1 + 39 + (1 + 15) + 5),
        ("SET l = list_append(l, :l)", 3 + 19 + 1 + 37 + (1 + 15) + 3 + 1 + 2),
        ("SET #e = :v", 3 + 19 + 2 + 5),
    ],
)
def test_a_statement_is_charged_for_what_it_writes_and_how(text, cost):
    values = {":v": {"S": "hello"}, ":n": N(1), ":s": {"SS": ["a", "bc"]}, ":l": numbered(1)}
    names = {"#e": "é"} if "#e" in text else None
    given = {name: value for name, value in values.items() if name in text} or None
    assert update_of(text, names, given).cost() == cost


def test_an_update_can_be_built_without_parsing():
    bound = bind_update(
        (
            SetAction(DocumentPath(("a",)), Literal(N(1))),
            AddAction(DocumentPath(("b",)), Literal(N(2))),
            RemoveAction(DocumentPath(("c",))),
        )
    )
    assert bound({"b": N(1), "c": N(1)}) == {"a": N(1), "b": N(3)}
    assert bound.cost() == 3 + (19 + 1 + 2) + (19 + 1 + 2) + (1 + 1)
