"""How each operation words the member constraints that a request breaks, and which of them it reports together.

The older layer lists up to ten breaches, echoing each value. The current one words some members its own way; both
are met in one region, operation by operation.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import orjson

from hashrange.core.errors import ValidationException
from hashrange.core.wire import Wire
from hashrange.engine.shape.constraint import ConstraintKind, ConstraintViolation, find_violations
from hashrange.engine.shape.java_text import quote_value
from hashrange.engine.shape.model import StructureShape

LISTED = 10

# Members whose breaches are reported before any other member is looked at.
FIRST: dict[str, frozenset[str]] = {
    "BatchWriteItem": frozenset({"ReturnConsumedCapacity", "ReturnItemCollectionMetrics"}),
    "CreateTable": frozenset({"TableName"}),
    "DeleteItem": frozenset({"TableName"}),
    "PutItem": frozenset({"TableName"}),
    "TransactWriteItems": frozenset({"ClientRequestToken", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics"}),
    "UpdateItem": frozenset({"TableName"}),
}

# The current layer of the single-item writes; the missing letter in UPDATE_NEW is the service's.
CURRENT_ENUMS = {
    "ConditionalOperator": "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]",
    "ReturnItemCollectionMetrics": "ReturnItemCollectionMetrics can only be SIZE or NONE",
    "ReturnValues": "Failed to satisfy constraint: "
    "Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]",
}


def check_constraints(operation: str, shape: StructureShape, request: Wire) -> None:
    """Raise the operation's ValidationException if a converted request breaks a constraint."""
    first = FIRST.get(operation, frozenset())
    if operation == "UpdateItem" and "Key" not in request:
        first = frozenset()
    word = WORDINGS.get(operation, _word_each)
    for stage in (first, shape.members.keys() - first):
        members = [member for member in shape.members if member in stage]
        breaches = list(islice(find_violations(shape, request, members), LISTED))
        if breaches:
            raise ValidationException(_envelop(word(breaches)))


def _envelop(texts: list[str]) -> str:
    plural = "" if len(texts) == 1 else "s"
    return f"{len(texts)} validation error{plural} detected: {'; '.join(texts)}"


def _word_each(breaches: list[ConstraintViolation]) -> list[str]:
    return [_word_older(breach) for breach in breaches]


def _word_older(breach: ConstraintViolation) -> str:
    return _place(f"Value {quote_value(breach.shape, breach.found)} at '{breach.path.lower}'", breach)


def _word_current(breach: ConstraintViolation) -> str:
    """Word a breach without its value, the member spelt as in the model."""
    return _place(f"Value at '{breach.path.upper}'", breach)


def _place(where: str, breach: ConstraintViolation) -> str:
    return f"{where} failed to satisfy constraint: {breach.rule.text}"


def _word_put(breaches: list[ConstraintViolation]) -> list[str]:
    """Word the breaches of PutItem, which tells an empty table name without showing it."""
    if breaches[0].path.upper == "TableName" and breaches[0].found == "":
        return [_word_current(breaches[0])]
    return _word_write(breaches)


def _word_write(breaches: list[ConstraintViolation]) -> list[str]:
    """Word the breaches of a single-item write; without a required member they are told in the older form."""
    if any(breach.rule.kind is ConstraintKind.NULL for breach in breaches):
        return _word_each(breaches)
    return [CURRENT_ENUMS.get(breach.path.upper) or _word_older(breach) for breach in breaches]


def _word_update(breaches: list[ConstraintViolation]) -> list[str]:
    """Word the breaches of UpdateItem, which stops at the first, ReturnValues before all others."""
    if any(breach.rule.kind is ConstraintKind.NULL for breach in breaches):
        return _word_each(breaches)
    return _word_write([min(breaches, key=lambda breach: breach.path.upper != "ReturnValues")])


def _word_query(breaches: list[ConstraintViolation]) -> list[str]:
    return [_word_current(each) if each.path.upper == "Limit" else _word_older(each) for each in breaches]


def _word_batch_get(breaches: list[ConstraintViolation]) -> list[str]:
    return [_word_batch_get_member(breach) for breach in breaches]


def _word_batch_get_member(breach: ConstraintViolation) -> str:
    if breach.rule.kind is ConstraintKind.RANGE and breach.path.upper.startswith("RequestItems"):
        return _word_current(breach)
    if breach.path.upper == "RequestItems" and breach.found is not None:
        return _place(f"Value '{orjson.dumps(breach.found).decode()}' at 'requestItems'", breach)
    return _word_older(breach)


def _word_batch_write(breaches: list[ConstraintViolation]) -> list[str]:
    if breaches[0].found == {} and breaches[0].path.upper == "RequestItems":
        raise ValidationException("The requestItems parameter is required for BatchWriteItem")
    return _word_each(breaches)


def _word_create_table(breaches: list[ConstraintViolation]) -> list[str]:
    if breaches[0].path.upper == "TableName" and breaches[0].found is None:
        raise ValidationException("The parameter 'TableName' is required but was not present in the request")
    return _word_each(breaches)


def _word_transaction(breaches: list[ConstraintViolation]) -> list[str]:
    """Word the breaches of a transaction; when it has none or too many actions, they are not looked at."""
    return _word_each(breaches[:1] if breaches[0].path.upper == "TransactItems" else breaches)


def _word_length_apart(member: str, shown: str) -> Callable[[list[ConstraintViolation]], list[str]]:
    """Return the wording of the operations that still tell a name's length in a sentence of its own."""

    def word(breaches: list[ConstraintViolation]) -> list[str]:
        if any(breach.path.upper == member and breach.rule.kind is ConstraintKind.RANGE for breach in breaches):
            raise ValidationException(f"{shown} must be at least 3 characters long and at most 255 characters long")
        return _word_each(breaches)

    return word


WORDINGS: dict[str, Callable[[list[ConstraintViolation]], list[str]]] = {
    "BatchGetItem": _word_batch_get,
    "BatchWriteItem": _word_batch_write,
    "CreateGlobalTable": _word_length_apart("GlobalTableName", "TableName"),
    "CreateTable": _word_create_table,
    "DeleteItem": _word_write,
    "DescribeContributorInsights": _word_length_apart("IndexName", "IndexName"),
    "DescribeGlobalTable": _word_length_apart("GlobalTableName", "TableName"),
    "DescribeGlobalTableSettings": _word_length_apart("GlobalTableName", "TableName"),
    "ListGlobalTables": _word_length_apart("ExclusiveStartGlobalTableName", "TableName"),
    "PutItem": _word_put,
    "Query": _word_query,
    "RestoreTableFromBackup": _word_length_apart("TargetTableName", "TableName"),
    "TransactGetItems": _word_transaction,
    "TransactWriteItems": _word_transaction,
    "UpdateContributorInsights": _word_length_apart("IndexName", "IndexName"),
    "UpdateGlobalTable": _word_length_apart("GlobalTableName", "TableName"),
    "UpdateGlobalTableSettings": _word_length_apart("GlobalTableName", "TableName"),
    "UpdateItem": _word_update,
}
