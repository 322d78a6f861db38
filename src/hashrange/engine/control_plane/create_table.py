"""From CreateTable's request to a table's definition: the checks in the service's order, then the definition itself.

The rules of single parts live with them (`key_schema`, `throughput`, `encryption`, `tags`, `resource_policy`).
"""

from __future__ import annotations

from uuid import uuid4

from hashrange.core.errors import ValidationException
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire
from hashrange.engine.arn import table_arn
from hashrange.engine.control_plane import key_schema, resource_policy, throughput
from hashrange.engine.control_plane.encryption import resolve_encryption
from hashrange.engine.control_plane.table_description import make_phase
from hashrange.engine.control_plane.tags import check_tags
from hashrange.engine.control_plane.throughput import NO_UNITS, ON_DEMAND, TABLE, UNITS, Owner

MOST_GLOBAL = 20
MOST_LOCAL = 5
UNSUPPORTED_MEMBERS = ("VectorIndexes", "GlobalTableSourceArn", "GlobalTableSettingsReplicationMode")
DEFAULT_CLASS = "STANDARD"


def make_definition(request: Wire, now: int, region: str, account: str) -> Wire:
    """Return the definition of the table that a CreateTable request asks for, or raise what the service answers."""
    reject_unsupported(request, UNSUPPORTED_MEMBERS)
    mode = _check_keys_and_billing(request)
    _check_indexes(request, mode)
    _check_stream(request.get("StreamSpecification"))
    encryption = resolve_encryption(request.get("SSESpecification") or {}, region, account)
    tags = check_tags(request.get("Tags", []))
    document = resource_policy.check_document(request["ResourcePolicy"]) if "ResourcePolicy" in request else None
    _check_quotas(request, region)
    definition = _compose(request, mode, now)
    definition["arn"] = table_arn(region, account, request["TableName"])
    definition["SSESpecification"] = encryption
    definition["tags"] = tags
    if document is not None:
        definition["policy"] = {resource_policy.TABLE: resource_policy.start_revision(document, now)}
    return definition


def mark_creating(definition: Wire, request: Wire, now: int, delay: int) -> None:
    """Let a new table show as CREATING, without what the service tells only of a finished one."""
    asked = definition["WarmThroughput"] if "WarmThroughput" in request else None
    shown: Wire = {"WarmThroughput": asked and throughput.describe_rates(asked, "UPDATING")}
    if definition["BillingMode"] == ON_DEMAND:
        shown["BillingModeSummary"] = {"BillingMode": ON_DEMAND}
    definition["phase"] = make_phase("CREATING", now, delay, shown)
    for index in definition.get("GlobalSecondaryIndexes", ()):
        index["phase"] = make_phase("CREATING", now, delay, {"WarmThroughput": None})


def reject_unsupported(request: Wire, members: tuple[str, ...]) -> None:
    """Raise for members that ask for what one region on one machine cannot give."""
    for member in members:
        if request.get(member) is not None:
            raise ValidationException(f"{INVALID_PARAMETER}{member} is not supported by this endpoint")


def _check_keys_and_billing(request: Wire) -> str:
    mode = throughput.check_billing(request)
    units = request.get("ProvisionedThroughput", NO_UNITS)
    throughput.start_caps(request.get("OnDemandThroughput"), mode, TABLE)
    throughput.start_rates(request.get("WarmThroughput"), mode, units, TABLE)
    definitions = request["AttributeDefinitions"]
    key_schema.check_definitions(definitions)
    key_schema.check_table_keys(request["KeySchema"], definitions)
    return mode


def _check_indexes(request: Wire, mode: str) -> None:
    """Check keys first, then whether every definition is used, which masks all that follows, then the rest."""
    local, everywhere = request.get("LocalSecondaryIndexes"), request.get("GlobalSecondaryIndexes")
    schema, definitions = request["KeySchema"], request["AttributeDefinitions"]
    if local is not None:
        _check_local_list(local, schema)
    if everywhere is not None and not everywhere:
        raise ValidationException(f"{INVALID_PARAMETER}List of GlobalSecondaryIndexes is empty")
    for index in local or ():
        key_schema.check_local_keys(index, schema, definitions)
    for index in everywhere or ():
        key_schema.check_global_keys(index, definitions)
    indexes = [*(local or ()), *(everywhere or ())]
    key_schema.check_usage(definitions, [schema, *(index["KeySchema"] for index in indexes)])
    for index in indexes:
        key_schema.check_projection(index["Projection"])
    for index in everywhere or ():
        _check_index_throughput(index, mode)
    _check_names_and_counts(indexes, len(local or ()), len(everywhere or ()))


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
    throughput.start_rates(index.get("WarmThroughput"), mode, index.get("ProvisionedThroughput", NO_UNITS), owner)


