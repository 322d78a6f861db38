"""A table as it exists: what DynamoDB says of it, in the form of the requests that would create it.

Emulators do not serve every operation: an option that the endpoint does not have is None, and not compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from hashrange.client.transport import Transport, require_transport
from hashrange.core.errors import PlanError, ResourceNotFoundException, UnknownOperationException
from hashrange.core.limits import NAME_RULE
from hashrange.core.wire import Wire
from hashrange.schema.declare.table import LEGAL_NAME

BUSY = frozenset({"CREATING", "UPDATING", "DELETING"})


class LiveIndex(Struct, frozen=True, kw_only=True):
    """An index that exists."""

    name: str
    key_schema: list[Wire]
    projection: frozenset[str] | None  # the attributes beside the keys; None when it projects all
    is_local: bool
    status: str
    throughput: tuple[int, int]
    item_count: int


class LiveTable(Struct, frozen=True, kw_only=True):
    """A table that exists."""

    name: str
    arn: str
    status: str
    key_schema: list[Wire]
    key_types: dict[str, str]
    indexes: tuple[LiveIndex, ...]
    billing: str
    throughput: tuple[int, int]
    stream: str | None
    ttl: str | None  # the attribute; empty when it is off
    recovery: bool | None
    encryption: str | None  # the ARN of the KMS key; None when DynamoDB uses its own
    deletion_protection: bool | None
    tags: dict[str, str] | None
    item_count: int


def read_live_table(database: Transport, name: str) -> LiveTable | None:
    """Return what exists under a name; None when nothing does."""
    description = describe_table(database, name)
    if description is None:
        return None
    billing = description.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    stream = description.get("StreamSpecification", {})
    return LiveTable(
        name=name,
        arn=description["TableArn"],
        status=description["TableStatus"],
        key_schema=description["KeySchema"],
        key_types={one["AttributeName"]: one["AttributeType"] for one in description["AttributeDefinitions"]},
        indexes=tuple(_read_indexes(description)),
        billing=billing,
        throughput=_read_throughput(description),
        stream=stream.get("StreamViewType") if stream.get("StreamEnabled") else None,
        ttl=_read_ttl(database, name),
        recovery=_read_recovery(database, name),
        encryption=_read_encryption(description),
        deletion_protection=description.get("DeletionProtectionEnabled"),
        tags=_read_tags(database, description["TableArn"]),
        item_count=description.get("ItemCount", 0),
    )


def describe_table(database: Transport, name: str) -> Wire | None:
    """Return the description of a table; None when it does not exist."""
    require_transport(database)
    if not LEGAL_NAME.fullmatch(name) and not name.startswith("arn:"):
        raise PlanError(f"{name!r} is not a legal name of a table: use {NAME_RULE}")
    try:
        response = database.call("DescribeTable", {"TableName": name})
    except ResourceNotFoundException:
        return None
    description: Wire = response["Table"]
    return description


def _read_indexes(description: Wire) -> Iterator[LiveIndex]:
    for member, is_local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True)):
        for index in description.get(member, ()):
            projection = index["Projection"]
            named = frozenset(projection.get("NonKeyAttributes", ()))
            yield LiveIndex(
                name=index["IndexName"],
                key_schema=index["KeySchema"],
                projection=None if projection["ProjectionType"] == "ALL" else named,
                is_local=is_local,
                status=index.get("IndexStatus", "ACTIVE"),
                throughput=_read_throughput(index),
                item_count=index.get("ItemCount", 0),
            )


def _read_throughput(description: Wire) -> tuple[int, int]:
    units = description.get("ProvisionedThroughput", {})
    return units.get("ReadCapacityUnits", 0), units.get("WriteCapacityUnits", 0)


def _describe(database: Transport, operation: str, request: Wire) -> Wire | None:
    """Return the response to a request; None when the endpoint does not serve the operation."""
    try:
        return database.call(operation, request)
    except UnknownOperationException:
        return None


def _read_ttl(database: Transport, name: str) -> str | None:
    response = _describe(database, "DescribeTimeToLive", {"TableName": name})
    if response is None:
        return None
    found = response["TimeToLiveDescription"]
    enabled = found.get("TimeToLiveStatus") in {"ENABLED", "ENABLING"}
    return str(found["AttributeName"]) if enabled else ""


def _read_recovery(database: Transport, name: str) -> bool | None:
    response = _describe(database, "DescribeContinuousBackups", {"TableName": name})
    if response is None:
        return None
    recovery = response["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    return bool(recovery.get("PointInTimeRecoveryStatus") == "ENABLED")


def _read_encryption(description: Wire) -> str | None:
    found = description.get("SSEDescription", {})
    enabled = found.get("Status") in {"ENABLED", "ENABLING", "UPDATING"}
    return found.get("KMSMasterKeyArn", "") if enabled else None


def _read_tags(database: Transport, arn: str) -> dict[str, str] | None:
    request: Wire = {"ResourceArn": arn}
    tags: dict[str, str] = {}
    while (response := _describe(database, "ListTagsOfResource", request)) is not None:
        own = [tag for tag in response.get("Tags", ()) if not tag["Key"].startswith("aws:")]  # others are set by AWS
        tags |= {tag["Key"]: tag["Value"] for tag in own}
        if not response.get("NextToken"):
            return tags
        request["NextToken"] = response["NextToken"]
    return None
