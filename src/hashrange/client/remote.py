"""DynamoDB over HTTP: a local endpoint or AWS, from threads and event loops alike.

Combines signer, retry policy, connection pools and response parser.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Self
from weakref import WeakKeyDictionary

from hashrange.client.credentials import Account, CredentialsSource, find_account, find_endpoint_url
from hashrange.client.errors import EndpointUnknown
from hashrange.client.http.connection import HttpResponse
from hashrange.client.http.connector import Connector, parse_endpoint
from hashrange.client.http.network_backend import AsyncioBackend, BlockingBackend, NetworkBackend, run_blocking
from hashrange.client.http.network_stream import make_tls_context
from hashrange.client.http.pool import Pool
from hashrange.client.request_encoder import encode_request
from hashrange.client.response_parser import parse_response
from hashrange.client.retry import RetryPolicy
from hashrange.client.signer import Credentials, Signer
from hashrange.client.transport import DecodeResponse, decode_all
from hashrange.core.clock import Clock
from hashrange.core.errors import ServiceError, TransportError
from hashrange.core.wire import Wire
from hashrange.engine.service_model import ServiceOperation, find_service_operation

CONNECT_TIMEOUT = 5.0
TIMEOUT = 30.0
ATTEMPTS = 5
MAX_CONNECTIONS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """How long to wait and how many connections to hold. Times are in seconds."""

    connect_timeout: float = CONNECT_TIMEOUT
    timeout: float = TIMEOUT  # from sending a request to the last byte of its response
    max_connections: int = MAX_CONNECTIONS  # for all threads together, and for each event loop


def connect(  # noqa: PLR0913 all are optional settings
    endpoint: str | None = None,
    *,
    region: str | None = None,
    profile: str | None = None,
    access_key: str | None = None,
    secret_key: str | None = None,
    session_token: str | None = None,
    connect_timeout: float = CONNECT_TIMEOUT,
    timeout: float = TIMEOUT,
    attempts: int = ATTEMPTS,
    max_connections: int = MAX_CONNECTIONS,
) -> Remote:
    """Return a client of DynamoDB: at the endpoint given, else that of the environment, else at AWS."""
    if bool(access_key) != bool(secret_key):
        raise EndpointUnknown("access_key and secret_key belong together: give both, or none.")
    keys = Credentials(access_key, secret_key, session_token) if access_key and secret_key else None
    account = find_account(endpoint or find_endpoint_url(), region, profile, keys)
    limits = ClientLimits(connect_timeout=connect_timeout, timeout=timeout, max_connections=max_connections)
    return Remote(account, limits, RetryPolicy(attempts))


class ServiceClient:
    """A client of one service, DynamoDB or its streams: signer and connections."""

    def __init__(self, url: str, account: Account, limits: ClientLimits, clock: Clock | None) -> None:
        endpoint = parse_endpoint(url)
        context = make_tls_context(account.bundle) if endpoint.scheme == "https" else None
        self.signer = Signer(endpoint, account.region, clock)
        self.pool = Pool(Connector(endpoint, context, limits.connect_timeout), limits.max_connections)
        self._source: CredentialsSource = account.source
        self._timeout = limits.timeout

    async def exchange(self, backend: NetworkBackend, target: str, body: bytes) -> HttpResponse:
        """Return the response to a request; one refused for clock skew is sent again with the time corrected."""
        response = await self._exchange(backend, target, body)
        if response.status >= 400 and self.signer.correct_clock(response):
            response = await self._exchange(backend, target, body)
        return response

    async def _exchange(self, backend: NetworkBackend, target: str, body: bytes) -> HttpResponse:
        keys = self._source.peek()
        if keys is None:
            keys = await backend.run(self._source.fetch)
        return await self.pool.exchange(backend, self.signer.write(keys, target, body), self._timeout)


class Remote:
    """DynamoDB at an endpoint: `call` from any thread, `call_async` on any event loop.

    As a context manager, `with` or `async with`, it closes its connections at the end.
    """

    def __init__(
        self,
        account: Account,
        limits: ClientLimits,
        policy: RetryPolicy,
        *,
        clock: Clock | None = None,
        blocking: BlockingBackend | None = None,
    ) -> None:
        self._account = account
        self._limits = limits
        self._policy = policy
        self._clock = clock
        self._blocking = blocking or BlockingBackend(limits.max_connections)
        self._asyncio_backends: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncioBackend] = WeakKeyDictionary()
        self._lock = Lock()
        self._items = ServiceClient(account.url, account, limits, clock)
        self._streams: ServiceClient | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.endpoint}>"

    @property
    def endpoint(self) -> str:
        """The URL it connects to."""
        return self._account.url

    @property
    def region(self) -> str:
        """The region it signs for."""
        return self._account.region

    def call(self, operation: str, request: Wire | None = None, read: DecodeResponse = decode_all) -> Wire:
        """Run an operation on a request in wire form, where B may be given as bytes; raise DynamoDB's ServiceError."""
        return run_blocking(self._call(self._blocking, operation, request or {}, read))

    async def call_async(self, operation: str, request: Wire | None = None, read: DecodeResponse = decode_all) -> Wire:
        """Do the same as `call`, on the running event loop."""
        return await self._call(self._find_asyncio_backend(), operation, request or {}, read)

    async def _call(self, backend: NetworkBackend, operation: str, request: Wire, read: DecodeResponse) -> Wire:
        service_operation = find_service_operation(operation)
        token = service_operation.token
        if token and token not in request:  # without the same token, a repeated request would be carried out twice
            request = {**request, token: str(uuid.uuid4())}
        body = encode_request(request)
        table = request.get("TableName")
        trial = self._policy.begin(operation, table if isinstance(table, str) else "")
        while True:
            if delay := trial.wait_before():
                await backend.sleep(delay)
            try:
                response = parse_response(await self._send(backend, service_operation, body), read)
            except (ServiceError, TransportError) as failure:
                again = trial.wait_after(failure)
                if again is None:
                    raise
                if again:
                    await backend.sleep(again)
            else:
                trial.succeed()
                return response

    async def _send(self, backend: NetworkBackend, operation: ServiceOperation, body: bytes) -> HttpResponse:
        if not operation.is_of_streams:
            return await self._items.exchange(backend, operation.target, body)
        streams = self._streams
        if streams is None:
            streams = await backend.run(self._find_streams)
        return await streams.exchange(backend, operation.target, body)

    def _find_streams(self) -> ServiceClient:
        with self._lock:
            if self._streams is None:
                url = self._account.find_streams()
                shared = url == self._account.url
                self._streams = self._items if shared else ServiceClient(url, self._account, self._limits, self._clock)
            return self._streams

    def _find_asyncio_backend(self) -> AsyncioBackend:
        loop = asyncio.get_running_loop()
        backend = self._asyncio_backends.get(loop)
        if backend is None:
            with self._lock:
                backend = self._asyncio_backends.setdefault(loop, AsyncioBackend(self._limits.max_connections))
        return backend

    def close(self) -> None:
        """Close the connections; running calls still get their responses."""
        self._items.pool.close()
        if self._streams is not None:
            self._streams.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
