"""Builds conditions over stored attributes: from `@where` texts, fixed fields, and parameters that compare.

The result is a syntax tree of the expression language; its placeholders stand for value sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from msgspec import Struct

from hashrange.core.errors import DeclarationError, ValueInvalid
from hashrange.core.values import Value
from hashrange.expr.errors import ExpressionError
from hashrange.expr.functions import FUNCTIONS, condition_functions
from hashrange.expr.nodes import (
    And,
    Between,
    Clause,
    Comparison,
    Condition,
    DocumentPath,
    FunctionCall,
    Leaf,
    Literal,
    Membership,
    Node,
    Not,
    Operand,
    Or,
    Placeholder,
    calls_of,
    children_of,
    clauses_of,
    join_any,
    path_of,
    paths_of,
    replace_clauses,
    replace_leaves,
    walk,
)
from hashrange.expr.parser import parse_condition
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.codec import make_codec
from hashrange.schema.declare.field_kind import INSIDE, Codec, encode, members_of
from hashrange.schema.declare.introspection import NOTHING, ModelClass, ModelField
from hashrange.schema.declare.marker import Joined, Prefixed
from hashrange.schema.pattern.operand_types import check_operands
from hashrange.schema.pattern.signature import PARAMETER, Parameter, Signature
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentElement,
    Arguments,
    FieldValue,
    FixedValue,
    ListElement,
    Placeholders,
    ValueSource,
)

TEXT = re.compile(r"'([^']*)'")
NUMBER = re.compile(r"(?<![\w\[.:])-?\d+(?:\.\d+)?(?![\w\]])")
FINER = {">=", "<"}  # comparisons for which a time is rounded up to the precision that is stored


class Criterion(Struct, frozen=True):
    """A condition, and the stored attributes that it reads."""

    condition: Condition

    @property
    def attributes(self) -> list[str]:
        """The attributes, each once."""
        return list(dict.fromkeys(str(path.elements[0]) for path in paths_of(self.condition)))


def parameters_in(expressions: tuple[str, ...]) -> set[str]:
    """Return the parameters that `@where` texts name."""
    return {name for expression in expressions for name in PARAMETER.findall(expression)}


def compare(field: ModelField, parameter: Parameter, placeholders: Placeholders, attr: str | None = None) -> Criterion:
    """Return the test of a field against a parameter; `attr` is a key that contains the field, and nothing else."""
    path, operator = path_of(attr or field.stored), parameter.operator
    if operator == "BETWEEN":
        low = FieldValue(ArgumentElement(parameter.name, 0), field.codec, up=True)
        high = FieldValue(ArgumentElement(parameter.name, 1), field.codec)
        return Criterion(Between(path, operand(low, placeholders), operand(high, placeholders)))
    if operator == "IN":
        each = (FieldValue(ListElement(parameter.name, at), field.codec) for at in range(parameter.count))
        return Criterion(Membership(path, tuple(operand(value_source, placeholders) for value_source in each)))
    if operator in {"contains", "begins_with"}:
        codec = field.codec if field.marker(Prefixed) is not None else _codec_inside(parameter.hint, operator)
        return Criterion(
            FunctionCall(operator, (path, operand(FieldValue(Argument(parameter.name), codec), placeholders)))
        )
    value_source = FieldValue(Argument(parameter.name), field.codec, up=operator in FINER)
    return Criterion(Comparison(operator, path, operand(value_source, placeholders)))


def _codec_inside(hint: Any, operator: str) -> Codec:
    """Return the codec of what is searched for in a field: an element as `encode` writes it, or a part of a text."""
    return INSIDE if operator == "contains" else make_codec(hint, ())


def operand(value_source: ValueSource, placeholders: Placeholders) -> Placeholder:
    """Return a value source as the operand of a condition: a placeholder."""
    return Placeholder(placeholders.add(value_source))


def equal(stored: str, value_source: ValueSource, placeholders: Placeholders) -> Criterion:
    """Return the test that an attribute equals a value."""
    return Criterion(Comparison("=", path_of(stored), operand(value_source, placeholders)))


def is_absent(stored: str) -> Criterion:
    """Return the test for an attribute that is absent or null."""
    return _is_absent_at(path_of(stored))


def _is_absent_at(path: DocumentPath) -> Criterion:
    null = FunctionCall("attribute_type", (path, Literal({"S": "NULL"})))
    return Criterion(Or((FunctionCall("attribute_not_exists", (path,)), null)))


def exists(stored: str) -> Criterion:
    """Return the test for an attribute that exists."""
    return Criterion(FunctionCall("attribute_exists", (path_of(stored),)))


def starts(stored: str, value_source: ValueSource, placeholders: Placeholders) -> Criterion:
    """Return the test that an attribute begins with a value."""
    return Criterion(FunctionCall("begins_with", (path_of(stored), operand(value_source, placeholders))))


# ── @where ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def parse_where(label: str, expression: str) -> tuple[Condition, dict[str, Value]]:
    """Return a `@where` text as a tree over fields, and its constants by placeholder."""
    constants: dict[str, Value] = {}

    def keep(value: object) -> str:
        constants[f":_{len(constants)}"] = encode(value)
        return f":_{len(constants) - 1}"

    text = TEXT.sub(lambda match: keep(match[1]), expression)
    text = NUMBER.sub(lambda match: keep(float(match[0]) if "." in match[0] else int(match[0])), text)
    try:
        return parse_condition(PARAMETER.sub(r":\1", text)), constants
    except ExpressionError as error:
        raise DeclarationError(
            "HR220",
            label,
            f"@where({expression!r}) does not parse: {error}",
            "write a DynamoDB condition over fields",
        ) from error


def read_where(signature: Signature, model: ModelClass, expression: str, placeholders: Placeholders) -> Criterion:
    """Return a `@where` text as a condition over stored attributes; refuse unknown names."""
    tree, constants = parse_where(signature.label, expression)
    _check_functions(signature, model, expression, tree)

    def physical(clause: Clause, leaf: Leaf) -> Operand:
        if isinstance(leaf, Placeholder):
            return operand(_value_source(signature, model, leaf.name, clause, constants), placeholders)
        if isinstance(leaf, Literal):
            return leaf
        found = signature.field(model, str(leaf.elements[0]), f"{leaf.elements[0]} in @where({expression!r})")
        check_is_stored(signature, model, found, f"@where({expression!r})")
        if len(leaf.elements) > 1:
            check_is_not_joined(signature, found, f"@where({expression!r})")
        _check_nested(signature, found, leaf, expression)
        return DocumentPath((found.stored, *leaf.elements[1:]))

    found = Criterion(replace_clauses(tree, lambda clause: replace_leaves(clause, partial(physical, clause))))
    check_operands(signature, model, tree, constants)
    return found


def check_is_stored(signature: Signature, model: ModelClass, field: ModelField, location: str) -> None:
    """Refuse a condition on a field that is no attribute: it would never hold."""
    if is_only_in_keys(model, field):
        raise DeclarationError(
            "HR227",
            signature.label,
            f"{location} tests {field.name}, which is stored only inside keys",
            f"take {field.name} as a parameter of the key, or store it too: leave Key[...] out",
        )


def check_is_not_joined(signature: Signature, field: ModelField, location: str) -> None:
    """Refuse a test of one element of a list that is stored as one string: it would find parts of elements."""
    if field.marker(Joined) is not None:
        raise DeclarationError(
            "HR228",
            signature.label,
            f"{location} tests an element of {field.name}, which is stored as one string",
            "declare it as list[...] or set[...], which DynamoDB can search",
        )


def check_is_not_prefixed(signature: Signature, field: ModelField, location: str) -> None:
    """Refuse a search inside a field that is stored with a prefix: it would find parts of the prefix."""
    if field.marker(Prefixed) is not None:
        raise DeclarationError(
            "HR262",
            signature.label,
            f"{location} searches inside {field.name}, which is stored with a prefix",
            f"compare the whole of {field.name}, or how it begins: BeginsWith[str], begins_with({field.name}, {{...}})",
        )


def is_only_in_keys(model: ModelClass, field: ModelField) -> bool:
    """Return whether a field is part of a key, and no attribute of its own."""
    return field.key_only and field.stored not in introspection.keys(model)


def _check_nested(signature: Signature, field: ModelField, path: DocumentPath, expression: str) -> None:
    """Refuse a path into a field that has no such member."""
    hint = field.hint
    for at, element in enumerate(path.elements[1:], start=1):
        members = members_of(hints.without_none(hint))
        if members is None:
            return
        hint = members.get(element) if element in members else members.get(type(element), NOTHING)
        if hint is NOTHING:
            inside = ".".join(map(str, path.elements[:at]))
            known = ", ".join(name for name in members if isinstance(name, str))
            raise DeclarationError(
                "HR226",
                signature.label,
                f"@where({expression!r}) names {element!r}, which {inside} does not have",
                f"it has {known}" if known else f"{inside} has no members of this kind",
            )


def _check_functions(signature: Signature, model: ModelClass, expression: str, tree: Condition) -> None:
    fields = introspection.all_fields(model)
    for clause in clauses_of(tree):
        for call in (node for node in (clause, *children_of(clause)) if isinstance(node, FunctionCall)):
            if call.function not in condition_functions():
                raise DeclarationError(
                    "HR221",
                    signature.label,
                    f"@where({expression!r}) calls {call.function}",
                    f"there are {', '.join(condition_functions())}",
                )
            _check_argument(signature, fields, expression, call)
            _check_search(signature, fields, expression, call)


def _check_search(signature: Signature, fields: dict[str, ModelField], expression: str, call: FunctionCall) -> None:
    """Refuse a function that would search more than the values of a field, as it is stored."""
    searched = paths_of(call) if FUNCTIONS[call.function].depends_on_elements else ()
    for field in (fields[name] for path in searched if (name := str(path.elements[0])) in fields):
        check_is_not_joined(signature, field, f"@where({expression!r})")
        if call.function == "contains":
            check_is_not_prefixed(signature, field, f"@where({expression!r})")


def _check_argument(signature: Signature, fields: dict[str, ModelField], expression: str, call: FunctionCall) -> None:
    """Refuse a function of a field whose type it is never true for."""
    path = call.arguments[0] if call.arguments else None
    field = fields.get(str(path.elements[0])) if isinstance(path, DocumentPath) and len(path.elements) == 1 else None
    if field is not None and not FUNCTIONS[call.function].can_hold(field.codec.tag):
        raise DeclarationError(
            "HR261",
            signature.label,
            f"@where({expression!r}) calls {call.function} of {field.name}, which is stored as {field.codec.tag}",
            f"compare {field.name} instead: {field.name} = {{...}}",
        )


def _value_source(
    signature: Signature, model: ModelClass, name: str, clause: Clause, constants: dict[str, Value]
) -> ValueSource:
    """Return the source of a value, encoded like the field that it is compared with."""
    if name in constants:
        return FixedValue(constants[name])
    bare = name[1:]
    if bare not in signature.parameters:
        raise DeclarationError(
            "HR222",
            signature.label,
            f"@where names no parameter {{{bare}}}",
            f"it takes {', '.join(signature.parameters) or 'none'}",
        )
    fields = introspection.all_fields(model)
    paths = list(paths_of(clause))
    beside = fields.get(str(paths[0].elements[0])) if len(paths) == 1 else None
    is_whole = beside is not None and len(paths[0].elements) == 1
    if beside is not None and _takes_whole_values(clause, beside) and (is_whole or bare not in fields):
        return FieldValue(Argument(bare), beside.codec, up=_is_rounded_up(name, clause))
    if bare in fields:
        return FieldValue(Argument(bare), fields[bare].codec)
    hint = signature.parameters[bare].hint
    is_inside = bool(paths) and (not is_whole or isinstance(clause, FunctionCall)) and not hints.markers_of(hint)
    return FieldValue(Argument(bare), INSIDE if is_inside else make_codec(hint, hints.markers_of(hint)))


def _takes_whole_values(clause: Node, field: ModelField) -> bool:
    """Return whether a clause compares with values as the field stores them, and not with an element or a size."""
    if isinstance(clause, FunctionCall):
        return clause.function == "begins_with" and field.marker(Prefixed) is not None
    return not any(calls_of(clause))


def _is_rounded_up(name: str, clause: Clause) -> bool:
    """Return whether a time is compared so that it is rounded up: `at >= {name}`, `{name} > at`."""
    match clause:
        case Comparison(right=Placeholder(name=found)) if found == name:
            return clause.operator in FINER
        case Comparison(left=Placeholder(name=found)) if found == name:
            return clause.operator in {"<=", ">"}
        case Between(low=Placeholder(name=found)):
            return found == name
        case _:
            return False


# ── ranges between two values that can be stored ─────────────────────────────────────────────────────────────────────
def ranges_in(tree: Condition | None, values: Mapping[str, ValueSource]) -> Iterator[tuple[FieldValue, FieldValue]]:
    """Yield the bounds of each BETWEEN."""
    for node in walk(tree) if tree is not None else ():
        match node:
            case Between(low=Placeholder(name=low), high=Placeholder(name=high)):
                first, last = values[low], values[high]
                if isinstance(first, FieldValue) and isinstance(last, FieldValue):
                    yield first, last


def is_empty_range(low: FieldValue, high: FieldValue, arguments: Arguments) -> bool:
    """Return whether no value that is stored can be in a range of a call, because its bounds are more precise.

    DynamoDB refuses such a range, as it refuses bounds in the wrong order, of which this is not true.
    """
    first, last = low.source.get(arguments), high.source.get(arguments)
    if first is None or last is None or first > last:
        return False
    ends = [plain(end) for end in (low.value(arguments), high.value(arguments)) if end is not None]
    return len(ends) > 1 and bool(ends[0] > ends[1])


def split_ranges(tree: Condition) -> Condition:
    """Return a condition with two comparisons in place of each BETWEEN; no value meets both where a range is empty."""

    def split(clause: Clause) -> Condition:
        if not isinstance(clause, Between):
            return clause
        bounds = Comparison(">=", clause.operand, clause.low), Comparison("<=", clause.operand, clause.high)
        return And(bounds)

    return replace_clauses(tree, split)


# ── values that are None ─────────────────────────────────────────────────────────────────────────────────────────────
def placeholders_in(tree: Condition | None) -> list[str]:
    """Return the placeholders of a condition, each once."""
    nodes = walk(tree) if tree is not None else ()
    return list(dict.fromkeys(node.name for node in nodes if isinstance(node, Placeholder)))


def _has_no_value(path: DocumentPath, unset: str | None) -> Condition:
    """Return the test for an attribute that is absent, null, or the table's word for no value."""
    absent = _is_absent_at(path).condition
    return absent if unset is None else join_any([absent, Comparison("=", path, Literal({"S": unset}))])


