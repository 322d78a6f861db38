"""ExecuteStatement: what is refused, in the service's words, and in its order."""

import re

import pytest

from tests.conformance.refusal import INVALID, invalid
from tests.conformance.statement import make_runner
from tests.conformance.table import Table, define, new_name
from tests.conformance.wire import nest

MALFORMED = "Statement wasn't well formed, can't be processed: "
OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
PRECISION = "Attempting to store more than 38 significant digits in a Number"
TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
NOT_NUMERIC = "The parameter cannot be converted to a numeric value"
OPERAND = "Incorrect operand type for operator or function; operator or function: "
COUNT = "Incorrect number of operands for operator or function; operator or function: "
NEEDS_PATH = "Operator or function requires a document path; operator or function: "


@pytest.fixture(scope="module")
def name(client):
    table = Table(client, define("pk:S"))
    table.create()
    table.put(pk="a", n=1, s="x", ss={"a"}, l=["a"], m={"x": 1})
    yield table.name
    table.drop()


@pytest.fixture
def run(client, name):
    """`run(statement, *parameters)`, with T standing for the table's quoted name."""

    execute = make_runner(client)
    return lambda statement, /, *parameters: execute(named(statement, name), *parameters)


def named(statement, name):
    return re.sub(r"\bT\b", f'"{name}"', statement, count=1)


def place(statement, name, token, length=None):
    """Where a token stands once the table's name has been put in, as `line:column:length`."""
    text = named(statement, name)
    return f"1:{text.index(token) + 1}:{length or len(token)}"


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("SELECT * FROM T t WHERE pk = 'x'", "Aliasing is not supported"),
        ("SELECT * FROM T AS t WHERE pk = 'x'", "Aliasing is not supported"),
        ("SELECT pk AS k FROM T", "Aliasing is not supported"),
        ("UPDATE T t SET a = 3 WHERE pk = 'x'", "Aliasing is not supported"),
        ("DELETE FROM T t WHERE pk = 'x'", "Aliasing is not supported"),
        ("SELECT * FROM T, other", "Only select from a single table or index is supported."),
        ("SELECT * FROM T JOIN other ON a = b", "Only select from a single table or index is supported."),
        ("SELECT * FROM T.idx.more", "A path may contain at most 2 components in the FROM clause"),
        ('SELECT * FROM T.""', "Path component cannot be an empty string"),
        ("SELECT * FROM \"\" WHERE pk = 'x'", "Path component cannot be an empty string"),
        ("UPDATE T.idx SET a = 1 WHERE pk = 'x'", "This operation is not supported on an index"),
        ("DELETE FROM T.idx WHERE pk = 'x'", "This operation is not supported on an index"),
        ("SELECT pk, n, pk FROM T", "Duplicate identifiers in select clause: pk"),
        ("x IS INT4", "Unsupported operation: IsType"),
        ("x IS DOUBLE PRECISION", "Unsupported operation: IsType"),
        (
            "EXISTS(SELECT * FROM T WHERE pk = 'x' AND a = 1)",
            "EXISTS can only be used in ExecuteTransaction write requests.",
        ),
        (
            "INSERT INTO T VALUE 'x'",
            (
                "Unsupported format in item expression. "
                "Please use struct format {...} to express item values for insert statement."
            ),
        ),
        (
            "INSERT INTO T {'pk': 'x'}",
            (
                "Unsupported operation: Inserting multiple items in a single statement is not supported, "
                'use "INSERT INTO tableName VALUE item" instead'
            ),
        ),
        ("INSERT INTO T VALUE {'pk': 'x'} RETURNING ALL NEW *", "RETURNING is not supported in INSERT"),
        ("INSERT INTO T VALUE {'pk': 'x', 's': <<>>}", "Empty bags are not supported"),
        (
            "INSERT INTO T VALUE {'pk': 'x', 's': <<1, 'a'>>}",
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags",
        ),
        (
            "INSERT INTO T VALUE {'pk': 'x', 's': <<'a', 'a'>>}",
            f"{INVALID}Input collection [a, a] contains duplicates.",
        ),
        (
            "UPDATE T SET ns = <<2, 2.0>> WHERE pk = 'a'",
            f"{INVALID}Input collection [2, 2.0] contains duplicates! under root",
        ),
        ("SELECT * FROM T WHERE pk = 1e126", f"{OVERFLOW} under root"),
        ("SELECT * FROM T WHERE pk = 1e2147483647", f"{UNDERFLOW} under root"),
        ("SELECT * FROM T WHERE pk = 1e-131", f"{UNDERFLOW} under root"),
        (f"SELECT * FROM T WHERE pk = 1{'2' * 38}", f"{PRECISION} under root"),
        ("INSERT INTO T VALUE {'pk': 'x', 'm': {'x': 1e126}}", f"{OVERFLOW} under root.x"),
        ("INSERT INTO T VALUE {'pk': 'x', 'l': [1, 1e126]}", f"{OVERFLOW} under root[1]"),
        ("SELECT * FROM T WHERE pk", "WHERE clause must contain an expression that resolves to a boolean"),
        ("SELECT * FROM T WHERE pk = 'a' AND n", "The arguments to AND/OR must be Expressions"),
        ("SELECT * FROM T WHERE pk = 'a' AND NOT n", "The argument to NOT must be a Type or Expression"),
        ("SELECT * FROM T WHERE n = 5 + 5", "Unsupported operator in Condition Expression. Operator: +"),
        ("SELECT * FROM T WHERE n > -n", f"{COUNT}-, number of operands: 1"),
        ("SELECT * FROM T WHERE s LIKE 'x'", "Unsupported operator in Condition Expression. Operator: like"),
        ("SELECT * FROM T WHERE s = MISSING", "MISSING must be compared using IS operator"),
        (
            "SELECT * FROM T WHERE s IN []",
            (
                "IN operator must have a left hand argument of type Variable Reference "
                "and right hand argument of type Seq with at least one member"
            ),
        ),
        (
            "SELECT * FROM T WHERE size(s)",
            "The function is not allowed to be used this way in an expression; function: size",
        ),
        ("SELECT * FROM T WHERE attribute_exists('s')", f"{NEEDS_PATH}attribute_exists"),
        ("SELECT * FROM T WHERE attribute_exists()", f"{COUNT}attribute_exists, number of operands: 0"),
        ("SELECT * FROM T WHERE attribute_exists(s, n)", f"{COUNT}attribute_exists, number of operands: 2"),
        ("SELECT * FROM T WHERE attribute_type(l, 1)", f"{OPERAND}attribute_type, operand type: N"),
        ("SELECT * FROM T WHERE n < true", f"{OPERAND}<, operand type: BOOL"),
        ("SELECT * FROM T WHERE n BETWEEN null AND 1", f"{OPERAND}BETWEEN, operand type: NULL"),
        ("SELECT * FROM T WHERE attribute_exists(n) > false", f"{OPERAND}>, operand type: BOOL"),
        ("UPDATE T SET n = 'a' + 1 WHERE pk = 'a' AND nope = 1", f"{OPERAND}+, operand type: S"),
        ("UPDATE T SET n = n - null WHERE pk = 'a' AND nope = 1", f"{OPERAND}-, operand type: NULL"),
        ("UPDATE T SET n = n * 2 WHERE pk = 'a'", "Unsupported operator in Update Expression. Operator: *"),
        ("UPDATE T SET n = s IS STRING WHERE pk = 'a'", "IS operator is not supported in update expressions"),
        ("SELECT * FROM T WHERE a[*].b = 1", "Wildcard path component like a[*].b are not supported"),
        ("SELECT * FROM T WHERE a.*.b = 1", "Unpivot path component like a.*.b are not supported"),
        (
            "SELECT * FROM T WHERE pk.x = 1",
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk",
        ),
        ("SELECT * FROM T WHERE m.inner = 1", f"{MALFORMED}Invalid path dot component"),
        (
            f"SELECT * FROM T WHERE m{'.m' * 32} = 1",
            "The document path has too many nesting levels; nesting levels: 33",
        ),
        (
            f"SELECT * FROM T WHERE {' OR '.join(['n = 1'] * 151)}",
            "The expression contains too many operators; operator count: 301",
        ),
        (
            f"UPDATE T SET d = {'[' * 32}1{']' * 32} WHERE pk = 'a'",
            f"Nesting Levels have exceeded supported limits under root{'[0]' * 32}",
        ),
    ],
)
def test_a_statement_is_refused(run, statement, text):
    with invalid(text):
        run(statement)


