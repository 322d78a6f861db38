"""ExecuteStatement: SELECT from an index that FROM names."""

import pytest

from tests.conformance.refusal import INVALID, invalid
from tests.conformance.statement import make_runner
from tests.conformance.table import Table, define
from tests.conformance.wire import item

OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
SEVERAL = (
    "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or multi-attribute RANGE keys."
)


@pytest.fixture
def run(client):
    """`run(statement, *parameters, **options)`, the parameters as plain values."""
    return make_runner(client)


@pytest.fixture(scope="module")
def indexed(client):
    """A table with an index of each kind and projection; `s3` is in none of them."""
    gsi = {"gsi-all": "g:S", "gsi-inc": ("g:S", ["shown"]), "gsi-keys": ("g:S / h:N", "KEYS_ONLY")}
    lsi = {"lsi-inc": ("pk:S / l:S", ["shown"]), "lsi-all": "pk:S / l:S"}
    table = Table(client, define("pk:S / sk:S", gsi=gsi, lsi=lsi))
    table.create()
    for at, group in ((1, "x"), (2, "y"), (4, "x")):
        table.put(pk="p", sk=f"s{at}", g=group, h=at, l=f"l{at}", shown=at, hidden=f"h{at}")
    table.put(pk="p", sk="s3", hidden="h3")
    yield table
    table.drop()


@pytest.fixture
def select(run, indexed):
    """The rows of `SELECT columns FROM table.index clause`."""

    def rows(columns, index, clause="", **options):
        return run(f'SELECT {columns} FROM "{indexed.name}"."{index}" {clause}', **options)["Items"]

    return rows


def sort_keys(rows):
    return sorted(row["sk"]["S"] for row in rows)


def test_an_index_holds_only_what_has_its_key(select):
    assert sort_keys(select("*", "gsi-all")) == ["s1", "s2", "s4"]
    assert sort_keys(select("*", "lsi-all")) == ["s1", "s2", "s4"]


def test_an_index_is_queried_by_its_own_key(select):
    assert sort_keys(select("*", "gsi-all", "WHERE g = 'x'")) == ["s1", "s4"]
    assert sort_keys(select("*", "gsi-keys", "WHERE g = 'x' AND h > 1")) == ["s4"]
    assert sort_keys(select("*", "lsi-all", "WHERE pk = 'p' AND l BETWEEN 'l2' AND 'l3'")) == ["s2"]


def test_an_index_is_scanned_without_its_key(select):
    assert sort_keys(select("*", "gsi-all", "WHERE pk = 'p' AND hidden = 'h2'")) == ["s2"]


def test_an_index_shows_what_it_holds(select):
    (row,) = select("*", "gsi-inc", "WHERE g = 'y'")
    assert row == item(pk="p", sk="s2", g="y", shown=2)
    (row,) = select("*", "gsi-keys", "WHERE g = 'y'")
    assert row == item(pk="p", sk="s2", g="y", h=2)
    (row,) = select("*", "lsi-inc", "WHERE pk = 'p' AND l = 'l2'")
    assert row == item(pk="p", sk="s2", l="l2", shown=2)


def test_a_global_index_has_no_other_columns(select):
    with invalid(f"{INVALID}Global secondary index gsi-inc does not project [other, hidden]"):
        select("other, pk, hidden", "gsi-inc", "WHERE g = 'x'")
    with invalid(f"{INVALID}Global secondary index gsi-inc does not project [hidden]"):
        select("hidden", "gsi-inc")


def test_a_local_index_fetches_other_columns(select):
    assert select("hidden", "lsi-inc", "WHERE pk = 'p' AND l = 'l2'") == [item(hidden="h2")]


@pytest.mark.parametrize(
    ("clause", "missing"),
    [
        ("g = 'y' AND hidden = 'h2'", "hidden"),
        ("g = 'y' AND NOT (hidden = 'h2' OR shown = 1)", "hidden"),
        ("g = 'y' AND b = '1' AND (a = '2' OR shown = 3)", "a, b"),
        ("g = 'y' AND (zz = '1' OR aa = '2' OR mm = '3')", "zz, aa, mm"),
        ("g IN ['y'] AND hidden = 'h2'", "hidden"),
        ("(g = 'y' OR g = 'z') AND hidden = '1'", "hidden"),
        ("(g = 'b' AND u1 = '1') OR (g = 'q' AND u2 = '1')", "u2"),
        ("(g = 'q' AND u1 = '1') OR (g = 'b' AND u2 = '1')", "u1"),
    ],
)
def test_a_query_on_an_index_tests_only_what_it_holds(select, clause, missing):
    text = f"{INVALID}Secondary index gsi-inc does not project one or more filter attributes: [{missing}]"
    with invalid(text):
        select("pk", "gsi-inc", f"WHERE {clause}")


def test_the_same_holds_for_a_local_index(select):
    with invalid(f"{INVALID}Secondary index lsi-inc does not project one or more filter attributes: [hidden]"):
        select("*", "lsi-inc", "WHERE pk = 'p' AND hidden = 'h1'")


