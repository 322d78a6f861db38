"""From CreateTable's request to a table's definition: the checks in the service's order, then the definition itself.

The rules of single parts live with them (`key_schema`, `throughput`, `encryption`, `tags`, `resource_policy`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from msgspec import convert
from msgspec.structs import replace

from hashrange.core.errors import ValidationException
from hashrange.core.limits import MAX_GLOBAL_INDEXES, MAX_LOCAL_INDEXES
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire
from hashrange.engine.arn import table_arn
from hashrange.engine.control_plane import key_schema, resource_policy, throughput
from hashrange.engine.control_plane.encryption import resolve_encryption
from hashrange.engine.control_plane.table_status import make_phase
from hashrange.engine.control_plane.tags import check_tags
from hashrange.engine.control_plane.throughput import ON_DEMAND, TABLE, Owner
from hashrange.engine.definition import (
    NO_COLUMN,
    AttributeDefinition,
    Definition,
    GlobalIndexDefinition,
    IndexDefinition,
    IndexProjection,
    KeySchema,
)
from hashrange.engine.sql import SPARE_COLUMNS

UNSUPPORTED_MEMBERS = ("VectorIndexes", "GlobalTableSourceArn", "GlobalTableSettingsReplicationMode")
DEFAULT_CLASS = "STANDARD"


def make_definition(request: Wire, now: int, region: str, account: str) -> Definition:
    """Return the definition of the table that a CreateTable request asks for, or raise the service's error."""
    refuse_unsupported(request, UNSUPPORTED_MEMBERS)
    mode = _check_keys_and_billing(request)
    _check_indexes(request, mode)
    _check_stream(request.get("StreamSpecification"))
    encryption = resolve_encryption(request.get("SSESpecification") or {}, region, account)
    tags = check_tags(request.get("Tags", []))
    document = resource_policy.check_document(request["ResourcePolicy"]) if "ResourcePolicy" in request else None
    _check_quotas(request, region)
    local = [
        compose_local_index(index, column) for column, index in enumerate(request.get("LocalSecondaryIndexes") or ())
    ]
    global_indexes = [
        compose_global_index(index, mode, column)
        for column, index in enumerate(request.get("GlobalSecondaryIndexes") or (), len(local))
    ]
    table_class = request.get("TableClass", DEFAULT_CLASS)
    return Definition(
        name=request["TableName"],
        table_id=str(uuid4()),
        arn=table_arn(region, account, request["TableName"]),
        created=now,
        attributes=sort_attributes(convert(request["AttributeDefinitions"], list[AttributeDefinition])),
        key_schema=convert(request["KeySchema"], KeySchema),
        billing_mode=mode,
        is_protected=request.get("DeletionProtectionEnabled", False),
        **compose_throughput(request, mode, TABLE),
        on_demand_since=now if mode == ON_DEMAND else None,
        table_class=None if table_class == DEFAULT_CLASS else table_class,
        local_indexes=tuple(local),
        global_indexes=tuple(global_indexes),
        columns=len(local) + len(global_indexes) + SPARE_COLUMNS,
        encryption=encryption,
        tags=tags,
        policies={} if document is None else {resource_policy.TABLE: resource_policy.start_revision(document, now)},
    )


def mark_creating(definition: Definition, request: Wire, now: int, delay: int) -> Definition:
    """Return a new table's definition in the phase CREATING, without what the service shows only of a finished one."""
    asked = definition.warm if "WarmThroughput" in request else None
    shown: Wire = {"WarmThroughput": asked and throughput.describe_rates(asked, "UPDATING")}
    if definition.billing_mode == ON_DEMAND:
        shown["BillingModeSummary"] = {"BillingMode": ON_DEMAND}
    index_phase = make_phase("CREATING", now, delay, {"WarmThroughput": None})
    return replace(
        definition,
        phase=make_phase("CREATING", now, delay, shown),
        global_indexes=tuple(replace(index, phase=index_phase) for index in definition.global_indexes),
    )


def refuse_unsupported(request: Wire, members: tuple[str, ...]) -> None:
    """Raise for members that ask for what one region on one machine cannot give."""
    for member in members:
        if request.get(member) is not None:
            raise ValidationException(f"{INVALID_PARAMETER}{member} is not supported by this endpoint")


def _check_keys_and_billing(request: Wire) -> str:
    mode = throughput.check_billing(request)
    units = throughput.parse_units(request.get("ProvisionedThroughput"))
    throughput.start_caps(request.get("OnDemandThroughput"), mode, TABLE)
    throughput.start_rates(request.get("WarmThroughput"), mode, units, TABLE)
    definitions = request["AttributeDefinitions"]
    key_schema.check_definitions(definitions)
    key_schema.check_table_keys(request["KeySchema"], definitions)
    return mode


