"""Compares declared tables with those that exist. The result is a plan: differences, and the steps that remove them.

A step that loses something names it in `loses`, and is applied only when asked for. What no step can change has an
`obstacle` instead. A plan is made from what exists, so after an interruption the next one has the steps that are left,
and after a complete run it is empty. `provision.plan_executor` applies it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from hashrange.client.transport import Transport
from hashrange.core.errors import PlanError
from hashrange.core.wire import Wire
from hashrange.provision.index_plan import compare_indexes
from hashrange.provision.live_table import LiveTable, read_live_table
from hashrange.provision.plan_step import Difference, PlanStep
from hashrange.provision.table_request import (
    AWS_MANAGED,
    AWS_OWNED,
    billing_request,
    create_request,
    encryption_request,
    follow_up_requests,
    key_schema,
    recovery_request,
    tag_list,
    throughput_request,
    ttl_request,
)
from hashrange.schema.declare.table import Declared, Provisioned, Table, find_tables
from hashrange.schema.declare.table_check import check_table, key_type

FOLLOW_UP_ACTIONS = {
    "UpdateTimeToLive": "enable time to live by {}",
    "UpdateContinuousBackups": "enable point-in-time recovery",
}


class TablePlan(Struct, frozen=True):
    """The differences between declared tables and those that exist."""

    tables: tuple[Table, ...]
    differences: tuple[Difference, ...]

    @property
    def steps(self) -> tuple[PlanStep, ...]:
        """Every step, those that lose something last."""
        steps = [step for difference in self.differences for step in difference.steps]
        return tuple(sorted(steps, key=lambda step: bool(step.loses)))

    @property
    def obstacles(self) -> tuple[Difference, ...]:
        """The differences that no step removes."""
        return tuple(difference for difference in self.differences if difference.obstacle)

    def __bool__(self) -> bool:
        return bool(self.differences)

    def __str__(self) -> str:
        """The steps and obstacles of each table, a line each: + for a step, - for one that loses something, x."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for table in dict.fromkeys(difference.table for difference in self.differences):
            yield table
            for step in (step for step in self.steps if step.table == table):
                yield f"  {'-' if step.loses else '+'} {step.action}"
                if step.loses:
                    yield f"      loses {step.loses}"
                if step.needs_backfill:
                    yield "      lacks the items that exist until backfill is run"
            for one in (one for one in self.differences if one.table == table and not one.steps):
                yield f"  x {one.subject}: declared {one.declared}, exists {one.live}"
                if one.obstacle:
                    yield f"      {one.obstacle}"


def plan(database: Transport, *declared: Declared | Table) -> TablePlan:
    """Return the differences between the tables of these patterns and those of the database. Nothing is changed."""
    tables = require_tables(declared)
    found = (compare(table, read_live_table(database, table.physical_name)) for table in tables)
    return TablePlan(tables, tuple(difference for differences in found for difference in differences))


def drift(database: Transport, *declared: Declared | Table) -> tuple[Difference, ...]:
    """Return what is declared otherwise than it exists; nothing if the tables are as declared."""
    return plan(database, *declared).differences


def require_tables(declared: Iterable[Declared | Table]) -> tuple[Table, ...]:
    """Return the tables of patterns, each once; refuse two declarations of one table."""
    by_name: dict[str, Table] = {}
    for table in find_tables(declared):
        other = by_name.setdefault(table.physical_name, table)
        if other is not table and create_request(other) != create_request(table):
            raise PlanError(
                f"Two declarations differ about the table {table.physical_name}: {_name_items(other)} and "
                f"{_name_items(table)} are stored in it. Declare it once, or give one of them another name."
            )
    return tuple(by_name.values())


def _name_items(table: Table) -> str:
    return ", ".join(f"{item.__module__}.{item.__name__}" for item in table.items) or "no items"


def compare(table: Table, live: LiveTable | None) -> Iterator[Difference]:
    """Yield the differences between a declared table and what exists under its name."""
    check_table(table)
    if live is None:
        yield plan_creation(table)
        return
    obstacles = list(_compare_keys(table, live))
    if obstacles:
        yield from obstacles
        return
    yield from _compare_protection(table, live)
    yield from _compare_recovery(table, live)
    yield from _compare_tags(table, live)
    yield from _compare_encryption(table, live)
    yield from _compare_stream(table, live)
    yield from _compare_ttl(table, live)
    yield from _compare_billing(table, live)
    yield from compare_indexes(table, live)


