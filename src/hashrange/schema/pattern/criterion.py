"""Builds conditions over stored attributes: from `@where` texts, fixed fields, and parameters that compare.

The result is a syntax tree of the expression language; its placeholders stand for value sources.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from msgspec import Struct

from hashrange.core.errors import DeclarationError, ValueInvalid
from hashrange.core.values import Value
from hashrange.expr.errors import ExpressionError
from hashrange.expr.functions import condition_functions
from hashrange.expr.nodes import (
    And,
    Between,
    Comparison,
    Condition,
    DocumentPath,
    FunctionCall,
    Leaf,
    Literal,
    Membership,
    Node,
    Operand,
    Or,
    Placeholder,
    calls_of,
    children_of,
    clauses_of,
    join_any,
    path_of,
    paths_of,
    replace_leaves,
    walk,
)
from hashrange.expr.parser import parse_condition
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.codec import make_codec
from hashrange.schema.declare.field_kind import encode
from hashrange.schema.declare.introspection import NOTHING, ModelClass, ModelField
from hashrange.schema.declare.marker import Joined
from hashrange.schema.pattern.signature import PARAMETER, Parameter, Signature
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentElement,
    FieldValue,
    FixedValue,
    ListElement,
    Placeholders,
    ValueSource,
)

TEXT = re.compile(r"'([^']*)'")
NUMBER = re.compile(r"(?<![\w\[.:])-?\d+(?:\.\d+)?(?![\w\]])")
NEVER_HOLDS = {  # the types of attributes for which a function is never true
    "contains": {"N", "BOOL", "M"},
    "begins_with": {"N", "BOOL", "M", "L", "SS", "NS", "BS"},
    "size": {"N", "BOOL"},
}
OF_ELEMENTS = {"contains", "size"}  # functions that see the elements of a list
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
        codec = make_codec(parameter.hint, ())
        return Criterion(
            FunctionCall(operator, (path, operand(FieldValue(Argument(parameter.name), codec), placeholders)))
        )
    value_source = FieldValue(Argument(parameter.name), field.codec, up=operator in FINER)
    return Criterion(Comparison(operator, path, operand(value_source, placeholders)))


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
    chosen = _choose_values(signature, model, tree, constants, placeholders)

    def physical(leaf: Leaf) -> Operand:
        if isinstance(leaf, Placeholder):
            return Placeholder(chosen[leaf.name])
        if isinstance(leaf, Literal):
            return leaf
        found = signature.field(model, str(leaf.elements[0]), f"@where({expression!r})")
        check_is_stored(signature, model, found, f"@where({expression!r})")
        if len(leaf.elements) > 1:
            check_is_not_joined(signature, found, f"@where({expression!r})")
        _check_nested(signature, found, leaf, expression)
        return DocumentPath((found.stored, *leaf.elements[1:]))

    return Criterion(replace_leaves(tree, physical))


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


def is_only_in_keys(model: ModelClass, field: ModelField) -> bool:
    """Return whether a field is part of a key, and no attribute of its own."""
    return field.key_only and field.stored not in introspection.keys(model)


def _check_nested(signature: Signature, field: ModelField, path: DocumentPath, expression: str) -> None:
    """Refuse a path into a field that has no such member."""
    hint = field.hint
    for at, element in enumerate(path.elements[1:], start=1):
        members = hints.members_of(hints.without_none(hint))
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
            _check_argument(signature, fields, expression, call)
            searched = paths_of(call) if call.function in OF_ELEMENTS else ()
            for field in (fields[name] for path in searched if (name := str(path.elements[0])) in fields):
                check_is_not_joined(signature, field, f"@where({expression!r})")
            if call.function not in condition_functions():
                raise DeclarationError(
                    "HR221",
                    signature.label,
                    f"@where({expression!r}) calls {call.function}",
                    f"there are {', '.join(condition_functions())}",
                )


def _check_argument(signature: Signature, fields: dict[str, ModelField], expression: str, call: FunctionCall) -> None:
    """Refuse a function of a field whose type it is never true for."""
    path = call.arguments[0] if call.arguments else None
    field = fields.get(str(path.elements[0])) if isinstance(path, DocumentPath) and len(path.elements) == 1 else None
    if field is not None and field.codec.tag in NEVER_HOLDS.get(call.function, ()):
        raise DeclarationError(
            "HR261",
            signature.label,
            f"@where({expression!r}) calls {call.function} of {field.name}, which is stored as {field.codec.tag}",
            f"compare {field.name} instead: {field.name} = {{...}}",
        )


def _choose_values(
    signature: Signature, model: ModelClass, tree: Condition, constants: dict[str, Value], placeholders: Placeholders
) -> dict[str, str]:
    """Return a placeholder for each value, encoded like the field that it is compared with."""
    chosen: dict[str, str] = {}
    for clause in clauses_of(tree):
        for node in (clause, *children_of(clause)):
            if isinstance(node, Placeholder) and node.name not in chosen:
                chosen[node.name] = placeholders.add(_value_source(signature, model, node.name, clause, constants))
    return chosen


def _value_source(
    signature: Signature, model: ModelClass, name: str, clause: Node, constants: dict[str, Value]
) -> ValueSource:
    if name in constants:
        _check_constant(signature, model, clause, constants[name])
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
    beside = [str(path.elements[0]) for path in paths_of(clause)]
    if bare in fields:
        return FieldValue(Argument(bare), fields[bare].codec)
    if len(beside) == 1 and beside[0] in fields and not isinstance(clause, FunctionCall):
        return FieldValue(Argument(bare), fields[beside[0]].codec)
    hint = signature.parameters[bare].hint
    return FieldValue(Argument(bare), make_codec(hint, hints.markers_of(hint)))


def _check_constant(signature: Signature, model: ModelClass, clause: Node, constant: Value) -> None:
    """Refuse a comparison that is never true: of text with a number, or with a value that the Literal lacks."""
    paths = list(paths_of(clause))
    if isinstance(clause, FunctionCall) or len(paths) != 1 or len(paths[0].elements) > 1 or any(calls_of(clause)):
        return
    found = introspection.all_fields(model).get(str(paths[0].elements[0]))
    if found is None:
        return
    allowed, value = introspection.allowed_values(model, found.name), plain(constant)
    if found.codec.tag not in {"", *constant} or (allowed and value not in allowed):
        options = ", ".join(map(repr, allowed)) or f"values of type {found.codec.tag}"
        raise DeclarationError(
            "HR223",
            signature.label,
            f"@where compares {found.name} with {value!r}, which it never is",
            f"it has {options}",
        )


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
