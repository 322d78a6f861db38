"""ExecuteStatement: SELECT by key or by scan, its conditions, columns, order and pages."""

import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings

from tests.conformance.refusal import invalid
from tests.conformance.statement import make_runner
from tests.conformance.table import Table, define
from tests.conformance.where_clause import CONDITIONS, ROWS, to_wire
from tests.conformance.wire import item

OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
TOO_MANY = "Too many decomposed read operations for a given query."
WRONG_KEY = "Key attribute's data type should match its data type in table's schema: Key "


@pytest.fixture
def run(client):
    """`run(statement, *parameters, **options)`, the parameters as plain values."""
    return make_runner(client)


@pytest.fixture
def matches(run, table):
    """Return whether a condition holds for the item `a`, when the rest of the clause is its key."""

    def test(condition, /, *parameters):
        items = run(f"SELECT pk FROM \"{table.name}\" WHERE pk = 'a' AND {condition}", *parameters)["Items"]
        return items == [item(pk="a")]

    return test


@pytest.fixture
def letters(make_table):
    """A table with three items in each of the partitions o and p."""
    table = make_table("pk:S / sk:S")
    table.put_all({"pk": pk, "sk": sk, "flag": f"{pk}{sk}"} for pk in "op" for sk in "123")
    return table


@pytest.fixture
def keys(run, letters):
    """The keys that a clause selects, as `o1`, in the order in which they come."""

    def select(clause, **options):
        response = run(f'SELECT pk, sk FROM "{letters.name}" WHERE {clause}', **options)
        return [found["pk"]["S"] + found["sk"]["S"] for found in response["Items"]]

    return select


def ins(count):
    return ", ".join(f"'v{at}'" for at in range(count))


# -- what is read -----------------------------------------------------------------------------------------------------


def test_select_by_key_returns_the_item(run, table):
    table.put(pk="a", n=1)
    assert run(f"SELECT * FROM \"{table.name}\" WHERE pk = 'a'")["Items"] == [item(pk="a", n=1)]
    assert run(f"select * from \"{table.name}\" where 'b' = pk;")["Items"] == []


def test_select_without_a_key_scans(run, table):
    table.put_all({"pk": f"k{at}", "n": at} for at in range(10))
    assert len(run(f'SELECT * FROM "{table.name}"')["Items"]) == 10
    found = run(f'SELECT n FROM "{table.name}" WHERE n >= ? AND n < 9', 7)["Items"]
    assert sorted(row["n"]["N"] for row in found) == ["7", "8"]


@pytest.mark.parametrize(
    ("clause", "found"),
    [
        ("pk = 'o'", "o1 o2 o3"),
        ("pk = 'o' AND sk > '1'", "o2 o3"),
        ("pk = 'o' AND '2' >= sk", "o1 o2"),
        ("pk = 'o' AND sk BETWEEN '2' AND '3'", "o2 o3"),
        ("pk = 'o' AND begins_with(sk, '2')", "o2"),
        ("pk = 'o' AND sk = '1' AND sk > '0'", "o1"),
        ("pk = 'o' AND sk = '1' AND sk > '1'", ""),
        ("pk = 'o' AND pk = 'p'", ""),
        ("pk = 'o' AND pk >= 'p'", ""),
        ("pk = 'o' AND pk < 'o'", ""),
        ("pk = 'o' AND pk <= 'o' AND sk > '2'", "o3"),
        ("pk = 'o' AND pk BETWEEN 'p' AND 'q'", ""),
        ("pk = 'o' AND begins_with(pk, 'p')", ""),
        ("pk IN ['o', 'p'] AND pk > 'o'", "p1 p2 p3"),
        ("(pk = 'o' AND pk > 'o') OR (pk = 'p' AND sk = '1')", "p1"),
        ("pk = 'o' AND (sk = '1' OR sk = '3')", "o1 o3"),
        ("pk = 'o' AND sk IN ('3', '1')", "o1 o3"),
        ("pk = 'o' AND (sk < '2' OR sk > '2' OR sk = '2')", "o1 o2 o3"),
        ("pk IN ['p', 'o'] AND sk = '1'", "o1 p1"),
        ("pk = 'p' AND sk = '1' OR pk = 'o' AND sk > '2'", "o3 p1"),
        ("(pk = 'o' OR pk = 'p') AND flag = 'p2'", "p2"),
        ("pk = 'o' AND (flag = 'o1' OR flag = 'o3')", "o1 o3"),
        ("pk = 'o' AND attribute_exists(pk)", "o1 o2 o3"),
        ("pk = 'o' AND NOT sk = '1'", "o2 o3"),
        ("pk = 'o' AND sk <> '1'", "o2 o3"),
        ("pk = 'o' AND sk > '1' AND sk <> '2'", "o3"),
        ("pk = 'o' AND NOT sk = '1' OR pk = 'o' AND sk = '2'", "o2 o3"),
        ("pk = 'o' AND NOT sk IN ['1', '3'] OR pk = 'o' AND sk = '2'", "o2"),
        ("pk = 'o' OR pk = 'o' AND NOT sk = '1'", "o1 o2 o3"),
        ("NOT pk = 'o' AND sk = '1'", "p1"),
        ("pk = 'o' AND sk = '1' OR flag = 'p1'", "o1 p1"),
        ("pk > 'o'", "p1 p2 p3"),
        ("pk > 1", ""),
        ("flag = 'p2'", "p2"),
    ],
)
def test_a_clause_selects_keys(keys, clause, found):
    assert sorted(keys(clause)) == found.split()


