"""Checks index keys of variants and states that a write does not name, but the item may have.

A write that changes a field of such a key is refused: the key would go stale.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.key_template import Template
from hashrange.schema.write.delta import Delta
from hashrange.schema.write.write_intent import WriteIntent


def check_unseen_keys(intent: WriteIntent, delta: Delta, written: AbstractSet[str]) -> None:
    """Refuse a write that changes a field of a key which it does not write, or writes it by another template."""
    for model in _unseen_models(intent, delta):
        fixed = _fixed_fields(intent, model)
        may_be = _is_of_item(intent, model) and bool(fixed)  # after the write
        for attr, template in _templates_of(intent, model).items():
            changed = ({*template.fields} | fixed) & delta.fields.keys()
            if (attr in written and may_be) or (changed and attr not in written):
                reason = f"where {min(changed)} changes" if changed else "where it is written"
                raise DeclarationError(
                    "HR248",
                    intent.label,
                    f"{attr}={template.text!r} of {model.__name__} would go stale {reason}",
                    f"take and return {model.__name__}, in a pattern of its own",
                )


def _templates_of(intent: WriteIntent, model: ModelClass) -> dict[str, Template]:
    """Return the index keys of a class that differ from those of what is entered."""
    found = introspection.keys(model) if _is_of_item(intent, model) else introspection.variant_keys(model)
    return {
        attr: template
        for attr, template in found.items()
        if attr not in intent.table.keys
        and introspection.fillable_template(attr, model) is not None
        and introspection.fillable_template(attr, intent.target) != template
    }


def _is_of_item(intent: WriteIntent, model: ModelClass) -> bool:
    """Return whether a class is a variant of the item, or of what is entered: it has every key of it."""
    return issubclass(model, (intent.target, introspection.item_of(intent.target)))


def _fixed_fields(intent: WriteIntent, model: ModelClass) -> AbstractSet[str]:
    """Return the fields that have one value in a class, and not in what is entered."""
    return introspection.fixed_values(model, own=True).keys() - introspection.fixed_values(intent.target).keys()


def _unseen_models(intent: WriteIntent, delta: Delta) -> Iterator[ModelClass]:
    """Yield the variants of what is entered and of its item, and the states of the item's other lifecycles."""
    item = introspection.item_of(intent.target)
    for model in dict.fromkeys((*introspection.subclasses_of(intent.target), *introspection.subclasses_of(item))):
        if _may_be(intent, delta, model) and not issubclass(intent.target, model):
            yield model
    for states in introspection.lifecycles(item).values():
        if introspection.root(states[0]) is not introspection.root(intent.target):
            yield from (
                model
                for state in states
                for model in introspection.with_variants(state)
                if _may_be(intent, delta, model)
            )


def _may_be(intent: WriteIntent, delta: Delta, model: ModelClass) -> bool:
    """Return whether an item can be of this class before the write, or become one by a value that it sets."""
    if not _fixed_fields(intent, model).isdisjoint(delta.fields):
        return True
    related = [start for start in intent.start_models if introspection.root(start) is introspection.root(model)]
    return not related or any(issubclass(model, start) or issubclass(start, model) for start in related)
