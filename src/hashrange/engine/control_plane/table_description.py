"""From a table's definition to its TableDescription, at a given time.

What takes time on the service (CREATING, UPDATING ...) is a *phase* in the definition of the table or index:
`{"status", "until": ms, "shown": description members that differ while it lasts}`. Without a configured delay a phase
ends the moment it begins, so the answer to a change is described as of one millisecond before (`answer_time`).
"""

from __future__ import annotations

from hashrange.core.wire import Wire
from hashrange.engine.arn import index_arn, stream_arn
from hashrange.engine.control_plane.encryption import describe_encryption
from hashrange.engine.control_plane.throughput import describe_rates, describe_units
from hashrange.engine.table import Index, Table

ACTIVE = "ACTIVE"


def make_phase(status: str, now: int, delay: int, shown: Wire | None = None) -> Wire:
    """Return a phase that begins now; a shown member that is None is left out while the phase lasts."""
    return {"status": status, "until": now + delay, "shown": shown or {}}


def answer_time(now: int) -> int:
    """Return the time as of which the answer to a change is described: while its phase still lasts."""
    return now - 1


def running_phase(definition: Wire, at: int) -> Wire | None:
    """Return the phase that a table or index is in."""
    phase: Wire | None = definition.get("phase")
    return phase if phase is not None and at < phase["until"] else None


def table_status(table: Table, at: int) -> str:
    """Return the TableStatus; a table that is being restored or imported is not there yet."""
    if table.definition.get("restoring"):
        return "CREATING"
    phase = running_phase(table.definition, at)
    return ACTIVE if phase is None else str(phase["status"])


def index_status(table: Table, index: Index, at: int) -> str:
    """Return the IndexStatus of a global index."""
    phase = running_phase(index.definition, at)
    if phase is not None:
        return str(phase["status"])
    return "CREATING" if index.backfilling or table_status(table, at) == "CREATING" else ACTIVE


def describe_table(table: Table, at: int) -> Wire:
    """Return the TableDescription at a time."""
    definition = table.definition
    description: Wire = {
        "AttributeDefinitions": definition["AttributeDefinitions"],
        "TableName": table.name,
        "KeySchema": definition["KeySchema"],
        "TableStatus": table_status(table, at),
        "CreationDateTime": definition["created"] / 1000,
        "ProvisionedThroughput": describe_units(definition["ProvisionedThroughput"], at),
        "TableSizeBytes": table.size_bytes,
        "ItemCount": table.item_count,
        "TableArn": table.arn,
        "TableId": definition["TableId"],
        "BillingModeSummary": describe_billing(definition),
        "LocalSecondaryIndexes": [_describe_index(table, index) for index in table.indexes if not index.is_global],
        "GlobalSecondaryIndexes": [_describe_global(table, index, at) for index in table.indexes if index.is_global],
        **_describe_stream(table),
        "SSEDescription": describe_encryption(definition.get("SSESpecification")),
        "TableClassSummary": describe_class(definition),
        "DeletionProtectionEnabled": definition["DeletionProtectionEnabled"],
        "OnDemandThroughput": definition.get("OnDemandThroughput"),
        "WarmThroughput": describe_rates(definition["WarmThroughput"]),
    }
    return _show(description, running_phase(definition, at))


def _show(description: Wire, phase: Wire | None) -> Wire:
    """Return a description with what its phase shows, and without what there is nothing to say about."""
    shown = description | (phase["shown"] if phase else {})
    return {member: value for member, value in shown.items() if value is not None and value != []}


def describe_billing(definition: Wire) -> Wire | None:
    """Return the BillingModeSummary, which only tables have that are or were on-demand."""
    since = definition.get("on_demand_since")
    if since is None:
        return None
    return {"BillingMode": definition["BillingMode"], "LastUpdateToPayPerRequestDateTime": since / 1000}


def describe_class(definition: Wire) -> Wire | None:
    """Return the TableClassSummary, which only tables have whose class was ever chosen."""
    if "TableClass" not in definition:
        return None
    changed = definition.get("class_changed")
    times = {"LastUpdateDateTime": changed / 1000} if changed is not None else {}
    return {"TableClass": definition["TableClass"], **times}


def _describe_stream(table: Table) -> Wire:
    streams = table.definition.get("streams")
    if not streams:
        return {}
    label, current = streams[-1]["label"], table.stream
    enabled = {"StreamEnabled": True, "StreamViewType": current["view"]} if current else None
    return {
        "StreamSpecification": enabled,
        "LatestStreamLabel": label,
        "LatestStreamArn": stream_arn(table.arn, label),
    }


def _describe_index(table: Table, index: Index) -> Wire:
    return {
        "IndexName": index.name,
        "KeySchema": index.definition["KeySchema"],
        "Projection": index.definition["Projection"],
        "IndexSizeBytes": index.size_bytes,
        "ItemCount": index.item_count,
        "IndexArn": index_arn(table.arn, index.name),
    }


def _describe_global(table: Table, index: Index, at: int) -> Wire:
    definition = index.definition
    description = _describe_index(table, index) | {
        "IndexStatus": index_status(table, index, at),
        "ProvisionedThroughput": describe_units(definition["ProvisionedThroughput"], at),
        "OnDemandThroughput": definition.get("OnDemandThroughput"),
        "WarmThroughput": describe_rates(definition["WarmThroughput"]),
        "Backfilling": True if index.backfilling else None,
    }
    return _show(description, running_phase(definition, at))
