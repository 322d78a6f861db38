"""The functions of the expression language, in one table, with their evaluators.

A new function is one entry of FUNCTIONS; parsers, checks, key conditions, PartiQL and declarations look it up there.
Evaluators are compiled once per expression text: a compiled function is a factory that is given the values of a
request and returns a function of the item, so that whatever depends on the values alone is computed once per request.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from operator import itemgetter
from typing import Any, TypeAlias, cast

from msgspec import Struct

from hashrange.core.errors import ValidationException
from hashrange.core.values import TAGS, Item, Value
from hashrange.expr.errors import ExpressionError
from hashrange.expr.large_values import LARGE_VALUES
from hashrange.expr.nodes import DocumentPath, FunctionCall, Literal, Node, Operand, Placeholder
from hashrange.expr.operators import WRONG_OPERAND_TYPE, tag_of
from hashrange.expr.path import Getter, make_getter

Values: TypeAlias = Mapping[str, Value]
Matcher: TypeAlias = Callable[[Item], bool]
MatcherFactory: TypeAlias = Callable[[Values], Matcher]
GetterFactory: TypeAlias = Callable[[Values], Getter]
Assignment: TypeAlias = Callable[[Item], Value]
AssignmentFactory: TypeAlias = Callable[[Values], Assignment]

MISSING_ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"
TYPE_NAMES = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}"


class Role(Enum):
    """Where a function may be called."""

    CONDITION = auto()
    """Alone: it is a condition."""
    OPERAND = auto()
    """As an operand of a comparison, BETWEEN, IN or a condition function."""
    ASSIGNMENT = auto()
    """On the right side of SET."""


class OperandRule(Struct, frozen=True):
    """What a function takes as one of its operands."""

    types: frozenset[str] = TAGS
    """The types that a value of the request may have here; an attribute is not checked before the item is read."""
    is_path: bool = False
    """Whether it must be a document path."""
    is_constant: bool = False
    """Whether it must be a value of the request."""


class Function(Struct, frozen=True, kw_only=True):
    """What is true of one function: operands, evaluator, cost, and where it may be called."""

    name: str
    role: Role
    operands: tuple[OperandRule, ...]
    compile: Callable[..., Callable[[Values], Callable[[Item], Any]]]
    """Returns the factory for the operands of a call. By role, the factory makes a Matcher, Getter or Assignment."""
    returns: str | None = None
    """The type of the result, if it is always the same."""
    cost: int = 0
    """The bytes that an update is charged for a call."""
    check_constants: Callable[[Sequence[Value | None]], None] | None = None
    """Raises ExpressionError for operands with invalid contents; operands that are not constants are None."""
    is_nestable: bool = True
    """Whether a call may be an argument of another function."""
    in_key_condition: bool = False
    """Whether a key condition may use it; `engine.read` then has to turn it into a range of keys."""
    in_partiql: bool = True
    """Whether PartiQL statements may use it."""
    is_search: bool = False
    """Whether it looks at each element of its first operand, so that its time grows with the item."""
    depends_on_elements: bool = False
    """Whether its result depends on what the elements of a list are, or how many."""
    never_true_for: frozenset[str] = frozenset()
    """Types that its first operand may have, and for which it is never true."""

    def can_hold(self, tag: str) -> bool:
        """Return whether it may be true for a first operand of a type; of a type that varies, the tag is empty."""
        return not tag or (tag in self.operands[0].types and tag not in self.never_true_for)


def find_function(name: str) -> Function:
    """Return the function of a name, or raise ExpressionError."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise ExpressionError(f"Invalid function name; function: {name}")
    return function


def has_role(name: str, role: Role, *, in_partiql: bool = False) -> bool:
    """Return whether there is a function of that name that may be called in a role (by a PartiQL statement)."""
    function = FUNCTIONS.get(name)
    return function is not None and function.role is role and (function.in_partiql or not in_partiql)


def condition_functions() -> list[str]:
    """Return the names of the functions that conditions may use, sorted."""
    return sorted(name for name, function in FUNCTIONS.items() if function.role is not Role.ASSIGNMENT)


def misplaced(name: str) -> ExpressionError:
    """Return the error for a function that is called where its role does not allow it."""
    return ExpressionError(f"The function is not allowed to be used this way in an expression; function: {name}")


def compile_call(call: FunctionCall, role: Role) -> Any:
    """Return the factory of a call in a role, or raise ExpressionError for a function that does not have this role."""
    function = find_function(call.function)
    if function.role is not role:
        raise misplaced(call.function)
    return function.compile(*call.arguments)


# -- operands ---------------------------------------------------------------------------------------------------------


