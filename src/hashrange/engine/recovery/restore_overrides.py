"""The definition of a restored table: its source's keys, indexes, billing and encryption, unless overridden.

The overrides are checked here, with error texts that only restores have; then the rules of CreateTable make the
definition. Streams, TTL, recovery, tags, protection, policy and class are not restored.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import convert

from hashrange.core.errors import ValidationException
from hashrange.core.wire import Wire
from hashrange.engine.control_plane.create_table import make_definition, refuse_unsupported
from hashrange.engine.control_plane.throughput import CAPS, ON_DEMAND, PROVISIONED, UNITS, by_unit
from hashrange.engine.definition import Definition, GlobalIndexDefinition, IndexDefinition, KeySchema, to_wire

PREFIX = "Invalid Request: "
NOT_ON_DEMAND = "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST"


def make_restored(source: Definition, request: Wire, now: int, region: str, account: str) -> Definition:
    """Return the definition of a table to be restored, or raise for overrides that do not fit."""
    refuse_unsupported(request, ("VectorIndexOverride",))
    mode = _choose_mode(source, request)
    wanted: Wire = {
        "TableName": request["TargetTableName"],
        "KeySchema": to_wire(source.key_schema),
        "BillingMode": mode,
        "SSESpecification": request.get("SSESpecificationOverride", to_wire(source.encryption)),
        **_choose_throughput(source, request, mode),
    }
    local = _choose_indexes(source.local_indexes, request.get("LocalSecondaryIndexOverride"))
    global_indexes = _choose_indexes(source.global_indexes, request.get("GlobalSecondaryIndexOverride"))
    if local:
        wanted["LocalSecondaryIndexes"] = local
    if global_indexes:
        wanted["GlobalSecondaryIndexes"] = [_fit_index(index, request, mode) for index in global_indexes]
    schemas = [wanted["KeySchema"], *(index["KeySchema"] for index in (*local, *global_indexes))]
    used = {element["AttributeName"] for schema in schemas for element in schema}
    wanted["AttributeDefinitions"] = [to_wire(attribute) for attribute in source.attributes if attribute.name in used]
    return make_definition(wanted, now, region, account)


def _choose_mode(source: Definition, request: Wire) -> str:
    override, units = request.get("BillingModeOverride"), request.get("ProvisionedThroughputOverride")
    mode: str = override or source.billing_mode
    if units is not None and override == ON_DEMAND:
        raise ValidationException(PREFIX + NOT_ON_DEMAND)
    if units is not None and mode == ON_DEMAND:
        raise ValidationException(f"{PREFIX}Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED")
    if units is None and override == PROVISIONED:
        raise ValidationException(
            f"{PREFIX}Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED"
        )
    _check_caps(request.get("OnDemandThroughputOverride") or {}, mode)
    return mode


def _check_caps(caps: Wire, mode: str) -> None:
    for cap in CAPS:
        if cap in caps and mode == PROVISIONED:
            raise ValidationException(
                f"{PREFIX}Cannot override {cap} for OnDemandThroughput unless BillingModeOverride is PAY_PER_REQUEST"
            )
        if caps.get(cap, 1) < 1:
            raise ValidationException(f"{PREFIX}Requested {cap} for OnDemandThroughput is outside of valid range")


def _choose_throughput(source: Definition, request: Wire, mode: str) -> Wire:
    if mode == PROVISIONED:
        return {
            "ProvisionedThroughput": request.get("ProvisionedThroughputOverride") or dict(by_unit(source.provisioned))
        }
    return {"OnDemandThroughput": request.get("OnDemandThroughputOverride") or to_wire(source.on_demand)}


def _choose_indexes(recorded: Sequence[IndexDefinition], asked: list[Wire] | None) -> list[Wire]:
    """Return the recorded indexes or, of an override, those it names; each must be one of the recorded."""
    if asked is None:
        return [_request_index(index) for index in recorded]
    for index in asked:
        if not any(_is_same(index, other) for other in recorded):
            raise ValidationException(
                f"{PREFIX}Index {index['IndexName']} does not match a secondary index that existed in the source table "
                "and cannot be created during the restore operation"
            )
    return asked


def _request_index(index: IndexDefinition) -> Wire:
    """Return an index as CreateTable asks for it."""
    asked = {
        "IndexName": index.name,
        "KeySchema": to_wire(index.key_schema),
        "Projection": to_wire(index.projection),
    }
    if isinstance(index, GlobalIndexDefinition):
        asked["ProvisionedThroughput"] = dict(by_unit(index.provisioned))
        if index.on_demand is not None:
            asked["OnDemandThroughput"] = to_wire(index.on_demand)
    return asked


def _is_same(asked: Wire, recorded: IndexDefinition) -> bool:
    projection = asked["Projection"]
    return (
        convert(asked["KeySchema"], KeySchema) == recorded.key_schema
        and projection.get("ProjectionType") == recorded.projection.type
        and sorted(projection.get("NonKeyAttributes") or ()) == sorted(recorded.projection.non_key_attributes or ())
    )


def _fit_index(index: Wire, request: Wire, mode: str) -> Wire:
    """Return a global index with throughput that goes with the billing mode."""
    is_asked = request.get("GlobalSecondaryIndexOverride") is not None
    units, name = index.get("ProvisionedThroughput"), index["IndexName"]
    if mode == ON_DEMAND:
        if is_asked and units is not None:
            raise ValidationException(f"{PREFIX}{NOT_ON_DEMAND} for index {name}")
        return {member: value for member, value in index.items() if member != "ProvisionedThroughput"}
    if units is None or not all(units[unit] for unit in UNITS):
        raise ValidationException(f"{PREFIX}Must specify provisioned throughput for index {name}")
    return {member: value for member, value in index.items() if member != "OnDemandThroughput" or is_asked}
