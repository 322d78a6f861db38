"""Variants that only their required fields tell from the class above: an order that is closed has `closed`."""

from __future__ import annotations

from typing import Any

from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.introspection import NOTHING, ModelClass, is_model, root, stored_fields, variant_keys


@cached_by_class
def told_apart_by_fields(cls: ModelClass) -> list[ModelClass]:
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
