"""The table of functions: what an entry defines, and that a new function needs nothing but an entry."""

from time import process_time
from typing import Protocol

import pytest

import hashrange
from hashrange.core.errors import ValidationException
from hashrange.engine.engine import open_engine
from hashrange.expr.condition import bind_condition
from hashrange.expr.errors import ExpressionError
from hashrange.expr.functions import (
    ANY,
    FUNCTIONS,
    Function,
    OperandRule,
    Role,
    compile_assignment_function,
    compile_condition_function,
    compile_operand_function,
    condition_functions,
    find_function,
)
from hashrange.expr.large_values import contains
from hashrange.expr.nodes import DocumentPath, FunctionCall, Literal, Placeholder, SetAction, path_of
from hashrange.expr.update import bind_update
from hashrange.operations import OPERATIONS
from tests.unit.expr.request_reader import condition_of, condition_problem, update_of, update_problem

STRING = OperandRule(frozenset({"S"}))


@pytest.fixture
def added(monkeypatch):
    """Add functions to the table for one test."""

    def add(**members):
        monkeypatch.setitem(FUNCTIONS, members["name"], Function(**members))

    return add


@pytest.fixture
def ends_with(added):
    """A condition function that DynamoDB does not have."""
    added(
        name="ends_with",
        role=Role.CONDITION,
        operands=(STRING, STRING),
        compile=compile_condition_function(lambda value, end: value.get("S", "").endswith(end["S"])),
    )


