"""What a write costs: worked out when somebody asks, not when it is declared."""

from __future__ import annotations

from hashrange.schema import anatomy
from hashrange.schema.anatomy import Kind
from hashrange.schema.change import WritePlan
from hashrange.schema.move import carried
from hashrange.schema.shape import Item


def count_units(plan: WritePlan) -> tuple[tuple[str, int], ...]:
    """Count write units for a small item: the table 1, an index whose key moves 2, one whose projection changes 1."""
    found = [("table", 1)]
    if plan.verb == "Ensure":
        return tuple(found)
    changed = {*(change.stored for change in plan.changes), *plan.removes}
    kinds = [kind for shape in (plan.target, *plan.sources) for kind in anatomy.family(shape)]
    for index in plan.table.indexes:
        if not any(_is_in(index.keys, kind) for kind in kinds):
            continue
        moves = not set(index.keys).isdisjoint(plan.moving)
        if moves or plan.verb == "Delete" or index.projects_all or not changed.isdisjoint(index.attributes):
            found.append((index.name, 2 if moves else 1))
    return tuple(found)


def _is_in(keys: tuple[str, ...], kind: Kind) -> bool:
    item = anatomy.item_of(kind)
    states = [state for kinds in anatomy.parts(item).values() for state in kinds]
    shape = kind if issubclass(kind, Item) else item
    return all(carried(attr, shape) or any(attr in anatomy.variants(state) for state in states) for attr in keys)
