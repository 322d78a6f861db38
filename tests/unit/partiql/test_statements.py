"""Properties of whole statements on a real engine: they agree with plain Python, and none crashes the engine."""

import contextlib

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.core.errors import InternalServerError, ServiceError, ValidationException
from hashrange.engine.read import in_hash_order
from hashrange.partiql.key_ranges import OVERLAP, TOO_MANY
from tests.conformance.where_clause import CONDITIONS, ROWS, to_wire
from tests.unit.engine.local import Local
from tests.unit.partiql.test_statement_parser import WORDS


@pytest.fixture(scope="module")
def rows():
    """A database with the table `tab`, keys `pk:S / sk:N` and an index on flag, filled with ROWS."""
    local = Local()
    local.create("pk:S / sk:N", gsi={"idx": ("flag:S", "KEYS_ONLY")})
    for row in ROWS:
        local.call("PutItem", TableName="tab", Item=to_wire(row))
    yield local
    local.close()


def read_all(local, statement, **options):
    found, more = [], {}
    while True:
        page = local.call("ExecuteStatement", Statement=statement, **options, **more)
        found += page["Items"]
        if "NextToken" not in page:
            return found
        more = {"NextToken": page["NextToken"]}


def sort(items):
    return sorted(items, key=lambda found: orjson.dumps(found, option=orjson.OPT_SORT_KEYS))


@settings(deadline=None, max_examples=200)
@given(condition=CONDITIONS, limit=st.sampled_from([1, 2, 7]))
def test_a_select_returns_the_items_that_satisfy_its_condition(rows, condition, limit):
    text, holds = condition
    statement = f"SELECT * FROM tab WHERE {text}"
    expected = sort(to_wire(row) for row in ROWS if holds(row))
    try:
        found = read_all(rows, statement)
    except ValidationException as refusal:
        if refusal.message not in (OVERLAP, TOO_MANY):
            raise
        return
    assert sort(found) == expected
    assert read_all(rows, statement, Limit=limit) == found


TABLED = [word if word not in ('"table"', "t") else "tab" for word in WORDS] + [
    "idx",
    "sk",
    "flag",
    "'a'",
    "begins_with",
]
CLAUSES = st.lists(st.sampled_from(TABLED), max_size=12).map(" ".join)
STATEMENTS = (
    CLAUSES
    | CLAUSES.map(lambda clause: f"SELECT * FROM tab WHERE pk = 'a' AND {clause}")
    | CLAUSES.map(lambda clause: f"SELECT {clause} FROM tab.idx WHERE flag = 'x' OR {clause}")
    | CLAUSES.map(lambda clause: f"UPDATE tab SET {clause} WHERE pk = 'zz' AND sk = 1")
    | CLAUSES.map(lambda clause: f"UPDATE tab SET a = {clause} WHERE pk = 'zz' AND sk = 1")
    | CLAUSES.map(lambda clause: f"INSERT INTO tab VALUE {{'pk': 'zz', 'x': {clause}}}")
    | CLAUSES.map(lambda clause: f"EXISTS(SELECT * FROM tab WHERE pk = 'zz' AND sk = 1 AND {clause})")
)
VALUES = st.sampled_from([{"S": ""}, {"N": "1"}, {"SS": ["a"]}, {"L": []}, {"NULL": True}, {"N": "x"}, {}, {"M": {}}])


@settings(deadline=None, max_examples=300)
@given(statement=STATEMENTS, parameters=st.lists(VALUES, min_size=1, max_size=3), token=st.text(max_size=12))
def test_no_statement_crashes_the_engine(rows, statement, parameters, token):
    member = {"Statement": statement or " "} | ({"Parameters": parameters} if "?" in statement else {})
    calls = [
        ("ExecuteStatement", member),
        ("ExecuteStatement", member | {"NextToken": token or "x", "Limit": 1}),
        ("BatchExecuteStatement", {"Statements": [member, member]}),
        ("ExecuteTransaction", {"TransactStatements": [member]}),
    ]
    for operation, request in calls:
        with contextlib.suppress(ServiceError):
            try:
                rows.call(operation, **orjson.loads(orjson.dumps(request)))
            except InternalServerError as failure:
                raise AssertionError(operation, statement) from failure


