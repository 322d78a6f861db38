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
from hashrange.schema.declare.introspection import NOTHING, Attribute, Kind
from hashrange.schema.pattern.signature import Parameter, Signature
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentElement,
    FieldValue,
    FixedValue,
    Placeholders,
    ValueSource,
)

PARAMETER = re.compile(r"\{(\w+)\}")
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


def compare(attribute: Attribute, parameter: Parameter, placeholders: Placeholders) -> Criterion:
    """Return the test of a field against a parameter."""
    path, operator = path_of(attribute.stored), parameter.operator
    if operator == "BETWEEN":
        low = FieldValue(ArgumentElement(parameter.name, 0), attribute.codec, up=True)
        high = FieldValue(ArgumentElement(parameter.name, 1), attribute.codec)
        return Criterion(Between(path, place(low, placeholders), place(high, placeholders)))
    if operator in {"contains", "begins_with"}:
        codec = make_codec(parameter.hint, ())
        return Criterion(
            FunctionCall(operator, (path, place(FieldValue(Argument(parameter.name), codec), placeholders)))
        )
    value_source = FieldValue(Argument(parameter.name), attribute.codec, up=operator in FINER)
    return Criterion(Comparison(operator, path, place(value_source, placeholders)))


def place(value_source: ValueSource, placeholders: Placeholders) -> Placeholder:
    """Return a value source as an operand."""
    return Placeholder(placeholders.add(value_source))


def equal(stored: str, value_source: ValueSource, placeholders: Placeholders) -> Criterion:
    """Return the test that an attribute equals a value."""
    return Criterion(Comparison("=", path_of(stored), place(value_source, placeholders)))


def is_absent(stored: str) -> Criterion:
    """Return the test for an attribute that is absent or null."""
    path = path_of(stored)
    null = FunctionCall("attribute_type", (path, Literal({"S": "NULL"})))
    return Criterion(Or((FunctionCall("attribute_not_exists", (path,)), null)))


def exists(stored: str) -> Criterion:
    """Return the test for an attribute that exists."""
    return Criterion(FunctionCall("attribute_exists", (path_of(stored),)))


def starts(stored: str, value_source: ValueSource, placeholders: Placeholders) -> Criterion:
    """Return the test that an attribute begins with a value."""
    return Criterion(FunctionCall("begins_with", (path_of(stored), place(value_source, placeholders))))


# ── @where ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def read_where(signature: Signature, kind: Kind, expression: str, placeholders: Placeholders) -> Criterion:
    """Return a `@where` text as a condition over stored attributes; refuse unknown names."""
    constants: dict[str, Value] = {}

    def keep(value: object) -> str:
        constants[f":_{len(constants)}"] = encode(value)
        return f":_{len(constants) - 1}"

    text = TEXT.sub(lambda match: keep(match[1]), expression)
    text = NUMBER.sub(lambda match: keep(float(match[0]) if "." in match[0] else int(match[0])), text)
    try:
        tree = parse_condition(PARAMETER.sub(r":\1", text))
    except ExpressionError as fault:
        raise DeclarationError(
            "HR220",
            signature.label,
            f"@where({expression!r}) does not parse: {fault}",
            "write a DynamoDB condition over fields",
        ) from fault
    _check_functions(signature, expression, tree)
    chosen = _choose_values(signature, kind, tree, constants, placeholders)

    def physical(leaf: Leaf) -> Operand:
        if isinstance(leaf, Placeholder):
            return Placeholder(chosen[leaf.name])
        if isinstance(leaf, Literal):
            return leaf
        found = signature.attribute(kind, str(leaf.elements[0]), f"@where({expression!r})")
        check_is_stored(signature, kind, found, f"@where({expression!r})")
        _check_nested(signature, found, leaf, expression)
        return DocumentPath((found.stored, *leaf.elements[1:]))

    return Criterion(replace_leaves(tree, physical))


