"""What a restored table is like: its source's keys, indexes, billing and encryption, as far as the request leaves them.

The overrides are checked here, in words that only restores have; then CreateTable's own rules make the definition.
Streams, TTL, recovery, tags, protection, policy and class are not restored.
"""

from __future__ import annotations

from hashrange.core.errors import ValidationException
from hashrange.core.wire import Wire
from hashrange.engine.control_plane.create_table import make_definition, reject_unsupported
from hashrange.engine.control_plane.throughput import CAPS, ON_DEMAND, PROVISIONED, UNITS

PREFIX = "Invalid Request: "
NOT_ON_DEMAND = "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST"
INDEXES = (
    ("LocalSecondaryIndexes", "LocalSecondaryIndexOverride"),
    ("GlobalSecondaryIndexes", "GlobalSecondaryIndexOverride"),
)


def make_restored(source: Wire, request: Wire, now: int, region: str, account: str) -> Wire:
    """Return the definition of a table to be restored, or raise for overrides that do not fit."""
    reject_unsupported(request, ("VectorIndexOverride",))
    mode = _choose_mode(source, request)
    wanted: Wire = {
        "TableName": request["TargetTableName"],
        "KeySchema": source["KeySchema"],
        "BillingMode": mode,
        "SSESpecification": request.get("SSESpecificationOverride", source.get("SSESpecification")),
        **_choose_throughput(source, request, mode),
    }
    for member, override in INDEXES:
        indexes = _choose_indexes(source.get(member) or [], request.get(override))
        if indexes:
            is_global = member == "GlobalSecondaryIndexes"
            wanted[member] = [_fit_index(index, request, mode) if is_global else index for index in indexes]
    wanted["AttributeDefinitions"] = _keep_used(source["AttributeDefinitions"], wanted)
    return make_definition(wanted, now, region, account)


def _choose_mode(source: Wire, request: Wire) -> str:
    override, units = request.get("BillingModeOverride"), request.get("ProvisionedThroughputOverride")
    mode: str = override or source["BillingMode"]
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


def _choose_throughput(source: Wire, request: Wire, mode: str) -> Wire:
    if mode == PROVISIONED:
        return {"ProvisionedThroughput": request.get("ProvisionedThroughputOverride") or _units(source)}
    return {"OnDemandThroughput": request.get("OnDemandThroughputOverride") or source.get("OnDemandThroughput")}


def _units(owner: Wire) -> Wire:
    return {unit: owner["ProvisionedThroughput"][unit] for unit in UNITS}


def _choose_indexes(recorded: list[Wire], asked: list[Wire] | None) -> list[Wire]:
    """Return the recorded indexes or, of an override, those it names; each must be one of the recorded."""
    if asked is None:
        members = ("IndexName", "KeySchema", "Projection", "OnDemandThroughput")
        units = [
            {"ProvisionedThroughput": _units(index)} if "ProvisionedThroughput" in index else {} for index in recorded
        ]
        return [
            {member: index[member] for member in members if index.get(member)} | figures
            for index, figures in zip(recorded, units, strict=True)
        ]
    for index in asked:
        if not any(_is_same(index, other) for other in recorded):
            raise ValidationException(
                f"{PREFIX}Index {index['IndexName']} does not match a secondary index that existed in the source table "
                "and cannot be created during the restore operation"
            )
    return asked


def _is_same(left: Wire, right: Wire) -> bool:
    return bool(left["KeySchema"] == right["KeySchema"]) and _projection(left) == _projection(right)


def _projection(index: Wire) -> tuple[str | None, list[str]]:
    projection = index["Projection"]
    return projection.get("ProjectionType"), sorted(projection.get("NonKeyAttributes") or ())


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


def _keep_used(definitions: list[Wire], wanted: Wire) -> list[Wire]:
    schemas = [wanted["KeySchema"], *(index["KeySchema"] for member, _ in INDEXES for index in wanted.get(member, ()))]
    used = {element["AttributeName"] for schema in schemas for element in schema}
    return [entry for entry in definitions if entry["AttributeName"] in used]
