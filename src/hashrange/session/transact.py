"""Transactions: several writes, all or none. Says which entry failed and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Self

from typing_extensions import TypeVar

from hashrange.core.article import with_article
from hashrange.core.errors import (
    Conflict,
    HashrangeError,
    ItemCollectionSizeLimitExceededException,
    MemberFailure,
    ProvisionedThroughputExceededException,
    ServiceError,
    ThrottlingException,
    TransactionCanceledException,
    TransactionConflictException,
    ValidationException,
    ValueInvalid,
    WrittenUnreadable,
)
from hashrange.core.limits import MAX_TOKEN_LENGTH, MAX_TRANSACTION_ENTRIES
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.session.expiry import MAX_ATTEMPTS
from hashrange.session.runnable import Runnable
from hashrange.session.steps import Call, Steps, backoff
from hashrange.session.writes import PendingTask, PendingWrite, Upsert, Write

if TYPE_CHECKING:
    from hashrange.session.session import Session

T_co = TypeVar("T_co", covariant=True)

RETRYABLE_REASONS = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
ERRORS: dict[str, type[ServiceError]] = {  # by the code of a cancellation reason
    "ItemCollectionSizeLimitExceeded": ItemCollectionSizeLimitExceededException,
    "ProvisionedThroughputExceeded": ProvisionedThroughputExceededException,
    "ThrottlingError": ThrottlingException,
    "TransactionConflict": TransactionConflictException,
    "ValidationError": ValidationException,
}


class Transaction(PendingWrite[T_co]):
    """Several writes, all or none: what `db.transact(...)` returns."""

    def __init__(self, session: Session, writes: Sequence[Write[Any]], token: str | None = None) -> None:
        self.session, self.writes, self.token = session, writes, token
        if not 0 < len(writes) <= MAX_TRANSACTION_ENTRIES:
            raise ValueInvalid(f"a transaction has 1 to {MAX_TRANSACTION_ENTRIES} writes, not {len(writes)}")
        for write in chain.from_iterable(each if isinstance(each, list | tuple) else (each,) for each in writes):
            if isinstance(write, PendingWrite):
                write.used = True  # also of a transaction that is refused: one error says enough
        for write in writes:
            _check_write(session, write)
        self.label = " + ".join(write.label for write in writes)

    def with_token(self, token: str) -> Self:
        """Send this client request token: for ten minutes, the same writes with it happen once, from any process."""
        self.used = True
        if not 1 <= len(token) <= MAX_TOKEN_LENGTH:
            raise ValueInvalid(f"a client request token has 1 to {MAX_TOKEN_LENGTH} characters, not {len(token)}")
        return type(self)(self.session, self.writes, token)

    def unread(self) -> Runnable[None]:
        """Write without reading the results, which costs reads and may return a later change."""
        self.used = True
        return PendingTask(self.session, self._write, self.label)

    def steps(self) -> Steps[T_co]:
        """Return the steps: the writes, and a read of the results that do not follow from them."""
        yield from self._write()
        outcomes: Any = yield from self._read_results()
        found: T_co = outcomes
        return found

    def _write(self) -> Steps[None]:
        """Send one TransactWriteItems; retry while other transactions use the same items."""
        import secrets

        self.used = True
        request = {
            "TransactItems": [self._transact_item(write) for write in self.writes],
            "ClientRequestToken": self.token or secrets.token_hex(16),
        }
        delays, clearings = backoff(), islice(backoff(), MAX_ATTEMPTS - 1)
        while True:
            try:
                yield Call("TransactWriteItems", request, self.label)
            except TransactionCanceledException as error:
                expired = self._find_expired(error)
                failures = () if expired else tuple(self._find_failures(error))
                pause = next(clearings if expired else delays, None)
                is_final = not expired and (not is_retryable(error) or any(map(_is_conflict, failures)))
                if pause is None or is_final:
                    raise _choose_error(error, failures or tuple(self._find_failures(error))) from error
                yield from self._clear(expired)
                yield pause
                request["ClientRequestToken"] = self.token or secrets.token_hex(16)
            else:
                return

    @staticmethod
    def _transact_item(write: Write[Any]) -> Wire:
        action, members = write.transact_item()
        if "ConditionExpression" in members:
            members["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return {action: members}

    @staticmethod
    def _clear(upserts: list[Upsert[Any]]) -> Steps[None]:
        """Delete the expired items that upserts found, which then create them anew."""
        for write in upserts:
            yield from write.clear_expired()

    def _find_expired(self, error: TransactionCanceledException) -> list[Upsert[Any]]:
        """Return the upserts that found an expired item, if no other condition failed."""
        reasons = error.members.get("CancellationReasons", ())
        failed = [
            (write, reason.get("Item"))
            for write, reason in zip(self.writes, reasons, strict=False)
            if reason.get("Code") == "ConditionalCheckFailed"
        ]
        found = [write for write, raw in failed if isinstance(write, Upsert) and write.finds_expired(raw)]
        return found if len(found) == len(failed) else []

    def _find_failures(self, error: TransactionCanceledException) -> Iterator[MemberFailure]:
        """Yield each entry that failed, with its own error."""
        reasons = error.members.get("CancellationReasons", ())
        for position, (write, reason) in enumerate(zip(self.writes, reasons, strict=False)):
            code = reason.get("Code", "None")
            if code == "ConditionalCheckFailed":
                yield MemberFailure(position, write, write.conflict_with(reason.get("Item")))
            elif code != "None":
                yield MemberFailure(position, write, ERRORS.get(code, ServiceError)(reason.get("Message") or code))

    def _read_results(self) -> Steps[tuple[Any, ...]]:
        """Return the results; read the items whose result does not follow from the write."""
        keys = [write.key_to_read() for write in self.writes]
        wanted = [
            {"Get": {"TableName": self.session.name_of(write.table), "Key": key}}
            for write, key in zip(self.writes, keys, strict=True)
            if key is not None
        ]
        raws = iter((yield from self._read_written(wanted)) if wanted else ())
        return tuple(
            write.result(None if key is None else next(raws)) for write, key in zip(self.writes, keys, strict=True)
        )

    def _read_written(self, wanted: list[Wire]) -> Steps[list[Raw | None]]:
        """Return the items of a transaction that has happened; raise WrittenUnreadable if they cannot be read."""
        try:
            return (yield from read_at_one_moment(wanted, self.label))
        except ServiceError as error:
            raise WrittenUnreadable(f"{self.label}: written, but the results cannot be read: {error}") from error


def read_at_one_moment(wanted: list[Wire], label: str) -> Steps[list[Raw | None]]:
    """Return the items of one TransactGetItems; read again while a transaction writes one of them."""
    delays = backoff()
    while True:
        try:
            response = yield Call("TransactGetItems", {"TransactItems": wanted}, label)
        except TransactionCanceledException as error:
            pause = next(delays, None)
            if pause is None or not is_retryable(error):
                raise
            yield pause
        else:
            return [each.get("Item") for each in response["Responses"]]


def _is_conflict(failure: MemberFailure) -> bool:
    return isinstance(failure.error, Conflict)


def _choose_error(error: TransactionCanceledException, failures: tuple[MemberFailure, ...]) -> HashrangeError:
    """Return what a transaction raises: the first failed condition, else what DynamoDB answered."""
    first = next((found.error for found in failures if isinstance(found.error, Conflict)), None)
    if first is not None:
        first.failures = failures
        return first
    error.failures = failures
    return error


def describe_given(given: object) -> str:
    """Return the name of the pattern that made something, or what it is."""
    plan = getattr(given, "plan", None)
    if plan is not None:
        return str(plan.label)
    return with_article(type(given).__name__) if " at 0x" in repr(given) else repr(given)


def _check_write(session: Session, write: object) -> None:
    """Raise for what cannot be an entry of a transaction: a read, or a write to another database."""
    if isinstance(write, list | tuple | Iterator):
        raise ValueInvalid(
            f"a {type(write).__name__} is not a write: transact takes writes one by one, transact_all a list"
        )
    if not isinstance(write, Write):
        what = describe_given(write)
        raise ValueInvalid(
            f"{what} is not a write: a transaction takes the writes of patterns, put(...) and create(...)"
        )
    if write.session.transport is not session.transport:
        raise ValueInvalid(f"{write.label} writes to another database: a transaction has writes to one database")


def is_retryable(error: TransactionCanceledException) -> bool:
    """Return whether the same transaction may succeed later."""
    codes = {reason.get("Code") for reason in error.members.get("CancellationReasons", ())}
    return bool(codes & RETRYABLE_REASONS)
