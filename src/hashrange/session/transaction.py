"""Transactions: several writes, all or none, with what each of them left."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, TypeVar

from hashrange.core.errors import Conflict, TransactionCanceledException, ValueInvalid
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.session.batch import pauses
from hashrange.session.operation import Runnable, Task, Unsent
from hashrange.session.session import Session
from hashrange.session.work import Call, Work
from hashrange.session.writes import Write

T_co = TypeVar("T_co", covariant=True)

MOST_WRITES = 100
BUSY = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}


class Transaction(Unsent[T_co]):
    """All of several writes or none: what `db.transact(...)` gives."""

    def __init__(self, session: Session, writes: Sequence[Write[Any]]) -> None:
        self.session, self.writes = session, writes
        if not 0 < len(writes) <= MOST_WRITES:
            raise ValueInvalid(f"a transaction has 1 to {MOST_WRITES} writes, not {len(writes)}")
        for write in writes:
            write.used = True
        self.label = " + ".join(write.label for write in writes)

    def unread(self) -> Runnable[None]:
        """Do the writes without reading what they left, which costs and which somebody may have changed since."""
        self.used = True
        return Task(self.session, self._write())

    def work(self) -> Work[T_co]:
        """Return the steps: the writes, and a read of what they left where it does not follow from them."""
        yield from self._write()
        outcomes: Any = yield from self._outcomes()
        found: T_co = outcomes
        return found

    def _write(self) -> Work[None]:
        """Send one TransactWriteItems, again while others are busy with the same items."""
        self.used = True
        request = {
            "TransactItems": [self._part(write) for write in self.writes],
            "ClientRequestToken": secrets.token_hex(16),
        }
        waits = pauses()
        while True:
            try:
                yield Call("TransactWriteItems", request, self.label)
            except TransactionCanceledException as refusal:
                conflict = self._find_conflict(refusal)
                pause = next(waits, None)
                if conflict is not None or pause is None or not _is_busy(refusal):
                    raise (conflict or refusal) from refusal
                yield pause
                request["ClientRequestToken"] = secrets.token_hex(16)
            else:
                return

    @staticmethod
    def _part(write: Write[Any]) -> Wire:
        kind, members = write.part()
        if "ConditionExpression" in members:
            members["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return {kind: members}

    def _find_conflict(self, refusal: TransactionCanceledException) -> Conflict | None:
        for write, reason in zip(self.writes, refusal.members.get("CancellationReasons", ()), strict=False):
            if reason.get("Code") == "ConditionalCheckFailed":
                return write.refuse(reason.get("Item"))
        return None

    def _outcomes(self) -> Work[tuple[Any, ...]]:
        """Read what the transaction left, where it does not follow from what was written."""
        keys = [write.key() for write in self.writes]
        wanted = [
            {"Get": {"TableName": self.session.name_of(write.table), "Key": key}}
            for write, key in zip(self.writes, keys, strict=True)
            if key is not None
        ]
        found: list[Raw | None] = []
        if wanted:
            answer = yield Call("TransactGetItems", {"TransactItems": wanted}, self.label)
            found = [response.get("Item") for response in answer["Responses"]]
        raws = iter(found)
        return tuple(
            write.settle(None if key is None else next(raws)) for write, key in zip(self.writes, keys, strict=True)
        )


def _is_busy(refusal: TransactionCanceledException) -> bool:
    codes = {reason.get("Code") for reason in refusal.members.get("CancellationReasons", ())}
    return bool(codes & BUSY)
