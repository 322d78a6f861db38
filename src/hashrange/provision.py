"""Creates the declared tables that do not exist yet. Existing tables are left alone."""

from __future__ import annotations

import time
from typing import Protocol

from hashrange.client.transport import Transport
from hashrange.core.errors import PlanError, ResourceInUseException, ResourceNotFoundException
from hashrange.core.wire import Wire
from hashrange.schema.declare.table import Gsi, Provisioned, Table
from hashrange.schema.declare.table_check import check_table, key_type

MAX_WAIT = 300.0
POLL_INTERVAL = 0.2


class Declared(Protocol):
    """A Patterns class; a structural type, because type checkers do not accept a Protocol class as `type[...]`."""

    def tables(self) -> list[Table]:
        """Return the tables that it uses."""
        ...


def create_tables(database: Transport, *declared: Declared | Table) -> list[str]:
    """Create the tables of these patterns that the database does not have; return the names of those created."""
    tables = [table for one in declared for table in ([one] if isinstance(one, Table) else one.tables())]
    return [table.physical_name for table in dict.fromkeys(tables) if _create(database, table)]


def _create(database: Transport, table: Table) -> bool:
    name = table.physical_name
    if _describe(database, name) is not None:
        return False
    try:
        database.call("CreateTable", create_request(table))
    except ResourceInUseException:  # another process created it first
        return False
    _wait_until_active(database, name)
    for operation, request in follow_up_requests(table):
        database.call(operation, request)
    return True


def _describe(database: Transport, name: str) -> Wire | None:
    try:
        response = database.call("DescribeTable", {"TableName": name})
    except ResourceNotFoundException:
        return None
    description: Wire = response["Table"]
    return description


def _wait_until_active(database: Transport, name: str) -> None:
    deadline = time.monotonic() + MAX_WAIT
    while True:
        description = _describe(database, name)
        if description is not None and description["TableStatus"] == "ACTIVE":
            return
        if time.monotonic() > deadline:
            raise PlanError(f"{name} is not active after {MAX_WAIT:.0f} s: check its status, then try again")
        time.sleep(POLL_INTERVAL)


def create_request(table: Table) -> Wire:
    """Return the CreateTable request of a declared table."""
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


def follow_up_requests(table: Table) -> list[tuple[str, Wire]]:
    """Return the operations for what CreateTable cannot set: time to live and point-in-time recovery."""
    name, found = table.physical_name, list[tuple[str, Wire]]()
    if table.ttl is not None:
        ttl = {"AttributeName": table.ttl, "Enabled": True}
        found.append(("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": ttl}))
    if table.pitr:
        recovery = {"PointInTimeRecoveryEnabled": True}
        request = {"TableName": name, "PointInTimeRecoverySpecification": recovery}
        found.append(("UpdateContinuousBackups", request))
    return found
