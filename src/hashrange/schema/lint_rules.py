"""The lint rules: declarations that work but cost more, or do less, than their author may expect.

Each finding has a code. A read plan reports its own findings; the rules here need all plans of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import is_typeddict

from hashrange.expr.nodes import Between, Comparison, Condition, FunctionCall, paths_of, walk
from hashrange.schema.declare import hint as hints
from hashrange.schema.declare import introspection
from hashrange.schema.declare.introspection import Attribute, Kind
from hashrange.schema.declare.shape import Initial, Item, View
from hashrange.schema.declare.table import Gsi, Table
from hashrange.schema.pattern.lint import Lint
from hashrange.schema.read.read_plan import ReadPlan
from hashrange.schema.write.write_plan import WritePlan

Plans = Mapping[str, ReadPlan | WritePlan]
ORDERINGS = {"<", "<=", ">", ">="}  # equality with an absent attribute is false, as expected
PRESENCE = {"attribute_exists", "attribute_not_exists"}


def lint_patterns(plans: Plans) -> list[Lint]:
    """Return the findings of a Patterns class, in the order of its patterns, then of its tables.

    A table is judged by every pattern declared on it, in whichever class.
    """
    found = [lint for plan in plans.values() for lint in _lint_plan(plan)]
    for table in dict.fromkeys(plan.table for plan in plans.values()):
        reads = [plan for plan in table.plans if isinstance(plan, ReadPlan)]
        writes = [plan for plan in table.plans if isinstance(plan, WritePlan)]
        for index in table.indexes:
            found += _lint_index(index, table, [plan for plan in reads if plan.path.name == index.name])
        found += _unreachable_states(table, writes)
        found += _unbounded_fields(table, writes)
    return found


# ── single patterns ──────────────────────────────────────────────────────────────────────────────────────────────────
def _lint_plan(plan: ReadPlan | WritePlan) -> Iterator[Lint]:
    if isinstance(plan, WritePlan):
        yield from _comparisons_with_absent(plan)
        yield from _hot_partitions(plan)
    else:
        yield from plan.lints
        yield from _comparisons_with_absent(plan)
        yield from _shows_expired(plan)


def _comparisons_with_absent(plan: ReadPlan | WritePlan) -> Iterator[Lint]:
    """Find comparisons with attributes that may be absent, which are then false."""
    compared = dict.fromkeys(stored for tree in _conditions(plan) for stored in _compared_attributes(tree))
    for stored in compared:
        if all(_may_be_absent(kind, stored) for kind in _starting_shapes(plan)):
            fields = introspection.all_attributes(plan.kinds[0]).values()
            name = next((found.name for found in fields if found.stored == stored), stored)
            yield Lint(
                "HR408",
                plan.label,
                f"compares {name}, and is false where that is absent; test attribute_exists({name}) too",
            )


def _conditions(plan: ReadPlan | WritePlan) -> Iterator[Condition]:
    trees = [plan.condition] if isinstance(plan, WritePlan) else [*(b.filter for b in plan.branches), plan.check_tree]
    yield from (tree for tree in trees if tree is not None)


def _compared_attributes(tree: Condition) -> Iterator[str]:
    """Yield the attributes that are ordered or ranged, without those whose presence is tested too."""
    tested = {
        path.elements[0]
        for node in walk(tree)
        if isinstance(node, FunctionCall) and node.function in PRESENCE
        for path in paths_of(node)
    }
    for node in walk(tree):
        ordered = isinstance(node, Between) or (isinstance(node, Comparison) and node.operator in ORDERINGS)
        if ordered:
            yield from (str(path.elements[0]) for path in paths_of(node) if path.elements[0] not in tested)


def _starting_shapes(plan: ReadPlan | WritePlan) -> list[Kind]:
    given = [kind for parameter in plan.signature.parameters.values() for kind in parameter.shapes]
    return given or list(plan.kinds)


def _may_be_absent(kind: Kind, stored: str) -> bool:
    if stored in introspection.table_of(kind).key_names:
        return False
    found = [
        attribute
        for shape in (kind, introspection.item_of(kind))
        for attribute in introspection.attributes(shape).values()
        if attribute.stored == stored
    ]
    return not found or found[0].optional


def _hot_partitions(plan: WritePlan) -> Iterator[Lint]:
    """Find index partitions that every item enters in one state."""
    moved = {change.stored for change in plan.changes}
    item, fixed = introspection.item_of(plan.target), introspection.fixed_values(plan.target)
    for index in plan.table.indexes:
        template = {**introspection.keys(item), **introspection.keys(plan.target)}.get(index.pk)
        if template is None or not moved & set(index.keys) or not set(template.fields) <= set(fixed):
            continue
        yield Lint(
            "HR406",
            plan.label,
            f"puts every {plan.target.__name__} into one partition of {index.name}, {index.pk} = {template.text!r}: "
            "1,000 writes a second at most; add a shard such as {id:shard8}",
        )


def _shows_expired(plan: ReadPlan) -> Iterator[Lint]:
    """Find reads of an index that does not project the TTL, so that expired items are returned."""
    ttl, path = plan.table.ttl, plan.path
    if ttl is None or not path.name or path.projects_all or ttl in {*path.attributes, *path.keys, *plan.table.keys}:
        return
    if any(found.stored == ttl for kind in plan.kinds for found in introspection.all_attributes(kind).values()):
        yield Lint(
            "HR410",
            plan.label,
            f"shows expired items until they are deleted: {path.name} does not project {ttl}; add it to the projection",
        )


# ── indexes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def _lint_index(index: Gsi, table: Table, reads: list[ReadPlan]) -> Iterator[Lint]:
    place = f"index {index.name}"
    if not reads:
        yield Lint(
            "HR404", place, "is paid for with every write, and no pattern reads it; drop it, or declare a pattern"
        )
        return
    excess = _unread_projection(index, table, reads)
    if excess:
        yield Lint("HR405", place, excess)


def _unread_projection(index: Gsi, table: Table, reads: list[ReadPlan]) -> str:
    """Return a text about projected attributes that no pattern reads; empty if there are none."""
    keys = {*index.keys, *table.keys}
    needed = [stored for plan in reads for stored in plan.needs if stored not in keys]
    idle = [name for name in index.attributes if name not in {*needed, *keys, table.ttl}]
    if idle:
        return f"projects what no pattern reads: {', '.join(idle)}; leave it out"
    if not index.projects_all or not all(issubclass(kind, View) for plan in reads for kind in plan.kinds):
        return ""
    enough = f"[{', '.join(map(repr, dict.fromkeys(needed)))}]" if needed else "KEYS_ONLY"
    return f"projects ALL, and its patterns read views only; project {enough}"


# ── states ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _unreachable_states(table: Table, writes: list[WritePlan]) -> Iterator[Lint]:
    """Find states that no pattern enters, in lifecycles that patterns write."""
    entered = [plan.target for plan in writes if plan.verb in {"Update", "Upsert"}]
    left = [kind for plan in writes for found in plan.signature.parameters.values() for kind in found.shapes]
    for item in introspection.items_of(table):
        for name, states in introspection.lifecycles(item).items():
            first = item.__special__.get(name)
            start = [first.kind] if isinstance(first, Initial) else states  # any of them may be the initial state
            if any(introspection.root(kind) is introspection.root(states[0]) for kind in entered):
                yield from _never_entered(states, [*entered, *start])
        variants = [kind for kind in item.__subclasses__() if introspection.fixed_values(kind, own=True)]
        if any(issubclass(kind, variant) for kind in entered for variant in variants):
            created = left  # a state that is left and never entered is one in which items are created
            yield from _never_entered(variants, [*entered, *created])


def _never_entered(states: Sequence[Kind], reached: list[Kind]) -> Iterator[Lint]:
    for state in states:
        if not any(issubclass(kind, state) for kind in reached):
            yield Lint(
                "HR407", state.__name__, "is a state that no pattern enters; declare the write, or drop the state"
            )


# ── size ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _unbounded_fields(table: Table, writes: list[WritePlan]) -> Iterator[Lint]:
    """Find fields that can exceed the 400 KB of an item: bytes, lists of records, lists that a pattern appends to."""
    grown = {
        (introspection.root(introspection.item_of(plan.target)), change.stored)
        for plan in writes
        for change in plan.changes
        if change.action == "APPEND"
    }
    for item in introspection.items_of(table):
        for name, attribute in introspection.all_attributes(item).items():
            appended = (introspection.root(item), attribute.stored) in grown
            if (appended or _is_bulky(attribute)) and not _is_bounded(item, name):
                yield Lint(
                    "HR409",
                    f"{item.__name__}.{name}",
                    "has no bound, and an item takes 400 KB: give it Field(max_length=...), or items of their own",
                )


def _is_bulky(attribute: Attribute) -> bool:
    kind = hints.without_none(attribute.hint)
    if kind is bytes:
        return True
    return get_origin(kind) in {list, tuple, dict} and _is_record(hints.without_none(get_args(kind)[-1]))


def _is_record(kind: Any) -> bool:
    origin = get_origin(kind) or kind
    if is_typeddict(origin) or origin in {list, dict, bytes}:
        return True
    return isinstance(origin, type) and issubclass(origin, BaseModel) and not issubclass(origin, Item)


def _is_bounded(item: type[Item], name: str) -> bool:
    facts = [
        fact
        for kind in introspection.item_and_states(item)
        if name in kind.model_fields
        for fact in kind.model_fields[name].metadata
    ]
    return any(getattr(fact, "max_length", None) is not None for fact in facts)
