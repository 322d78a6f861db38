"""The requests that create a declared table: CreateTable, and what it cannot set.

`provision.table_plan` uses the same parts for the changes of a table that exists.
"""

from __future__ import annotations

from collections.abc import Mapping

from hashrange.core.wire import Wire
from hashrange.schema.declare.table import Gsi, Provisioned, Table
from hashrange.schema.declare.table_check import check_table, key_type

AWS_OWNED, AWS_MANAGED = "AWS_OWNED", "AWS_MANAGED"  # whose key encrypts a table; else the ARN of a key


def create_request(table: Table) -> Wire:
    """Return the CreateTable request of a declared table."""
    check_table(table)
    request: Wire = {
        "TableName": table.physical_name,
        "KeySchema": key_schema(table.primary),
        "AttributeDefinitions": [
            {"AttributeName": attr, "AttributeType": key_type(table, attr)} for attr in sorted(table.key_names)
        ],
        "DeletionProtectionEnabled": table.deletion_protection,
        **billing_request(table),
    }
    for member, local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True)):
        indexes = [index_request(index, table) for index in table.indexes if index.is_local is local]
        if indexes:
            request[member] = indexes
    if table.stream is not None:
        request["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": table.stream}
    if table.encryption != AWS_OWNED:
        request["SSESpecification"] = encryption_request(table.encryption)
    if table.tags:
        request["Tags"] = tag_list(table.tags)
    return request


def encryption_request(encryption: str) -> Wire:
    """Return the member SSESpecification."""
    if encryption == AWS_OWNED:
        return {"Enabled": False}
    key = {} if encryption == AWS_MANAGED else {"KMSMasterKeyId": encryption}
    return {"Enabled": True, "SSEType": "KMS", **key}


def tag_list(tags: Mapping[str, str]) -> list[Wire]:
    """Return tags as requests take them."""
    return [{"Key": name, "Value": value} for name, value in sorted(tags.items())]


def key_schema(path: Gsi) -> list[Wire]:
    """Return the key schema of a table or of an index."""
    return [
        *({"AttributeName": attr, "KeyType": "HASH"} for attr in path.partition),
        *({"AttributeName": attr, "KeyType": "RANGE"} for attr in path.sort),
    ]


def billing_request(table: Table) -> Wire:
    """Return the members of a request that set the billing mode."""
    if not isinstance(table.billing, Provisioned):
        return {"BillingMode": table.billing}
    return {"BillingMode": "PROVISIONED", "ProvisionedThroughput": throughput_request(table.billing)}


def throughput_request(units: Provisioned) -> Wire:
    """Return the member ProvisionedThroughput."""
    return {"ReadCapacityUnits": units.read, "WriteCapacityUnits": units.write}


def index_request(index: Gsi, table: Table) -> Wire:
    """Return an index as CreateTable and UpdateTable take it."""
    projection: Wire = {"ProjectionType": index.project if isinstance(index.project, str) else "INCLUDE"}
    named = [attr for attr in index.attributes if attr not in {*table.keys, *index.keys}]
    if not isinstance(index.project, str):
        projection = (
            {"ProjectionType": "INCLUDE", "NonKeyAttributes": named} if named else {"ProjectionType": "KEYS_ONLY"}
        )
    request: Wire = {"IndexName": index.name, "KeySchema": key_schema(index), "Projection": projection}
    if isinstance(table.billing, Provisioned) and not index.is_local:
        request["ProvisionedThroughput"] = throughput_request(table.billing)
    return request


def follow_up_requests(table: Table) -> list[tuple[str, Wire]]:
    """Return the operations for what CreateTable cannot set: time to live and point-in-time recovery."""
    name, found = table.physical_name, list[tuple[str, Wire]]()
    if table.ttl is not None:
        found.append(("UpdateTimeToLive", ttl_request(name, table.ttl, enabled=True)))
    if table.pitr:
        found.append(("UpdateContinuousBackups", recovery_request(name, enabled=True)))
    return found


def ttl_request(name: str, attribute: str, *, enabled: bool) -> Wire:
    """Return the UpdateTimeToLive request of a table."""
    return {"TableName": name, "TimeToLiveSpecification": {"AttributeName": attribute, "Enabled": enabled}}


def recovery_request(name: str, *, enabled: bool) -> Wire:
    """Return the UpdateContinuousBackups request of a table."""
    return {"TableName": name, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": enabled}}
