"""A declared table as the requests that make it: CreateTable, and what only follows once it is there."""

from __future__ import annotations

from hashrange.core.wire import Wire
from hashrange.schema.check import check_table, key_type
from hashrange.schema.table import Gsi, Provisioned, Table


def create_request(table: Table) -> Wire:
    """Return the CreateTable of a declared table."""
    check_table(table)
    request: Wire = {
        "TableName": table.physical_name,
        "KeySchema": _key_schema(table.primary),
        "AttributeDefinitions": [
            {"AttributeName": attr, "AttributeType": key_type(table, attr)} for attr in sorted(table.key_names)
        ],
        "DeletionProtectionEnabled": table.deletion_protection,
        **_billing(table),
    }
    for member, local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True)):
        indexes = [_index(index, table) for index in table.indexes if index.is_local is local]
        if indexes:
            request[member] = indexes
    if table.stream is not None:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": table.stream}
    if table.encryption != "AWS_OWNED":
        key = {} if table.encryption == "AWS_MANAGED" else {"KMSMasterKeyId": table.encryption}
        request["SSESpecification"] = {"Enabled": True, "SSEType": "KMS", **key}
    if table.tags:
        request["Tags"] = [{"Key": name, "Value": value} for name, value in sorted(table.tags.items())]
    return request


def _key_schema(path: Gsi) -> list[Wire]:
    kinds = ("HASH", "RANGE")
    return [{"AttributeName": attr, "KeyType": kind} for attr, kind in zip(path.keys, kinds, strict=False)]


def _billing(table: Table) -> Wire:
    if not isinstance(table.billing, Provisioned):
        return {"BillingMode": table.billing}
    return {"BillingMode": "PROVISIONED", "ProvisionedThroughput": _throughput(table.billing)}


def _throughput(units: Provisioned) -> Wire:
    return {"ReadCapacityUnits": units.read, "WriteCapacityUnits": units.write}


def _index(index: Gsi, table: Table) -> Wire:
    projection: Wire = {"ProjectionType": index.project if isinstance(index.project, str) else "INCLUDE"}
    named = [attr for attr in index.attributes if attr not in {*table.keys, *index.keys}]
    if not isinstance(index.project, str):
        projection = (
            {"ProjectionType": "INCLUDE", "NonKeyAttributes": named} if named else {"ProjectionType": "KEYS_ONLY"}
        )
    request: Wire = {"IndexName": index.name, "KeySchema": _key_schema(index), "Projection": projection}
    if isinstance(table.billing, Provisioned) and not index.is_local:
        request["ProvisionedThroughput"] = _throughput(table.billing)
    return request


def later_requests(table: Table) -> list[tuple[str, Wire]]:
    """Return the operations that settle what CreateTable does not take: expiry and point-in-time recovery."""
    name, found = table.physical_name, list[tuple[str, Wire]]()
    if table.ttl is not None:
        ttl = {"AttributeName": table.ttl, "Enabled": True}
        found.append(("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": ttl}))
    if table.pitr:
        recovery = {"PointInTimeRecoveryEnabled": True}
        request = {"TableName": name, "PointInTimeRecoverySpecification": recovery}
        found.append(("UpdateContinuousBackups", request))
    return found