def constant_getter(operand: Node) -> Callable[[Values], Value] | None:
    """Return a function that gets a constant operand from the request's values; None for any other operand."""
    if isinstance(operand, Placeholder):
        return itemgetter(operand.name)
    if isinstance(operand, Literal):
        value = operand.value
        return lambda _: value
    return None


def compile_operand(operand: Operand) -> GetterFactory:
    """Return the factory of an operand of a condition; what it makes returns None for a missing attribute."""
    if isinstance(operand, DocumentPath):
        getter = make_getter(operand.elements)
        return lambda _: getter
    if isinstance(operand, FunctionCall):
        return cast("GetterFactory", compile_call(operand, Role.OPERAND))
    return _compile_constant(operand)


def compile_assigned_operand(operand: Operand) -> AssignmentFactory:
    """Return the factory of an operand of SET; what it makes raises for a missing attribute."""
    if isinstance(operand, DocumentPath):
        return _compile_read(operand)
    if isinstance(operand, FunctionCall):
        return cast("AssignmentFactory", compile_call(operand, Role.ASSIGNMENT))
    return _compile_constant(operand)


def _compile_constant(operand: Placeholder | Literal) -> AssignmentFactory:
    fetch = constant_getter(operand)
    assert fetch is not None

    def make(values: Values) -> Assignment:
        value = fetch(values)
        return lambda _: value

    return make


def _compile_read(path: DocumentPath) -> AssignmentFactory:
    get = make_getter(path.elements)

    def read(item: Item) -> Value:
        value = get(item)
        if value is None:
            raise ValidationException(MISSING_ATTRIBUTE)
        return value

    return lambda _: read


# -- the usual functions -------------------------------------------------------------------------------------


def compile_condition_function(holds: Callable[..., bool]) -> Callable[..., MatcherFactory]:
    """Return the compiler of a condition on the values of the operands; it is false when one of them is missing."""

    def compile_arguments(*operands: Operand) -> MatcherFactory:
        if len(operands) == 2:
            return _compile_pair(holds, *operands)
        factories = [compile_operand(operand) for operand in operands]

        def make(values: Values) -> Matcher:
            getters = [factory(values) for factory in factories]

            def test(item: Item) -> bool:
                found = [get(item) for get in getters]
                return None not in found and holds(*found)

            return test

        return make

    return compile_arguments


def _compile_pair(holds: Callable[[Value, Value], bool], left: Operand, right: Operand) -> MatcherFactory:
    get_left, get_right = compile_operand(left), compile_operand(right)

    def make(values: Values) -> Matcher:
        get, other = get_left(values), get_right(values)

        def test(item: Item) -> bool:
            found, wanted = get(item), other(item)
            return found is not None and wanted is not None and holds(found, wanted)

        return test

    return make


def compile_operand_function(evaluate: Callable[[Value], Value | None]) -> Callable[[Operand], GetterFactory]:
    """Return the compiler of a function of one value; its result is missing when the value is."""

    def compile_argument(operand: Operand) -> GetterFactory:
        get_operand = compile_operand(operand)

        def make(values: Values) -> Getter:
            get = get_operand(values)

            def get_result(item: Item) -> Value | None:
                found = get(item)
                return None if found is None else evaluate(found)

            return get_result

        return make

    return compile_argument


def compile_assignment_function(combine: Callable[[Value, Value], Value]) -> Callable[..., AssignmentFactory]:
    """Return the compiler of a function of two values for SET; a missing attribute is refused."""

    def compile_arguments(left: Operand, right: Operand) -> AssignmentFactory:
        make_left, make_right = compile_assigned_operand(left), compile_assigned_operand(right)

        def make(values: Values) -> Assignment:
            get, other = make_left(values), make_right(values)
            return lambda item: combine(get(item), other(item))

        return make

    return compile_arguments


# -- evaluators -------------------------------------------------------------------------------------------------------


def _compile_exists(operand: Operand) -> MatcherFactory:
    if isinstance(operand, DocumentPath) and len(operand.elements) == 1:
        name = operand.elements[0]
        return lambda _: lambda item: name in item
    get_operand = compile_operand(operand)

    def make(values: Values) -> Matcher:
        get = get_operand(values)
        return lambda item: get(item) is not None

    return make


def _compile_not_exists(operand: Operand) -> MatcherFactory:
    if isinstance(operand, DocumentPath) and len(operand.elements) == 1:
        name = operand.elements[0]
        return lambda _: lambda item: name not in item
    get_operand = compile_operand(operand)

    def make(values: Values) -> Matcher:
        get = get_operand(values)
        return lambda item: get(item) is None

    return make


def _compile_type(operand: Operand, wanted: Operand) -> MatcherFactory:
    get_operand, fetch = compile_operand(operand), constant_getter(wanted)
    assert fetch is not None

    def make(values: Values) -> Matcher:
        get, tag = get_operand(values), fetch(values)["S"]

        def test(item: Item) -> bool:
            found = get(item)
            return found is not None and tag in found

        return test

    return make