def plan_creation(table: Table) -> Difference:
    """Return the difference of a table that does not exist."""
    name = table.physical_name
    indexes = ", ".join(index.name for index in table.indexes)
    action = f"create table {name}" + (f" with {indexes}" if indexes else "")
    steps = [PlanStep(table=name, action=action, operation="CreateTable", request=create_request(table))]
    for operation, request in follow_up_requests(table):
        action = FOLLOW_UP_ACTIONS[operation].format(table.ttl)
        steps.append(PlanStep(table=name, action=action, operation=operation, request=request))
    return Difference(table=name, subject="table", declared="exists", live="absent", steps=tuple(steps))


def _compare_keys(table: Table, live: LiveTable) -> Iterator[Difference]:
    if live.status == "DELETING":
        yield Difference(
            table=live.name,
            subject="table",
            declared="exists",
            live="is being deleted",
            obstacle="wait until it is deleted, then plan again",
        )
        return
    declared = key_schema(table.primary)
    if declared != live.key_schema:
        yield Difference(
            table=live.name,
            subject="keys",
            declared=_format_keys(declared),
            live=_format_keys(live.key_schema),
            obstacle="the keys of a table cannot be changed, and another declaration may own this one: "
            "choose another name, declare the keys that it has, or migrate its items to a new table",
        )
    for attr in sorted(table.key_names & live.key_types.keys()):
        if (tag := key_type(table, attr)) != live.key_types[attr]:
            yield Difference(
                table=live.name,
                subject=f"type of {attr}",
                declared=tag,
                live=live.key_types[attr],
                obstacle="the type of a key attribute cannot be changed: declare the type that it has, "
                "or migrate the items to a new attribute",
            )


def _format_keys(schema: Sequence[Wire]) -> str:
    return ", ".join(key["AttributeName"] for key in schema)


def _update(live: LiveTable, action: str, members: Wire, loses: str = "") -> PlanStep:
    request = {"TableName": live.name, **members}
    return PlanStep(table=live.name, action=action, operation="UpdateTable", request=request, loses=loses)


def _compare_protection(table: Table, live: LiveTable) -> Iterator[Difference]:
    if live.deletion_protection is None or table.deletion_protection is live.deletion_protection:
        return
    verb, loses = ("enable", "") if table.deletion_protection else ("disable", "the protection from DeleteTable")
    members = {"DeletionProtectionEnabled": table.deletion_protection}
    yield Difference(
        table=live.name,
        subject="deletion protection",
        declared=_on_or_off(table.deletion_protection),
        live=_on_or_off(live.deletion_protection),
        steps=(_update(live, f"{verb} deletion protection", members, loses),),
    )


def _compare_recovery(table: Table, live: LiveTable) -> Iterator[Difference]:
    if live.recovery is None or table.pitr is live.recovery:
        return
    verb, loses = ("enable", "") if table.pitr else ("disable", "every moment that the table could be restored to")
    step = PlanStep(
        table=live.name,
        action=f"{verb} point-in-time recovery",
        operation="UpdateContinuousBackups",
        request=recovery_request(live.name, enabled=table.pitr),
        loses=loses,
    )
    yield Difference(
        table=live.name,
        subject="point-in-time recovery",
        declared=_on_or_off(table.pitr),
        live=_on_or_off(live.recovery),
        steps=(step,),
    )


def _compare_tags(table: Table, live: LiveTable) -> Iterator[Difference]:
    if live.tags is None:
        return
    for name in sorted(table.tags.keys() | live.tags.keys()):
        declared, found = table.tags.get(name), live.tags.get(name)
        if declared == found:
            continue
        if declared is None:
            action, operation, loses = f"remove tag {name}", "UntagResource", f"the tag {name}={found}"
            request: Wire = {"ResourceArn": live.arn, "TagKeys": [name]}
        else:
            action, operation, loses = f"set tag {name}={declared}", "TagResource", ""
            request = {"ResourceArn": live.arn, "Tags": tag_list({name: declared})}
        step = PlanStep(table=live.name, action=action, operation=operation, request=request, loses=loses)
        yield Difference(
            table=live.name,
            subject=f"tag {name}",
            declared=declared if declared is not None else "absent",
            live=found if found is not None else "absent",
            steps=(step,),
        )


