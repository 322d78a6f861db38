"""The response of a single-item write: attributes, consumed capacity, item-collection metrics, as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.engine.capacity import ConsumedCapacity, collection_metrics

if TYPE_CHECKING:
    from hashrange.engine.write import WriteResult


def build_replace_response(request: dict[str, Any], change: WriteResult) -> bytes:
    """Return the response of a put or a delete, which can show nothing but the item that was there."""
    shown = change.old if request.get("ReturnValues") == "ALL_OLD" else None
    return build_write_response(request, change, None if shown is None else shown.body)


def build_write_response(request: dict[str, Any], change: WriteResult, attributes: bytes | None) -> bytes:
    """Return the response; most writes request no values and get `{}`."""
    mode = request.get("ReturnConsumedCapacity", "NONE")
    sizes = request.get("ReturnItemCollectionMetrics") == "SIZE"
    if attributes is None and mode == "NONE" and not sizes:
        return b"{}"
    members: list[bytes] = []
    if attributes is not None:
        members.append(b'"Attributes":' + attributes)
    if mode != "NONE":
        cost = ConsumedCapacity(request["TableName"])
        cost.add_write(change)
        members.append(b'"ConsumedCapacity":' + orjson.dumps(cost.report(mode)))
    metrics = collection_metrics(change.table, change) if sizes else None
    if metrics is not None:
        members.append(b'"ItemCollectionMetrics":' + orjson.dumps(metrics))
    return b"{" + b",".join(members) + b"}"
