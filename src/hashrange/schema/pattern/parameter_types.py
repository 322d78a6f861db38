"""Checks that parameters match their fields: the type, and a change or comparison that the type has."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel
from typing_extensions import is_typeddict

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.field_constraint import amount_constraints
from hashrange.schema.declare.field_kind import KINDS, LIST, SET, FieldKind, categories_with, kind_of
from hashrange.schema.declare.introspection import ModelClass, ModelField
from hashrange.schema.declare.marker import Counted
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.operand_types import category_of, refuse_type
from hashrange.schema.pattern.signature import READS, WRITES, Parameter, Signature, format_type

WORDS = {"ADD": "Add", "DELETE": "Discard", "APPEND": "Append"}  # changes as declarations write them


def added_hint(parameter: Parameter, hint: Any, constraints: list[Any]) -> Any:
    """Return the type that a value is validated as which is added to another: an amount, members, elements.

    Bounds of the sum are in the condition. An amount has the other constraints of the number; members have those of the
    elements that are there.
    """
    mine, there = kind_of(parameter.hint), kind_of(hints.without_none(hint))
    if there is not None and mine is there and there.category in {LIST, SET}:
        return hints.constrain(hints.without_none(hint), parameter.constraints)
    more = amount_constraints(constraints) if parameter.change == "ADD" else ()
    return hints.constrain(parameter.hint, (*more, *parameter.constraints))


def check_parameters(signature: Signature) -> None:
    """Refuse parameters that do not match the fields of the same name."""
    in_where = criterion.parameters_in(signature.wheres)
    for name, parameter in signature.values.items():
        field = next(
            (known[name] for model in signature.models if name in (known := introspection.all_fields(model))), None
        )
        if field is None or name in signature.in_paths:
            continue
        _check_none(signature, field, parameter)
        if parameter.compare or signature.verb in READS:
            _check_comparison(signature, field, parameter)
        elif signature.verb in {"Delete", "Ensure"}:
            if name not in in_where:
                _check_idle(signature, parameter)
        else:
            _check_change(signature, field, parameter)
        if parameter.by_key:
            _check_key_form(signature, parameter)
        _check_type(signature, field, parameter)
        _check_given_once(signature, parameter)


def _check_type(signature: Signature, field: ModelField, parameter: Parameter) -> None:
    hint, name = parameter.hint, parameter.name
    if parameter.compare == "BETWEEN":
        hint = get_args(hint)[0]
    elif parameter.is_list:
        hint = get_args(get_args(hint)[0])[0]
    if parameter.change == "DELETE" or parameter.compare == "contains" or hint is field.hint:
        return  # the parameter is an element or a part of the field
    wanted, given = category_of(field.hint), category_of(hint)
    if wanted and given and wanted != given:
        problem = f"{name} is {format_type(hints.without_none(hint))}, and the field is {wanted}"
        raise refuse_type(signature, problem, "it", field.hint)
    words = hints.literals(hints.without_none(hint))
    allowed = introspection.allowed_values(signature.models[0], name) if words else ()
    odd = [value for value in words if allowed and value not in allowed]
    if odd:
        raise DeclarationError(
            "HR212",
            signature.label,
            f"{name} may be {odd[0]!r}, which the field never is",
            f"use one of {', '.join(map(repr, allowed))}",
        )


def _check_none(signature: Signature, field: ModelField, parameter: Parameter) -> None:
    if not hints.is_optional(parameter.hint):
        return
    if parameter.compare or signature.verb in READS:
        raise DeclarationError(
            "HR213",
            signature.label,
            f"{parameter.name} may be None, and nothing compares with None",
            f"write {parameter.name}: ... | None = None, which may be left out, or @where('attribute_not_exists(...)')",
        )
    if _is_needed(signature.models[0], field):
        raise DeclarationError(
            "HR215",
            signature.label,
            f"{parameter.name} may be None, and {signature.models[0].__name__} requires it",
            "drop the None, or let the field be None",
        )


def _is_needed(target: ModelClass, field: ModelField) -> bool:
    models = (target, introspection.item_of(target))
    mine = next((found[field.name] for s in models if field.name in (found := introspection.stored_fields(s))), field)
    return mine.required and not mine.optional


def _check_comparison(signature: Signature, field: ModelField, parameter: Parameter) -> None:
    kind, operator = kind_of(field.hint), parameter.operator
    if field.sealed:
        raise DeclarationError(
            "HR225",
            signature.label,
            f"{parameter.name} is Secret, and what is encrypted cannot be compared",
            "keep a hash of it in a field of its own",
        )
    if operator == "contains":
        criterion.check_is_not_joined(signature, field, f"parameter {parameter.name!r}")
        criterion.check_is_not_prefixed(signature, field, f"parameter {parameter.name!r}")
    if kind is not None and operator not in {"=", "<>", *kind.category.comparisons}:
        raise DeclarationError(
            "HR224",
            signature.label,
            f"{parameter.name} is {kind.category.name}, which has no {operator}",
            f"{operator} is for {', '.join(categories_with(operator))}",
        )


def _check_key_form(signature: Signature, parameter: Parameter) -> None:
    """Refuse ByKey where no key that finds the items has a form of the field."""
    model = signature.models[0]
    derived = introspection.primary_key_fields(model) - introspection.identifying_fields(model)
    if signature.verb == "Scan" or (signature.verb in WRITES and parameter.name not in derived):
        raise DeclarationError(
            "HR238",
            signature.label,
            f"{parameter.name} is ByKey, and {signature.verb} finds no items by a form of it",
            f"take {parameter.name} without ByKey, or put a form of it into the key: {{{parameter.name}:...}}",
        )


def _check_idle(signature: Signature, parameter: Parameter) -> None:
    if (
        parameter.name not in introspection.primary_key_fields(signature.models[0])
        and parameter.name != signature.tenant
    ):
        raise DeclarationError(
            "HR216",
            signature.label,
            f"{parameter.name} is not part of the key, and {signature.verb} sets nothing",
            f"make it a condition: {parameter.name}: Eq[...]",
        )


def _check_change(signature: Signature, field: ModelField, parameter: Parameter) -> None:
    kind, change = _kind_of_change(field, parameter), parameter.change
    if field.marker(Counted):
        raise DeclarationError(
            "HR218",
            signature.label,
            f"{parameter.name} is a Version, which counts itself",
            "drop it, or make it a condition: Eq[int]",
        )
    if kind is not None and change in WORDS and change not in kind.category.changes:
        raise DeclarationError(
            "HR214",
            signature.label,
            f"{parameter.name} is {kind.category.name}, which has no {WORDS[change]}",
            f"{WORDS[change]} is for {', '.join(categories_with(change))}: set a value instead",
        )


def _kind_of_change(field: ModelField, parameter: Parameter) -> FieldKind | None:
    """Return the kind of a field that a parameter changes: a model is a map; of any other field, what is given."""
    if _is_model(field.hint) or _is_model(parameter.hint):
        return KINDS[dict]
    given = kind_of(parameter.hint) if parameter.change == "ADD" else None
    return kind_of(field.hint) or given


def _is_model(hint: Any) -> bool:
    return isinstance(hint, type) and (issubclass(hint, BaseModel) or is_typeddict(hint))


def _check_given_once(signature: Signature, parameter: Parameter) -> None:
    """Refuse a part of the key beside an item, which has its key."""
    name = parameter.name
    if (
        parameter.compare
        or name == signature.tenant
        or name not in introspection.primary_key_fields(signature.models[0])
    ):
        return
    items = [found for found in signature.parameters.values() if found.models]
    holds = [found.name for found in items if all(name in model.model_fields for model in found.models)]
    if holds:
        raise DeclarationError(
            "HR217",
            signature.label,
            f"{name} is part of the key, which {holds[0]} has already",
            "drop it: a key never changes; to move an item, delete it and create another in transact()",
        )