@pytest.fixture
def engine():
    opened = open_engine(None, OPERATIONS)
    opened.call(
        "CreateTable",
        {
            "TableName": "tab",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    )
    for key in ("red", "reed", "rod"):
        opened.call("PutItem", {"TableName": "tab", "Item": {"pk": {"S": key}, "n": {"N": "1"}}})
    yield opened
    opened.close()


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_every_function_refuses_another_number_of_operands(function):
    arguments = ", ".join(f"a{at}" for at in range(len(function.operands) + 1))
    text = f"{function.name}({arguments})"
    message = f"operator or function: {function.name}, number of operands: {len(function.operands) + 1}"
    match function.role:
        case Role.CONDITION:
            problem = condition_problem(text)
        case Role.OPERAND:
            problem = condition_problem(f"{text} = x")
        case Role.ASSIGNMENT:
            problem = update_problem(f"SET x = {text}")
    assert problem.endswith(message)


@pytest.mark.parametrize("call", [FunctionCall("nonsense", (path_of("a"),)), FunctionCall("size", (path_of("a"),))])
def test_an_update_does_not_compile_a_function_that_is_not_for_updates(call):
    with pytest.raises(ExpressionError, match=call.function):
        bind_update((SetAction(path_of("a"), call),))


@pytest.mark.parametrize("function", ["nonsense", "size", "if_not_exists"])
def test_a_condition_does_not_compile_a_function_that_is_not_a_condition(function):
    with pytest.raises(ExpressionError, match=function):
        bind_condition(FunctionCall(function, (path_of("a"),)))


def test_an_unknown_function_is_refused_by_name():
    with pytest.raises(ExpressionError, match="Invalid function name; function: nonsense"):
        find_function("nonsense")


@pytest.mark.usefixtures("ends_with")
def test_a_condition_function_is_one_entry_of_the_table():
    holds = condition_of("ends_with(color, :end)", values={":end": {"S": "ed"}})
    assert holds({"color": {"S": "red"}})
    assert not holds({"color": {"S": "rod"}})
    assert not holds({})
    assert "ends_with" in condition_functions()


@pytest.mark.usefixtures("ends_with")
def test_a_new_function_is_checked_by_its_entry():
    assert condition_problem("ends_with(color)").endswith("operator or function: ends_with, number of operands: 1")
    assert condition_problem("ends_with(color, :n)", values={":n": {"N": "1"}}).endswith(
        "operator or function: ends_with, operand type: N"
    )
    assert condition_problem("ends_with(color, :n) = :n", values={":n": {"S": "1"}}) == (
        "The function is not allowed to be used this way in an expression; function: ends_with"
    )
    assert update_problem("SET a = ends_with(color, :n)", values={":n": {"S": "1"}}) == (
        "The function is not allowed in an update expression; function: ends_with"
    )


def test_an_operand_function_is_one_entry_of_the_table(added):
    added(
        name="upper_case",
        role=Role.OPERAND,
        operands=(STRING,),
        compile=compile_operand_function(lambda value: {"S": value["S"].upper()} if "S" in value else None),
        returns="S",
    )
    holds = condition_of("upper_case(color) = :x", values={":x": {"S": "RED"}})
    assert holds({"color": {"S": "red"}})
    assert not holds({"color": {"N": "1"}})
    assert condition_problem("size(upper_case(color)) < upper_case(:n)", values={":n": {"N": "1"}}).endswith(
        "operator or function: upper_case, operand type: N"
    )


def test_an_update_function_is_one_entry_of_the_table(added):
    added(
        name="concatenate",
        role=Role.ASSIGNMENT,
        operands=(ANY, STRING),
        compile=compile_assignment_function(lambda left, right: {"S": left["S"] + right["S"]}),
        cost=30,
    )
    update = update_of("SET a = concatenate(a, :b)", values={":b": {"S": "y"}})
    assert update({"a": {"S": "x"}}) == {"a": {"S": "xy"}}
    assert update.cost() == update_of("SET a = a").cost() + 30 + 1
    with pytest.raises(ValidationException, match="does not exist"):
        update({})


@pytest.mark.usefixtures("ends_with")
def test_the_engine_runs_a_new_function_in_conditions_and_filters(engine):
    values = {":end": {"S": "ed"}}
    page = engine.call(
        "Scan", {"TableName": "tab", "FilterExpression": "ends_with(pk, :end)", "ExpressionAttributeValues": values}
    )
    assert b'"Count":2' in page
    write = {
        "TableName": "tab",
        "Key": {"pk": {"S": "red"}},
        "UpdateExpression": "SET n = n + n",
        "ConditionExpression": "ends_with(pk, :end)",
        "ExpressionAttributeValues": values,
        "ReturnValues": "UPDATED_NEW",
    }
    assert b'{"n":{"N":"2"}}' in engine.call("UpdateItem", write)


@pytest.mark.usefixtures("ends_with")
def test_partiql_runs_a_new_function(engine):
    page = engine.call("ExecuteStatement", {"Statement": "SELECT pk FROM tab WHERE ends_with(pk, 'ed')"})
    assert page.count(b'"pk"') == 2


def test_partiql_does_not_know_a_function_that_is_not_for_statements(engine, added):
    always = compile_condition_function(bool)
    added(name="always", role=Role.CONDITION, operands=(ANY,), compile=always, in_partiql=False)
    with pytest.raises(ValidationException, match="Unrecognized function: always"):
        engine.call("ExecuteStatement", {"Statement": "SELECT pk FROM tab WHERE always(pk)"})


@pytest.mark.usefixtures("ends_with")
def test_a_declared_pattern_uses_a_new_function():
    table = hashrange.Table("library", "pk", "sk")

    class Book(hashrange.Item, table=table, pk="BOOKS", sk="BOOK#{title}"):
        title: hashrange.Key[str]
        author: str

    class Library(hashrange.Patterns, Protocol):
        @hashrange.where("ends_with(author, {end})")
        def ending(self, end: str) -> hashrange.Query[Book]: ...

    with hashrange.open() as database:
        hashrange.create_tables(database, Library)
        db = Library.open(database)
        db.batch([Book(title="Solaris", author="Lem"), Book(title="Emma", author="Austen")]).run()
        assert [book.title for book in db.ending("en")] == ["Emma"]


@pytest.mark.usefixtures("ends_with")
def test_a_new_function_of_a_field_for_which_it_is_never_true_is_refused():
    class Book(hashrange.Item, table=hashrange.Table("library", "pk"), pk="BOOK#{title}"):
        title: hashrange.Key[str]
        pages: int

    with pytest.raises(hashrange.DeclarationError, match=r"HR261.*ends_with of pages, which is stored as N"):

        class Library(hashrange.Patterns, Protocol):
            @hashrange.where("ends_with(pages, {end})")
            def ending(self, end: str) -> hashrange.Scan[Book]: ...


def test_literals_are_operands_of_functions():
    assert bind_condition(FunctionCall("contains", (Literal({"S": "abc"}), Literal({"S": "b"}))))({})


LONG_VALUES = [
    {"L": [*({"S": str(at)} for at in range(200)), {"N": "7"}, {"L": [{"S": "x"}]}, {"BOOL": True}]},
    {"SS": sorted(str(at) for at in range(200))},
    {"NS": [str(at) for at in range(200)]},
]
PARTS = [
    {"S": "7"},
    {"S": "x"},
    {"N": "7"},
    {"N": "8"},
    {"B": "eA=="},
    {"L": [{"S": "x"}]},
    {"BOOL": True},
    {"SS": ["7"]},
]


@pytest.mark.parametrize("value", LONG_VALUES, ids=["list", "strings", "numbers"])
def test_contains_finds_the_same_in_a_long_value_as_in_its_members_one_by_one(value):

    holds = find_function("contains").compile(DocumentPath(("a",)), Placeholder(":v"))
    for other in ({"a": value}, {"a": {"L": [{"S": "only"}] * 200}}, {"a": value}):
        assert [holds({":v": part})(other) for part in PARTS] == [contains(other["a"], part) for part in PARTS]


def test_many_contains_over_a_long_list_take_little_more_time_than_one():
    holds = find_function("contains").compile(DocumentPath(("a",)), Placeholder(":v"))
    times = []
    for count in (1, 140):
        item = {"a": {"L": [{"S": ""} for _ in range(130_000)]}}
        started = process_time()
        assert not any(holds({":v": {"S": str(at)}})(item) for at in range(count))
        times.append(process_time() - started)
    assert times[1] < 20 * times[0]