def check_is_stored(signature: Signature, kind: Kind, attribute: Attribute, place: str) -> None:
    """Refuse a condition on a field that is no attribute: it would never hold."""
    if is_only_in_keys(kind, attribute):
        raise DeclarationError(
            "HR227",
            signature.label,
            f"{place} tests {attribute.name}, which is stored only inside keys",
            f"take {attribute.name} as a parameter of the key, or store it too: leave Key[...] out",
        )


def is_only_in_keys(kind: Kind, attribute: Attribute) -> bool:
    """Whether a field is part of a key, and no attribute of its own."""
    return attribute.key_only and attribute.stored not in introspection.table_of(kind).key_names


def _check_nested(signature: Signature, attribute: Attribute, path: DocumentPath, expression: str) -> None:
    """Refuse a path into a field that has no such member."""
    hint = attribute.hint
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


def _check_functions(signature: Signature, expression: str, tree: Condition) -> None:
    for clause in clauses_of(tree):
        for call in (clause, *children_of(clause)):
            if isinstance(call, FunctionCall) and call.function not in condition_functions():
                raise DeclarationError(
                    "HR221",
                    signature.label,
                    f"@where({expression!r}) calls {call.function}",
                    f"there are {', '.join(condition_functions())}",
                )


def _choose_values(
    signature: Signature, kind: Kind, tree: Condition, constants: dict[str, Value], placeholders: Placeholders
) -> dict[str, str]:
    """Return a placeholder for each value, encoded like the field that it is compared with."""
    chosen: dict[str, str] = {}
    for clause in clauses_of(tree):
        for node in (clause, *children_of(clause)):
            if isinstance(node, Placeholder) and node.name not in chosen:
                chosen[node.name] = placeholders.add(_slot(signature, kind, node.name, clause, constants))
    return chosen


def _slot(signature: Signature, kind: Kind, name: str, clause: Node, constants: dict[str, Value]) -> ValueSource:
    if name in constants:
        _check_constant(signature, kind, clause, constants[name])
        return FixedValue(constants[name])
    bare = name[1:]
    if bare not in signature.parameters:
        raise DeclarationError(
            "HR222",
            signature.label,
            f"@where names no parameter {{{bare}}}",
            f"it takes {', '.join(signature.parameters) or 'none'}",
        )
    fields = introspection.all_attributes(kind)
    beside = [str(path.elements[0]) for path in paths_of(clause)]
    if bare in fields:
        return FieldValue(Argument(bare), fields[bare].codec)
    if len(beside) == 1 and beside[0] in fields and not isinstance(clause, FunctionCall):
        return FieldValue(Argument(bare), fields[beside[0]].codec)
    hint = signature.parameters[bare].hint
    return FieldValue(Argument(bare), make_codec(hint, hints.markers_of(hint)))


def _check_constant(signature: Signature, kind: Kind, clause: Node, constant: Value) -> None:
    """Refuse a comparison that is never true: of text with a number, or with a value that the Literal lacks."""
    paths = list(paths_of(clause))
    if isinstance(clause, FunctionCall) or len(paths) != 1 or len(paths[0].elements) > 1 or any(calls_of(clause)):
        return
    found = introspection.all_attributes(kind).get(str(paths[0].elements[0]))
    if found is None:
        return
    allowed, value = introspection.allowed_values(kind, found.name), plain(constant)
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
    absent = is_absent(str(path.elements[0])).condition
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
        case _:
            return tree


def require_absence(tree: Condition, present: AbstractSet[str], place: str, unset: str | None) -> Condition:
    """Return the condition of a call in which some values are None.

    An attribute that should equal such a value must be absent, null, or the table's word for no value. Of several
    alternatives, those that need such a value do not hold.
    """
    if present >= set(placeholders_in(tree)):
        return tree
    match tree:
        case And():
            return And(tuple(require_absence(part, present, place, unset) for part in tree.operands))
        case Or():
            held = [part for part in tree.operands if present >= set(placeholders_in(part))]
            if held:
                return join_any(held)
        case Comparison(operator="=", left=DocumentPath() as left):
            return _has_no_value(left, unset)
    raise ValueInvalid(f"{place}: a value that it is compared with is None")
