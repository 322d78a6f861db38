"""Index keys that a write moves: each is written anew in the same request, or the pattern is refused.

A key that moves from where the item was seen is fenced: the item must still be there.
"""

from __future__ import annotations

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Kind
from hashrange.schema.declare.key_codec import key_codecs
from hashrange.schema.declare.key_template import Template
from hashrange.schema.pattern import criterion
from hashrange.schema.pattern.value_source import (
    ArgumentField,
    ArgumentSource,
    FieldValue,
    KeyValue,
    LoadedValue,
    OptionalArgument,
)
from hashrange.schema.write.delta import Move, left
from hashrange.schema.write.write_plan import AttributeChange


def move_keys(move: Move) -> None:
    """Write anew every index key that changes, or refuse the pattern."""
    by_stored = {attribute.stored: name for name, attribute in move.fields.items() if not attribute.key_only}
    leaving = left(move)
    for attr in sorted(move.table.key_names - set(move.table.keys)):
        after = introspection.carried(attr, move.target)
        held = any(introspection.carried(attr, kind) for kind in leaving)
        moves = held if after is None else _moves(move, attr, after, leaving)
        if not moves:
            continue
        move.moving.append(attr)
        if attr in by_stored:
            _fence(move, attr, by_stored[attr])
        elif after is None:
            move.removed[attr] = None
        else:
            _set_key(move, attr, after)


def _moves(move: Move, attr: str, after: Template, leaving: list[Kind]) -> bool:
    """Whether a key may change: its template is another, or one of its fields is."""
    if move.verb == "Upsert" or set(after.fields) & set(move.changes):
        return True
    if any(introspection.carried(attr, kind) != after for kind in leaving):
        return True
    fixed = introspection.fixed_values(move.target)
    return any(
        introspection.fixed_values(kind).get(name) != fixed.get(name) for kind in leaving for name in after.fields
    )


def _set_key(move: Move, attr: str, after: Template) -> None:
    sources: dict[str, ArgumentSource] = {}
    for name in after.fields:
        source = move.source_of(name)
        changed = move.changes.get(name)
        if changed is not None and changed.change:
            raise DeclarationError(
                "HR246",
                move.label,
                f"{attr}={after.text!r} is made of {name}, whose new value only the database will know",
                f"set {name} to a value instead",
            )
        if source is None or (
            isinstance(source, OptionalArgument) and source.otherwise is None and len(after.fields) > 1
        ):
            raise DeclarationError(
                "HR242",
                move.label,
                f"{attr}={after.text!r} would go stale, because {name} is not known here",
                f"take {name} as a parameter, or start from a wider shape",
            )
        sources[name] = source
        if isinstance(source, ArgumentField):
            fence_held(move, name)
    key_codec = key_codecs(move.target)[attr]
    depends = [name for name in after.fields if name in move.changes]
    left_out = all(move.changes[name].may_be_left_out for name in depends) and bool(depends)
    value_source = KeyValue(key_codec, sources, len(key_codec.steps), key_codec.tail)
    move.changed[attr] = AttributeChange(attr, "SET", value_source, frozenset(depends) if left_out else frozenset())


def _fence(move: Move, attr: str, name: str) -> None:
    """Where the item passed in shows the key that it moves from, the item must still be there."""
    if name in move.changes and move.subject and all(name in introspection.attributes(kind) for kind in move.sources):
        old = FieldValue(ArgumentField(move.subject, name), move.fields[name].codec)
        move.conditions.append(criterion.equal(attr, LoadedValue(move.subject, attr, old), move.placeholders))


def fence_held(move: Move, name: str) -> None:
    """Where a key is made of what the item passed in shows, that must still be so, or the key would be stale."""
    attribute = move.fields[name]
    if move.subject and name not in move.identity and not attribute.optional and not attribute.key_only:
        seen = FieldValue(ArgumentField(move.subject, name), attribute.codec)
        same = criterion.equal(attribute.stored, LoadedValue(move.subject, attribute.stored, seen), move.placeholders)
        if same not in move.conditions:
            move.conditions.append(same)
