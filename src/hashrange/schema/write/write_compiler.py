"""The write compiler: turns a signature into one conditional UpdateItem, DeleteItem or condition check.

Three steps, each a function of the values before it: the delta (which fields change), the keys (which index keys are
computed from them, and what is pinned for that), the conditions (what must hold).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass
from hashrange.schema.declare.key_codec import KeyCodec, key_codecs
from hashrange.schema.declare.model import View
from hashrange.schema.pattern.criterion import ranges_in
from hashrange.schema.pattern.signature import Signature
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentField,
    ArgumentSource,
    KeyValue,
    LoadedValue,
    ValueSource,
)
from hashrange.schema.write.delta import Delta, change_attributes, compute_delta, repair_expiry
from hashrange.schema.write.index_keys import IndexKey, compute_keys, store_recovered
from hashrange.schema.write.nested_update import change_nested, nested_hint, read_nested_changes
from hashrange.schema.write.stored_defaults import store_defaults
from hashrange.schema.write.unseen_index_keys import check_unseen_keys
from hashrange.schema.write.write_conditions import compute_conditions
from hashrange.schema.write.write_intent import WriteIntent, read_intent
from hashrange.schema.write.write_plan import LENIENT, AttributeChange, WritePlan


def plan_write(signature: Signature) -> WritePlan:
    """Return the plan of a pattern that writes."""
    intent = read_intent(signature)
    nested = read_nested_changes(intent)
    delta = compute_delta(intent) if intent.changes_items else Delta({})
    keys = compute_keys(intent, delta) if intent.changes_items else ()
    conditions = compute_conditions(intent, delta, keys, nested)
    set_fields, removed_fields = change_attributes(intent, delta)
    set_keys = {key.attr: key.change for key in keys if key.change is not None}
    changes = {**set_fields, **_merge_made_values(keys), **set_keys}
    removes = [*removed_fields, *(key.attr for key in keys if key.removed)]
    if intent.changes_items:
        check_unseen_keys(intent, delta, {*changes, *removes})
        _check_changes_something(intent, bool(changes or removes or nested))
    repair = repair_expiry(intent, delta) if intent.changes_items else None
    defaults = [found for found in store_defaults(intent, delta) if found.unless or found.stored not in changes]
    known = {*changes, *(found.stored for found in defaults)}
    recovered = [found for found in store_recovered(intent, delta, keys) if found.stored not in known]
    return WritePlan(
        label=signature.label,
        name=signature.name,
        verb=signature.verb,
        target=intent.target,
        table=intent.table,
        key={attr: _key_value(intent, key_codecs(intent.target)[attr]) for attr in intent.table.keys},
        subject=intent.subject,
        changes=(
            *changes.values(),
            *defaults,
            *recovered,
            *change_nested(nested),
            *([repair] if repair is not None else []),
        ),
        removes=tuple(dict.fromkeys(removes)),
        condition=conditions.condition,
        pinned=conditions.pinned,
        condition_values=conditions.values,
        lenient=tuple((name, found) for name, found in conditions.values.items() if isinstance(found, LENIENT)),
        moving=tuple(key.attr for key in keys),
        edges=tuple((model.__name__, intent.target.__name__) for model in intent.start_models),
        states=tuple(
            (name, intent.start_models if name == intent.subject else tuple(found.models))
            for name, found in signature.parameters.items()
            if found.models
        ),
        exact=not nested and _is_exact(intent, delta),
        signature=signature,
        sets=tuple(intent.sets),
        nested_types={change.parameter.name: nested_hint(change) for change in nested},
        ranges=tuple(ranges_in(conditions.condition, conditions.values)),
    )


def _merge_made_values(keys: Iterable[IndexKey]) -> dict[str, AttributeChange]:
    """Return the values of factories to store, by attribute; one of two keys is stored if either key is written."""
    found: dict[str, AttributeChange] = {}
    for change in (change for key in keys for change in key.made):
        same = found.get(change.stored, change)
        both = same.depends | change.depends if same.depends and change.depends else frozenset[str]()
        found[change.stored] = replace(change, depends=both)
    return found


def _check_changes_something(intent: WriteIntent, is_changed: bool) -> None:
    if intent.verb == "Update" and not is_changed:
        raise DeclarationError(
            "HR245", intent.label, "changes nothing", "take what it sets as a parameter, or return Ensure to test only"
        )


def _key_value(intent: WriteIntent, key_codec: KeyCodec) -> ValueSource:
    """Return the source of a part of the primary key: parameters, or the key with which the subject was loaded."""
    given = {name for name in key_codec.template.fields if name in intent.signature.values}
    sources: dict[str, ArgumentSource] = {
        name: Argument(name) if name in given or not intent.subject else ArgumentField(intent.subject, name)
        for name in key_codec.template.fields
    }
    rendered = KeyValue(key_codec, sources, len(key_codec.steps), key_codec.tail)
    return rendered if given or not intent.subject else LoadedValue(intent.subject, key_codec.attr, rendered, "")


def _is_exact(intent: WriteIntent, delta: Delta) -> bool:
    """Return whether the outcome follows from the arguments alone, because each field is set or tested.

    A version is not enough: that of an item which was deleted and created again may be the same. The state is not
    enough either: fields that the item has in every state change without it.
    """
    target = intent.target
    if intent.verb != "Update" or not intent.subject or introspection.lifecycles(target):
        return False
    if next(introspection.subclasses_of(target), None) is not None:  # an item of a variant stays of it
        return False
    if not all(change.is_known for change in delta.fields.values()):
        return False
    is_guarded = issubclass(target, View) and not any(parameter.is_none for parameter in intent.sets.values())
    is_same_item = all(introspection.root(model) is introspection.root(target) for model in intent.start_models)
    tested = frozenset[str].intersection(*(_tested_fields(model) for model in intent.start_models))
    fields = introspection.stored_fields(target).items()
    needed = {name for name, field in fields if field.fixed is not None}
    touched = {field.name for field in introspection.touched_fields(target)}
    known = {*tested, *intent.sets, *introspection.fixed_values(target), *touched}
    return is_guarded and is_same_item and needed <= known


def _tested_fields(cls: ModelClass) -> frozenset[str]:
    """Return the fields of a state whose values are those of the stored item, where its keys and its state are."""
    parts = [part for template in introspection.state_keys(cls).values() for part in template.parts]
    in_keys = {part.field for part in parts if part.field and not part.format.is_derived}
    return introspection.identifying_fields(cls) | in_keys | {field.name for field in introspection.added_fields(cls)}
