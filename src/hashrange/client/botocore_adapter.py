"""Sends requests that botocore has prepared to an engine instead of the network.

It replaces botocore's HTTP connection; everything before (parameters, events) and after (parsing, exceptions,
paginators, waiters) is botocore's own.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import orjson
from botocore.awsrequest import AWSResponse

from hashrange.core.errors import InternalServerError, SerializationException, ServiceError
from hashrange.core.wire import Wire
from hashrange.engine.engine import Engine
from hashrange.engine.service_model import TARGET_PREFIXES
from hashrange.faults.injected_error import InjectedServerError


def is_for_dynamodb(request: Any) -> bool:
    """Tell whether a prepared request goes to DynamoDB or its streams."""
    return find_target(request).partition(".")[0] in TARGET_PREFIXES


def find_target(request: Any) -> str:
    """Return the `X-Amz-Target` of a prepared request, empty for services without targets."""
    target: str | bytes = request.headers.get("X-Amz-Target", "")
    return target.decode() if isinstance(target, bytes) else target


def send_to_engine(engine: Engine, request: Any) -> AWSResponse:
    """Run the prepared request on the engine, and return the HTTP response."""
    operation = find_target(request).rpartition(".")[2]
    status, body = run_operation(engine, operation, request.body)
    headers = {"x-amzn-RequestId": secrets.token_hex(26).upper(), "Content-Type": "application/x-amz-json-1.0"}
    return AWSResponse(request.url, status, headers, _Body(body))


def run_operation(engine: Engine, operation: str, body: bytes | str) -> tuple[int, bytes]:
    """Return the HTTP status and body of the response; raise internal errors as they are."""
    try:
        return 200, engine.call(operation, _parse(body))
    except InjectedServerError as injected:
        return injected.status, injected.body()
    except InternalServerError:  # botocore would retry ten times with growing pauses, which is useless here
        raise
    except ServiceError as refusal:
        return refusal.status, refusal.body()


def _parse(body: bytes | str) -> Wire:
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise SerializationException from None
    if not isinstance(request, dict):
        raise SerializationException
    return request


class _Body:
    """The part of urllib3's response that botocore reads."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self) -> Iterator[bytes]:
        yield self._content
