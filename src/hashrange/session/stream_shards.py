"""The shards of a table's streams in the order in which they are read, and how far a consumer has read each.

A checkpoint is one item of the table that the consumer names: partition key = the consumer, sort key = the shard.
It is written with a condition and with a token of the consumer that writes it: of two consumers that handle the same
records under one name, the second to write gets a Conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from secrets import token_hex

from msgspec import Struct, field
from msgspec.structs import replace

from hashrange.core.errors import ConditionalCheckFailedException, Conflict
from hashrange.core.wire import Wire
from hashrange.schema.declare.table import Table
from hashrange.session.session import Session
from hashrange.session.steps import Call, Steps


class Shard(Struct, frozen=True):
    """One shard of a stream, and the shards that must be read to their ends before it."""

    arn: str
    id: str
    after: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The name of the shard in checkpoints: table, stream label and shard."""
        return _name_shard(self.arn, self.id)


class Checkpoint(Struct, frozen=True):
    """How far a consumer has read a shard."""

    shard: str
    sequence: str = ""  # of the last handled record; empty before the first
    read_until: float = 0.0  # every change before this time was handled
    is_finished: bool = False  # the shard has ended and was read to its end


def _name_shard(arn: str, shard: str) -> str:
    table, _, label = arn.partition(":table/")[2].partition("/stream/")
    return f"{table}/{label}/{shard}"


# ── shards ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def find_shards(session: Session, table: Table) -> Steps[list[Shard]]:
    """Return the shards of every stream of a table that can still be read, those of older streams first."""
    found: list[Shard] = []
    older: frozenset[str] = frozenset()
    arns = yield from _list_streams(session.name_of(table))
    for arn in sorted(arns, key=lambda arn: arn.rpartition("/stream/")[2]):
        described = yield from _describe_shards(arn)
        shards = [_make_shard(arn, shard, described, older) for shard in described]
        found += shards
        older |= {shard.name for shard in shards}
    return found


def _make_shard(arn: str, shard: Wire, described: list[Wire], older: frozenset[str]) -> Shard:
    """Return a shard that is read after its parent; the first shards of a stream after the older streams."""
    parent = shard.get("ParentShardId")
    is_known = any(other["ShardId"] == parent for other in described)
    return Shard(arn, shard["ShardId"], frozenset({_name_shard(arn, parent)}) if parent and is_known else older)


def _list_streams(name: str) -> Steps[list[str]]:
    request, found = {"TableName": name}, list[str]()
    while True:
        response = yield Call("ListStreams", request)
        found += [stream["StreamArn"] for stream in response["Streams"]]
        last = response.get("LastEvaluatedStreamArn")
        if last is None:
            return found
        request = {**request, "ExclusiveStartStreamArn": last}


def _describe_shards(arn: str) -> Steps[list[Wire]]:
    request, found = {"StreamArn": arn}, list[Wire]()
    while True:
        description = (yield Call("DescribeStream", request))["StreamDescription"]
        found += description["Shards"]
        last = description.get("LastEvaluatedShardId")
        if last is None:
            return found
        request = {**request, "ExclusiveStartShardId": last}


def is_ready(shard: Shard, checkpoints: dict[str, Checkpoint]) -> bool:
    """Return whether a shard has unread records, and every shard before it is finished."""
    if (own := checkpoints.get(shard.name)) is not None and own.is_finished:
        return False
    return all((known := checkpoints.get(name)) is not None and known.is_finished for name in shard.after)