def _compare_encryption(table: Table, live: LiveTable) -> Iterator[Difference]:
    if _is_same_key(table.encryption, live.encryption):
        return
    members = {"SSESpecification": encryption_request(table.encryption)}
    yield Difference(
        table=live.name,
        subject="encryption",
        declared=table.encryption,
        live=AWS_OWNED if live.encryption is None else live.encryption,
        steps=(_update(live, f"encrypt with {table.encryption}", members),),
    )


def _is_same_key(declared: str, live: str | None) -> bool:
    """Return whether a table is encrypted as declared. DynamoDB reports neither aliases nor who manages a key."""
    if declared == AWS_OWNED or live is None:
        return declared == AWS_OWNED and live is None
    return declared == AWS_MANAGED or "alias/" in declared or live.endswith(declared)


def _compare_stream(table: Table, live: LiveTable) -> Iterator[Difference]:
    if table.stream == live.stream:
        return
    steps: list[PlanStep] = []
    loses = "the stream: its readers must begin again with the records of the new one" if live.stream else ""
    if live.stream:
        steps.append(_update(live, "disable the stream", {"StreamSpecification": {"StreamEnabled": False}}, loses))
    if table.stream:
        members = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": table.stream}}
        steps.append(_update(live, f"enable the stream with {table.stream}", members, loses))
    yield Difference(
        table=live.name,
        subject="stream",
        declared=table.stream or "off",
        live=live.stream or "off",
        steps=tuple(steps),
    )


def _compare_ttl(table: Table, live: LiveTable) -> Iterator[Difference]:
    if live.ttl is None or (table.ttl or "") == live.ttl:
        return
    steps: list[PlanStep] = []
    if live.ttl:
        steps.append(_switch_ttl(live, live.ttl, "disable", f"the deletion of items by {live.ttl}"))
    if table.ttl:
        expired = f"the items whose {table.ttl} has passed: DynamoDB deletes them"
        steps.append(_switch_ttl(live, table.ttl, "enable", expired if live.ttl or not _is_empty(live) else ""))
    yield Difference(
        table=live.name, subject="time to live", declared=table.ttl or "off", live=live.ttl or "off", steps=tuple(steps)
    )


def _switch_ttl(live: LiveTable, attribute: str, verb: str, loses: str) -> PlanStep:
    return PlanStep(
        table=live.name,
        action=f"{verb} time to live by {attribute}",
        operation="UpdateTimeToLive",
        request=ttl_request(live.name, attribute, enabled=verb == "enable"),
        loses=loses,
    )


def _is_empty(live: LiveTable) -> bool:
    return live.item_count == 0


def _compare_billing(table: Table, live: LiveTable) -> Iterator[Difference]:
    declared = _format_billing(table)
    found = "PAY_PER_REQUEST" if live.billing == "PAY_PER_REQUEST" else _format_units(*live.throughput)
    changed = [index for index in live.indexes if not index.is_local and _differs(table, index.throughput)]
    if declared == found and not changed:
        return
    members = billing_request(table) if declared != found else {}
    if isinstance(table.billing, Provisioned) and changed:
        units = throughput_request(table.billing)
        members["GlobalSecondaryIndexUpdates"] = [
            {"Update": {"IndexName": index.name, "ProvisionedThroughput": units}} for index in changed
        ]
    names = "" if declared != found else " of " + ", ".join(index.name for index in changed)
    yield Difference(
        table=live.name,
        subject=f"billing{names}",
        declared=declared,
        live=found if not names else ", ".join(_format_units(*index.throughput) for index in changed),
        steps=(_update(live, f"bill {declared}{names}", members),),
    )


def _differs(table: Table, throughput: tuple[int, int]) -> bool:
    return isinstance(table.billing, Provisioned) and throughput != (table.billing.read, table.billing.write)


def _format_billing(table: Table) -> str:
    billing = table.billing
    return _format_units(billing.read, billing.write) if isinstance(billing, Provisioned) else billing


def _format_units(read: int, write: int) -> str:
    return f"PROVISIONED {read} read, {write} write"


def _on_or_off(value: bool) -> str:
    return "on" if value else "off"