@pytest.mark.parametrize(
    ("statement", "text", "token"),
    [
        ("SELECT COUNT(*) FROM T", "Unexpected path component", "COUNT"),
        ("SELECT n,  attribute_exists(s) FROM T", "Unexpected path component", "attribute_exists"),
        (
            "SELECT l[2147483648] FROM T",
            "List index is not within the allowable range; index: [2147483648]",
            "2147483648",
        ),
        ("SELECT l[-1] FROM T", "List index is not within the allowable range; index: [-1]", "1"),
        ("SELECT * FROM T WHERE pk = 'a' AND EXISTS(s)", "Unrecognized function: exists", "EXISTS"),
        ("SELECT * FROM T WHERE set_add(ss, <<'x'>>) = ss", "Unrecognized function: set_add", "set_add"),
        ("SELECT id FROM T LIMIT 99999", "Unsupported clause: LIMIT", "99999"),
        ("SELECT id FROM T GROUP BY name", "Unsupported clause: GROUP BY", "name"),
        (
            "UPDATE T SET t = set_add(ss, <<'x'>>) WHERE pk = 'a'",
            "The first argument to SET_ADD must equal the assignment value",
            "set_add",
        ),
        (
            "UPDATE T SET ss = SET_DELETE(<<'a'>>, <<'b'>>) WHERE pk = 'a'",
            "The first argument to SET_DELETE must equal the assignment value",
            "SET_DELETE",
        ),
        ("UPDATE T SET ss = set_add(ss) WHERE pk = 'a'", "SET_ADD must have exactly two arguments", "set_add"),
        (
            "UPDATE T SET ss = set_add( ss, 'x') WHERE pk = 'a'",
            "The second argument to SET_ADD must be a value with type SET",
            " ss,",
        ),
        (
            "INSERT INTO T VALUE {'pk': 'x', 'ss': set_add(<<'a'>>, <<'b'>>)}",
            "Unsupported data type: set_add under key root",
            "set_add",
        ),
        (
            "INSERT INTO T.idx VALUE {'pk': 'x'}",
            "FROM clause may only contain a single table name in data manipulation statements",
            "TABLE",
        ),
    ],
)
def test_a_refusal_names_the_place(run, name, statement, text, token):
    if token == "TABLE":
        where = f"1:13:{len(name) + 2}"
    elif token == " ss,":
        where = place(statement.replace("( ss", "(_ss"), name, "ss,", 2)
    else:
        where = place(statement, name, token)
    with invalid(f"{text} at {where}"):
        run(statement)