@pytest.mark.parametrize(
    ("clause", "found"),
    [
        ("hidden = 'h1'", []),
        ("NOT hidden = 'h1'", ["s1", "s2", "s4"]),
        ("g > 'x' AND hidden = 'h2'", []),
        ("g = 'y' AND (shown = 2 OR shown = 3)", ["s2"]),
        ("(g = 'x' AND hidden = 'h1') OR g = 'y'", ["s2"]),
        ("(g = 'y' AND shown = 2) OR (g = 'z' AND hidden = '1')", ["s2"]),
        ("g = 'y' AND (g = 'z' OR hidden = '1')", []),
        ("(g = 'y' AND hidden = '1') OR shown = 1", ["s1"]),
    ],
)
def test_what_an_index_lacks_is_missing_when_it_is_scanned(select, clause, found):
    assert sort_keys(select("*", "gsi-inc", f"WHERE {clause}")) == found


def test_branches_on_an_index_may_not_overlap(select):
    with invalid(OVERLAP):
        select("*", "gsi-inc", "WHERE (g = 'y' AND zz = '1') OR (g = 'y' AND aa = '1')")


def test_rows_with_the_same_index_key_are_paged_one_by_one(run, indexed):
    for clause in ("WHERE g = 'x'", "", "WHERE g IN ['x', 'y'] ORDER BY g DESC"):
        statement = f'SELECT * FROM "{indexed.name}"."gsi-all" {clause}'
        whole, found, more = run(statement)["Items"], [], {}
        while True:
            page = run(statement, Limit=1, **more)
            found += page["Items"]
            if "NextToken" not in page:
                break
            assert set(page["LastEvaluatedKey"]) == {"pk", "sk", "g"}
            more = {"NextToken": page["NextToken"]}
        assert found == whole


def test_order_follows_the_keys_of_the_index(select):
    rows = select("sk", "gsi-keys", "WHERE g = 'x' ORDER BY h DESC")
    assert [row["sk"]["S"] for row in rows] == ["s4", "s1"]
    with invalid("Attribute sk in ORDER BY clause must be part of the primary key"):
        select("sk", "gsi-keys", "WHERE g = 'x' ORDER BY sk DESC")


def test_an_unknown_index_is_refused(select):
    for options in ({}, {"ConsistentRead": True}):
        with invalid("The table does not have the specified index"):
            select("*", "gsi-none", **options)


def test_only_local_indexes_are_read_consistently(select):
    with invalid("Strongly consistent read is not supported on Global Secondary Indexes"):
        select("*", "gsi-all", ConsistentRead=True)
    assert len(select("*", "lsi-all", "WHERE pk = 'p'", ConsistentRead=True)) == 3


def test_capacity_is_counted_on_the_index(run, indexed):
    def units(columns, index, clause, **options):
        statement = f'SELECT {columns} FROM "{indexed.name}"."{index}" WHERE {clause}'
        return run(statement, ReturnConsumedCapacity="INDEXES", **options)["ConsumedCapacity"]

    report = units("*", "gsi-all", "g = 'x'")
    assert (report["CapacityUnits"], report["Table"]) == (0.5, {"CapacityUnits": 0.0})
    assert report["GlobalSecondaryIndexes"] == {"gsi-all": {"CapacityUnits": 0.5}}
    report = units("hidden", "lsi-inc", "pk = 'p'")
    assert (report["CapacityUnits"], report["Table"]) == (2.0, {"CapacityUnits": 1.5})
    assert report["LocalSecondaryIndexes"] == {"lsi-inc": {"CapacityUnits": 0.5}}
    assert units("*", "lsi-inc", "pk = 'p'", ConsistentRead=True)["CapacityUnits"] == 1.0


@pytest.fixture
def several(make_table):
    """A table with an index whose keys have several attributes."""
    return make_table("pk:S", gsi={"several": "a:S,b:S / c:S", "plain": "a:S"})


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM {}.several",
        "SELECT * FROM {}.several WHERE a = 5",
        "SELECT * FROM {}.several WHERE a = 'x' AND b = 'y' ORDER BY c DESC",
        "SELECT COUNT(*) FROM {}.several",
    ],
)
def test_an_index_with_keys_of_several_attributes_is_out_of_reach(run, several, statement):
    with invalid(SEVERAL):
        run(statement.format(f'"{several.name}"'))


def test_what_cannot_be_read_is_told_before_that(run, several):
    with invalid("Statement wasn't well formed, can't be processed: Unexpected term"):
        run(f'SELECT * FROM "{several.name}".several WHERE')
    with invalid("The parameter cannot be converted to a numeric value: 1e99999999999"):
        run(f'SELECT * FROM "{several.name}".several WHERE a = ?', {"N": "1e99999999999"})


def test_the_rest_of_such_a_table_is_in_reach(run, several):
    run(f"INSERT INTO \"{several.name}\" VALUE {{'pk': 'x', 'a': 'y'}}")
    assert len(run(f"SELECT * FROM \"{several.name}\".plain WHERE a = 'y'")["Items"]) == 1
    assert len(run(f"SELECT * FROM \"{several.name}\" WHERE pk = 'x'")["Items"]) == 1
