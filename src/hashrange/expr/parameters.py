"""Which expression parameters each operation has, and how it treats them."""

from __future__ import annotations

from dataclasses import dataclass

from hashrange.core.values import ErrorWording

NAMES = "ExpressionAttributeNames"
VALUES = "ExpressionAttributeValues"


@dataclass(frozen=True, slots=True)
class ExpressionParameters:
    """An operation's expression parameters, in the order in which its error about mixed parameters lists them."""

    name: str
    expressions: tuple[str, ...]
    legacy: tuple[str, ...] = ()
    wording: ErrorWording = ErrorWording.CURRENT
    takes_values: bool = True
    """Whether it has ExpressionAttributeValues; if not, they are ignored like any unknown member."""
    members: frozenset[str] = frozenset()
    """The members of a request that need reading; a request with none of them has no expressions."""
    legacy_members: frozenset[str] = frozenset()
    requires_key_condition: bool = False
    checks_emptiness_first: bool = False
    """Whether it looks for an empty text in all expressions before it parses the first."""
    reads_attributes_first: bool = False
    """Whether it reads AttributesToGet before the legacy conditions."""


def _make_parameters(
    name: str,
    expressions: tuple[str, ...],
    legacy: tuple[str, ...] = (),
    *,
    wording: ErrorWording = ErrorWording.CURRENT,
    takes_values: bool = True,
    lone_maps: bool = False,
    **rules: bool,
) -> ExpressionParameters:
    """Make the parameters; `lone_maps` means that names and values without an expression are ignored."""
    maps = (NAMES, VALUES) if takes_values else (NAMES,)
    return ExpressionParameters(
        name,
        expressions,
        legacy,
        wording,
        takes_values,
        members=frozenset((*expressions, *legacy, *(() if lone_maps else maps))),
        legacy_members=frozenset(legacy),
        **rules,
    )


_CONDITION = ("ConditionExpression",)
_UPDATE = ("UpdateExpression", "ConditionExpression")
_PROJECTION = ("ProjectionExpression",)
_EXPECTED = ("Expected", "ConditionalOperator")

PUT = _make_parameters("PutItem", _CONDITION, _EXPECTED)
DELETE = _make_parameters("DeleteItem", _CONDITION, _EXPECTED)
UPDATE = _make_parameters("UpdateItem", _UPDATE, ("AttributeUpdates", *_EXPECTED), checks_emptiness_first=True)
GET = _make_parameters("GetItem", _PROJECTION, ("AttributesToGet",), takes_values=False)
BATCH_GET = _make_parameters("BatchGetItem", _PROJECTION, ("AttributesToGet",), takes_values=False)
QUERY = _make_parameters(
    "Query",
    ("ProjectionExpression", "FilterExpression", "KeyConditionExpression"),
    ("AttributesToGet", "QueryFilter", "ConditionalOperator", "KeyConditions"),
    requires_key_condition=True,
)
SCAN = _make_parameters(
    "Scan",
    ("ProjectionExpression", "FilterExpression"),
    ("AttributesToGet", "ScanFilter", "ConditionalOperator"),
    wording=ErrorWording.OLDER,
    reads_attributes_first=True,
)
TRANSACT_PUT = _make_parameters("Put", _CONDITION, lone_maps=True)
TRANSACT_DELETE = _make_parameters("Delete", _CONDITION, lone_maps=True)
TRANSACT_UPDATE = _make_parameters("Update", _UPDATE, lone_maps=True)
TRANSACT_CHECK = _make_parameters("ConditionCheck", _CONDITION, lone_maps=True)
TRANSACT_GET = _make_parameters("Get", _PROJECTION, takes_values=False, lone_maps=True)
