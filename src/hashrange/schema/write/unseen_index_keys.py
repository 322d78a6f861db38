"""Checks index keys of variants and states that a write does not name, but the item may have.

A write that changes a field of such a key is refused: the key would go stale.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.write.delta import Delta
from hashrange.schema.write.write_intent import WriteIntent


def check_unseen_keys(intent: WriteIntent, delta: Delta, written: AbstractSet[str]) -> None:
    """Refuse a write that changes a field of a key which is not among those written."""
    for model in _unseen_models(intent):
        for attr, template in introspection.variant_keys(model).items():
            fixed = (
                introspection.fixed_values(model, own=True).keys() - introspection.fixed_values(intent.target).keys()
            )
            changed = ({*template.fields} | fixed) & delta.fields.keys()
            if changed and attr not in written and introspection.carried_template(attr, intent.target) != template:
                raise DeclarationError(
                    "HR248",
                    intent.label,
                    f"{attr}={template.text!r} of {model.__name__} would go stale where {min(changed)} changes",
                    f"take and return {model.__name__}, in a pattern of its own",
                )


def _unseen_models(intent: WriteIntent) -> Iterator[ModelClass]:
    """Yield the variants of what is entered, and the states of the item's other lifecycles."""
    for model in introspection.subclasses_of(intent.target):
        if _may_be(intent, model):
            yield model
    for states in introspection.lifecycles(introspection.item_of(intent.target)).values():
        if introspection.root(states[0]) is not introspection.root(intent.target):
            yield from (
                model for state in states for model in introspection.with_variants(state) if _may_be(intent, model)
            )


def _may_be(intent: WriteIntent, model: ModelClass) -> bool:
    """Return whether an item that the write starts from can be of this class."""
    related = [start for start in intent.start_models if introspection.root(start) is introspection.root(model)]
    return not related or any(issubclass(model, start) or issubclass(start, model) for start in related)
