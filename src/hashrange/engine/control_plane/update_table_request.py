"""Checks an UpdateTable request without its table, because AWS reports these errors before a missing table.

Most members cannot be combined: a request makes one change. `update_table` checks the change against the table.
"""

from __future__ import annotations

from hashrange.core.errors import ValidationException
from hashrange.core.values import INVALID_PARAMETER
from hashrange.core.wire import Wire
from hashrange.engine.control_plane import key_schema
from hashrange.engine.control_plane.create_table import refuse_unsupported
from hashrange.engine.control_plane.throughput import (
    NEITHER_UNIT,
    ON_DEMAND,
    PROVISIONED,
    TABLE,
    check_bounds,
    parse_units,
)

ACTIONS = ("Update", "Create", "Delete")
MEMBERS = (
    "ProvisionedThroughput", "BillingMode", "UpdateStreamEnabled", "GlobalSecondaryIndexUpdates", "SSESpecification",
    "ReplicaUpdates", "MultiAccountReplicaReady", "ReplicaTransitRoleArn", "MultiRegionConsistency",
    "DeletionProtectionEnabled", "OnDemandThroughput", "WarmThroughput", "TableClass",
)  # fmt: skip
UNSUPPORTED_MEMBERS = (
    "ReplicaUpdates", "GlobalTableWitnessUpdates", "MultiRegionConsistency", "GlobalTableSettingsReplicationMode",
    "VectorIndexUpdates",
)  # fmt: skip
COUNTED = ("GlobalSecondaryIndexUpdates", "OnDemandThroughput", "WarmThroughput")  # an empty one counts as absent
ALONE = {
    "SSESpecification": "Server-Side Encryption modification",
    "TableClass": "TableClass modification",
    "DeletionProtectionEnabled": "DeletionProtection modification",
}


def check_request(request: Wire) -> None:
    """Raise ValidationException for a request that is invalid for every table."""
    members = list_changes(request)
    if not members:
        raise ValidationException(_required(request))
    refuse_unsupported(request, UNSUPPORTED_MEMBERS)
    updates = request.get("GlobalSecondaryIndexUpdates")
    if updates is not None and not updates:
        raise ValidationException(f"{INVALID_PARAMETER}List of GlobalSecondaryIndexUpdates is empty")
    _check_updates(updates or [], request.get("AttributeDefinitions"))
    _check_alone(members, updates or [])
    _check_together(members, request)
    _check_billing(request)
    _check_stream(request.get("StreamSpecification"))


def list_changes(request: Wire) -> set[str]:
    """Return the members that ask for a change; an empty list or structure does not."""
    known = {*MEMBERS, *UNSUPPORTED_MEMBERS, "StreamSpecification"} - {
        "MultiRegionConsistency",
        "GlobalTableWitnessUpdates",
    }
    given = {member for member in known if request.get(member) is not None}
    return {member for member in given if member not in COUNTED or request[member]}


def pick_action(update: Wire) -> tuple[str, Wire]:
    """Return the one action of a GlobalSecondaryIndexUpdate and its parameters."""
    return next((action, update[action]) for action in ACTIONS if update.get(action) is not None)


def _required(request: Wire) -> str:
    missing = [member for member in MEMBERS if request.get(member) is None or member in COUNTED]
    return f"At least one of {', '.join(missing[:-1])} or {missing[-1]} is required"


def _check_updates(updates: list[Wire], definitions: list[Wire] | None) -> None:
    seen: set[str] = set()
    for update in updates:
        actions = [action for action in ACTIONS if update.get(action) is not None]
        if not actions:
            raise ValidationException(
                f"{INVALID_PARAMETER}One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            )
        if len(actions) > 1:
            raise ValidationException(
                f"{INVALID_PARAMETER}Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate "
                "object"
            )
        name = update[actions[0]]["IndexName"]
        if name in seen:
            raise ValidationException(
                f"{INVALID_PARAMETER}Only one global secondary index update per index is allowed simultaneously. "
                f"Index: {name}"
            )
        seen.add(name)
        _check_action(actions[0], update[actions[0]], definitions)


def _check_action(action: str, index: Wire, definitions: list[Wire] | None) -> None:
    name = index["IndexName"]
    if action == "Update" and index.get("WarmThroughput") == {}:
        raise ValidationException(
            f"{INVALID_PARAMETER}WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond "
            "specified "
            f"for index: {name}"
        )
    if action == "Create":
        if not definitions:
            raise ValidationException(f"{INVALID_PARAMETER}AttributeDefinitions is not specified for index: {name}")
        key_schema.check_definitions(definitions)
        key_schema.check_global_keys(index, definitions)
        key_schema.check_projection(index["Projection"])


def _check_alone(members: set[str], updates: list[Wire]) -> None:
    if len(members) == 1:
        return
    for member, change in ALONE.items():
        if member in members:
            raise ValidationException(f"{INVALID_PARAMETER}{change} must be the only operation in the request")
    if "OnDemandThroughput" in members and members != {"OnDemandThroughput", "BillingMode"}:
        raise ValidationException(
            f"{INVALID_PARAMETER}OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"
        )
    if "WarmThroughput" in members:
        if any("Create" in update for update in updates):
            raise ValidationException(
                f"{INVALID_PARAMETER}Create global secondary index cannot be specified when updating WarmThroughput"
            )
        raise ValidationException(f"{INVALID_PARAMETER}WarmThroughput must be the only operation in the request")


def _check_together(members: set[str], request: Wire) -> None:
    changes_throughput = "ProvisionedThroughput" in members
    updates = request.get("GlobalSecondaryIndexUpdates") or ()
    changes_indexes = any(pick_action(update)[0] != "Update" for update in updates)
    if "StreamSpecification" in members and (changes_throughput or request.get("BillingMode") == PROVISIONED):
        raise ValidationException(f"{INVALID_PARAMETER}You cannot modify stream status while updating table IOPS")
    if changes_indexes and changes_throughput:
        raise ValidationException(f"{INVALID_PARAMETER}You cannot create or delete index while updating table IOPS")
    if changes_indexes and "StreamSpecification" in members:
        raise ValidationException(f"{INVALID_PARAMETER}You cannot create or delete index while changing stream status")


def _check_billing(request: Wire) -> None:
    mode, units = request.get("BillingMode"), request.get("ProvisionedThroughput")
    if mode == ON_DEMAND and units is not None:
        raise ValidationException(NEITHER_UNIT)
    if mode == PROVISIONED and units is None:
        raise ValidationException(
            f"{INVALID_PARAMETER}ProvisionedThroughput must be specified when BillingMode is PROVISIONED"
        )
    check_bounds(parse_units(units), TABLE)


def _check_stream(specification: Wire | None) -> None:
    if specification is None:
        return
    enabled, view = specification["StreamEnabled"], specification.get("StreamViewType")
    if enabled and view is None:
        raise ValidationException(f"{INVALID_PARAMETER}If stream is being enabled then UpdateViewType is required")
    if not enabled and view is not None:
        raise ValidationException(
            f"{INVALID_PARAMETER}If stream is being disabled, then UpdateViewType must not be specified"
        )