@pytest.mark.parametrize(
    "clause",
    [
        "pk IN ['o', 'o']",
        "pk = 'o' OR pk = 'o'",
        "pk = 'o' AND (sk > '0' OR sk < '5')",
        "pk = 'o' AND (sk = '1' OR flag = 'two')",
        "(pk = 'o' AND flag = 'one') OR (pk = 'o' AND flag = 'two')",
        "pk = 'o' AND x <> '1' OR pk = 'o' AND sk = '2'",
    ],
)
def test_branches_may_not_overlap(keys, clause):
    with invalid(OVERLAP):
        keys(clause)


def test_a_clause_makes_at_most_fifty_reads(keys):
    for clause in (
        f"pk IN [{ins(51)}]",
        f"pk = 'o' AND sk IN [{ins(51)}]",
        f"pk IN [{ins(26)}] AND sk IN ['1', '2']",
        f"pk IN [{ins(100)}] AND sk IN [{ins(100)}]",
    ):
        with invalid(TOO_MANY):
            keys(clause)
    assert keys(f"pk IN [{ins(49)}, 'o'] AND flag IN [{ins(99)}, 'o1']") == ["o1"]
    assert keys(f"pk IN [{ins(51)}] OR flag = 'o1'") == ["o1"]
    with invalid("The IN operator is provided with too many operands; number of operands: 101"):
        keys(f"pk = 'o' AND flag IN [{ins(101)}]")


def test_keys_must_be_of_the_type_in_the_schema(keys):
    for clause, name in (
        ("pk = 1 OR pk = 'o'", "pk"),
        ("pk = 'o' AND sk IN ['1', 2]", "sk"),
        ("pk = 'o' AND sk > true", None),
        ("pk = 'o' AND sk > 5", "sk"),
    ):
        text = "Incorrect operand type for operator or function; operator or function: >, operand type: BOOL"
        with invalid(f"{WRONG_KEY}{name}" if name else text):
            keys(clause)


def test_key_values_may_not_be_empty_or_too_long(run, letters):
    text = "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty "
    with invalid(f"{text}string value. Key: pk"):
        run(f"SELECT * FROM \"{letters.name}\" WHERE pk = ''")
    with invalid(
        "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 bytes"
    ):
        run(f'SELECT * FROM "{letters.name}" WHERE pk = ?', "x" * 100_000)


# -- conditions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition",
    [
        "n = 1",
        "n = 1e0 AND n != 2",
        "n IN [?, 2]",
        "n NOT IN (2, 3)",
        "n BETWEEN - 2 AND +5",
        "n NOT BETWEEN 2 AND 3",
        "s = 'it''s' AND contains(s, '''')",
        "begins_with(\"s\", 'it')",
        "m.x = 'y' AND m.\"x\" = 'y'",
        "l[0] = 'a' AND l[-0] = 'a'",
        "contains(ss, 'b') AND contains(l, 'b')",
        "size(s) = 4 AND SIZE(ss) > 1",
        "attribute_exists(m.x) AND ATTRIBUTE_NOT_EXISTS (nope)",
        "attribute_type(ss, 'SS') AND NOT attribute_type(ss, 'S')",
        "nope IS MISSING AND n IS NOT MISSING",
        "z IS NULL AND NOT nope IS NULL AND s IS NOT NULL AND nope IS NOT NULL",
        "yes IS BOOL AND s IS STRING AND n IS NUMERIC AND m IS STRUCT AND m IS TUPLE AND l IS LIST",
        "NOT nope = 1 AND nope <> 1",
        "n < n2 OR n = 5",
        "ss = <<'b', 'a'>> AND m = {'x': 'y'} AND l = ['a', 'b'] AND z = null AND yes = true",
        "nope IN ['x'] OR n = 1",
        "attribute_exists(n) = true",
        "attribute_exists(nope) = false",
        "true = attribute_exists(n)",
        "attribute_exists(n) <> 1",
        "contains(nope, 'z') = false",
        "(n BETWEEN 0 AND 5) = true",
        "(n = 5 OR s = 'x') = false",
        "attribute_exists(nope) IN [true, false]",
        "attribute_exists(n) = attribute_exists(s)",
        "attribute_exists(n) = yes",
        "(attribute_exists(n) = true) = true",
    ],
)
def test_a_condition_holds(table, matches, condition):
    table.put(pk="a", n=1, n2=2, s="it's", m={"x": "y"}, l=["a", "b"], ss={"a", "b"}, z=None, yes=True)
    assert matches(condition, *([1] if "?" in condition else []))


