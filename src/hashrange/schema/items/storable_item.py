"""Brings an item into the form that is stored, before `dumper` converts it.

pydantic has validated what was constructed or loaded. A copy with changes is validated here, and so is an item with a
list, a map or a set, which may have been changed in place. An item whose values make a variant becomes one, so that it
has the index keys of the variant. A state gets the values of its item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from hashrange.core.article import with_article
from hashrange.core.errors import ValueInvalid
from hashrange.schema.declare import introspection
from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.field_kind import OriginalTime
from hashrange.schema.declare.introspection import NOTHING, ModelClass
from hashrange.schema.declare.marker import LOADING
from hashrange.schema.declare.model import LOADED_KEYS, UNCHECKED, Initial, Item, Model, View
from hashrange.schema.items.changed_in_place import may_have_changed
from hashrange.schema.items.dumper import merge_states

I = TypeVar("I", bound=Item)  # noqa: E741 - an item
M = TypeVar("M", bound=Model)


def make_storable(item: I) -> I:
    """Return an item as it will be stored; refuse values that could not be read back."""
    if UNCHECKED in item.__dict__ or may_have_changed(item):
        item = _validate(item)
    variants = _variants_by_value(type(item))
    if variants:
        item = _narrow(item, variants)
    return _synchronise_states(item) if introspection.lifecycles(type(item)) else item


# ── copies, and items that were changed in place ────────────────────────────────────────────────────────────────────
def _validate(model: M) -> M:
    """Return a copy that was changed without validation as a validated object, its states too."""
    values = _values_of(model)
    for name, value in values.items():
        if isinstance(value, View):
            if UNCHECKED in value.__dict__ or may_have_changed(value):
                values[name] = _validate(value)
        else:
            _validate_nested(type(model), values, value, (name,))
    try:
        return _build(type(model), values, model)
    except ValidationError as error:
        raise _invalid(type(model), values, (), error) from error


def _validate_nested(cls: ModelClass, values: dict[str, Any], value: Any, path: tuple[Any, ...]) -> None:
    """Validate the models inside a field; pydantic takes an object of a model as it is."""
    members: Any = ()
    if isinstance(value, BaseModel):
        members = {name: held for name, held in value.__dict__.items() if name in type(value).__pydantic_fields__}
        try:
            type(value).__pydantic_validator__.validate_python(members, by_name=True)
        except ValidationError as error:
            raise _invalid(cls, values, path, error) from error
    elif isinstance(value, dict):
        members = value
    elif isinstance(value, list | tuple):
        members = dict(enumerate(value))
    for name, member in members.items() if members else ():
        _validate_nested(cls, values, member, (*path, name))


def _invalid(cls: ModelClass, values: dict[str, Any], path: tuple[Any, ...], error: ValidationError) -> ValueInvalid:
    """Return the error of a value that cannot be stored, which names it."""
    first = error.errors()[0]
    path = (*path, *first["loc"])
    field = introspection.all_fields(cls).get(str(path[0]) if path else "")
    shown = "..." if field is not None and field.sealed else repr(first["input"])
    fitting = [found.__name__ for found in _fitting_variants(cls, values)]
    remedy = f"; these are the values of a {' or '.join(fitting)}" if fitting else ""
    return ValueInvalid(f"{'.'.join(map(str, (cls.__name__, *path)))} is {shown}: {first['msg']}{remedy}")


def _values_of(model: Model) -> dict[str, Any]:
    """Return the fields of a model."""
    return {name: model.__dict__[name] for name in type(model).model_fields if name in model.__dict__}


def _build(cls: type[M], values: dict[str, Any], like: Model) -> M:
    """Return a validated object that is as stored as another one; a time that is unchanged keeps its stored form."""
    built: M = cls.__pydantic_validator__.validate_python(dict(values), context=LOADING)
    for name, value in values.items():
        if type(value) is OriginalTime and built.__dict__[name] == value:
            built.__dict__[name] = value
    if LOADED_KEYS in like.__dict__:
        built.__dict__[LOADED_KEYS] = like.__dict__[LOADED_KEYS]
    built.__pydantic_fields_set__.clear()
    built.__pydantic_fields_set__.update(like.model_fields_set & values.keys())
    return built


# ── variants ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@cached_by_class
def _fixed(cls: ModelClass) -> dict[str, Any]:
    """Return the fields that have one value in a class, None where they are always absent."""
    return {name: field.fixed for name, field in introspection.stored_fields(cls).items() if field.fixed is not NOTHING}


@cached_by_class
def _variants_by_value(cls: ModelClass) -> list[ModelClass]:
    """Return the variants that an object of a class can be: those that differ by the values of its fields."""
    mine, fields = _fixed(cls), introspection.stored_fields(cls)
    return [
        variant
        for variant in introspection.subclasses_of(cls)
        if any(name in fields and name not in mine for name in _fixed(variant))
        and all(name in fields or value is None for name, value in _fixed(variant).items())
    ]


def _has_values(cls: ModelClass, values: Mapping[str, Any]) -> bool:
    return all(values.get(name) == value for name, value in _fixed(cls).items())


def _fitting_variants(cls: ModelClass, values: Mapping[str, Any]) -> list[ModelClass]:
    """Return the classes of the same item that these values make, without those that have a narrower one."""
    found = [
        model
        for model in introspection.with_variants(introspection.root(cls))
        if _fixed(model) and _has_values(model, values)
    ]
    return [model for model in found if not any(other is not model and issubclass(other, model) for other in found)]


def _narrow(item: I, variants: list[ModelClass]) -> I:
    """Return an item as the variant that its values make."""
    values = _values_of(item)
    found = [variant for variant in variants if _has_values(variant, values)]
    found = [model for model in found if not any(other is not model and issubclass(other, model) for other in found)]
    if not found:
        return item
    names = " and ".join(model.__name__ for model in found)
    cls = type(item).__name__
    if len(found) > 1:
        raise ValueInvalid(f"this {cls} has the values of {names}: construct the one that it is")
    try:
        return cast("I", _build(found[0], values, item))
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(map(str, first["loc"]))
        raise ValueInvalid(
            f"this {cls} has the values of {names}, whose {location} is invalid: {first['msg']}; "
            f"construct {with_article(names)}"
        ) from error


# ── states ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _synchronise_states(item: I) -> I:
    """Return an item that has the same values as its states."""
    merged = merge_states(item)
    changes: dict[str, Any] = _differences(item, merged)
    for name in introspection.lifecycles(type(item)):
        state: Model = item.__dict__[name]
        if found := _differences(state, merged):
            changes[name] = _replace(state, found)
    return _replace(item, changes) if changes else item


def _differences(model: Model, merged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored fields of a model that have other values after states and item were merged."""
    names = introspection.stored_fields(type(model))
    return {name: merged[name] for name in names if name in merged and model.__dict__[name] != merged[name]}