def _check_names_and_counts(indexes: list[Wire], local: int, everywhere: int) -> None:
    seen: set[str] = set()
    for index in indexes:
        name = index["IndexName"]
        if name in seen:
            raise ValidationException(f"{INVALID_PARAMETER}Duplicate index name: {name}")
        seen.add(name)
    if local > MOST_LOCAL:
        raise ValidationException(
            f"{INVALID_PARAMETER}Number of LocalSecondaryIndexes exceeds per-table limit of {MOST_LOCAL}"
        )
    if everywhere > MOST_GLOBAL:
        raise ValidationException(
            f"{INVALID_PARAMETER}GlobalSecondaryIndex count exceeds the per-table limit of {MOST_GLOBAL}"
        )
    key_schema.check_projected_total(indexes)


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
        throughput.check_quota(request["ProvisionedThroughput"], TABLE, region)
    for index in request.get("GlobalSecondaryIndexes") or ():
        if "ProvisionedThroughput" in index:
            throughput.check_quota(index["ProvisionedThroughput"], Owner(index["IndexName"]), region)


# -- the definition ----------------------------------------------------------------------------------------------------


def _compose(request: Wire, mode: str, now: int) -> Wire:
    definition: Wire = {
        "TableName": request["TableName"],
        "TableId": str(uuid4()),
        "AttributeDefinitions": sort_definitions(request["AttributeDefinitions"]),
        "KeySchema": [_keep_element(element) for element in request["KeySchema"]],
        "BillingMode": mode,
        "DeletionProtectionEnabled": request.get("DeletionProtectionEnabled", False),
        "created": now,
        **compose_throughput(request, mode, TABLE),
    }
    if mode == ON_DEMAND:
        definition["on_demand_since"] = now
    if request.get("TableClass", DEFAULT_CLASS) != DEFAULT_CLASS:
        definition["TableClass"] = request["TableClass"]
    for member, everywhere in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True)):
        if request.get(member):
            definition[member] = [_compose_index(index, mode, everywhere) for index in request[member]]
    return definition


def _compose_index(index: Wire, mode: str, everywhere: bool) -> Wire:
    return compose_global_index(index, mode) if everywhere else compose_local_index(index)


def compose_local_index(index: Wire) -> Wire:
    """Return the definition of a local index."""
    projection = dict(index["Projection"])
    if "NonKeyAttributes" in projection:
        projection["NonKeyAttributes"] = sorted(projection["NonKeyAttributes"])
    schema = [_keep_element(element) for element in index["KeySchema"]]
    return {"IndexName": index["IndexName"], "KeySchema": schema, "Projection": projection}


def compose_global_index(index: Wire, mode: str) -> Wire:
    """Return the definition of a global index."""
    return compose_local_index(index) | compose_throughput(index, mode, Owner(index["IndexName"]))


def compose_throughput(asked: Wire, mode: str, owner: Owner) -> Wire:
    """Return the throughput members of a new table's or global index's definition."""
    given = asked.get("ProvisionedThroughput", NO_UNITS)
    units = {unit: given[unit] for unit in UNITS}
    return {
        "ProvisionedThroughput": units,
        "OnDemandThroughput": throughput.start_caps(asked.get("OnDemandThroughput"), mode, owner),
        "WarmThroughput": throughput.start_rates(asked.get("WarmThroughput"), mode, units, owner),
    }


def sort_definitions(definitions: list[Wire]) -> list[Wire]:
    """Return attribute definitions as they are kept and shown: by name."""
    kept = [{member: entry[member] for member in ("AttributeName", "AttributeType")} for entry in definitions]
    return sorted(kept, key=lambda entry: str(entry["AttributeName"]))


def _keep_element(element: Wire) -> Wire:
    return {member: element[member] for member in ("AttributeName", "KeyType")}
