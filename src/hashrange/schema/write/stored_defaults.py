"""Defaults that a write stores although no parameter sets them, so that what it returns is what is stored.

An Upsert may create the item: it stores each default unless there is a value (`if_not_exists`), as `create` does, and
the key of the state in which a lifecycle starts. An update that is given the item stores a default that follows from a
field which it changes, where an index key is made of it: the item was read with the old one. An update by key tests
that there is no such default.
"""

from __future__ import annotations

from collections.abc import Iterator

from hashrange.core.article import with_article
from hashrange.core.errors import DeclarationError
from hashrange.expr.nodes import FunctionCall, Or, path_of
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import ModelClass, ModelField
from hashrange.schema.declare.key_codec import key_codecs
from hashrange.schema.declare.model import After, Initial
from hashrange.schema.pattern.criterion import Criterion
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentSource,
    Constant,
    DefaultOf,
    DependentDefault,
    FieldValue,
    KeyValue,
    OptionalArgument,
)
from hashrange.schema.write.delta import Delta
from hashrange.schema.write.write_intent import WriteIntent
from hashrange.schema.write.write_plan import AttributeChange

ONCE = "ONCE"


def store_defaults(intent: WriteIntent, delta: Delta) -> Iterator[AttributeChange]:
    """Yield the defaults that a write stores where the item has no value."""
    if intent.verb == "Upsert":
        yield from _store_all(intent, delta)
    elif intent.verb == "Update":
        yield from _keep_dependent(intent, delta)


# ── an item that may be created ──────────────────────────────────────────────────────────────────────────────────────
def _store_all(intent: WriteIntent, delta: Delta) -> Iterator[AttributeChange]:
    done: set[str] = set()
    for model in _created_models(intent):
        for name, field in introspection.stored_fields(model).items():
            change = delta.fields.get(name)
            if (
                field.key_only
                or name in done
                or name in intent.identity
                or (change is not None and not change.optional)
            ):
                continue
            source = _default_source(intent, delta, model, field)
            if source is not None:
                done.add(name)
                yield _once(field, source, unless=name if change is not None else "")
    for state in _initial_states(intent):
        for attr, template in introspection.state_keys(state).items():
            codec = key_codecs(state)[attr]
            sources = {name: _created_value(intent, delta, state, name) for name in template.fields}
            key = KeyValue(codec, sources, len(codec.steps), codec.tail)
            yield AttributeChange(stored=attr, action=ONCE, value_source=key)


def _once(field: ModelField, source: ArgumentSource, *, unless: str = "") -> AttributeChange:
    value_source = FieldValue(source, field.codec)
    return AttributeChange(
        stored=field.stored, action=ONCE, value_source=value_source, unless=unless, sealed=field.sealed
    )


def _created_models(intent: WriteIntent) -> tuple[ModelClass, ...]:
    """Return the classes that an item which is created is made of: the state entered, the item, the other states."""
    return tuple(dict.fromkeys((intent.target, introspection.item_of(intent.target), *_initial_states(intent))))


def _initial_states(intent: WriteIntent) -> list[ModelClass]:
    """Return the states in which the lifecycles start that the write does not name."""
    item = introspection.item_of(intent.target)
    found: list[ModelClass] = []
    for name, states in introspection.lifecycles(item).items():
        if introspection.root(states[0]) is introspection.root(intent.target):
            continue
        default = item.__special__.get(name)
        if not isinstance(default, Initial):
            raise DeclarationError(
                "HR259",
                intent.label,
                f"may create {with_article(item.__name__)} without a state: {name} has no initial one",
                f"declare {name}: ... = initially(...), or return Upsert of the state that is entered",
            )
        found.append(default.state)
    return found


def initial_state_conditions(intent: WriteIntent) -> Iterator[Criterion]:
    """Yield the tests that an item which exists has a state: one that is older than its key is not given another."""
    is_new = FunctionCall("attribute_not_exists", (path_of(intent.table.pk),))
    for state in _initial_states(intent):
        for mark in sorted(introspection.state_attributes(state)):
            yield Criterion(Or((is_new, FunctionCall("attribute_exists", (path_of(mark),)))))


