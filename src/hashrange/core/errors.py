"""Every error of hashrange, and how DynamoDB's own are put on the wire.

HashrangeError
├── DeclarationError            the developer's mistake, raised when declared; docs explain its code
├── ValueInvalid                a value that cannot be stored as it is declared
├── Unreadable                  a stored item that does not fit its declaration
│   └── WrittenUnreadable       the same in the response of a write, which has happened
├── Conflict                    what is stored is not what the operation starts from; carries what is there now
│   ├── Missing                 nothing is there; it is a NotFound too
│   └── Taken                   something is there already
├── NotFound                    nothing is stored under the key that a read requires, or a write
├── ServiceError                an error response of DynamoDB: wire type, status, retryable
│   ├── ValidationException     (RequestInvalid: the families that single-item writes wrap in an envelope)
│   ├── SerializationException, UnknownOperationException, authentication errors ...
│   └── one class per modelled exception
├── TransportError              no response was received
├── StorageError                the data directory or its file
│   ├── DirectoryInUse, NewerFormat, ReadOnlyDirectory, DiskFull, TooManyFiles, CorruptFile (LogIncomplete), FileLost,
│   │   ForkedProcess
├── SealError                   a secret field that cannot be sealed or opened
│   ├── UnknownKey, Tampered, UnsafeKeyFile, KeyRefused
├── CursorInvalid               a page cursor that does not continue this list
├── HandlerFailed               a function that handles changes failed in every attempt
├── StreamTrimmed               changes that a consumer has not read may no longer be in the stream
└── PlanError                   a change to live tables that may not be applied

Errors are named by cause. Operations raise them; `body()` is the only place that knows the wire form.
"""

from __future__ import annotations

from typing import Any, ClassVar

import orjson
from msgspec import Struct

from hashrange.core.wire import Wire

NOT_SERVED = "hashrange does not serve the operation {}"
CORAL = "com.amazon.coral.service"
AVAILABILITY = "com.amazon.coral.availability"
DYNAMO = "com.amazonaws.dynamodb.v20120810"
ENVELOPE = "1 validation error detected: "


class HashrangeError(Exception):
    """The root of every error that hashrange raises on purpose."""


class DeclarationError(HashrangeError, TypeError):
    """A declaration that cannot work: where it is, what is wrong, and how to correct it."""

    def __init__(self, code: str, location: str, problem: str, remedy: str) -> None:
        super().__init__(f"{code} {location}: {problem}; {remedy}")
        self.code, self.location, self.problem, self.remedy = code, location, problem, remedy


class ValueInvalid(HashrangeError, ValueError):
    """A value that cannot be stored as it is declared."""


class Unreadable(HashrangeError):
    """A stored item that has the key of its declaration and not its attributes; `raw` is the item as it is stored."""

    def __init__(self, message: str, raw: Any = None) -> None:
        super().__init__(message)
        self.raw = raw


class WrittenUnreadable(Unreadable):
    """A write that has happened, and whose item cannot be read; `raw` is the item as the response has it."""


class MemberFailure(Struct, frozen=True):
    """An entry of a transaction that failed: which of its writes, and the error of that write alone."""

    position: int
    write: object  # as it was passed to transact()
    error: HashrangeError


class Conflict(HashrangeError):
    """What is stored is not in the state that the operation starts from."""

    failures: tuple[MemberFailure, ...] = ()  # of a transaction: every member that failed

    def __init__(self, message: str, current: Any = None) -> None:
        super().__init__(message)
        self.current = current


class NotFound(HashrangeError):
    """Nothing is stored under the key. It is not a Conflict: a read does not compete with other writers."""


class Missing(Conflict, NotFound):
    """Nothing is stored under the key of a write that needs an item."""


class Taken(Conflict):
    """Something is stored under the key already."""


class TransportError(HashrangeError):
    """The endpoint gave no valid response; `client.errors` has a subclass for each cause."""

    retryable: ClassVar[bool] = False  # another attempt may succeed


class HandlerFailed(HashrangeError):
    """A function that handles changes failed in every attempt; `change` is the change, `__cause__` its last error."""

    def __init__(self, message: str, change: Any = None) -> None:
        super().__init__(message)
        self.change = change


class StreamTrimmed(HashrangeError):
    """A consumer has not read a shard for a day: changes after `sequence` may no longer be in the stream."""

    def __init__(self, message: str, shard: str = "", sequence: str = "") -> None:
        super().__init__(message)
        self.shard, self.sequence = shard, sequence


class PlanError(HashrangeError):
    """A change to live tables that may not be applied."""


NOTHING_WRITTEN = "Nothing was written"  # by the request that failed; long work consists of many


class StorageError(HashrangeError):
    """The data directory, or the file in it, cannot be used."""


class DirectoryInUse(StorageError):
    """Another process owns the data directory."""


class NewerFormat(StorageError):
    """The data was written by a newer hashrange."""


class ReadOnlyDirectory(StorageError):
    """The data directory cannot be written to."""


class DiskFull(StorageError):
    """There is no room left for what was asked to be written."""


class TooManyFiles(StorageError):
    """The process may not open any further file."""


