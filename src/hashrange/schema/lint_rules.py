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
from hashrange.schema.declare.introspection import ModelClass, ModelField
from hashrange.schema.declare.key_template import TemplatePart
from hashrange.schema.declare.model import Initial, Item, View
from hashrange.schema.declare.table import Gsi, Table
from hashrange.schema.declare.table_check import key_types
from hashrange.schema.lint_visits import find_stale_visits
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
        found += find_stale_visits(writes)
        found += _unbounded_fields(table, writes)
        found += _pointless_shards(table)
    return found


def drop_accepted(found: list[Lint], accepted: Sequence[str], location: str) -> list[Lint]:
    """Return the findings that a class does not accept, and one for each acceptance of what was not found."""
    known = {f"{lint.code} {lint.location}" for lint in found}
    unused = [text for text in accepted if text not in known]
    return [
        *(lint for lint in found if f"{lint.code} {lint.location}" not in accepted),
        *(Lint("HR412", location, f"accepts {text!r}, which is not found; remove it") for text in unused),
    ]


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
        if all(_may_be_absent(model, stored) for model in _starting_models(plan)):
            fields = introspection.all_fields(plan.models[0]).values()
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


def _starting_models(plan: ReadPlan | WritePlan) -> list[ModelClass]:
    given = [model for parameter in plan.signature.parameters.values() for model in parameter.models]
    return given or list(plan.models)


def _may_be_absent(model: ModelClass, stored: str) -> bool:
    if stored in introspection.table_of(model).key_names:
        return False
    found = [
        field
        for candidate in (model, introspection.item_of(model))
        for field in introspection.stored_fields(candidate).values()
        if field.stored == stored
    ]
    return not found or found[0].optional


def _hot_partitions(plan: WritePlan) -> Iterator[Lint]:
    """Find index partitions that every item enters in one state."""
    moved = {change.stored for change in plan.changes}
    item, fixed = introspection.item_of(plan.target), introspection.fixed_values(plan.target)
    for index in plan.table.indexes:
        templates = {**introspection.keys(item), **introspection.keys(plan.target)}
        if not moved & set(index.keys) or not templates.keys() >= set(index.partition):
            continue
        parts = {attr: templates[attr] for attr in index.partition}
        if not {name for template in parts.values() for name in template.fields} <= set(fixed):
            continue
        shown = ", ".join(f"{attr} = {template.text!r}" for attr, template in parts.items())
        yield Lint(
            "HR406",
            plan.label,
            f"puts every {plan.target.__name__} into one partition of {index.name}, {shown}: "
            "1,000 writes a second at most; add a shard such as {id:shard8}",
        )


def _shows_expired(plan: ReadPlan) -> Iterator[Lint]:
    """Find reads of an index that does not project the TTL, so that expired items are returned."""
    ttl, path = plan.table.ttl, plan.path
    if ttl is None or not path.name or path.projects_all or ttl in {*path.attributes, *path.keys, *plan.table.keys}:
        return
    if any(found.stored == ttl for model in plan.models for found in introspection.all_fields(model).values()):
        yield Lint(
            "HR410",
            plan.label,
            f"shows expired items until they are deleted: {path.name} does not project {ttl}; add it to the projection",
        )


# ── indexes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def _lint_index(index: Gsi, table: Table, reads: list[ReadPlan]) -> Iterator[Lint]:
    location = f"index {index.name}"
    if not reads:
        lacking = next((attr for attr in index.keys if not any(key_types(table, attr))), None)
        why = "is paid for with every write" if lacking is None else f"has the key {lacking}, which no item class has"
        yield Lint("HR404", location, f"{why}, and no pattern reads it; drop it, or declare a pattern")
        return
    excess = _unread_projection(index, table, reads)
    if excess:
        yield Lint("HR405", location, excess)


