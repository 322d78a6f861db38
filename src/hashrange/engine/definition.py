"""The definition of a table: its keys, indexes, throughput and settings, as typed values.

The catalog stores a definition as a JSON object (`load_definition`, `dump_definition`): DynamoDB's own member names for
what CreateTable says, lower-case names for what hashrange adds. Both are part of the on-disk format, so the Python
names below are mapped to them here and nowhere else. Times are milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field, to_builtins
from msgspec.json import Decoder, Encoder
from msgspec.structs import replace

from hashrange.core.wire import Wire

NO_COLUMN = -1  # of an index that the catalog has not given a column yet


def null() -> None:
    """Return None: the default of members that are stored even when they are null."""


class AttributeDefinition(Struct, frozen=True, rename={"name": "AttributeName", "type": "AttributeType"}):
    """A key attribute and its type: S, N or B."""

    name: str
    type: str


class KeyElement(Struct, frozen=True, rename={"name": "AttributeName", "type": "KeyType"}):
    """A key attribute and its role: HASH or RANGE."""

    name: str
    type: str


KeySchema: TypeAlias = tuple[KeyElement, ...]


class IndexProjection(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename={"type": "ProjectionType", "non_key_attributes": "NonKeyAttributes"},
):
    """The attributes that an index holds: ALL, KEYS_ONLY, or INCLUDE with a list."""

    type: str
    non_key_attributes: tuple[str, ...] | None = None


class ProvisionedThroughput(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename={"read": "ReadCapacityUnits", "write": "WriteCapacityUnits"},
):
    """Provisioned capacity units, and when they were last changed."""

    read: int
    write: int
    increased: int | None = None
    decreased: int | None = None
    decreases: int = 0  # on the day of the last decrease


class OnDemandThroughput(
    Struct, frozen=True, omit_defaults=True, rename={"read": "MaxReadRequestUnits", "write": "MaxWriteRequestUnits"}
):
    """The most request units of an on-demand table; None is no limit, -1 a limit that is being removed."""

    read: int | None = None
    write: int | None = None


class WarmThroughput(Struct, frozen=True, rename={"read": "ReadUnitsPerSecond", "write": "WriteUnitsPerSecond"}):
    """The throughput that is available at once."""

    read: int
    write: int


class Phase(Struct, frozen=True):
    """A state that lasts until a time, such as CREATING, and the members of the description that differ meanwhile."""

    status: str
    until: int
    shown: Wire


class IndexDefinition(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={"name": "IndexName", "key_schema": "KeySchema", "projection": "Projection", "column": "slot"},
):
    """A local secondary index."""

    name: str
    key_schema: KeySchema
    projection: IndexProjection
    column: int  # gN, which holds the key of an item in this index


class GlobalIndexDefinition(
    IndexDefinition,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={"provisioned": "ProvisionedThroughput", "on_demand": "OnDemandThroughput", "warm": "WarmThroughput"},
):
    """A global secondary index."""

    provisioned: ProvisionedThroughput
    on_demand: OnDemandThroughput | None = field(default_factory=null)
    warm: WarmThroughput
    backfill: bool = False  # items from before the index still have to be put into it
    phase: Phase | None = None


class Encryption(Struct, frozen=True, rename={"key_arn": "KMSMasterKeyId", "type": "SSEType", "is_enabled": "Enabled"}):
    """Server-side encryption with a key of the user's; the default encryption is None."""

    key_arn: str
    type: str = "KMS"
    is_enabled: bool = True


class Policy(Struct, frozen=True):
    """A resource policy; its entry stays, with its revision, when the policy is deleted."""

    document: str | None  # canonical text
    revision: str


class InsightsSetting(Struct, frozen=True):
    """Contributor insights of a table or an index."""

    mode: str
    enabled: bool
    since: int  # when its rules were made
    updated: int
    until: int  # when the last change is through


class TimeToLive(Struct, frozen=True):
    """The attribute that items expire by."""

    attribute: str


