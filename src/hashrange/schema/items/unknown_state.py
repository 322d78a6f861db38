"""Finds stored items whose state cannot be told: the key of their state has none of the declared forms.

Such an item has the primary key of its class. It was written by another program, or by an earlier declaration.
"""

from __future__ import annotations

from collections.abc import Iterable

from hashrange.core.values import Item as Raw
from hashrange.core.values import Value
from hashrange.schema.declare import introspection
from hashrange.schema.declare.attribute_value import plain
from hashrange.schema.declare.class_cache import cached_by_class
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.key_codec import KeyCodec, key_codecs
from hashrange.schema.declare.model import View


def find_unknown_keys(model: ModelClass, raw: Raw) -> tuple[str, ...]:
    """Return the key attributes of a stored item that should tell its state and are of no declared form.

    For a state or a variant only its own keys are looked at, for an item those of all its states.
    """
    own = introspection.state_keys(model)
    return tuple(
        attr
        for attr, forms in _state_forms(introspection.root(introspection.item_of(model))).items()
        if attr in raw and (attr in own or not own) and not any(_has_form(form, raw[attr]) for form in forms)
    )


def find_misplaced_keys(model: ModelClass, raw: Raw) -> tuple[str, ...]:
    """Return the unknown keys for which a query of a state or a variant finds an item that is in no known state."""
    own = introspection.state_keys(model)
    if not own:
        return ()
    is_state = issubclass(model, View)
    found = find_unknown_keys(model, raw)
    return tuple(attr for attr in found if is_state or _starts(raw[attr], own[attr].prefix))


def explain_unknown_keys(model: ModelClass, raw: Raw) -> str:
    """Return the stored keys that tell no state, with the forms that the declaration has for them; or nothing."""
    forms = _state_forms(introspection.root(introspection.item_of(model)))
    shown = [
        f"{attr} is {plain(raw[attr])!r}, which is not {' or '.join(_texts(forms[attr]))}"
        for attr in find_unknown_keys(model, raw)
    ]
    return f": {'; '.join(shown)}" if shown else ""


def find_states_by_prefix(model: ModelClass, attr: str, value: Value) -> list[ModelClass]:
    """Return the states of an item whose key in an attribute starts as this value does."""
    states = introspection.item_and_states(model)
    keys = {state: introspection.state_keys(state).get(attr) for state in states}
    return [state for state, key in keys.items() if key is not None and _starts(value, key.prefix)]


@cached_by_class
def _state_forms(item: ModelClass) -> dict[str, list[KeyCodec]]:
    """Return the declared forms of each attribute by which states of an item are told."""
    models = introspection.item_and_states(item)
    attrs = dict.fromkeys(attr for model in models for attr in introspection.state_keys(model))
    return {attr: [found[attr] for model in models if attr in (found := key_codecs(model))] for attr in attrs}


def _texts(forms: list[KeyCodec]) -> Iterable[str]:
    return dict.fromkeys(form.template.text for form in forms)


def _has_form(form: KeyCodec, value: Value) -> bool:
    try:
        return form.parse(value) is not None
    except (ValueError, ArithmeticError):
        return False


def _starts(value: Value, prefix: str) -> bool:
    return bool(prefix) and value.get("S", "").startswith(prefix)
