"""DynamoDB's protocol: finds the operation that an HTTP request names, in DynamoDB's order of checks.

The engine checks types and constraints; `http_response` renders the response.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from hashrange.core.errors import NOT_SERVED, SerializationException, UnknownOperationException
from hashrange.core.wire import Wire
from hashrange.engine.operation import Operation
from hashrange.engine.service_model import TARGET_PREFIXES, list_targets
from hashrange.server import metrics
from hashrange.server.authentication import Authenticate
from hashrange.server.compression import RequestTooLarge, inflate
from hashrange.server.http_request import HttpRequest
from hashrange.server.http_response import PlainResponse
from hashrange.server.large_requests import is_large
from hashrange.server.metrics import Meter, Metrics

NOT_FOUND = PlainResponse(404, b"<UnknownOperationException/>\n")
PREFLIGHT_ECHOES = (
    (b"access-control-request-headers", b"Access-Control-Allow-Headers: %b\r\n"),
    (b"access-control-request-method", b"Access-Control-Allow-Methods: %b\r\n"),
    (b"access-control-request-private-network", b"Access-Control-Allow-Private-Network: %b\r\n"),
)

# Operation, request and metrics; a bare tuple, because it is made for every request
Call = tuple[Operation, Wire, Meter]


class DynamoDBProtocol:
    """Reads requests: each is a call of an operation, has a fixed response, or is an error."""

    def __init__(
        self,
        operations: Mapping[str, Operation],
        counters: Metrics,
        authenticate: Authenticate,
        *,
        region: str,
        max_body: int,
    ) -> None:
        self._operations = operations
        self._authenticate = authenticate
        self._metrics = counters
        self._max_body = max_body
        self._health = f"healthy: dynamodb.{region}.amazonaws.com ".encode()
        self._names = {target.encode(): name for name in operations for target in list_targets(name)}
        self._found: dict[bytes, tuple[Operation, Meter]] = {}  # an operation is imported when it is first named

    def read(self, request: HttpRequest) -> Call | PlainResponse:
        """Return the call or the fixed response; raise the error that DynamoDB would return."""
        head, body = request.head, request.body
        if len(body) > self._max_body:
            raise RequestTooLarge(self._max_body)
        if head.method != b"POST":
            return self._read_other(request)
        if body and head.form.media_type is None:
            return NOT_FOUND
        large = is_large(request)
        if large:  # large bodies are read only from signed requests
            self._authenticate(request)
        if b"content-encoding" in head.names:
            body = inflate(body, request.headers[b"content-encoding"], self._max_body)
        try:
            wire = orjson.loads(body) if body else None
        except orjson.JSONDecodeError as error:
            raise SerializationException from error
        operation, meter = self._found.get(head.target) or self._find(head.target)
        if not large:
            self._authenticate(request)
        if type(wire) is not dict:
            raise SerializationException
        return operation, wire, meter

    def _find(self, target: bytes) -> tuple[Operation, Meter]:
        name = self._names.get(target)
        if name is None:
            raise UnknownOperationException(_message_for_unknown(target))
        self._found[target] = found = self._operations[name], self._metrics.meters[name]
        return found

    def _read_other(self, request: HttpRequest) -> PlainResponse:
        path, _ = request.split_url()
        if request.head.method == b"GET" and path == b"/":
            return PlainResponse(200, self._health)
        if request.head.method == b"GET" and path == b"/metrics":
            return PlainResponse(200, self._metrics.render(), metrics.CONTENT_TYPE)
        if request.head.method == b"OPTIONS" and b"origin" in request.head.names:
            return allow_origin(request)
        return NOT_FOUND


def _message_for_unknown(target: bytes) -> str | None:
    """Return the text of the error; AWS sends none."""
    prefix, _, name = target.decode("latin-1").rpartition(".")
    named = name if prefix in TARGET_PREFIXES else f"{prefix}.{name}".lstrip(".")
    return NOT_SERVED.format(named) if named else None


def allow_origin(request: HttpRequest) -> PlainResponse:
    """Respond to a browser's CORS preflight request."""
    headers = b"Access-Control-Max-Age: 172800\r\n"
    asked = request.headers
    for name, line in PREFLIGHT_ECHOES:
        if name in asked:
            headers += line % asked[name]
    return PlainResponse(200, b"", headers=headers)
