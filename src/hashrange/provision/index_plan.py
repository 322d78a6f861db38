"""Compares the declared indexes of a table with those that exist.

An index is its key attributes: one that exists under another name is used, not created again. Keys and projection of an
index cannot be changed. One that differs is replaced: another one is created beside it, under a free name; then the old
one is dropped, when asked for. Sessions find the new one by its keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hashrange.core.wire import Wire
from hashrange.provision.live_table import LiveIndex, LiveTable
from hashrange.provision.plan_step import Difference, PlanStep
from hashrange.provision.table_request import index_request, key_schema
from hashrange.schema.declare import introspection
from hashrange.schema.declare.table import Gsi, Table
from hashrange.schema.declare.table_check import key_type


def compare_indexes(table: Table, live: LiveTable) -> Iterator[Difference]:
    """Yield the differences between the declared indexes and those that exist."""
    matches = match_indexes(table, live.indexes)
    taken = {index.name for index in live.indexes} | {index.name for index in table.indexes}
    for index in table.indexes:
        found = matches.get(index.name)
        if index.is_local:
            yield from _compare_local(index, found, table, live)
        elif found is None:
            clashes = any(one.name == index.name for one in live.indexes)
            yield _plan_index(index, _free_name(index.name, taken) if clashes else index.name, table, live)
        elif found.projection != _projection(index, table):
            yield _plan_replacement(index, found, _free_name(index.name, taken), table, live)
        elif found.status != "ACTIVE":
            yield _plan_wait(found, live)
    used = {id(found) for found in matches.values()}
    for found in live.indexes:
        if id(found) not in used and found.status != "DELETING":
            yield _plan_removal(found, live)


def match_indexes(table: Table, live: Sequence[LiveIndex]) -> dict[str, LiveIndex]:
    """Return the existing index of each declared one: the same keys; of several, the same projection or name first."""
    found: dict[str, LiveIndex] = {}
    free = [index for index in live if index.status != "DELETING"]
    for index in sorted(table.indexes, key=lambda index: all(one.name != index.name for one in free)):
        schema, projection = key_schema(index), _projection(index, table)
        candidates = [one for one in free if one.key_schema == schema and one.is_local is index.is_local]
        if candidates:
            best = max(candidates, key=lambda one: (one.projection == projection, one.name == index.name))
            found[index.name] = best
            free.remove(best)
    return found


def _projection(index: Gsi, table: Table) -> frozenset[str] | None:
    projection = index_request(index, table)["Projection"]
    return None if projection["ProjectionType"] == "ALL" else frozenset(projection.get("NonKeyAttributes", ()))


def _free_name(name: str, taken: set[str]) -> str:
    free = next(one for number in range(2, 100) if (one := f"{name[:250]}-{number}") not in taken)
    taken.add(free)
    return free


def _compare_local(index: Gsi, found: LiveIndex | None, table: Table, live: LiveTable) -> Iterator[Difference]:
    if found is None:
        state = "absent"
    elif found.projection != _projection(index, table):
        state = f"projects {_format_projection(found.projection)}"
    else:
        return
    yield Difference(
        table=live.name,
        subject=f"local index {index.name}",
        declared=_describe(index, table),
        live=state,
        obstacle="a local index can only be created with its table: declare a Gsi, or migrate the items to a new table",
    )


def _plan_index(index: Gsi, name: str, table: Table, live: LiveTable) -> Difference:
    step = _create(index, name, table, live)
    if live.item_count and any(attr not in live.key_types and _is_computed(attr, table) for attr in index.keys):
        step = replace(step, needs_backfill=True)
    return Difference(
        table=live.name,
        subject=f"index {index.name}",
        declared=_describe(index, table),
        live="absent" if name == index.name else "has other keys",
        steps=(step,),
    )


def _is_computed(attr: str, table: Table) -> bool:
    """Return whether items have a key attribute that is none of their fields: those that exist may lack it."""
    models = [model for item in introspection.items_of(table) for model in introspection.item_and_states(item)]
    return any(
        attr in introspection.keys(model)
        and all(field.stored != attr or field.key_only for field in introspection.all_fields(model).values())
        for model in models
    )


def _plan_replacement(index: Gsi, found: LiveIndex, name: str, table: Table, live: LiveTable) -> Difference:
    wanted = _projection(index, table)
    extra = found.projection - wanted if found.projection is not None and wanted is not None else None
    is_wider = wanted is not None and (found.projection is None or found.projection > wanted)
    named = ", ".join(sorted(extra)) if extra else "the other attributes"
    loses = f"in the index: {named}" if is_wider else ""  # nothing declared needs the narrower index
    steps = (_create(index, name, table, live, loses), _drop(found, live, f"an index that {name} replaces"))
    return Difference(
        table=live.name,
        subject=f"projection of {index.name}",
        declared=_format_projection(wanted),
        live=_format_projection(found.projection),
        steps=steps,
    )


def _plan_wait(found: LiveIndex, live: LiveTable) -> Difference:
    step = PlanStep(table=live.name, action=f"wait for index {found.name}", index=found.name)
    return Difference(
        table=live.name, subject=f"index {found.name}", declared="ACTIVE", live=found.status, steps=(step,)
    )


def _plan_removal(found: LiveIndex, live: LiveTable) -> Difference:
    keys = ", ".join(key["AttributeName"] for key in found.key_schema)
    if found.is_local:
        return Difference(
            table=live.name,
            subject=f"local index {found.name}",
            declared="absent",
            live=f"({keys}): a local index cannot be dropped, declare it",
        )
    return Difference(
        table=live.name,
        subject=f"index {found.name}",
        declared="absent",
        live=f"({keys})",
        steps=(
            _drop(
                found,
                live,
                f"the index ({keys}), {found.item_count:,} {'entry' if found.item_count == 1 else 'entries'}",
            ),
        ),
    )


def _create(index: Gsi, name: str, table: Table, live: LiveTable, loses: str = "") -> PlanStep:
    """Return the step that creates a global index. The request defines the attributes of all keys of the table."""
    schemas = [live.key_schema, key_schema(index), *(one.key_schema for one in live.indexes)]
    names = {key["AttributeName"] for schema in schemas for key in schema}
    types = {attr: live.key_types.get(attr) or key_type(table, attr) for attr in sorted(names)}
    request: Wire = {
        "TableName": live.name,
        "AttributeDefinitions": [{"AttributeName": attr, "AttributeType": tag} for attr, tag in types.items()],
        "GlobalSecondaryIndexUpdates": [{"Create": {**index_request(index, table), "IndexName": name}}],
    }
    return PlanStep(
        table=live.name,
        action=f"create index {name} {_describe(index, table)}",
        operation="UpdateTable",
        request=request,
        loses=loses,
        index=name,
    )


def _drop(found: LiveIndex, live: LiveTable, loses: str) -> PlanStep:
    request = {"TableName": live.name, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": found.name}}]}
    return PlanStep(
        table=live.name, action=f"drop index {found.name}", operation="UpdateTable", request=request, loses=loses
    )


def _describe(index: Gsi, table: Table) -> str:
    return f"({', '.join(index.keys)}), projecting {_format_projection(_projection(index, table))}"


def _format_projection(projection: frozenset[str] | None) -> str:
    if projection is None:
        return "ALL"
    return ", ".join(sorted(projection)) or "KEYS_ONLY"
