"""DynamoDB over HTTP: a local endpoint or AWS, from threads and event loops alike.

Who signs, retries, parses and connects is beside it; here they meet. What the operations mean is the session's.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Self
from weakref import WeakKeyDictionary

from hashrange.client.credentials import Account, Source, find_account, find_url
from hashrange.client.encoding import encode_request
from hashrange.client.fault import EndpointUnknown
from hashrange.client.http.channel import make_context
from hashrange.client.http.connection import Response
from hashrange.client.http.dial import Dialler, read_endpoint
from hashrange.client.http.driver import Blocking, Driver, Looping, run_now
from hashrange.client.http.pool import Pool
from hashrange.client.reply import read_reply
from hashrange.client.retry import STREAM_OPERATIONS, Policy
from hashrange.client.sign import Keys, Signer
from hashrange.client.transport import Read, read_all
from hashrange.core.clock import Clock
from hashrange.core.errors import ServiceError, TransportError
from hashrange.core.wire import Wire

CONNECT_TIMEOUT = 5.0
TIMEOUT = 30.0
ATTEMPTS = 5
MAX_CONNECTIONS = 64
# Whoever sends these again must send the same token, or they are carried out twice.
TOKENS = {
    "TransactWriteItems": "ClientRequestToken",
    "ExecuteTransaction": "ClientRequestToken",
    "ExportTableToPointInTime": "ClientToken",
    "ImportTable": "ClientToken",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long to wait and how many connections to hold. Times are in seconds."""

    connect_timeout: float = CONNECT_TIMEOUT
    timeout: float = TIMEOUT  # from sending a request to the last byte of its answer
    max_connections: int = MAX_CONNECTIONS  # for all threads together, and for each event loop


def connect(  # noqa: PLR0913 each is a choice of its own
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
    """Return DynamoDB at that endpoint, else at the one that the environment names, else at AWS."""
    if bool(access_key) != bool(secret_key):
        raise EndpointUnknown("access_key and secret_key belong together: give both, or none.")
    keys = Keys(access_key, secret_key, session_token) if access_key and secret_key else None
    account = find_account(endpoint or find_url(), region, profile, keys)
    limits = Limits(connect_timeout=connect_timeout, timeout=timeout, max_connections=max_connections)
    return Remote(account, limits, Policy(attempts))


class Route:
    """One service of an account: its address, who signs for it, its connections."""

    def __init__(self, url: str, account: Account, limits: Limits, clock: Clock | None) -> None:
        endpoint = read_endpoint(url)
        context = make_context(account.bundle) if endpoint.scheme == "https" else None
        self.signer = Signer(endpoint, account.region, clock)
        self.pool = Pool(Dialler(endpoint, context, limits.connect_timeout), limits.max_connections)
        self._source: Source = account.source
        self._timeout = limits.timeout

    async def exchange(self, driver: Driver, target: str, body: bytes) -> Response:
        """Return the answer to a request; one that was refused because of the clock is sent again, corrected."""
        response = await self._exchange(driver, target, body)
        if response.status >= 400 and self.signer.correct_clock(response):
            response = await self._exchange(driver, target, body)
        return response

    async def _exchange(self, driver: Driver, target: str, body: bytes) -> Response:
        keys = self._source.peek()
        if keys is None:
            keys = await driver.run(self._source.fetch)
        return await self.pool.exchange(driver, self.signer.write(keys, target, body), self._timeout)


class Remote:
    """DynamoDB at an endpoint: `call` from any thread, `call_async` on any event loop.

    As a context manager, `with` or `async with`, it hangs up at the end.
    """

    def __init__(
        self,
        account: Account,
        limits: Limits,
        policy: Policy,
        *,
        clock: Clock | None = None,
        blocking: Blocking | None = None,
    ) -> None:
        self._account = account
        self._limits = limits
        self._policy = policy
        self._clock = clock
        self._blocking = blocking or Blocking(limits.max_connections)
        self._looping: WeakKeyDictionary[asyncio.AbstractEventLoop, Looping] = WeakKeyDictionary()
        self._lock = Lock()
        self._items = Route(account.url, account, limits, clock)
        self._streams: Route | None = None

    @property
    def endpoint(self) -> str:
        """The address it connects to."""
        return self._account.url

    @property
    def region(self) -> str:
        """The region it signs for."""
        return self._account.region

    def call(self, operation: str, request: Wire | None = None, read: Read = read_all) -> Wire:
        """Run an operation on a request in wire form, where B may be given as bytes; raise what DynamoDB answers."""
        return run_now(self._call(self._blocking, operation, request or {}, read))

    async def call_async(self, operation: str, request: Wire | None = None, read: Read = read_all) -> Wire:
        """Do the same as `call`, on the running event loop."""
        return await self._call(self._find_looping(), operation, request or {}, read)

    async def _call(self, driver: Driver, operation: str, request: Wire, read: Read) -> Wire:
        token = TOKENS.get(operation)
        if token and token not in request:
            request = {**request, token: str(uuid.uuid4())}
        body = encode_request(request)
        table = request.get("TableName")
        trial = self._policy.begin(operation, table if isinstance(table, str) else "")
        while True:
            if delay := trial.wait_before():
                await driver.sleep(delay)
            try:
                answer = read_reply(await self._send(driver, operation, body), read)
            except (ServiceError, TransportError) as failure:
                again = trial.wait_after(failure)
                if again is None:
                    raise
                if again:
                    await driver.sleep(again)
            else:
                trial.succeed()
                return answer

    async def _send(self, driver: Driver, operation: str, body: bytes) -> Response:
        if operation not in STREAM_OPERATIONS:
            return await self._items.exchange(driver, f"DynamoDB_20120810.{operation}", body)
        streams = self._streams
        if streams is None:
            streams = await driver.run(self._find_streams)
        return await streams.exchange(driver, f"DynamoDBStreams_20120810.{operation}", body)

    def _find_streams(self) -> Route:
        with self._lock:
            if self._streams is None:
                url = self._account.find_streams()
                shared = url == self._account.url
                self._streams = self._items if shared else Route(url, self._account, self._limits, self._clock)
            return self._streams

    def _find_looping(self) -> Looping:
        loop = asyncio.get_running_loop()
        driver = self._looping.get(loop)
        if driver is None:
            with self._lock:
                driver = self._looping.setdefault(loop, Looping(self._limits.max_connections))
        return driver

    def close(self) -> None:
        """Hang up; calls that are under way get their answer."""
        self._items.pool.close()
        if self._streams is not None:
            self._streams.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
