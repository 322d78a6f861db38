"""ExecuteStatement: INSERT, UPDATE and DELETE of one item, and what they answer."""

import pytest

from tests.conformance.refusal import CONDITION_FAILED, INVALID, invalid, not_found, refused
from tests.conformance.statement import make_runner
from tests.conformance.table import new_name
from tests.conformance.wire import item, nest, sized_item, value

DUPLICATE = "Duplicate primary key exists in table"
NO_KEY = "Where clause does not contain a mandatory equality on all key attributes"
WRONG_OPERAND = "An operand in the update expression has an incorrect data type"
LIMIT = 409_600


@pytest.fixture
def run(client):
    """`run(statement, *parameters, **options)`, the parameters as plain values."""
    return make_runner(client)


def condition_failed():
    return refused("ConditionalCheckFailedException", CONDITION_FAILED)


# -- INSERT -----------------------------------------------------------------------------------------------------------


def test_insert_stores_every_kind_of_literal(run, table):
    response = run(
        f"""INSERT INTO "{table.name}" VALUE {{'pk': 'a', 's': 'it''s', 'n': -1.50e2, 't': TRUE, 'f': false, 'z': null,
        'l': [1, 'x', []], 'm': {{'k': {{}}}}, 'ss': <<'b', 'a'>>, 'ns': <<10, 2.5, 1>>}}"""
    )
    assert response["Items"] == []
    assert table.get(pk="a") == item(
        pk="a", s="it's", n=-150, t=True, f=False, z=None, l=[1, "x", []], m={"k": {"M": {}}}
    ) | {"ss": {"SS": ["a", "b"]}, "ns": {"NS": ["1", "2.5", "10"]}}


def test_insert_takes_parameters(run, table):
    run(f"INSERT INTO \"{table.name}\" VALUE {{'pk': ?, 'b': ?}}", "a", b"\x00\xff")
    assert table.get(pk="a") == item(pk="a", b=b"\x00\xff")


def test_insert_of_an_existing_item_is_a_duplicate(run, table):
    table.put(pk="a", v="first")
    with refused("DuplicateItemException", DUPLICATE):
        run(f"INSERT INTO \"{table.name}\" VALUE {{'pk': 'a', 'v': 'second'}}")
    assert table.get(pk="a") == item(pk="a", v="first")


def test_a_deleted_item_can_be_inserted_again(run, table):
    for statement in ("INSERT INTO {} VALUE {{'pk': 'a'}}", "DELETE FROM {} WHERE pk = 'a'") * 2:
        run(statement.format(f'"{table.name}"'))
    assert table.get(pk="a") is None


def test_insert_needs_the_whole_key(run, sorted_table):
    with invalid(f"{INVALID}Missing the key sk in the item"):
        run(f"INSERT INTO \"{sorted_table.name}\" VALUE {{'pk': 'a'}}")
    with invalid(f"{INVALID}Type mismatch for key sk expected: N actual: S"):
        run(f"INSERT INTO \"{sorted_table.name}\" VALUE {{'pk': 'a', 'sk': '1'}}")


def test_insert_holds_the_size_limit_of_an_item(run, table):
    full = sized_item(LIMIT, pk="a")
    run(f"INSERT INTO \"{table.name}\" VALUE {{'pk': ?, 'fill': ?}}", "a", full["fill"])
    with invalid("Item size has exceeded the maximum allowed size"):
        run(f"INSERT INTO \"{table.name}\" VALUE {{'pk': ?, 'fill': ?}}", "bb", full["fill"])


def test_insert_checks_index_keys(run, make_table):
    table = make_table("pk:S", gsi={"gsi1": "a:S"})
    with invalid(f"{INVALID}Type mismatch for Index Key a Expected: S Actual: N IndexName: gsi1"):
        run(f"INSERT INTO \"{table.name}\" VALUE {{'pk': 'x', 'a': 1}}")


# -- UPDATE -----------------------------------------------------------------------------------------------------------


def test_update_sets_and_removes(run, table):
    table.put(pk="a", keep=1, gone=2, data="before", m={"x": 1}, l=["a", "b"])
    response = run(
        f"""UPDATE "{table.name}" SET data = 'after', m.y = [1] SET l[1] = ? REMOVE gone REMOVE l[0] WHERE pk = 'a'""",
        "c",
    )
    assert response["Items"] == []
    assert table.get(pk="a") == item(pk="a", keep=1, data="after", m={"x": 1, "y": [1]}, l=["c"])


def test_update_may_start_with_from(run, table):
    table.put(pk="a", n=1)
    response = run(f'from "{table.name}" where pk = ? and n = 1 set n = ? returning all new *', "a", 7)
    assert response["Items"] == [item(pk="a", n=7)]


def test_update_never_creates_an_item(run, table):
    for statement in (
        "UPDATE {} SET c = 1 WHERE pk = 'a'",
        "FROM {} WHERE pk = 'a' SET c = 1",
        "UPDATE {} SET c = set_add(c, <<'x'>>) WHERE pk = 'a'",
        "UPDATE {} SET c = 1 WHERE pk = 'a' AND attribute_not_exists(pk)",
        "UPDATE {} REMOVE c WHERE pk = 'a'",
    ):
        with condition_failed():
            run(statement.format(f'"{table.name}"'))
    assert table.get(pk="a") is None


