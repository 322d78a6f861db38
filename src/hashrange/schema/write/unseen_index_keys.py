"""What an item may be besides what a write says: a variant, or a state, with index keys that the write does not see.

A write that changes what such a key is made of is refused: the item may be there, and its key would go stale.
"""

from __future__ import annotations

from collections.abc import Iterator

from hashrange.core.errors import DeclarationError
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Kind
from hashrange.schema.write.delta import Move


def check_unseen_keys(move: Move) -> None:
    """Refuse a write that changes a key of something more specific than what it enters."""
    written = {*move.changed, *move.removed}
    for kind in _unseen_kinds(move):
        for attr, template in introspection.variants(kind).items():
            told_by = set(introspection.fixed_values(kind, own=True)) - set(introspection.fixed_values(move.target))
            changed = ({*template.fields} | told_by) & move.changes.keys()
            if changed and attr not in written and introspection.carried(attr, move.target) != template:
                raise DeclarationError(
                    "HR248",
                    move.label,
                    f"{attr}={template.text!r} of {kind.__name__} would go stale where {min(changed)} changes",
                    f"take and return {kind.__name__}, in a pattern of its own",
                )


def _unseen_kinds(move: Move) -> Iterator[Kind]:
    """Yield the variants of what is entered, and the states of the lifecycles that go on."""
    for kind in introspection.descend(move.target):
        if _may_be(move, kind):
            yield kind
    for states in introspection.parts(introspection.item_of(move.target)).values():
        if introspection.root(states[0]) is not introspection.root(move.target):
            yield from (kind for state in states for kind in introspection.family(state) if _may_be(move, kind))


def _may_be(move: Move, kind: Kind) -> bool:
    """Whether an item that the write starts from can be of this kind."""
    alike = [source for source in move.sources if introspection.root(source) is introspection.root(kind)]
    return not alike or any(issubclass(kind, source) or issubclass(source, kind) for source in alike)