# ── checkpoints ──────────────────────────────────────────────────────────────────────────────────────────────────────
class CheckpointStore(Struct, frozen=True):
    """The checkpoints of one consumer, in a declared table."""

    session: Session
    table: Table
    consumer: str
    token: str = field(default_factory=lambda: token_hex(8))  # of this consumer alone: two may have the same name

    def load(self, prefix: str) -> Steps[dict[str, Checkpoint]]:
        """Return the checkpoints of the shards whose names start with a prefix."""
        items = yield from self.query(prefix)
        return {found.shard: found for found in map(self._read, items)}

    def query(self, prefix: str) -> Steps[list[Wire]]:
        """Return the items of the consumer whose sort keys start with a prefix."""
        request: Wire = {
            "TableName": self.session.name_of(self.table),
            "KeyConditionExpression": "#p = :p AND begins_with(#s, :s)",
            "ExpressionAttributeNames": {"#p": self.table.pk, "#s": self.table.sk},
            "ExpressionAttributeValues": {":p": {"S": self.consumer}, ":s": {"S": prefix}},
            "ConsistentRead": True,
        }
        found: list[Wire] = []
        while True:
            response = yield Call("Query", request, self.consumer)
            found += response["Items"]
            if "LastEvaluatedKey" not in response:
                return found
            request = {**request, "ExclusiveStartKey": response["LastEvaluatedKey"]}

    def save(self, new: Checkpoint, old: Checkpoint | None) -> Steps[None]:
        """Store a checkpoint in place of the one that was loaded; raise Conflict if it is no longer stored."""
        request = {
            "TableName": self.session.name_of(self.table),
            "Item": {
                **self.key(new.shard),
                **({"sequence": {"S": new.sequence}} if new.sequence else {}),
                "read_until": {"N": f"{new.read_until:.3f}"},
                "finished": {"BOOL": new.is_finished},
                "saved_by": {"S": self.token},
            },
            **self._unchanged(new, old),
        }
        try:
            yield Call("PutItem", request, self.consumer)
        except ConditionalCheckFailedException:
            raise Conflict(
                f"another process reads {new.shard} as {self.consumer!r}: run one, or give each its own name"
            ) from None

    def _unchanged(self, new: Checkpoint, old: Checkpoint | None) -> Wire:
        """Return the condition that the stored checkpoint is the old one, or the new one if this consumer stored it.

        The latter holds in a second attempt, after the response of the first was lost. Before the first record there is
        no sequence number. Older versions stored an empty one, whose size is 0; an old DynamoDB Local refuses it, also
        as a value in a condition.
        """
        conditions, names, values = [], {"#q": "sequence"}, Wire()
        if old is None:
            conditions.append("attribute_not_exists(#p)")
        elif old.sequence:
            conditions.append("#q = :old")
            values[":old"] = {"S": old.sequence}
        if not new.sequence or (old is not None and not old.sequence):
            conditions += ["(attribute_exists(#p) AND attribute_not_exists(#q))", "size(#q) = :zero"]
            values[":zero"] = {"N": "0"}
        if new.sequence and (old is None or old.sequence != new.sequence):
            conditions.append("(#q = :new AND #by = :by)")
            names["#by"] = "saved_by"
            values |= {":new": {"S": new.sequence}, ":by": {"S": self.token}}
        if old is None or not old.sequence:
            names["#p"] = self.table.pk
        return {
            "ConditionExpression": " OR ".join(conditions),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }

    def put(self, sort_key: str, attributes: Wire) -> Steps[None]:
        """Store an item of the consumer."""
        item = {**self.key(sort_key), **attributes}
        yield Call("PutItem", {"TableName": self.session.name_of(self.table), "Item": item}, self.consumer)

    def delete(self, sort_keys: Iterable[str]) -> Steps[None]:
        """Delete items of the consumer."""
        name = self.session.name_of(self.table)
        for sort_key in sort_keys:
            yield Call("DeleteItem", {"TableName": name, "Key": self.key(sort_key)}, self.consumer)

    def key(self, sort_key: str) -> Wire:
        """Return the key of an item of the consumer."""
        return {self.table.pk: {"S": self.consumer}, str(self.table.sk): {"S": sort_key}}

    def _read(self, item: Wire) -> Checkpoint:
        return Checkpoint(
            shard=item[str(self.table.sk)]["S"],
            sequence=item["sequence"]["S"] if "sequence" in item else "",
            read_until=float(item["read_until"]["N"]),
            is_finished=item["finished"]["BOOL"],
        )


def advance(
    old: Checkpoint | None, shard: str, *, records: list[Wire], now: float, is_finished: bool = False
) -> Checkpoint:
    """Return the checkpoint after a page of handled records; an empty page has reached the present."""
    base = old or Checkpoint(shard)
    if not records:
        return replace(base, read_until=now, is_finished=is_finished)
    last = records[-1]["dynamodb"]
    at = float(last.get("ApproximateCreationDateTime", now))
    return replace(base, sequence=last["SequenceNumber"], read_until=at, is_finished=is_finished)


def unlisted(checkpoints: dict[str, Checkpoint], shards: list[Shard]) -> Iterator[Checkpoint]:
    """Yield the checkpoints of shards that no longer exist."""
    known = {shard.name for shard in shards}
    yield from (found for found in checkpoints.values() if found.shard not in known)