def test_what_update_says_besides_the_key_is_a_condition(run, table):
    table.put(pk="a", n=1, flag="x")
    run(f"UPDATE \"{table.name}\" SET m = 1 WHERE (pk = 'a' AND n = 1) AND flag IN ['x', 'y']")
    with condition_failed() as caught:
        run(
            f"UPDATE \"{table.name}\" SET m = 2 WHERE pk = 'a' AND (n = 2 OR attribute_exists(nope))",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.response["Item"] == item(pk="a", n=1, flag="x", m=1)
    assert table.get(pk="a")["m"] == {"N": "1"}


def test_right_sides_read_the_item_as_it_was(run, table):
    table.put(pk="a", x=1, y=2)
    run(f"UPDATE \"{table.name}\" SET x = y SET y = x WHERE pk = 'a'")
    assert table.get(pk="a") == item(pk="a", x=2, y=1)


@pytest.mark.parametrize(
    ("right", "result"),
    [
        ("n + 1", 6),
        ("n-1", 4),
        ("n - - 2", 7),
        ("n + m", 8),
        ("1 + n", 6),
        ("n + 1 + 2 - m", 5),
        ("(n + 1) - (m - 1)", 4),
        ("if_not_exists(nope, 0) + 1", 1),
    ],
)
def test_sums_are_worked_out_exactly(run, table, right, result):
    table.put(pk="a", n=5, m=3)
    run(f"UPDATE \"{table.name}\" SET r = {right} WHERE pk = 'a'")
    assert table.get(pk="a")["r"] == {"N": str(result)}


def test_lists_are_appended_to(run, table):
    table.put(pk="a", m={"l": [2]})
    run(f"UPDATE \"{table.name}\" SET m.l = LIST_APPEND(m.l, [3]) WHERE pk = 'a'")
    run(f"UPDATE \"{table.name}\" SET m.l = list_append([1], m.l) WHERE pk = 'a'")
    assert table.get(pk="a")["m"] == value({"l": [1, 2, 3]})
    with invalid("The provided expression refers to an attribute that does not exist in the item"):
        run(f"UPDATE \"{table.name}\" SET x = list_append(x, [1]) WHERE pk = 'a'")


def test_set_add_and_set_delete_change_members(run, table):
    table.put(pk="a", ss={"a", "b"}, ns={1, 2}, single={"x"})
    run(
        f"""UPDATE "{table.name}" SET ss = set_add(ss, <<'c', 'a'>>) SET ns = SET_DELETE(ns, <<2, 9>>)
        SET single = set_delete(single, <<'x'>>) SET fresh = set_add(fresh, ?) SET nope = set_delete(nope, <<'x'>>)
        WHERE pk = 'a'""",
        {b"\x01"},
    )
    stored = item(pk="a", ss={"a", "b", "c"}, ns={1}, fresh={b"\x01"})
    assert table.get(pk="a") == stored


def test_set_functions_need_a_set_of_the_same_kind(run, table):
    table.put(pk="a", ss={"a"}, s="x")
    for change in ("ss = set_add(ss, <<1>>)", "s = set_add(s, <<'x'>>)", "ss = set_delete(ss, <<1>>)"):
        with invalid(WRONG_OPERAND):
            run(f"UPDATE \"{table.name}\" SET {change} WHERE pk = 'a'")


@pytest.mark.parametrize("where", ["", " WHERE n = 1", " WHERE pk = 'a' OR pk = 'b'", " WHERE pk IN ['a']"])
def test_writes_need_the_whole_key_by_equality(run, table, where):
    with invalid(NO_KEY):
        run(f'UPDATE "{table.name}" SET n = 1{where}')
    with invalid(NO_KEY):
        run(f'DELETE FROM "{table.name}"{where}')


def test_writes_need_one_value_for_each_key_attribute(run, sorted_table):
    sorted_table.put(pk="a", sk=1)
    text = "Multiple conditions on same key pk. Only single item Update/Insert/Delete are supported"
    with invalid(text):
        run(f"DELETE FROM \"{sorted_table.name}\" WHERE pk = 'a' AND sk = 1 AND pk = 'b'")
    run(f"UPDATE \"{sorted_table.name}\" SET n = 1 WHERE pk = 'a' AND sk = 1 AND 'a' = pk")
    assert sorted_table.get(pk="a", sk=1) == item(pk="a", sk=1, n=1)


def test_update_does_not_touch_the_key(run, table):
    table.put(pk="a")
    with invalid(f"{INVALID}Cannot update attribute pk. This attribute is part of the key"):
        run(f"UPDATE \"{table.name}\" SET pk = 'a' WHERE pk = 'a'")


def test_update_measures_the_finished_item(run, table):
    table.put(pk="a")
    full = sized_item(LIMIT, pk="a")
    run(f"UPDATE \"{table.name}\" SET fill = ? WHERE pk = 'a'", full["fill"])
    with invalid("Item size to update has exceeded the maximum allowed size"):
        run(f"UPDATE \"{table.name}\" SET x = 1 WHERE pk = 'a'")


def test_update_may_not_nest_an_item_too_deep(run, table):
    table.put(pk="a", m={"M": {}})
    with invalid("Nesting Levels have exceeded supported limits"):
        run(f"UPDATE \"{table.name}\" SET m.deep = ? WHERE pk = 'a'", nest(31, value("x")))
    assert table.get(pk="a")["m"] == {"M": {}}


def test_paths_must_lead_somewhere(run, table):
    table.put(pk="a", s="x")
    with invalid("The document path provided in the update expression is invalid for update"):
        run(f"UPDATE \"{table.name}\" SET s.x = 1 WHERE pk = 'a'")
    with invalid(
        "Two document paths overlap with each other; must remove or rewrite one of these paths; "
        "path one: [x], path two: [x, y]"
    ):
        run(f"UPDATE \"{table.name}\" SET x = 1 SET x.y = 2 WHERE pk = 'a'")


# -- DELETE -----------------------------------------------------------------------------------------------------------


def test_delete_removes_the_item_if_its_condition_holds(run, table):
    table.put(pk="a", name="x")
    with condition_failed():
        run(f"DELETE FROM \"{table.name}\" WHERE pk = 'a' AND NOT begins_with(name, 'x')")
    assert table.get(pk="a") is not None
    assert run(f"DELETE FROM \"{table.name}\" WHERE pk = 'a' AND attribute_not_exists(nope)")["Items"] == []
    assert table.get(pk="a") is None


def test_delete_of_a_missing_item_succeeds_whatever_its_condition(run, table):
    assert run(f"DELETE FROM \"{table.name}\" WHERE pk = 'a' AND name = 'x'")["Items"] == []


# -- RETURNING --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returning", "items"),
    [
        ("ALL OLD", [item(pk="a", n=1, m={"x": 1, "y": 2}, gone=1)]),
        ("ALL NEW", [item(pk="a", n=2, m={"x": 9, "y": 2})]),
        ("MODIFIED OLD", [item(n=1, m={"x": 1}, gone=1)]),
        ("MODIFIED NEW", [item(n=2, m={"x": 9})]),
    ],
)
def test_update_returns_what_is_asked_for(run, table, returning, items):
    table.put(pk="a", n=1, m={"x": 1, "y": 2}, gone=1)
    update = f"UPDATE \"{table.name}\" SET n = 2, m.x = 9 REMOVE gone WHERE pk = 'a' RETURNING {returning} *"
    assert run(update)["Items"] == items