def _check_indexes(request: Wire, mode: str) -> None:
    """Check keys first, then whether every definition is used, which masks all that follows, then the rest."""
    local, global_indexes = request.get("LocalSecondaryIndexes"), request.get("GlobalSecondaryIndexes")
    schema, definitions = request["KeySchema"], request["AttributeDefinitions"]
    if local is not None:
        _check_local_list(local, schema)
    if global_indexes is not None and not global_indexes:
        raise ValidationException(f"{INVALID_PARAMETER}List of GlobalSecondaryIndexes is empty")
    for index in local or ():
        key_schema.check_local_keys(index, schema, definitions)
    for index in global_indexes or ():
        key_schema.check_global_keys(index, definitions)
    indexes = [*(local or ()), *(global_indexes or ())]
    key_schema.check_usage(definitions, [schema, *(index["KeySchema"] for index in indexes)])
    for index in indexes:
        key_schema.check_projection(index["Projection"])
    for index in global_indexes or ():
        _check_index_throughput(index, mode)
    _check_names_and_counts(indexes, len(local or ()), len(global_indexes or ()))


def _check_local_list(local: list[Wire], schema: list[Wire]) -> None:
    if not local:
        raise ValidationException(f"{INVALID_PARAMETER}List of LocalSecondaryIndexes is empty")
    if len(schema) < 2:
        raise ValidationException(
            f"{INVALID_PARAMETER}Table KeySchema does not have a range key, which is required when specifying a "
            "LocalSecondaryIndex"
        )


def _check_index_throughput(index: Wire, mode: str) -> None:
    owner = Owner(index["IndexName"])
    throughput.check_index_billing(index, mode)
    throughput.start_caps(index.get("OnDemandThroughput"), mode, owner)
    units = throughput.parse_units(index.get("ProvisionedThroughput"))
    throughput.start_rates(index.get("WarmThroughput"), mode, units, owner)


def _check_names_and_counts(indexes: list[Wire], local_count: int, global_count: int) -> None:
    seen: set[str] = set()
    for index in indexes:
        name = index["IndexName"]
        if name in seen:
            raise ValidationException(f"{INVALID_PARAMETER}Duplicate index name: {name}")
        seen.add(name)
    if local_count > MAX_LOCAL_INDEXES:
        raise ValidationException(
            f"{INVALID_PARAMETER}Number of LocalSecondaryIndexes exceeds per-table limit of {MAX_LOCAL_INDEXES}"
        )
    if global_count > MAX_GLOBAL_INDEXES:
        raise ValidationException(
            f"{INVALID_PARAMETER}GlobalSecondaryIndex count exceeds the per-table limit of {MAX_GLOBAL_INDEXES}"
        )
    key_schema.check_projected_total(index["Projection"].get("NonKeyAttributes") for index in indexes)


def _check_stream(specification: Wire | None) -> None:
    if specification is None:
        return
    enabled, view = specification["StreamEnabled"], specification.get("StreamViewType")
    if enabled and view is None:
        raise ValidationException(
            f"{INVALID_PARAMETER}Table is being created with a stream enabled, UpdateViewType is required"
        )
    if not enabled and view is not None:
        raise ValidationException(
            f"{INVALID_PARAMETER}Table is being created with a stream disabled, UpdateViewType should not be specified"
        )


def _check_quotas(request: Wire, region: str) -> None:
    if "ProvisionedThroughput" in request:
        throughput.check_quota(throughput.parse_units(request["ProvisionedThroughput"]), TABLE, region)
    for index in request.get("GlobalSecondaryIndexes") or ():
        if "ProvisionedThroughput" in index:
            units = throughput.parse_units(index["ProvisionedThroughput"])
            throughput.check_quota(units, Owner(index["IndexName"]), region)


# -- the parts of a definition -----------------------------------------------------------------------------------------


def compose_local_index(index: Wire, column: int) -> IndexDefinition:
    """Return the definition of a local index."""
    return IndexDefinition(**_compose_index(index, column))


def compose_global_index(index: Wire, mode: str, column: int = NO_COLUMN) -> GlobalIndexDefinition:
    """Return the definition of a global index."""
    figures = compose_throughput(index, mode, Owner(index["IndexName"]))
    return GlobalIndexDefinition(**_compose_index(index, column), **figures)


def _compose_index(index: Wire, column: int) -> dict[str, Any]:
    asked = index["Projection"]
    others = tuple(sorted(asked["NonKeyAttributes"])) if "NonKeyAttributes" in asked else None
    return {
        "name": index["IndexName"],
        "key_schema": convert(index["KeySchema"], KeySchema),
        "projection": IndexProjection(asked["ProjectionType"], others),
        "column": column,
    }


def compose_throughput(asked: Wire, mode: str, owner: Owner) -> dict[str, Any]:
    """Return the throughput of a new table's or global index's definition, by field."""
    units = throughput.parse_units(asked.get("ProvisionedThroughput"))
    return {
        "provisioned": units,
        "on_demand": throughput.start_caps(asked.get("OnDemandThroughput"), mode, owner),
        "warm": throughput.start_rates(asked.get("WarmThroughput"), mode, units, owner),
    }


def sort_attributes(attributes: Iterable[AttributeDefinition]) -> tuple[AttributeDefinition, ...]:
    """Return attribute definitions as they are stored and shown: by name."""
    return tuple(sorted(attributes, key=lambda attribute: attribute.name))
