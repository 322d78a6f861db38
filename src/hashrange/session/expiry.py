"""Conditions by which writes treat an item whose time to live has passed as absent, as reads do.

DynamoDB deletes expired items later, on AWS up to days later. A `create` replaces one, an Update and an Ensure do not
find it, an Upsert deletes it and starts anew. A Delete deletes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hashrange.core.errors import ConditionalCheckFailedException
from hashrange.core.values import Item as Raw
from hashrange.core.wire import Wire
from hashrange.schema.declare.introspection import ModelClass, can_expire
from hashrange.schema.declare.table import MILLIS_FROM
from hashrange.session.steps import Call, Steps

if TYPE_CHECKING:
    from hashrange.schema.declare.table import Table
    from hashrange.session.session import Session

MAX_ATTEMPTS = 3  # another program may write an item that has expired already


def hides_expired(session: Session, model: ModelClass) -> bool:
    """Return whether writes to the items of a class must look at their time to live."""
    return can_expire(model) and not session.shows_expired


def allow_expired(table: Table, request: Wire, millis: int) -> str:
    """Return the test that the stored item has expired at a time; add its names and values to a request."""
    values = {":x_now": {"N": str(millis // 1000)}}
    names = request.get("ExpressionAttributeNames", {})
    alias = next(name for name in ("#x_ttl", "#x_ttl_") if names.get(name, table.ttl) == table.ttl)
    test = f"{alias} <= :x_now"
    if table.former_ttl is not None:
        values |= {":x_from": {"N": str(MILLIS_FROM)}, ":x_millis": {"N": str(millis)}}
        test += f" OR {alias} BETWEEN :x_from AND :x_millis"
    request["ExpressionAttributeNames"] = {**names, alias: table.ttl}
    request["ExpressionAttributeValues"] = {**request.get("ExpressionAttributeValues", {}), **values}
    return test


def refuse_expired(table: Table, request: Wire, millis: int) -> None:
    """Add to a request the condition that the stored item has not expired."""
    own, test = request.get("ConditionExpression"), f"NOT ({allow_expired(table, request, millis)})"
    request["ConditionExpression"] = test if own is None else f"({own}) AND {test}"


def delete_expired(session: Session, table: Table, key: Raw, label: str) -> Steps[None]:
    """Delete an item if it has expired."""
    request: Wire = {"TableName": session.name_of(table), "Key": key}
    request["ConditionExpression"] = allow_expired(table, request, session.clock.millis())
    try:
        yield Call("DeleteItem", request, label)
    except ConditionalCheckFailedException:
        return  # it was written again meanwhile
