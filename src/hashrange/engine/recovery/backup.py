"""A backup: what is stored of it, and how it is described."""

from __future__ import annotations

from msgspec import Struct
from msgspec.json import Decoder, Encoder

from hashrange.core.wire import Wire
from hashrange.engine.control_plane.encryption import describe_encryption
from hashrange.engine.control_plane.throughput import by_unit
from hashrange.engine.definition import Definition, GlobalIndexDefinition, IndexDefinition, to_wire

CREATING, AVAILABLE, DELETED = "CREATING", "AVAILABLE", "DELETED"
USER, SYSTEM = "USER", "SYSTEM"


class CopyLocation(Struct, frozen=True, omit_defaults=True):
    """Where a copy of rows is: in a file of the directory `backups`, or in a table inside the database."""

    file: str | None = None
    table: int | None = None


class BackupDetails(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"location": "place"}):
    """What is stored of a backup beside its ARN, name and time, as JSON."""

    type: str
    status: str
    definition: Definition  # of the table that it is of
    items: int
    bytes: int
    location: CopyLocation | None
    expires: int | None
    source: int | None = None  # while it is CREATING: the number of its table
    until: int | None = None  # ... and the sequence number of the first change that is not part of it


class Backup(Struct, frozen=True):
    """A backup."""

    arn: str
    name: str
    created: int
    details: BackupDetails

    @property
    def definition(self) -> Definition:
        """Return the definition of the table that it is of."""
        return self.details.definition

    @property
    def is_system(self) -> bool:
        """Whether the service made it."""
        return self.details.type == SYSTEM

    @property
    def file(self) -> str | None:
        """Return the file that its rows are in, if they are in one by now."""
        return self.details.location.file if self.details.location else None

    def has_expired(self, now: int) -> bool:
        """Return whether it has expired."""
        return self.details.expires is not None and self.details.expires <= now

    @property
    def identity(self) -> str:
        """Return the part of the ARN that is unique among the backups of a table, and sorts by their creation."""
        return self.arn.rpartition("/")[2]


load_details = Decoder(BackupDetails).decode
dump_details = Encoder().encode


def describe_details(backup: Backup, status: str | None = None, arn: str | None = None) -> Wire:
    """Return the BackupDetails, by the ARN that was asked for."""
    return {"BackupArn": arn or backup.arn, **_describe_common(backup, status or backup.details.status)}


def summarize_backup(backup: Backup) -> Wire:
    """Return the BackupSummary."""
    definition = backup.definition
    source = {"TableName": definition.name, "TableId": definition.table_id, "TableArn": definition.arn}
    return {**source, "BackupArn": backup.arn, **_describe_common(backup, backup.details.status)}


def _describe_common(backup: Backup, status: str) -> Wire:
    expires = backup.details.expires
    return {
        "BackupName": backup.name,
        "BackupSizeBytes": backup.details.bytes,
        "BackupStatus": status,
        "BackupType": backup.details.type,
        "BackupCreationDateTime": backup.created / 1000,
        **({"BackupExpiryDateTime": expires / 1000} if expires is not None else {}),
    }


def describe_fully(backup: Backup, status: str | None = None, arn: str | None = None) -> Wire:
    """Return the BackupDescription; that of a system backup does not list the features of its table."""
    return {
        "BackupDetails": describe_details(backup, status, arn),
        "SourceTableDetails": _describe_source(backup),
        "SourceTableFeatureDetails": {} if backup.is_system else _describe_features(backup.definition),
    }


def _describe_source(backup: Backup) -> Wire:
    definition = backup.definition
    caps = to_wire(definition.on_demand)
    return {
        "TableName": definition.name,
        "TableId": definition.table_id,
        "TableArn": definition.arn,
        "TableSizeBytes": backup.details.bytes,
        "KeySchema": to_wire(definition.key_schema),
        "TableCreationDateTime": definition.created / 1000,
        "ProvisionedThroughput": dict(by_unit(definition.provisioned)),
        **({"OnDemandThroughput": caps} if caps else {}),
        "ItemCount": backup.details.items,
        "BillingMode": definition.billing_mode,
    }


def _describe_features(definition: Definition) -> Wire:
    stream, ttl = definition.stream, definition.ttl
    features = {
        "LocalSecondaryIndexes": [_describe_index(index) for index in definition.local_indexes],
        "GlobalSecondaryIndexes": [_describe_global_index(index) for index in definition.global_indexes],
        "StreamDescription": stream and {"StreamEnabled": True, "StreamViewType": stream.view},
        "TimeToLiveDescription": ttl and {"TimeToLiveStatus": "ENABLED", "AttributeName": ttl.attribute},
        "SSEDescription": describe_encryption(definition.encryption),
    }
    return {member: feature for member, feature in features.items() if feature}


def _describe_index(index: IndexDefinition) -> Wire:
    return {
        "IndexName": index.name,
        "KeySchema": to_wire(index.key_schema),
        "Projection": to_wire(index.projection),
    }


def _describe_global_index(index: GlobalIndexDefinition) -> Wire:
    return _describe_index(index) | {"ProvisionedThroughput": dict(by_unit(index.provisioned))}
