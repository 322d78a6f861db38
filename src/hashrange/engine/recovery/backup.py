"""A backup: what is kept of it, and how it is described."""

from __future__ import annotations

from dataclasses import dataclass

from hashrange.core.wire import Wire
from hashrange.engine.control_plane.encryption import describe_encryption
from hashrange.engine.control_plane.throughput import UNITS

CREATING, AVAILABLE, DELETED = "CREATING", "AVAILABLE", "DELETED"
USER, SYSTEM = "USER", "SYSTEM"


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup as it is kept; `details` has type, status, definition, items, bytes, place and, if it ends, expires."""

    arn: str
    name: str
    created: int
    details: Wire

    @property
    def definition(self) -> Wire:
        """Return the definition of the table that it is of."""
        definition: Wire = self.details["definition"]
        return definition

    @property
    def is_system(self) -> bool:
        """Tell whether the service made it."""
        return bool(self.details["type"] == SYSTEM)

    @property
    def file(self) -> str | None:
        """Return the file that its rows are in, if they are in one by now."""
        file: str | None = (self.details["place"] or {}).get("file")
        return file

    def ends_by(self, now: int) -> bool:
        """Tell whether it is past its time."""
        return bool(self.details["expires"] is not None and self.details["expires"] <= now)

    @property
    def identity(self) -> str:
        """Return the part of the ARN that tells backups of a table apart, in the order they were made."""
        return self.arn.rpartition("/")[2]


def describe_details(backup: Backup, status: str | None = None, arn: str | None = None) -> Wire:
    """Return the BackupDetails, by the ARN that was asked for."""
    return {"BackupArn": arn or backup.arn, **_describe_common(backup, status or backup.details["status"])}


def summarize_backup(backup: Backup) -> Wire:
    """Return the BackupSummary."""
    definition = backup.definition
    source = {"TableName": definition["TableName"], "TableId": definition["TableId"], "TableArn": definition["arn"]}
    return {**source, "BackupArn": backup.arn, **_describe_common(backup, backup.details["status"])}


def _describe_common(backup: Backup, status: str) -> Wire:
    expires = backup.details["expires"]
    return {
        "BackupName": backup.name,
        "BackupSizeBytes": backup.details["bytes"],
        "BackupStatus": status,
        "BackupType": backup.details["type"],
        "BackupCreationDateTime": backup.created / 1000,
        **({"BackupExpiryDateTime": expires / 1000} if expires is not None else {}),
    }


def describe_fully(backup: Backup, status: str | None = None, arn: str | None = None) -> Wire:
    """Return the BackupDescription; system backups keep quiet about the features of their table."""
    return {
        "BackupDetails": describe_details(backup, status, arn),
        "SourceTableDetails": _describe_source(backup),
        "SourceTableFeatureDetails": {} if backup.is_system else _describe_features(backup.definition),
    }


def _describe_source(backup: Backup) -> Wire:
    definition = backup.definition
    caps = definition.get("OnDemandThroughput")
    return {
        "TableName": definition["TableName"],
        "TableId": definition["TableId"],
        "TableArn": definition["arn"],
        "TableSizeBytes": backup.details["bytes"],
        "KeySchema": definition["KeySchema"],
        "TableCreationDateTime": definition["created"] / 1000,
        "ProvisionedThroughput": _describe_units(definition),
        **({"OnDemandThroughput": caps} if caps else {}),
        "ItemCount": backup.details["items"],
        "BillingMode": definition["BillingMode"],
    }


def _describe_units(owner: Wire) -> Wire:
    return {unit: owner["ProvisionedThroughput"][unit] for unit in UNITS}


def _describe_features(definition: Wire) -> Wire:
    streams = definition.get("streams") or [{"end": 0}]
    view = streams[-1]["view"] if streams[-1].get("end") is None else None
    attribute = (definition.get("ttl") or {}).get("attribute")
    features = {
        "LocalSecondaryIndexes": [_describe_index(index) for index in definition.get("LocalSecondaryIndexes") or ()],
        "GlobalSecondaryIndexes": [
            _describe_index(index) | {"ProvisionedThroughput": _describe_units(index)}
            for index in definition.get("GlobalSecondaryIndexes") or ()
        ],
        "StreamDescription": view and {"StreamEnabled": True, "StreamViewType": view},
        "TimeToLiveDescription": attribute and {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute},
        "SSEDescription": describe_encryption(definition.get("SSESpecification")),
    }
    return {member: feature for member, feature in features.items() if feature}


def _describe_index(index: Wire) -> Wire:
    return {member: index[member] for member in ("IndexName", "KeySchema", "Projection")}