def test_a_place_counts_lines(run):
    with invalid("Unexpected path component at 3:4:5"):
        run("SELECT\r\n-- the count\n   count(n) FROM T")


@pytest.mark.parametrize(("literal", "path"), [("[?]", "root[0]"), ("{'k': ?}", "root.k"), ("[[1, ?]]", "root[0][1]")])
def test_a_parameter_stands_only_for_a_whole_value(run, name, literal, path):
    statement = f"UPDATE T SET x = {literal} WHERE pk = 'a'"
    with invalid(f"Unsupported data type: Parameter under key {path} at {place(statement, name, '?')}"):
        run(statement, "v")


@pytest.mark.parametrize("parameters", [(), ("a",), ("a", "b", "c")])
def test_parameters_must_be_as_many_as_question_marks(run, parameters):
    with invalid("Number of parameters in request and statement don't match."):
        run("SELECT * FROM T WHERE pk = ? AND s = ?", *parameters)


@pytest.mark.parametrize(
    ("parameter", "text"),
    [
        ({"N": "1e99999999999"}, f"{NOT_NUMERIC}: 1e99999999999"),
        ({"N": "1e-2147483648"}, f"{NOT_NUMERIC}: 1e-2147483648"),
        ({"N": "abc"}, f"{NOT_NUMERIC}: abc"),
        ({"N": ""}, NOT_NUMERIC),
        ({"N": "1e2147483647"}, UNDERFLOW),
        ({"N": "1e126"}, OVERFLOW),
        ({"NS": ["1", "1e99999999999"]}, f"{NOT_NUMERIC}: 1e99999999999"),
        ({"M": {"x": {"N": "1e99999999999"}}}, f"{NOT_NUMERIC}: 1e99999999999"),
        ({"SS": ["a", "a"]}, f"{INVALID}Input collection [a, a] contains duplicates."),
        ({"SS": []}, f"{INVALID}An string set  may not be empty"),
        ({"NULL": False}, f"{INVALID}Null attribute value types must have the value of true"),
        ({}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
        (
            {"S": "a", "BOOL": True},
            (
                "Supplied AttributeValue has more than one datatypes set, "
                "must contain exactly one of the supported datatypes"
            ),
        ),
        (nest(40, {"N": "abc"}), TOO_DEEP),
        ({"M": {"bad": {"N": "abc"}, "deep": nest(40, {"S": "x"})}}, f"{NOT_NUMERIC}: abc"),
        ({"M": {"deep": nest(40, {"S": "x"}), "bad": {"N": "abc"}}}, TOO_DEEP),
    ],
)
def test_parameters_are_checked_before_the_statement_is_read(client, parameter, text):
    for statement in ("UPDATE x SET WHERE", "SELECT * FROM t WHERE pk = ?"):
        with invalid(text):
            client.execute_statement(Statement=statement, Parameters=[parameter])


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("SELECT * FROM {} WHERE", f"{MALFORMED}Unexpected term"),
        ("SELECT * FROM {} WHERE a < true", f"{OPERAND}<, operand type: BOOL"),
        ("SELECT COUNT(*) FROM {}", "Unexpected path component at 1:8:5"),
        ("UPDATE {}.idx SET a = 1 WHERE pk = 'x'", "This operation is not supported on an index"),
    ],
)
def test_what_is_wrong_in_itself_is_told_before_a_missing_table(client, statement, text):
    with invalid(text):
        client.execute_statement(Statement=statement.format(f'"{new_name()}"'))


def test_a_statement_has_at_most_8192_characters(client):
    fits = "SELECT * FROM t WHERE" + " " * (8192 - 21)
    with invalid(f"{MALFORMED}Unexpected term"):
        client.execute_statement(Statement=fits)
    with invalid(containing="Member must have length less than or equal to 8192"):
        client.execute_statement(Statement=fits + " ")
    with invalid(containing="Member must have length greater than or equal to 1"):
        client.execute_statement(Statement="")
