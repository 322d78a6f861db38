"""The TableDescription of a table at a given time."""

from __future__ import annotations

from hashrange.core.wire import Wire
from hashrange.engine.arn import index_arn, stream_arn
from hashrange.engine.control_plane.encryption import describe_encryption
from hashrange.engine.control_plane.table_status import index_status, running_phase, table_status
from hashrange.engine.control_plane.throughput import describe_rates, describe_units
from hashrange.engine.definition import Definition, GlobalIndexDefinition, Phase, to_wire
from hashrange.engine.table import Index, Table


def describe_table(table: Table, at: int) -> Wire:
    """Return the TableDescription at a time."""
    definition = table.definition
    description: Wire = {
        "AttributeDefinitions": to_wire(definition.attributes),
        "TableName": table.name,
        "KeySchema": to_wire(definition.key_schema),
        "TableStatus": table_status(table, at),
        "CreationDateTime": definition.created / 1000,
        "ProvisionedThroughput": describe_units(definition.provisioned, at),
        "TableSizeBytes": table.size_bytes,
        "ItemCount": table.item_count,
        "TableArn": table.arn,
        "TableId": definition.table_id,
        "BillingModeSummary": describe_billing(definition),
        "LocalSecondaryIndexes": [_describe_index(table, index) for index in table.indexes if not index.is_global],
        "GlobalSecondaryIndexes": [_describe_global(table, index, at) for index in table.indexes if index.is_global],
        **_describe_stream(table),
        "SSEDescription": describe_encryption(definition.encryption),
        "TableClassSummary": describe_class(definition),
        "DeletionProtectionEnabled": definition.is_protected,
        "OnDemandThroughput": to_wire(definition.on_demand),
        "WarmThroughput": describe_rates(definition.warm),
    }
    return _apply_phase(description, running_phase(definition, at))


def _apply_phase(description: Wire, phase: Phase | None) -> Wire:
    """Return a description with the members of its phase, and without empty ones."""
    shown = description | (phase.shown if phase else {})
    return {member: value for member, value in shown.items() if value is not None and value != []}


def describe_billing(definition: Definition) -> Wire | None:
    """Return the BillingModeSummary; only tables that are or were on-demand have one."""
    since = definition.on_demand_since
    if since is None:
        return None
    return {"BillingMode": definition.billing_mode, "LastUpdateToPayPerRequestDateTime": since / 1000}


def describe_class(definition: Definition) -> Wire | None:
    """Return the TableClassSummary; only tables whose class was ever chosen have one."""
    if definition.table_class is None:
        return None
    changed = definition.class_changed
    times = {"LastUpdateDateTime": changed / 1000} if changed is not None else {}
    return {"TableClass": definition.table_class, **times}


def _describe_stream(table: Table) -> Wire:
    streams, current = table.definition.streams, table.definition.stream
    if not streams:
        return {}
    label = streams[-1].label
    enabled = {"StreamEnabled": True, "StreamViewType": current.view} if current else None
    return {
        "StreamSpecification": enabled,
        "LatestStreamLabel": label,
        "LatestStreamArn": stream_arn(table.arn, label),
    }


def _describe_index(table: Table, index: Index) -> Wire:
    return {
        "IndexName": index.name,
        "KeySchema": to_wire(index.definition.key_schema),
        "Projection": to_wire(index.definition.projection),
        "IndexSizeBytes": index.size_bytes,
        "ItemCount": index.item_count,
        "IndexArn": index_arn(table.arn, index.name),
    }


def _describe_global(table: Table, index: Index, at: int) -> Wire:
    definition = index.definition
    assert isinstance(definition, GlobalIndexDefinition)
    description = _describe_index(table, index) | {
        "IndexStatus": index_status(table, index, at),
        "ProvisionedThroughput": describe_units(definition.provisioned, at),
        "OnDemandThroughput": to_wire(definition.on_demand),
        "WarmThroughput": describe_rates(definition.warm),
        "Backfilling": True if definition.backfill else None,
    }
    return _apply_phase(description, running_phase(definition, at))