# -- literals ---------------------------------------------------------------------------------------------------------

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9, places=4)
SCALARS = (
    st.text().map(lambda text: {"S": text})
    | NUMBERS.map(lambda number: {"N": str(number)})
    | st.booleans().map(lambda truth: {"BOOL": truth})
    | st.just({"NULL": True})
    | st.lists(st.text(), min_size=1, unique=True).map(lambda texts: {"SS": texts})
    | st.lists(NUMBERS, min_size=1, unique=True).map(lambda numbers: {"NS": list(map(str, numbers))})
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda values: {"L": values})
        | st.dictionaries(st.text(min_size=1), inner, max_size=3).map(lambda members: {"M": members})
    ),
    max_leaves=8,
)


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def write_literal(value):
    ((tag, content),) = value.items()
    match tag:
        case "S":
            return quote(content)
        case "N":
            return content
        case "BOOL" | "NULL":
            return str(content) if tag == "BOOL" else "null"
        case "L":
            return "[" + ", ".join(map(write_literal, content)) + "]"
        case "M":
            return "{" + ", ".join(f"{quote(name)}: {write_literal(member)}" for name, member in content.items()) + "}"
    return "<<" + ", ".join(map(quote if tag == "SS" else str, content)) + ">>"


@settings(deadline=None)
@given(value=DOCUMENTS.filter(lambda value: len(write_literal(value)) < 8000))
def test_a_literal_is_stored_as_the_value_it_writes(rows, value):
    key = {"pk": {"S": "literal"}, "sk": {"N": "1"}}
    rows.call("PutItem", TableName="tab", Item=orjson.loads(orjson.dumps(key | {"v": value})))
    stored = rows.call("GetItem", TableName="tab", Key=dict(key))["Item"]
    rows.call("DeleteItem", TableName="tab", Key=dict(key))
    rows.call(
        "ExecuteStatement", Statement=f"INSERT INTO tab VALUE {{'pk': 'literal', 'sk': 1, 'v': {write_literal(value)}}}"
    )
    assert rows.call("GetItem", TableName="tab", Key=dict(key))["Item"] == stored
    rows.call("DeleteItem", TableName="tab", Key=dict(key))


def test_names_are_listed_as_a_hash_set_lists_them():
    assert in_hash_order(["b", "a"]) == ["a", "b"]
    assert in_hash_order(["zz", "aa", "mm"]) == ["zz", "aa", "mm"]
    names = [f"n{at}" for at in range(13)]
    assert in_hash_order(names[::-1]) == [*names[:11], "n12", "n11"]


def test_every_write_is_in_the_stream_once():
    local = Local()
    local.create("pk:S", view="NEW_AND_OLD_IMAGES")
    update = "UPDATE tab SET n = 1 WHERE pk = 'a'"
    local.call("ExecuteStatement", Statement="INSERT INTO tab VALUE {'pk': 'a'}")
    local.call("BatchExecuteStatement", Statements=[{"Statement": update}])
    local.call("ExecuteStatement", Statement=update)
    local.call("ExecuteTransaction", TransactStatements=[{"Statement": "DELETE FROM tab WHERE pk = 'a'"}])
    local.call("ExecuteStatement", Statement="DELETE FROM tab WHERE pk = 'a'")
    with pytest.raises(ServiceError):
        local.call("ExecuteStatement", Statement=update)
    records = local.records()
    local.close()
    assert [record["eventName"] for record in records] == ["INSERT", "MODIFY", "REMOVE"]
    assert records[1]["dynamodb"]["NewImage"] == {"pk": {"S": "a"}, "n": {"N": "1"}}


def test_a_token_is_forgotten_after_ten_minutes():
    local = Local()
    local.create("pk:S")
    local.put(pk="a", n=0)
    request = {"TransactStatements": [{"Statement": "UPDATE tab SET n = n + 1 WHERE pk = 'a'"}]}
    for wait in (0, 599, 2):
        local.clock.advance(wait)
        local.call("ExecuteTransaction", ClientRequestToken="token", **request)
    items = local.items()
    local.close()
    assert items == [{"pk": {"S": "a"}, "n": {"N": "2"}}]