def allow_absence(tree: Condition, names: AbstractSet[str], unset: str | None) -> Condition:
    """Return a condition whose comparisons with these placeholders hold for an attribute without a value too."""
    match tree:
        case And():
            return And(tuple(allow_absence(part, names, unset) for part in tree.operands))
        case Or():
            return join_any([allow_absence(part, names, unset) for part in tree.operands])
        case Not():
            return Not(allow_absence(tree.operand, names, unset))
        case Membership(operand=DocumentPath() as path) if names & set(placeholders_in(tree)):
            return join_any([tree, _has_no_value(path, unset)])
        case Comparison(left=DocumentPath() as left, right=Placeholder(name=name)) if name in names:
            return join_any([tree, _has_no_value(left, unset)])
        case Comparison(left=FunctionCall("size", (DocumentPath() as left,)), right=Placeholder(name=name)) if (
            name in names
        ):
            return join_any([tree, _has_no_value(left, unset)])
        case _:
            return tree


def require_absence(tree: Condition, present: AbstractSet[str], location: str, unset: str | None) -> Condition:
    """Return the condition of a call in which some values are None.

    An attribute that should equal such a value must be absent, null, or the table's word for no value. Of several
    alternatives, those that need such a value do not hold.
    """
    if present >= set(placeholders_in(tree)):
        return tree
    match tree:
        case And():
            return And(tuple(require_absence(part, present, location, unset) for part in tree.operands))
        case Or():
            held = [part for part in tree.operands if present >= set(placeholders_in(part))]
            if held:
                return join_any(held)
        case Comparison(operator="=", left=DocumentPath() as left):
            return _has_no_value(left, unset)
    raise ValueInvalid(f"{location}: a value that it is compared with is None")