def _check_type_name(operands: Sequence[Value | None]) -> None:
    wanted = operands[1]
    if wanted is not None and wanted["S"] not in TAGS:
        raise ExpressionError(f"Invalid attribute type name found; type: {wanted['S']}, valid types: {TYPE_NAMES}")


def begins_with(value: Value, prefix: Value) -> bool:
    """Return whether a string or binary starts with another."""
    if "S" in value:
        text: str = value["S"]
        return "S" in prefix and text.startswith(prefix["S"])
    return "B" in value and "B" in prefix and a2b_base64(value["B"]).startswith(a2b_base64(prefix["B"]))


def _compile_contains(value: Operand, part: Operand) -> MatcherFactory:
    get_value, get_part = compile_operand(value), compile_operand(part)

    def make(values: Values) -> Matcher:
        get, other = get_value(values), get_part(values)

        def test(item: Item) -> bool:
            found, wanted = get(item), other(item)
            return found is not None and wanted is not None and LARGE_VALUES.contains(item, found, wanted)

        return test

    return make


def size(value: Value) -> Value | None:
    """Return a value's UTF-16 code units, bytes or elements as a number; None for a type that has no size."""
    tag = tag_of(value)
    content: Any = value[tag]
    match tag:
        case "S":
            count = len(content) if content.isascii() else len(content.encode("utf-16-le")) // 2
        case "B":
            count = len(content) // 4 * 3 - int(content.count("="))
        case "SS" | "NS" | "BS" | "L" | "M":
            count = len(content)
        case _:
            return None
    return {"N": str(count)}


def list_append(left: Value, right: Value) -> Value:
    """Return one list after the other."""
    first, second = left.get("L"), right.get("L")
    if first is None or second is None:
        raise ValidationException(WRONG_OPERAND_TYPE)
    return {"L": make_list(first, second)}


def make_list(first: list[Value], second: list[Value]) -> list[Value]:
    """Return the elements of two lists."""
    return [*first, *second]


def _compile_if_not_exists(path: Operand, default: Operand) -> AssignmentFactory:
    """Compile if_not_exists and the calls nested in it, which may be hundreds, as one loop."""
    getters = [make_getter(cast("DocumentPath", path).elements)]
    while isinstance(default, FunctionCall) and default.function == "if_not_exists":
        path, default = default.arguments
        getters.append(make_getter(cast("DocumentPath", path).elements))
    make_default = compile_assigned_operand(default)

    def make(values: Values) -> Assignment:
        fallback = make_default(values)

        def find(item: Item) -> Value:
            for get in getters:
                value = get(item)
                if value is not None:
                    return value
            return fallback(item)

        return find

    return make


# -- the table --------------------------------------------------------------------------------------------------------

ANY = OperandRule()
PATH = OperandRule(is_path=True)
TEXT = OperandRule(frozenset({"S", "B"}))
LIST = OperandRule(frozenset({"L"}))
TYPE_NAME = OperandRule(frozenset({"S"}), is_constant=True)

FUNCTIONS: dict[str, Function] = {
    function.name: function
    for function in (
        Function(name="attribute_exists", role=Role.CONDITION, operands=(PATH,), compile=_compile_exists),
        Function(name="attribute_not_exists", role=Role.CONDITION, operands=(PATH,), compile=_compile_not_exists),
        Function(
            name="attribute_type",
            role=Role.CONDITION,
            operands=(ANY, TYPE_NAME),
            compile=_compile_type,
            check_constants=_check_type_name,
        ),
        Function(
            name="begins_with",
            role=Role.CONDITION,
            operands=(TEXT, TEXT),
            compile=compile_condition_function(begins_with),
            in_key_condition=True,
        ),
        Function(
            name="contains",
            role=Role.CONDITION,
            operands=(ANY, ANY),
            compile=_compile_contains,
            is_search=True,
            depends_on_elements=True,
            never_true_for=frozenset({"N", "BOOL", "NULL", "M"}),
        ),
        Function(
            name="size",
            role=Role.OPERAND,
            operands=(OperandRule(TAGS - {"N", "BOOL", "NULL"}),),
            compile=compile_operand_function(size),
            returns="N",
            depends_on_elements=True,
        ),
        Function(
            name="if_not_exists",
            role=Role.ASSIGNMENT,
            operands=(PATH, ANY),
            compile=_compile_if_not_exists,
            cost=39,
        ),
        Function(
            name="list_append",
            role=Role.ASSIGNMENT,
            operands=(LIST, LIST),
            compile=compile_assignment_function(list_append),
            cost=37,
            is_nestable=False,
        ),
    )
}
