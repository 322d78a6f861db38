"""What distinguishes the items of a variant: fixed values, else keys, else required fields."""

from __future__ import annotations

from typing import Any

from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.introspection import NOTHING, ModelClass, is_model, root, stored_fields, variant_keys
from hashrange.schema.declare.key_template import Template
from hashrange.schema.declare.model import Item


@cached_by_class
def recognised_by_keys(cls: ModelClass) -> dict[str, Template]:
    """Return the keys that an item must have to be of a variant or state.

    Where fixed values distinguish a variant from its base class, a key may be absent: its field may be None.
    """
    found, top = variant_keys(cls), root(cls)
    if not issubclass(cls, Item) or _fixed_fields(cls) == _fixed_fields(top):
        return found
    same = [base for base in cls.__mro__ if _is_variant(base, top) and _fixed_fields(base) == _fixed_fields(cls)]
    declared = {attr for base in same[:-1] for attr in base.__dict__.get("__own_keys__", {})}
    return {attr: template for attr, template in found.items() if attr in declared}


def _is_variant(base: Any, top: ModelClass) -> bool:
    return is_model(base) and base is not top and issubclass(base, top)


@cached_by_class
def distinguished_by_fields(cls: ModelClass) -> list[ModelClass]:
    """Return the classes above a variant that have its keys and fixed values, and require fewer fields."""
    line = [base for base in cls.__mro__[1:] if is_model(base) and issubclass(base, root(cls))]
    return [
        base
        for base in line
        if variant_keys(base) == variant_keys(cls)
        and _fixed_fields(base) == _fixed_fields(cls)
        and required_fields(base) < required_fields(cls)
    ]


def required_fields(cls: ModelClass) -> set[str]:
    """Return the names of the fields that an item of a class must have."""
    return {name for name, field in stored_fields(cls).items() if field.required}


def _fixed_fields(cls: ModelClass) -> dict[str, Any]:
    return {name: field.fixed for name, field in stored_fields(cls).items() if field.fixed is not NOTHING}
