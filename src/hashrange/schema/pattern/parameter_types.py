"""What a parameter must be to fit its field: of its type, with a change or a comparison that the type has."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, get_args, get_origin
from uuid import UUID

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Attribute, Kind
from hashrange.schema.declare.marker import Counted
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.signature import READS, Parameter, Signature, show_type

SORTS = {
    str: "text",
    UUID: "text",
    int: "a number",
    float: "a number",
    Decimal: "a number",
    bool: "a truth value",
    bytes: "bytes",
    datetime: "a time",
    date: "a date",
    list: "a list",
    set: "a set",
    frozenset: "a set",
}
CHANGES = {"ADD": {"a number", "a set"}, "DELETE": {"a set"}, "APPEND": {"a list"}}
ORDERED = {"text", "a number", "bytes", "a time", "a date"}
COMPARISONS = {
    **dict.fromkeys(("<", "<=", ">", ">=", "BETWEEN"), ORDERED),
    "begins_with": {"text", "bytes", "a date", "a time"},
    "contains": {"text", "bytes", "a list", "a set"},
}


def check_parameters(signature: Signature) -> None:
    """Refuse parameters that do not fit the fields they are named after."""
    in_where = criterion.parameters_in(signature.wheres)
    for name, parameter in signature.values.items():
        attribute = next(
            (known[name] for kind in signature.kinds if name in (known := introspection.known(kind))), None
        )
        if attribute is None:
            continue
        _check_none(signature, attribute, parameter)
        if parameter.compare or signature.verb in READS:
            _check_comparison(signature, attribute, parameter)
        elif signature.verb in {"Delete", "Ensure"}:
            if name not in in_where:
                _check_idle(signature, parameter)
        else:
            _check_change(signature, attribute, parameter)
        _check_type(signature, attribute, parameter)
        _check_given_once(signature, parameter)


def type_name_of(hint: Any) -> str:
    """Return what a type is, in a word or two; nothing where that cannot be said."""
    if isinstance(hint, type) and hint in SORTS:
        return SORTS[hint]
    kind = hints.without_none(hint)
    kind = getattr(kind, "__supertype__", kind)
    values = hints.literals(kind) or (
        tuple(member.value for member in kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()
    )
    kinds = {type(value) for value in values if value is not None} or {get_origin(kind) or kind}
    return SORTS.get(kinds.pop(), "") if len(kinds) == 1 else ""


def _check_type(signature: Signature, attribute: Attribute, parameter: Parameter) -> None:
    hint, name = parameter.hint, parameter.name
    if parameter.compare == "BETWEEN":
        hint = get_args(hint)[0]
    if parameter.change == "DELETE" or parameter.compare == "contains" or hint is attribute.hint:
        return  # members of the field are given, or parts of it
    wanted, given = type_name_of(attribute.hint), type_name_of(hint)
    if wanted and given and wanted != given:
        raise DeclarationError(
            "HR211",
            signature.label,
            f"{name} is {show_type(hints.without_none(hint))}, and the field is {wanted}",
            f"take it as {show_type(attribute.hint)}",
        )
    words = hints.literals(hints.without_none(hint))
    allowed = introspection.values_of(signature.kinds[0], name) if words else ()
    odd = [value for value in words if allowed and value not in allowed]
    if odd:
        raise DeclarationError(
            "HR212",
            signature.label,
            f"{name} may be {odd[0]!r}, which the field never is",
            f"use one of {', '.join(map(repr, allowed))}",
        )


def _check_none(signature: Signature, attribute: Attribute, parameter: Parameter) -> None:
    if not hints.is_optional(parameter.hint):
        return
    if parameter.compare or signature.verb in READS:
        raise DeclarationError(
            "HR213",
            signature.label,
            f"{parameter.name} may be None, and nothing compares with None",
            "write a pattern without it, or @where('attribute_not_exists(...)')",
        )
    if _is_needed(signature.kinds[0], attribute):
        raise DeclarationError(
            "HR215",
            signature.label,
            f"{parameter.name} may be None, and {signature.kinds[0].__name__} requires it",
            "drop the None, or let the field be None",
        )


def _is_needed(target: Kind, attribute: Attribute) -> bool:
    shapes = (target, introspection.item_of(target))
    mine = next(
        (found[attribute.name] for s in shapes if attribute.name in (found := introspection.attributes(s))), attribute
    )
    return mine.required and not mine.optional


def _check_comparison(signature: Signature, attribute: Attribute, parameter: Parameter) -> None:
    sort, operator = type_name_of(attribute.hint), parameter.operator
    if attribute.sealed:
        raise DeclarationError(
            "HR225",
            signature.label,
            f"{parameter.name} is Secret, and what is encrypted cannot be compared",
            "keep a hash of it in a field of its own",
        )
    if sort and operator in COMPARISONS and sort not in COMPARISONS[operator]:
        raise DeclarationError(
            "HR224",
            signature.label,
            f"{parameter.name} is {sort}, which has no {operator}",
            f"{operator} is for {_list(COMPARISONS[operator])}",
        )


def _check_idle(signature: Signature, parameter: Parameter) -> None:
    if parameter.name not in introspection.identity(signature.kinds[0]) and parameter.name != signature.tenant:
        raise DeclarationError(
            "HR216",
            signature.label,
            f"{parameter.name} is no part of the key, and {signature.verb} sets nothing",
            f"make it a condition: {parameter.name}: Eq[...]",
        )


def _check_change(signature: Signature, attribute: Attribute, parameter: Parameter) -> None:
    sort = type_name_of(attribute.hint)
    if attribute.marker(Counted):
        raise DeclarationError(
            "HR218",
            signature.label,
            f"{parameter.name} is a Version, which counts itself",
            "drop it, or make it a condition: Eq[int]",
        )
    if sort and parameter.change in CHANGES and sort not in CHANGES[parameter.change]:
        word = {"ADD": "Add", "DELETE": "Discard", "APPEND": "Append"}[parameter.change]
        raise DeclarationError(
            "HR214",
            signature.label,
            f"{parameter.name} is {sort}, which has no {word}",
            f"{word} is for {_list(CHANGES[parameter.change])}: set a value instead",
        )


def _check_given_once(signature: Signature, parameter: Parameter) -> None:
    """Refuse a part of the key beside an item that has a key already."""
    name = parameter.name
    if parameter.compare or name == signature.tenant or name not in introspection.identity(signature.kinds[0]):
        return
    items = [found for found in signature.parameters.values() if found.shapes]
    holds = [found.name for found in items if all(name in kind.model_fields for kind in found.shapes)]
    if holds:
        raise DeclarationError(
            "HR217",
            signature.label,
            f"{name} is part of the key, which {holds[0]} has already",
            "drop it: a key never changes; to move an item, delete it and create another in transact()",
        )


def _list(words: set[str]) -> str:
    return ", ".join(sorted(words))