class CorruptFile(StorageError):
    """The file is not a database, or is damaged."""


class LogIncomplete(CorruptFile):
    """The write-ahead log ends before the last acknowledged write."""


class FileLost(StorageError):
    """A file of the open database was removed, replaced or cut off."""


class ForkedProcess(StorageError):
    """The database was opened by the process that this one was forked from."""


class SealError(HashrangeError):
    """A secret field cannot be sealed or opened."""


class UnknownKey(SealError):
    """The value was sealed with a key that the keyring does not have."""


class Tampered(SealError):
    """The sealed value was changed, or moved to another item, attribute or table."""


class UnsafeKeyFile(SealError):
    """The key file is open to others, is damaged, or cannot be used."""


class KeyRefused(SealError):
    """The key service does not let the key be used."""


class CursorInvalid(HashrangeError):
    """A page cursor that does not continue this list; the text says why."""


class ServiceError(HashrangeError):
    """An error response of DynamoDB: its wire type, HTTP status, and text."""

    namespace: ClassVar[str] = DYNAMO
    text_member: ClassVar[str] = "message"
    status: ClassVar[int] = 400
    retryable: ClassVar[bool] = False
    depends_on_items: ClassVar[bool] = False  # on what is stored: DynamoDB checks throughput before it
    name: ClassVar[str] = "ServiceError"

    def __init_subclass__(cls, *, wire_name: str = "") -> None:
        super().__init_subclass__()
        cls.name = wire_name or cls.__name__

    def __init__(self, message: str | None = None, **members: Any) -> None:
        super().__init__(message or self.name)
        self.message = message
        self.members = members

    def body(self) -> bytes:
        """Return the JSON that goes on the wire."""
        wire: Wire = {"__type": f"{self.namespace}#{self.name}"}
        if self.message is not None:
            wire[self.text_member] = self.message
        wire.update(self.members)
        return orjson.dumps(wire)


class ValidationException(ServiceError):
    """A request that DynamoDB refuses; the text is sent unchanged."""

    namespace = "com.amazon.coral.validate"


class RequestInvalid(ValidationException, wire_name="ValidationException"):
    """A refusal that PutItem, UpdateItem and DeleteItem wrap in `1 validation error detected: `."""

    def enveloped(self) -> ValidationException:
        """Return the same refusal as the single-item writes word it."""
        return ValidationException(f"{ENVELOPE}{self.message}", **self.members)


class SerializationException(ServiceError):
    """JSON of the wrong form or type."""

    namespace = CORAL
    text_member = "Message"


class UnknownOperationException(ServiceError):
    """An operation that is not served."""

    namespace = CORAL


class MissingAuthenticationTokenException(ServiceError):
    namespace = CORAL


class IncompleteSignatureException(ServiceError):
    namespace = CORAL


class InvalidSignatureException(ServiceError):
    namespace = CORAL


class UnrecognizedClientException(ServiceError):
    namespace = CORAL


class AccessDeniedException(ServiceError):
    namespace = CORAL
    text_member = "Message"


class InternalServerError(ServiceError):
    """Something of ours failed; the client may retry."""

    status = 500
    retryable = True


class ConditionalCheckFailedException(ServiceError):
    depends_on_items = True

    def __init__(self, message: str = "The conditional request failed", **members: Any) -> None:
        super().__init__(message, **members)


class TransactionCanceledException(ServiceError):
    failures: tuple[MemberFailure, ...] = ()  # every member that failed, as `transact()` adds them
    text_member = "Message"
    depends_on_items = True

    def __init__(self, reasons: list[Wire]) -> None:
        codes = ", ".join(reason["Code"] for reason in reasons)
        text = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
        super().__init__(text, CancellationReasons=reasons)


class ResourceNotFoundException(ServiceError):
    def __init__(self, message: str = "Requested resource not found") -> None:
        super().__init__(message)


class BackupInUseException(ServiceError): ...


class BackupNotFoundException(ServiceError): ...


class ContinuousBackupsUnavailableException(ServiceError): ...


class DuplicateItemException(ServiceError):
    depends_on_items = True


class ExpiredIteratorException(ServiceError): ...


class GlobalTableNotFoundException(ServiceError): ...


class IdempotentParameterMismatchException(ServiceError): ...


class IndexNotFoundException(ServiceError): ...


class InvalidRestoreTimeException(ServiceError): ...


class ItemCollectionSizeLimitExceededException(ServiceError): ...


class LimitExceededException(ServiceError): ...


class PointInTimeRecoveryUnavailableException(ServiceError): ...


class PolicyNotFoundException(ServiceError): ...


class ProvisionedThroughputExceededException(ServiceError):
    retryable = True


class RequestLimitExceeded(ServiceError):
    retryable = True


class ResourceInUseException(ServiceError): ...


class TableAlreadyExistsException(ServiceError): ...


class TableInUseException(ServiceError): ...


class TableNotFoundException(ServiceError): ...


class ThrottlingException(ServiceError):
    namespace = AVAILABILITY
    retryable = True


class TransactionConflictException(ServiceError):
    retryable = True


class TransactionInProgressException(ServiceError):
    text_member = "Message"


class TrimmedDataAccessException(ServiceError): ...
