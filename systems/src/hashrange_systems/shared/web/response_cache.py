"""Caches the public pages of an application for some seconds, so that many visitors cost one rendering, not one each.

Only GET requests below a prefix, or one of several, are cached, by the query parameters that the pages have. Pages are
rendered without the cookies of who asks. Concurrent requests for the same page wait for one rendering. Signed-in users
get a new one, which replaces the cached one; a cookie that is no session does not. Renderings are limited for each
client's network.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hashrange import Clock
from hashrange_systems.shared.errors import TooManyRequests
from hashrange_systems.shared.web.rate_limit import RateLimit, find_network

Stored = list[Message]

MAX_BYTES = 64 << 20


@dataclass(slots=True)
class CachedResponse:
    """A response and the time at which it was made."""

    at: int
    messages: Stored
    size: int


Refuse = Callable[[TooManyRequests, str], CachedResponse]
IsSignedIn = Callable[[Scope], Awaitable[bool]]


async def is_nobody(_scope: Scope) -> bool:
    """Return that nobody is signed in: the pages have no sessions."""
    return False


@dataclass(slots=True)
class ResponseCache:
    """Answers requests below `prefix` from memory; `parameters` are the query parameters that make a difference."""

    app: ASGIApp
    clock: Clock
    prefix: str | tuple[str, ...]
    parameters: Collection[str] = ()
    seconds: float = 15.0
    burst: int = 30  # renderings at once for an address, then `per_second`
    per_second: float = 1.0
    refuse: Refuse = field(default=lambda error, _path: describe_refusal(error))
    is_signed_in: IsSignedIn = is_nobody
    _stored: OrderedDict[tuple[str, str], CachedResponse] = field(default_factory=OrderedDict)
    _rendering: dict[tuple[str, str], asyncio.Lock] = field(default_factory=dict)
    _limit: RateLimit = field(init=False)

    def __post_init__(self) -> None:
        self._limit = RateLimit(self.clock, burst=self.burst, per_second=self.per_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer from memory, or pass the request on and remember the response."""
        path = str(scope.get("path", "")).removeprefix(str(scope.get("root_path", "")))
        if scope["type"] != "http" or scope["method"] != "GET" or not path.startswith(self.prefix):
            await self.app(scope, receive, send)
            return
        query = self._choose_query(scope)
        key = path, query.decode("latin-1")
        lock = self._rendering.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                signed_in = has_cookie(scope) and await self.is_signed_in(scope)
                found = None if signed_in else self._find(key)
                stored = found or await self._render(key, {**drop_cookies(scope), "query_string": query}, receive)
        finally:
            if not lock.locked():
                self._rendering.pop(key, None)
        for message in stored.messages:
            await send(dict(message))

    def _choose_query(self, scope: Scope) -> bytes:
        given = parse_qsl(bytes(scope.get("query_string", b"")).decode("latin-1"))
        chosen = sorted({name: value for name, value in given if name in self.parameters}.items())
        return urlencode(chosen).encode()

    def _find(self, key: tuple[str, str]) -> CachedResponse | None:
        stored = self._stored.get(key)
        if stored is None or not 0 <= self.clock.millis() - stored.at < self.seconds * 1000:
            return None
        self._stored.move_to_end(key)
        return stored

    async def _render(self, key: tuple[str, str], scope: Scope, receive: Receive) -> CachedResponse:
        client = scope.get("client")
        try:
            self._limit.consume(find_network(str(client[0])) if client else "")
        except TooManyRequests as error:
            return self._find(key) or self.refuse(error, key[0])
        messages: Stored = []

        async def keep(message: Message) -> None:
            messages.append(message)

        await self.app(scope, receive, keep)
        size = sum(len(message.get("body", b"")) for message in messages)
        response = CachedResponse(self.clock.millis(), messages, size)
        if messages[0].get("status") == 200:
            self._store(key, response)
        return response

    def _store(self, key: tuple[str, str], response: CachedResponse) -> None:
        self._stored.pop(key, None)
        self._stored[key] = response
        total = sum(each.size for each in self._stored.values())
        while total > MAX_BYTES and len(self._stored) > 1:
            total -= self._stored.popitem(last=False)[1].size


def has_cookie(scope: Scope) -> bool:
    """Return whether the request may be that of a signed-in user."""
    return any(name == b"cookie" for name, _ in scope["headers"])


def drop_cookies(scope: Scope) -> Scope:
    """Return the request without its cookies: what is rendered is for everybody."""
    return {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"cookie"]}


def describe_refusal(
    error: TooManyRequests, body: bytes | None = None, media_type: str = "text/plain"
) -> CachedResponse:
    """Return the response to a client that asks for too many pages: a text, or another body."""
    headers = [(b"content-type", media_type.encode()), (b"retry-after", str(error.wait_s).encode())]
    start: Message = {"type": "http.response.start", "status": error.status, "headers": headers}
    return CachedResponse(0, [start, {"type": "http.response.body", "body": body or str(error).encode()}], 0)