def test_nothing_modified_is_no_row(run, table):
    table.put(pk="a", n=1)
    assert run(f"UPDATE \"{table.name}\" REMOVE n WHERE pk = 'a' RETURNING MODIFIED NEW *")["Items"] == []


def test_delete_returns_only_the_old_item(run, table):
    table.put(pk="a", n=1)
    delete = f"DELETE FROM \"{table.name}\" WHERE pk = 'a' RETURNING "
    with invalid(
        "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is allowed in DELETE statements."
    ):
        run(delete + "MODIFIED OLD *")
    assert run(delete + "ALL OLD *")["Items"] == [item(pk="a", n=1)]
    assert run(delete + "ALL OLD *")["Items"] == []


# -- tables and capacity ----------------------------------------------------------------------------------------------


def test_a_table_that_does_not_exist_is_not_found(run):
    name = new_name()
    for statement in (
        f"SELECT * FROM \"{name}\" WHERE pk = 'x'",
        f"INSERT INTO \"{name}\" VALUE {{'pk': 'x'}}",
        f"UPDATE \"{name}\" SET c = 1 WHERE pk = 'x'",
        f"DELETE FROM \"{name}\" WHERE pk = 'x'",
    ):
        with not_found():
            run(statement)


def test_writes_report_the_capacity_of_table_and_indexes(run, make_table):
    table = make_table("pk:S", gsi={"gsi1": "a:S", "gsi2": "b:S"})
    response = run(
        f"INSERT INTO \"{table.name}\" VALUE {{'pk': 'x', 'a': '1', 'b': '2'}}", ReturnConsumedCapacity="INDEXES"
    )
    assert response["ConsumedCapacity"] == {
        "TableName": table.name,
        "CapacityUnits": 3.0,
        "Table": {"CapacityUnits": 1.0},
        "GlobalSecondaryIndexes": {"gsi1": {"CapacityUnits": 1.0}, "gsi2": {"CapacityUnits": 1.0}},
    }
    assert "ConsumedCapacity" not in run(f"DELETE FROM \"{table.name}\" WHERE pk = 'x'")


def test_a_write_has_no_next_page(run, table):
    with invalid("Invalid NextToken"):
        run(f"DELETE FROM \"{table.name}\" WHERE pk = 'x'", NextToken="x")