@pytest.mark.parametrize(
    "condition",
    [
        "n = '1'",
        "n > 1",
        "n < 'x'",
        "n IN ['1']",
        "nope < 1",
        "attribute_exists(n) = 1",
        "NOT attribute_exists(n) = true",
        "(attribute_exists(n) = true) = false",
        "attribute_exists(n) = s",
        "size(n) = 1",
    ],
)
def test_a_condition_fails(table, matches, condition):
    table.put(pk="a", n=1, s="x")
    assert not matches(condition)


def test_comments_and_line_ends_are_blank(run, table):
    table.put(pk="a", note="a--b /*c*/")
    statement = f"SELECT/**/note -- columns\r\nFROM \"{table.name}\" WHERE pk/* key */='a' AND note = 'a--b /*c*/'; --"
    assert run(statement)["Items"] == [item(note="a--b /*c*/")]


# -- columns ----------------------------------------------------------------------------------------------------------


def test_a_column_is_named_after_the_end_of_its_path(run, table):
    table.put(pk="a", profile={"sub": "deep"}, tags=["x", "y"], m={"k": ["c"]})
    response = run(f"SELECT profile.sub, tags[1], m.k[0], nope, m.other FROM \"{table.name}\" WHERE pk = 'a'")
    assert response["Items"] == [item(sub="deep") | {"tags[1]": {"S": "y"}, "k[0]": {"S": "c"}}]


def test_columns_that_are_missing_leave_an_empty_row(run, table):
    table.put(pk="a")
    assert run(f"SELECT nope FROM \"{table.name}\" WHERE pk = 'a'")["Items"] == [{}]


# -- ORDER BY ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clause", "found"),
    [
        ("pk = 'o'", "o1 o2 o3"),
        ("pk = 'o' ORDER BY sk", "o1 o2 o3"),
        ("pk = 'o' ORDER BY sk ASC", "o1 o2 o3"),
        ("pk = 'o' ORDER BY sk DESC", "o3 o2 o1"),
        ("pk = 'o' AND sk IN ['1', '3'] ORDER BY sk DESC", "o3 o1"),
        ("pk = 'o' ORDER BY pk ASC", "o3 o2 o1"),
        ("pk IN ['o', 'p'] ORDER BY pk DESC, sk ASC", "p1 p2 p3 o1 o2 o3"),
        ("pk IN ['p', 'o'] ORDER BY pk, sk DESC", "o3 o2 o1 p3 p2 p1"),
    ],
)
def test_rows_come_in_the_order_asked_for(keys, clause, found):
    assert keys(clause) == found.split()


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        ("", "Must have WHERE clause in the statement when using ORDER BY clause."),
        ("WHERE pk = 'o'", "Attribute Total in ORDER BY clause must be part of the primary key"),
    ],
)
def test_only_keys_can_be_ordered_by(run, letters, clause, text):
    with invalid(text):
        run(f'SELECT sk FROM "{letters.name}" {clause} ORDER BY Total')


def test_order_needs_the_partition_key(keys):
    with invalid("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."):
        keys("pk > 'a' ORDER BY sk")
    with invalid(
        "Must have hash key in ORDER BY clause when more than one hash key condition specified in WHERE clause."
    ):
        keys("pk IN ['o', 'p'] ORDER BY sk DESC")


