"""THE write compiler: turns a pattern's signature into one conditional UpdateItem, DeleteItem or condition check.

It knows every key template that an attribute feeds. Whatever a pattern changes, each index key that depends on it is
written anew in the same request, or the pattern is refused when it is declared: there is no stale index key.
"""

from __future__ import annotations

from typing import Any

from hashrange.core.errors import DeclarationError
from hashrange.core.values import Value
from hashrange.expr.nodes import join_all
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Attribute
from hashrange.schema.declare.key_codec import KeyCodec, key_codecs
from hashrange.schema.declare.shape import View
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.expression_text import used_values
from hashrange.schema.pattern.signature import Parameter, Signature
from hashrange.schema.pattern.value_source import (
    Argument,
    ArgumentField,
    ArgumentSource,
    Constant,
    FieldValue,
    FixedValue,
    Incremented,
    KeyValue,
    LoadedValue,
    Now,
    ValueSource,
)
from hashrange.schema.write.delta import Move, check_changes, check_complete, left, take_apart
from hashrange.schema.write.index_keys import move_keys
from hashrange.schema.write.unseen_index_keys import check_unseen_keys
from hashrange.schema.write.write_conditions import require_existence, require_parameters, require_states
from hashrange.schema.write.write_plan import AttributeChange, WritePlan


def plan_write(signature: Signature) -> WritePlan:
    """Return the plan of a pattern that writes."""
    move = take_apart(signature)
    key = _key(move)
    if signature.verb in {"Update", "Upsert"}:
        check_complete(move)
        _set_parameters(move)
        _enter_state(move)
        _keep_count(move)
        move_keys(move)
        check_unseen_keys(move)
        _drop_fields(move)
        check_changes(move)
        _repair_expiry(move)
    require_states(move)
    require_parameters(move)
    require_existence(move)
    tree = join_all([found.condition for found in move.conditions])
    return WritePlan(
        label=signature.label,
        name=signature.name,
        verb=signature.verb,
        target=move.target,
        table=move.table,
        key=key,
        subject=move.subject,
        changes=tuple(move.changed.values()),
        removes=tuple(stored for stored in move.removed if stored not in move.changed),
        condition=tree,
        condition_values=used_values(move.placeholders, (tree,)),
        moving=tuple(move.moving),
        edges=tuple((source.__name__, move.target.__name__) for source in move.sources),
        exact=_is_exact(move),
        signature=signature,
        sets=tuple(move.changes),
    )


def _set_parameters(move: Move) -> None:
    for name, parameter in move.changes.items():
        attribute = move.fields[name]
        if parameter.is_none:
            _remove(move, attribute)
            continue
        _check_once(move, attribute, parameter)
        depends = frozenset({name}) if parameter.may_be_left_out else frozenset()
        _change(move, attribute, Argument(name), action=parameter.change or "SET", depends=depends)


def _check_once(move: Move, attribute: Attribute, parameter: Parameter) -> None:
    if parameter.change == "ONCE" and _unset(move, attribute) is not None:
        raise DeclarationError(
            "HR247",
            move.label,
            f"{parameter.name} would never be set: {move.table.name} stores a word for no value, so it is always there",
            "set it when the item is created, or test it with @where",
        )


def _change(
    move: Move,
    attribute: Attribute,
    source: ArgumentSource,
    *,
    action: str = "SET",
    depends: frozenset[str] = frozenset(),
) -> None:
    value_source = FieldValue(source, attribute.codec)
    unset = _unset(move, attribute)
    move.changed[attribute.stored] = AttributeChange(
        attribute.stored, action, value_source, depends, unset, sealed=attribute.sealed
    )


def _unset(move: Move, attribute: Attribute) -> Value | None:
    """Return the table's word for "no value", where this attribute can hold it."""
    word = move.table.unset
    can = word is not None and attribute.codec.tag == "S" and attribute.stored not in move.table.key_names
    return {"S": word} if can else None


