"""Index keys that a write moves: each is written anew in the same request, or the pattern is refused.

A key that moves from where the item was seen is fenced: the item must still be there.
"""

from __future__ import annotations

from hashrange.core.errors import DeclarationError
from hashrange.schema import anatomy, criterion
from hashrange.schema.anatomy import Kind
from hashrange.schema.change import Change
from hashrange.schema.layout import makers
from hashrange.schema.move import Move, carried, left
from hashrange.schema.slot import (
    FieldOf,
    FieldSlot,
    GivenOr,
    KeySlot,
    SeenSlot,
    Source,
)
from hashrange.schema.template import Template


def move_keys(move: Move) -> None:
    """Write anew every index key that changes, or refuse the pattern."""
    by_stored = {attribute.stored: name for name, attribute in move.fields.items() if not attribute.key_only}
    leaving = left(move)
    for attr in sorted(move.table.key_names - set(move.table.keys)):
        after = carried(attr, move.target)
        held = any(carried(attr, kind) for kind in leaving)
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
    if any(carried(attr, kind) != after for kind in leaving):
        return True
    fixed = anatomy.fixed_values(move.target)
    return any(anatomy.fixed_values(kind).get(name) != fixed.get(name) for kind in leaving for name in after.fields)


def _set_key(move: Move, attr: str, after: Template) -> None:
    sources: dict[str, Source] = {}
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
        if source is None or (isinstance(source, GivenOr) and source.otherwise is None and len(after.fields) > 1):
            raise DeclarationError(
                "HR242",
                move.label,
                f"{attr}={after.text!r} would go stale, because {name} is not known here",
                f"take {name} as a parameter, or start from a wider shape",
            )
        sources[name] = source
        if isinstance(source, FieldOf):
            fence_held(move, name)
    maker = makers(move.target)[attr]
    depends = [name for name in after.fields if name in move.changes]
    left_out = all(move.changes[name].may_be_left_out for name in depends) and bool(depends)
    slot = KeySlot(maker, sources, len(maker.steps), maker.tail)
    move.changed[attr] = Change(attr, "SET", slot, frozenset(depends) if left_out else frozenset())


def _fence(move: Move, attr: str, name: str) -> None:
    """Where the item passed in shows the key that it moves from, the item must still be there."""
    if name in move.changes and move.subject and all(name in anatomy.attributes(kind) for kind in move.sources):
        old = FieldSlot(FieldOf(move.subject, name), move.fields[name].codec)
        move.conditions.append(criterion.equal(attr, SeenSlot(move.subject, attr, old), move.slots))


def fence_held(move: Move, name: str) -> None:
    """Where a key is made of what the item passed in shows, that must still be so, or the key would be stale."""
    attribute = move.fields[name]
    if move.subject and name not in move.identity and not attribute.optional and not attribute.key_only:
        seen = FieldSlot(FieldOf(move.subject, name), attribute.codec)
        same = criterion.equal(attribute.stored, SeenSlot(move.subject, attribute.stored, seen), move.slots)
        if same not in move.conditions:
            move.conditions.append(same)
