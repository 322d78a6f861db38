"""Finds the values of a model that may have been changed in place since pydantic validated them.

Only lists, maps, sets and nested models can be. What a field can hold is known from its type, so that a put of an item
without such fields checks nothing. Where a type has no constraints, a check of Python's types takes the place of
pydantic: an item that fails it is validated as a whole, and refused with pydantic's reason.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, get_args, get_origin

from pydantic import BaseModel

from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.field_kind import has_all_values, is_unchangeable
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.model import Model, View
from hashrange.schema.items.compiled_reader import has_no_validators, is_unconstrained

IsValid: TypeAlias = Callable[[Any], bool]

CHANGEABLE = (list, dict, set, tuple, BaseModel)  # values that can be changed in place, or contain some
NO_MODELS: frozenset[type] = frozenset()


def may_have_changed(model: Model) -> bool:
    """Return whether a value of a model, or of one of its states, is another one than when it was validated."""
    held = model.__dict__
    for name, is_valid in _checks(type(model)):
        value = held.get(name)
        if value is not None and not is_valid(value):
            return True
    return False


@cached_by_class
def _checks(cls: ModelClass) -> tuple[tuple[str, IsValid], ...]:
    """Return the fields that can be changed in place, each with the check of its value."""
    has_checks = has_no_validators(cls)
    found: list[tuple[str, IsValid]] = []
    for name, info in introspection.pydantic_fields(cls).items():
        if not all(map(is_unchangeable, hints.members(info.annotation))):
            is_sure = has_checks and is_unconstrained(cls, name)
            check = _make_check(info.annotation) if is_sure else None
            found.append((name, check or _is_unchanged))
    return tuple(found)


def _is_unchanged(value: Any) -> bool:
    """Return whether a value cannot have changed; for one that can, the whole model is validated."""
    return not may_have_changed(value) if isinstance(value, View) else not isinstance(value, CHANGEABLE)


# ── checks of types ──────────────────────────────────────────────────────────────────────────────────────────────────
def _make_check(hint: Any, inside: frozenset[type] = NO_MODELS) -> IsValid | None:
    """Return the check of a type, inside of these models; None where only pydantic knows what it accepts."""
    if hints.constraints_of(hint):
        return None
    parts = hints.members(hint)
    if all(map(has_all_values, parts)):
        return partial(_is_of, frozenset(parts))
    checks = [_check_of_member(part, inside) for part in parts]
    known = [check for check in checks if check is not None]
    if len(known) < len(checks):
        return None
    return known[0] if len(known) == 1 else lambda value: any(check(value) for check in known)


def _check_of_member(hint: Any, inside: frozenset[type]) -> IsValid | None:
    if isinstance(hint, type) and get_origin(hint) is None:
        if has_all_values(hint):
            return partial(_is_of, frozenset({hint}))
        if issubclass(hint, View):
            return _is_unchanged
        return _check_of_model(hint, inside) if issubclass(hint, BaseModel) else None
    kind, arguments = get_origin(hint), get_args(hint)
    if kind in {list, set} or (kind is tuple and arguments[1:] == (...,)):
        check = _check_of_all(arguments[0], inside)
        return None if check is None else partial(_has_elements, kind, check)
    if kind is dict:
        keys, values = (_check_of_all(argument, inside) for argument in arguments)
        return None if keys is None or values is None else partial(_has_members, keys, values)
    return None


def _check_of_all(hint: Any, inside: frozenset[type]) -> IsValid | None:
    """Return the check of all elements of a container."""
    if not hints.constraints_of(hint) and all(map(has_all_values, found := frozenset(hints.members(hint)))):
        return lambda values: found.issuperset(map(type, values))
    check = _make_check(hint, inside)
    return None if check is None else lambda values: all(map(check, values))


def _check_of_model(cls: type[BaseModel], inside: frozenset[type]) -> IsValid | None:
    """Return the check of a nested model that has neither settings nor validators."""
    found = cls.__pydantic_decorators__
    is_plain = (
        not (found.validators or found.field_validators or found.root_validators or found.model_validators)
        and cls.__get_pydantic_core_schema__.__func__ is BaseModel.__get_pydantic_core_schema__.__func__  # type: ignore[attr-defined]
        and all(getattr(cls, hook) is getattr(BaseModel, hook) for hook in ("__init__", "model_post_init"))
        and not (cls.__private_attributes__ or cls.__pydantic_root_model__ or set(cls.model_config) - {"frozen"})
        and not any(info.metadata for info in cls.model_fields.values())
    )
    if not is_plain or cls in inside:  # a model that contains itself is left to pydantic
        return None
    checks = {name: _make_check(info.annotation, inside | {cls}) for name, info in cls.model_fields.items()}
    known = tuple((name, check) for name, check in checks.items() if check is not None)
    return partial(_has_fields, cls, known) if len(known) == len(checks) else None


def _is_of(types: frozenset[type], value: Any) -> bool:
    return type(value) in types


def _has_elements(kind: type, check: IsValid, value: Any) -> bool:
    return type(value) is kind and check(value)


def _has_members(keys: IsValid, values: IsValid, value: Any) -> bool:
    return type(value) is dict and keys(value) and values(value.values())


def _has_fields(cls: type[BaseModel], checks: tuple[tuple[str, IsValid], ...], value: Any) -> bool:
    if type(value) is not cls:
        return False
    held = value.__dict__
    return all(name in held and check(held[name]) for name, check in checks)
