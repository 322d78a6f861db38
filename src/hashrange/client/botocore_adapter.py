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
    """Return whether a prepared request goes to DynamoDB or its streams."""
    return find_target(request).partition(".")[0] in TARGET_PREFIXES


def find_target(request: Any) -> str:
    """Return the `X-Amz-Target` of a prepared request, empty for services without targets."""
    target: str | bytes = request.headers.get("X-Amz-Target", "")
    return target.decode() if isinstance(target, bytes) else target


def send_to_engine(engine: Engine, request: Any) -> AWSResponse:
    """Run the prepared request on the engine, and return the HTTP response."""
    status, body = run_operation(engine, find_operation(request), request.body)
    return AWSResponse(request.url, status, _make_headers(), _Body(body))


async def send_to_engine_async(engine: Engine, request: Any) -> Any:
    """Do the same for aiobotocore, whose responses are read with `await`; an injected delay lets others run."""
    import asyncio  # only a program that uses aiobotocore pays for it

    from aiobotocore.awsrequest import AioAWSResponse

    operation = find_operation(request)
    if engine.faults is not None and operation in engine.operations:
        await asyncio.sleep(engine.faults.take_delay(engine.operations[operation], _parse(request.body)))
    status, body = run_operation(engine, operation, request.body, delay=False)
    return AioAWSResponse(request.url, status, _make_headers(), _AsyncBody(body))


def find_operation(request: Any) -> str:
    """Return the name of the operation that a prepared request asks for."""
    return find_target(request).rpartition(".")[2]


def run_operation(engine: Engine, operation: str, body: bytes | str, *, delay: bool = True) -> tuple[int, bytes]:
    """Return the HTTP status and body of the response; raise internal errors as they are."""
    try:
        return 200, engine.call(operation, _parse(body), delay=delay)
    except InjectedServerError as injected:
        return injected.status, injected.body()
    except InternalServerError:  # botocore would retry ten times with growing pauses, which is useless here
        raise
    except ServiceError as refusal:
        return refusal.status, refusal.body()


def _make_headers() -> dict[str, str]:
    return {"x-amzn-RequestId": secrets.token_hex(26).upper(), "Content-Type": "application/x-amz-json-1.0"}


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


class _AsyncBody:
    """The part of aiohttp's response that aiobotocore reads."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def read(self) -> bytes:
        return self._content