# -- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clause",
    [
        "",
        "WHERE pk = 'o'",
        "WHERE pk = 'o' ORDER BY sk DESC",
        "WHERE pk IN ['o', 'p']",
        "WHERE pk IN ['o', 'p'] ORDER BY pk DESC",
        "WHERE pk IN ['p', 'x', 'o'] AND sk > '1'",
        "WHERE pk = 'o' AND sk <> '2'",
        "WHERE flag = 'p2'",
    ],
)
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_pages_together_are_the_whole(run, letters, clause, limit):
    statement = f'SELECT * FROM "{letters.name}" {clause}'
    whole = run(statement)["Items"]
    pages, more = [], {}
    while True:
        page = run(statement, Limit=limit, **more)
        pages.append(page["Items"])
        assert len(page["Items"]) <= limit
        if "NextToken" not in page:
            break
        more = {"NextToken": page["NextToken"]}
        assert len(pages) < 20
    assert [row for rows in pages for row in rows] == whole


def test_the_limit_counts_what_is_evaluated(run, letters):
    page = run(f"SELECT sk FROM \"{letters.name}\" WHERE pk = 'o' AND flag = 'o3'", Limit=2)
    assert page["Items"] == []
    assert page["LastEvaluatedKey"] == item(pk="o", sk="2")
    assert "NextToken" in page


def test_pages_of_a_table_without_sort_key_end(run, table):
    table.put_all({"pk": pk} for pk in "abc")
    statement = f"SELECT * FROM \"{table.name}\" WHERE pk IN ['a', 'b']"
    first = run(statement, Limit=1)
    second = run(statement, Limit=1, NextToken=first["NextToken"])
    third = run(statement, Limit=1, NextToken=second["NextToken"])
    assert [page["Items"] for page in (first, second, third)] == [[item(pk="a")], [item(pk="b")], []]
    assert "NextToken" not in third


def test_a_page_ends_after_a_megabyte(run, table):
    table.put_all({"pk": f"k{at}", "fill": "x" * 390_000} for at in range(4))
    keys = ", ".join(f"'k{at}'" for at in range(4))
    for statement in (f'SELECT pk FROM "{table.name}"', f'SELECT pk FROM "{table.name}" WHERE pk IN [{keys}]'):
        first = run(statement)
        assert len(first["Items"]) == 3
        assert len(run(statement, NextToken=first["NextToken"])["Items"]) == 1


def test_a_token_belongs_to_its_statement_and_parameters(run, letters):
    statement = f'SELECT * FROM "{letters.name}" WHERE pk = ?'
    token = run(statement, "o", Limit=1)["NextToken"]
    for other in ((statement + " AND sk > '0'", "o"), (statement, "p")):
        with invalid("NextToken does not match request"):
            run(*other, NextToken=token)
    for broken in ("x", "AAAA", token[:-8], "W10="):
        with invalid("Invalid NextToken"):
            run(statement, "o", NextToken=broken)


def test_a_limit_of_zero_is_refused(run, table):
    text = "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"
    with invalid(f"1 validation error detected: {text}"):
        run(f'SELECT * FROM "{table.name}"', Limit=0)


# -- capacity ---------------------------------------------------------------------------------------------------------


def test_a_read_costs_what_it_evaluates(run, make_table):
    table = make_table("pk:S / sk:N")
    table.put_all({"pk": "a", "sk": at, "fill": "x" * 3000} for at in range(4))
    for clause in ("WHERE pk = 'a'", "WHERE pk = 'a' AND nope = 1", "WHERE nope = 1"):
        units = {"TableName": table.name, "CapacityUnits": 1.5}
        statement = f'SELECT sk FROM "{table.name}" {clause}'
        assert run(statement, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"] == units
        strong = run(statement, ReturnConsumedCapacity="INDEXES", ConsistentRead=True)["ConsumedCapacity"]
        assert strong == units | {"CapacityUnits": 3.0, "Table": {"CapacityUnits": 3.0}}


# -- random conditions ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def filled(client):
    """A table with the rows of the random conditions."""
    table = Table(client, define("pk:S / sk:N"))
    table.create()
    for row in ROWS:
        table.put_item(Item=to_wire(row))
    yield table
    table.drop()


@settings(deadline=None, max_examples=100)
@given(condition=CONDITIONS)
def test_select_returns_exactly_the_rows_that_satisfy_a_random_condition(filled, condition):
    text, holds = condition
    try:
        found = filled.client.execute_statement(Statement=f'SELECT * FROM "{filled.name}" WHERE {text}')["Items"]
    except ClientError as refusal:
        if refusal.response["Error"]["Message"] not in (OVERLAP, TOO_MANY):
            raise
        return
    expected = [to_wire(row) for row in ROWS if holds(row)]
    assert len(found) == len(expected)
    assert all(row in expected for row in found)