def _replace(model: M, changes: Mapping[str, Any]) -> M:
    """Return a copy with other values, which are valid."""
    copy = model.__copy__()
    copy.__dict__.update(changes)
    return copy


def with_next_version(item: I, name: str) -> I:
    """Return an item whose version is counted up; it is not yet what is stored under its keys."""
    changes: dict[str, Any] = {name: item.__dict__[name] + 1}
    if LOADED_KEYS in item.__dict__:
        changes[LOADED_KEYS] = {}
    return _replace(item, changes)


def check_initial_states(item: Item) -> None:
    """Raise for a new item that is not in the initial state of each of its lifecycles."""
    starts = introspection.initial_variants(type(item))
    if starts and not isinstance(item, starts):
        names = " or ".join(start.__name__ for start in starts)
        raise ValueInvalid(
            f"an item starts as {names}, not {type(item).__name__}: "
            "to create an item in another state, use db.create(item).imported()"
        )
    for name, default in type(item).__special__.items():
        state: Model = getattr(item, name)
        if isinstance(default, Initial) and not isinstance(state, default.state):
            raise ValueInvalid(
                f"{type(item).__name__}.{name} starts as {default.state.__name__}, not {type(state).__name__}: "
                "to create an item in another state, use db.create(item).imported()"
            )