def _unread_projection(index: Gsi, table: Table, reads: list[ReadPlan]) -> str:
    """Return a text about projected attributes that no pattern reads; empty if there are none."""
    keys = {*index.keys, *table.keys}
    needed = [stored for plan in reads for stored in plan.needs if stored not in keys]
    idle = [name for name in index.attributes if name not in {*needed, *keys, table.ttl}]
    if idle:
        return f"projects what no pattern reads: {', '.join(idle)}; leave it out"
    if not index.projects_all or not all(issubclass(model, View) for plan in reads for model in plan.models):
        return ""
    enough = f"[{', '.join(map(repr, dict.fromkeys(needed)))}]" if needed else "KEYS_ONLY"
    return f"projects ALL, and its patterns read views only; project {enough}"


def _pointless_shards(table: Table) -> Iterator[Lint]:
    """Find shards that distribute nothing."""
    templates = {
        (attr, template): model
        for item in introspection.items_of(table)
        for model in reversed(introspection.item_and_states(item))
        for attr, template in introspection.keys(model).items()
    }
    for (attr, template), model in sorted(templates.items(), key=lambda found: (found[1].__name__, found[0][0])):
        for part in template.parts:
            if part.format.shards and (why := _why_pointless(table, model, attr, part)):
                yield Lint("HR411", f"{model.__name__}.{attr}", f"{{{part.field}:{part.format.name}}} {why}")


def _why_pointless(table: Table, model: ModelClass, attr: str, part: TemplatePart) -> str:
    paths = [path for path in table.paths if attr in path.partition]
    if not paths:
        return "is in a sort key, which distributes nothing; put it into the partition key"
    field = introspection.all_fields(model)[part.field]
    values = 2 if field.hint is bool else len(hints.literals(field.hint))
    if part.format.shards == 1 or values:
        return f"has few values: {values or 1}; take a field with many, such as an id"
    keys = introspection.keys(model)
    beside = {name for path in paths for other in path.partition if other in keys for name in keys[other].recoverable}
    return f"is beside {part.field}, which distributes more; drop it" if part.field in beside else ""


# ── states ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def _unreachable_states(table: Table, writes: list[WritePlan]) -> Iterator[Lint]:
    """Find states that no pattern enters, in lifecycles that patterns write."""
    entered = [plan.target for plan in writes if plan.verb in {"Update", "Upsert"}]
    left = [model for plan in writes for found in plan.signature.parameters.values() for model in found.models]
    for item in introspection.items_of(table):
        for name, states in introspection.lifecycles(item).items():
            first = item.__special__.get(name)
            start = [first.state] if isinstance(first, Initial) else states  # any of them may be the initial state
            if any(introspection.root(model) is introspection.root(states[0]) for model in entered):
                yield from _never_entered(states, [*entered, *start])
        variants = [model for model in item.__subclasses__() if introspection.fixed_values(model, own=True)]
        if any(issubclass(model, variant) for model in entered for variant in variants):
            created = list(introspection.initial_variants(item)) or left  # else one that is left and never entered
            yield from _never_entered(variants, [*entered, *created])


def _never_entered(states: Sequence[ModelClass], reached: list[ModelClass]) -> Iterator[Lint]:
    for state in states:
        if not any(issubclass(model, state) for model in reached):
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
        for name, field in introspection.all_fields(item).items():
            appended = (introspection.root(item), field.stored) in grown
            if (appended or _is_bulky(field)) and not _is_bounded(item, name):
                yield Lint(
                    "HR409",
                    f"{item.__name__}.{name}",
                    "has no bound, and an item takes 400 KB: give it Field(max_length=...), or items of their own",
                )


def _is_bulky(field: ModelField) -> bool:
    hint = hints.without_none(field.hint)
    if hint is bytes:
        return True
    return get_origin(hint) in {list, tuple, dict} and _is_record(hints.without_none(get_args(hint)[-1]))


def _is_record(hint: Any) -> bool:
    origin = get_origin(hint) or hint
    if is_typeddict(origin) or origin in {list, dict, bytes}:
        return True
    return isinstance(origin, type) and issubclass(origin, BaseModel) and not issubclass(origin, Item)


def _is_bounded(item: type[Item], name: str) -> bool:
    facts = [
        fact
        for model in introspection.item_and_states(item)
        if name in model.model_fields
        for fact in introspection.constraints_of(model, name)
    ]
    return any(getattr(fact, "max_length", None) is not None for fact in facts)