def _remove(move: Move, attribute: Attribute) -> None:
    unset = _unset(move, attribute)
    if unset is None:
        move.removed[attribute.stored] = None
    else:
        move.changed[attribute.stored] = AttributeChange(attribute.stored, "SET", FixedValue(unset))


def _enter_state(move: Move) -> None:
    """Set the fields that have one value in the state entered and had another, and drop those that are never there."""
    for name, value in introspection.fixed_values(move.target).items():
        same = move.sources and all(introspection.fixed_values(kind).get(name) == value for kind in move.sources)
        if name not in move.changes and (move.verb == "Upsert" or (move.sources and not same)):
            _change(move, move.fields[name], Constant(value))
    for name, attribute in introspection.attributes(move.target).items():
        if attribute.fixed is None and name not in move.changes:
            _remove(move, move.fields[name])


def _keep_count(move: Move) -> None:
    """Count the version up, and set the time of the last write."""
    for attribute in introspection.touched(move.target):
        if attribute.name not in move.changes:
            _change(move, attribute, Now())
    version = introspection.version_of(move.target)
    if version is None:
        return
    if move.subject and all(version.name in introspection.attributes(kind) for kind in move.sources):
        held = ArgumentField(move.subject, version.name)
        move.conditions.append(criterion.equal(version.stored, FieldValue(held, version.codec), move.placeholders))
        _change(move, version, Incremented(held))
    else:
        _change(move, version, Constant(1), action="ADD")


def _repair_expiry(move: Move) -> None:
    """Write the TTL in seconds where the item passed in was stored with one in milliseconds, which never comes."""
    ttl = next((found for found in move.fields.values() if found.stored == move.table.ttl), None)
    if ttl is None or not move.subject or ttl.stored in {*move.changed, *move.removed}:
        return
    if all(ttl.name in introspection.attributes(kind) for kind in move.sources):
        value_source = FieldValue(ArgumentField(move.subject, ttl.name), ttl.codec)
        move.changed[ttl.stored] = AttributeChange(ttl.stored, "SET", value_source, repairs=move.subject)


def _drop_fields(move: Move) -> None:
    """Drop what belonged to the state that is left and is no part of the one entered."""
    if not move.sources or introspection.root(move.sources[0]) is not introspection.root(move.target):
        return
    kept = {
        *introspection.attributes(move.target),
        *move.changes,
        *introspection.attributes(introspection.root(move.target)),
    }
    for kind in left(move):
        for name, attribute in introspection.attributes(kind).items():
            if name not in kept and not attribute.key_only:
                _remove(move, attribute)


def _key(move: Move) -> dict[str, ValueSource]:
    return {attr: _key_value(move, key_codecs(move.target)[attr]) for attr in move.table.keys}


def _key_value(move: Move, key_codec: KeyCodec) -> ValueSource:
    given = {name for name in key_codec.template.fields if name in move.signature.values}
    sources: dict[str, ArgumentSource] = {
        name: Argument(name) if name in given or not move.subject else ArgumentField(move.subject, name)
        for name in key_codec.template.fields
    }
    value_source = KeyValue(key_codec, sources, len(key_codec.steps), key_codec.tail)
    return value_source if given or not move.subject else LoadedValue(move.subject, key_codec.attr, value_source)


def _is_exact(move: Move) -> bool:
    """Whether the outcome follows from the arguments alone, fenced by the state or the version that was seen."""
    if move.verb != "Update" or not move.subject or introspection.parts(move.target):
        return False
    if any(change.action != "SET" for change in move.changed.values()):
        return False
    fenced = introspection.version_of(move.target) is not None or issubclass(move.target, View)
    held = set.intersection(*(set(introspection.attributes(kind)) for kind in move.sources))
    fixed: dict[str, Any] = introspection.fixed_values(move.target)
    needed = {name for name, found in introspection.attributes(move.target).items() if found.fixed is not None}
    same = all(introspection.root(kind) is introspection.root(move.target) for kind in move.sources)
    return (
        fenced
        and same
        and needed <= {*held, *move.changes, *fixed, *(t.name for t in introspection.touched(move.target))}
    )