class StreamDefinition(Struct, frozen=True, omit_defaults=True):
    """A stream: a span of sequence numbers of the change log."""

    label: str
    view: str
    start: int
    created: int
    end: int | None = field(default_factory=null)  # None while it is enabled
    closed: int | None = None


class PointInTimeRecovery(Struct, frozen=True):
    """For how many days changes are kept, and since when."""

    days: int
    since: int


class RestoreState(Struct, frozen=True, omit_defaults=True):
    """What a table is being restored from: a backup, or another table at a time."""

    backup: str | None = None
    source: str | None = None
    moment: int | None = None
    until: int | None = None  # the sequence number of the first change after it


class Definition(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={
        "name": "TableName",
        "table_id": "TableId",
        "attributes": "AttributeDefinitions",
        "key_schema": "KeySchema",
        "billing_mode": "BillingMode",
        "is_protected": "DeletionProtectionEnabled",
        "provisioned": "ProvisionedThroughput",
        "on_demand": "OnDemandThroughput",
        "warm": "WarmThroughput",
        "table_class": "TableClass",
        "local_indexes": "LocalSecondaryIndexes",
        "global_indexes": "GlobalSecondaryIndexes",
        "encryption": "SSESpecification",
        "columns": "slots",
        "policies": "policy",
    },
):
    """A table."""

    name: str
    table_id: str
    arn: str
    created: int
    attributes: tuple[AttributeDefinition, ...]
    key_schema: KeySchema
    billing_mode: str
    is_protected: bool
    provisioned: ProvisionedThroughput
    on_demand: OnDemandThroughput | None = field(default_factory=null)
    warm: WarmThroughput
    on_demand_since: int | None = None
    table_class: str | None = None
    class_changed: int | None = None
    local_indexes: tuple[IndexDefinition, ...] = ()
    global_indexes: tuple[GlobalIndexDefinition, ...] = ()
    columns: int  # how many index columns the rows have
    clearing: tuple[int, ...] = ()  # columns of removed indexes that still have to be emptied
    encryption: Encryption | None = field(default_factory=null)
    tags: dict[str, str]
    policies: dict[str, Policy] = {}  # by the label of a stream; "" is the table's own
    insights: dict[str, InsightsSetting] = {}  # by the name of an index; "" is the table's own
    ttl: TimeToLive | None = None
    streams: tuple[StreamDefinition, ...] = ()
    pitr: PointInTimeRecovery | UnsetType | None = UNSET  # None: it was turned off, and the change log is still there
    copying: tuple[int, ...] = ()  # backups under way that need all changes from these sequence numbers on
    phase: Phase | None = None
    restoring: RestoreState | bool = False  # hidden: being restored or, when True, being filled by a bulk load

    @property
    def indexes(self) -> tuple[IndexDefinition, ...]:
        """Return all indexes, the local ones first."""
        return (*self.local_indexes, *self.global_indexes)

    @property
    def stream(self) -> StreamDefinition | None:
        """Return the stream that is enabled now."""
        return self.streams[-1] if self.streams and self.streams[-1].end is None else None

    @property
    def recovery(self) -> PointInTimeRecovery | None:
        """Return the point-in-time recovery that is enabled now."""
        return None if self.pitr is UNSET else self.pitr

    @property
    def has_log(self) -> bool:
        """Whether there is a change log, if only one that nothing is added to any more."""
        return bool(self.streams) or self.pitr is not UNSET

    def replace_global_index(self, changed: GlobalIndexDefinition) -> Definition:
        """Return the definition with another definition of one of its global indexes."""
        kept = tuple(changed if index.name == changed.name else index for index in self.global_indexes)
        return replace(self, global_indexes=kept)


def names_of(elements: Iterable[KeyElement | AttributeDefinition | IndexDefinition]) -> list[str]:
    """Return the names of key elements, attribute definitions or indexes."""
    return [element.name for element in elements]


load_definition = Decoder(Definition).decode
dump_definition = Encoder().encode


def to_wire(value: Any) -> Any:
    """Return a part of a definition as JSON has it, under DynamoDB's names."""
    return to_builtins(value)