def _default_source(intent: WriteIntent, delta: Delta, model: ModelClass, field: ModelField) -> ArgumentSource | None:
    """Return the source of a default that is stored; None if there is none."""
    if field.is_fixed:
        return Constant(field.fixed)
    info = model.__pydantic_fields__[field.name]
    if isinstance(info.default, After):
        other = _created_value(intent, delta, model, info.default.other)
        return DependentDefault(model, field.name, {info.default.other: other})
    if info.default_factory_takes_validated_data:
        before = list(model.__pydantic_fields__)
        names = [name for name in before[: before.index(field.name)] if name in introspection.stored_fields(model)]
        return DependentDefault(model, field.name, {name: _created_value(intent, delta, model, name) for name in names})
    default = DefaultOf(model, field.name)
    return default if default.is_there else None


def _created_value(intent: WriteIntent, delta: Delta, model: ModelClass, name: str) -> ArgumentSource:
    """Return the value that a field has in an item which the write creates."""
    change = delta.fields.get(name)
    owner = next((each for each in (model, introspection.item_of(model)) if name in each.__pydantic_fields__), model)
    default: ArgumentSource = Constant(None)
    if name in owner.__pydantic_fields__ and DefaultOf(owner, name).is_there:
        default = DefaultOf(owner, name)
    if name in intent.signature.values and (change is None or not change.optional):
        return Argument(name)
    if change is None:
        return default
    return OptionalArgument(name, default) if change.optional else change.source


# ── an item that was read with a default ─────────────────────────────────────────────────────────────────────────────
def _keep_dependent(intent: WriteIntent, delta: Delta) -> Iterator[AttributeChange]:
    """Yield the defaults that would change with a field that the write changes, and that an index key is made of."""
    for name, others in _dependent_fields(intent).items():
        field, held = intent.fields[name], intent.held(name)
        changed = [delta.fields[other] for other in others if other in delta.fields]
        if name in delta.fields or not changed or field.key_only:
            continue
        if held is not None:
            yield _once(field, held)


def dependent_default_conditions(intent: WriteIntent, delta: Delta) -> Iterator[Criterion]:
    """Yield the tests of an update by key: a default that would change is stored, or no key is made of it."""
    for name, others in _dependent_fields(intent).items():
        if name in delta.fields or intent.held(name) is not None or delta.fields.keys().isdisjoint(others):
            continue
        is_stored = FunctionCall("attribute_exists", (path_of(intent.fields[name].stored),))
        for attr in _unrecoverable_keys(intent, name):
            yield Criterion(Or((is_stored, FunctionCall("attribute_not_exists", (path_of(attr),)))))


def _unrecoverable_keys(intent: WriteIntent, name: str) -> list[str]:
    """Return the index keys that are made of a field, and from which it is not read."""
    found = [
        attr
        for model in introspection.item_and_states(intent.target)
        for attr, template in introspection.keys(model).items()
        if attr not in intent.table.keys and name in template.fields and name not in template.recoverable
    ]
    return sorted(set(found))


def _dependent_fields(intent: WriteIntent) -> dict[str, list[str]]:
    """Return the fields in index keys whose default follows from others, with those others."""
    classes = introspection.item_and_states(intent.target)
    in_keys = {
        name
        for model in classes
        for attr, template in introspection.keys(model).items()
        if attr not in intent.table.keys
        for name in template.fields
    }
    found: dict[str, list[str]] = {}
    for name in sorted(in_keys):
        default = _default_of(intent, name)
        if isinstance(default, After):
            found[name] = [default.other]
        elif default is not None:
            found[name] = [other for other in intent.fields if other != name]
    return found


def _default_of(intent: WriteIntent, name: str) -> object:
    """Return the default of a field that follows from others: a period after one, or a factory; None if it has none."""
    for model in introspection.item_and_states(intent.target):
        info = model.__pydantic_fields__.get(name)
        if info is not None and isinstance(info.default, After):
            return info.default
        if info is not None and info.default_factory_takes_validated_data:
            return info.default_factory
    return None
