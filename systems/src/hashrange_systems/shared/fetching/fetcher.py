"""The guarded fetcher: every HTTP request that a system makes on behalf of a user goes through it.

It resolves a name once, checks every address, connects to a checked one, and repeats that for each redirect.
The rules are in policy, redirect, content_encoding and tls. No proxy, no cookies, no connection reuse.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Sequence
from dataclasses import replace

import httpcore

from hashrange_systems.shared.fetching.connector import Connector, Limits
from hashrange_systems.shared.fetching.content_encoding import (
    ACCEPTED,
    NO_BODY,
    DecodedBody,
    EncodedBody,
    decompress,
    read_coding,
)
from hashrange_systems.shared.fetching.errors import (
    ConnectionLost,
    FetchError,
    NotDecompressed,
    RedirectForbidden,
    RedirectLoop,
    RequestRefused,
    ResponseMalformed,
    TimedOut,
    TooLarge,
    TooManyChunks,
    TooManyRedirects,
)
from hashrange_systems.shared.fetching.http_message import Headers, Request, Response, find_header
from hashrange_systems.shared.fetching.http_stream import HttpStream, connect
from hashrange_systems.shared.fetching.http_url import Target, parse_url
from hashrange_systems.shared.fetching.policy import Policy
from hashrange_systems.shared.fetching.progress import Redirect
from hashrange_systems.shared.fetching.public_address import Address
from hashrange_systems.shared.fetching.redirect import RedirectRequest, find_location, record, redirect
from hashrange_systems.shared.fetching.resolver import Resolver, SystemResolver
from hashrange_systems.shared.fetching.timing import Now, PhaseTimer
from hashrange_systems.shared.fetching.tls import explain_failure, make_context, read_certificate
from hashrange_systems.shared.sandbox.errors import SandboxError
from hashrange_systems.shared.sandbox.sandbox import Sandbox

MIN_PIECE_BYTES = 256  # on average; each piece takes some 25 us of the event loop, however small it is
PIECES_ALLOWED = 1000  # before the average counts
PIECES_AT_ONCE = 50  # before other tasks have their turn
ENCODING_BYTES = 1024  # a small body is larger when it is compressed
BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})


class Fetcher:
    """Fetches URLs that users give, within a policy and limits; any number of tasks may share it.

    Compressed bodies are decompressed in the sandbox; without one in this process, for commands and tests.
    """

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        limits: Limits | None = None,
        resolver: Resolver | None = None,
        now: Now = time.monotonic,
        user_agent: str = "hashrange",
        sandbox: Sandbox | None = None,
    ) -> None:
        self._policy = policy or Policy()
        self._limits = limits or Limits()
        self.connector = Connector(self._policy, self._limits, resolver or SystemResolver())
        self._now = now
        self._user_agent = user_agent
        self._sandbox = sandbox
        self._contexts: dict[bool, ssl.SSLContext] = {}

    @property
    def policy(self) -> Policy:
        """The addresses and ports that may be requested."""
        return self._policy

    def apply_policy(self, policy: Policy) -> None:
        """Use another policy from the next request on; a new file of authorities needs a new fetcher."""
        self._policy = policy
        self.connector = replace(self.connector, policy=policy)

    async def fetch(self, request: Request, *, tenant: str = "") -> Response:
        """Return the response after redirects, whatever its status; raise a FetchError that is named by its cause."""
        chain = RequestChain(request, PhaseTimer(self._now))
        try:
            async with asyncio.timeout(request.timeout_s):
                response = await self._follow(request, chain)
            return await self._decompress(response, request, tenant) if request.decompress else response
        except TimeoutError as error:
            raise chain.explain(TimedOut(chain.timer.phase, request.timeout_s)) from error
        except FetchError as error:
            chain.explain(error)
            raise

    async def _decompress(self, response: Response, request: Request, tenant: str) -> Response:
        """Return the response with its body; its time is not that of the request."""
        encoded = response.encoded
        if not encoded.coding:
            body = DecodedBody(content=encoded.received, truncated=encoded.cut)
        elif self._sandbox is None:
            body = decompress(encoded)
        else:
            try:
                body = await self._sandbox.run(decompress, encoded, tenant=tenant)
            except SandboxError as error:
                raise NotDecompressed(f"the body was not decompressed: {error}") from error
        body.check()
        if body.truncated and not request.truncate:
            raise _explain_size(request)
        return replace(response, body=body.content, truncated=body.truncated, encoded=NO_BODY)

    async def _follow(self, request: Request, chain: RequestChain) -> Response:
        target = parse_url(request.url)
        outgoing = RedirectRequest(target=target, method=request.method, headers=request.headers, body=request.body)
        while True:
            chain.add_request(outgoing)
            response = await self._exchange(outgoing, request, chain)
            location = find_location(response) if request.follow else None
            if location is None:
                return replace(response, redirects=tuple(chain.redirects))
            outgoing = chain.follow_redirect(outgoing, response.status, location)

    async def _exchange(self, outgoing: RedirectRequest, request: Request, chain: RequestChain) -> Response:
        """Send one request to one server and return the response; the body of a redirect is not read."""
        try:
            addresses = await self._locate(outgoing.target, chain.timer)
        except RequestRefused as error:
            if chain.redirects:
                raise _forbid_redirect(error) from error
            raise
        stream = await self._open(outgoing.target, addresses, request, chain.timer)
        try:
            return await self._send_request(stream, outgoing, request, chain.timer)
        finally:
            await stream.aclose()

    async def _locate(self, target: Target, timer: PhaseTimer) -> tuple[Address, ...]:
        """Return the addresses to connect to, after the policy has checked all of them."""
        self._policy.check_port(target.port)
        return await self.connector.locate(target, timer)

    async def _open(
        self, target: Target, addresses: Sequence[Address], request: Request, timer: PhaseTimer
    ) -> HttpStream:
        context = self.find_tls_context(verify=request.verify) if target.scheme == "https" else None
        async with timer.time("connect"):
            connection = await connect(addresses, target.port, self._limits.connect_s)
        if context is None:
            return HttpStream(*await asyncio.open_connection(sock=connection), timer)
        try:
            async with timer.time("tls", self._limits.tls_s):
                streams = await asyncio.open_connection(sock=connection, ssl=context, server_hostname=target.host)
        except OSError as error:
            raise explain_failure(target.host, error) from error
        return HttpStream(*streams, timer)

    async def _send_request(
        self, stream: HttpStream, outgoing: RedirectRequest, request: Request, timer: PhaseTimer
    ) -> Response:
        target = outgoing.target
        url = httpcore.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        message = httpcore.Request(outgoing.method, url, headers=self._headers(outgoing), content=outgoing.body)
        try:
            async with timer.time("answer", self._limits.answer_s):
                timer.mark_sent()
                answer = await httpcore.AsyncHTTP11Connection(url.origin, stream).handle_async_request(message)
            response = Response(
                status=answer.status,
                headers=_read_headers(answer.headers),
                body=b"",
                truncated=False,
                url=target.text,
                address=stream.address,
                phases=timer.read(),
                certificate=read_certificate(stream.certificate),
            )
            if request.follow and find_location(response):
                return response
            stream.limit += 2 * request.max_bytes  # half of it for chunk headers
            async with timer.time("body"):
                encoded = await _read_body(answer, response.headers, request)
        except httpcore.ProtocolError as error:
            raise _explain_protocol(error, stream) from error
        return replace(response, encoded=encoded, truncated=encoded.cut, phases=timer.read())

    def _headers(self, outgoing: RedirectRequest) -> list[tuple[bytes, bytes]]:
        headers = [("Host", outgoing.target.authority)]
        if find_header(outgoing.headers, "user-agent") is None:
            headers.append(("User-Agent", self._user_agent))
        if find_header(outgoing.headers, "accept") is None:
            headers.append(("Accept", "*/*"))
        headers += [("Accept-Encoding", ACCEPTED), ("Connection", "close"), *outgoing.headers]
        if outgoing.body is not None or outgoing.method in BODY_METHODS:
            headers.append(("Content-Length", str(len(outgoing.body or b""))))
        return [(name.encode("ascii"), value.strip(" \t").encode("latin-1")) for name, value in headers]

    def find_tls_context(self, *, verify: bool) -> ssl.SSLContext:
        """Return the TLS context; it takes some ms to create and is cached."""
        if verify not in self._contexts:
            self._contexts[verify] = make_context(self._policy.ca_file, verify=verify)
        return self._contexts[verify]


class RequestChain:
    """The chain of redirects of one fetch: detects loops, counts redirects, and adds the progress to errors."""

    def __init__(self, request: Request, timer: PhaseTimer) -> None:
        self.timer = timer
        self.redirects: list[Redirect] = []
        self._request = request
        self._url = request.url
        self._seen: set[tuple[str, str]] = set()

    def add_request(self, outgoing: RedirectRequest) -> None:
        """Add the next request; raise RedirectLoop if it was sent before."""
        self._url = outgoing.target.text
        self.timer.start_hop()
        step = outgoing.method, self._url
        if step in self._seen:
            raise RedirectLoop("the redirects go round in a circle (cookies are not kept)")
        self._seen.add(step)

    def follow_redirect(self, outgoing: RedirectRequest, status: int, location: str) -> RedirectRequest:
        """Return the request for a redirect; raise TooManyRedirects at the limit."""
        if len(self.redirects) >= self._request.max_redirects:
            raise TooManyRedirects(f"more than {self._request.max_redirects} redirects")
        try:
            following = redirect(outgoing, status, location)
        except RequestRefused as error:
            raise _forbid_redirect(error) from error
        self.redirects.append(record(outgoing, status, following))
        return following

    def explain(self, error: FetchError) -> FetchError:
        """Add to an error how far the request came."""
        error.url = self._url
        error.redirects = tuple(self.redirects)
        error.phases = self.timer.read()
        return error


def _forbid_redirect(error: RequestRefused) -> RedirectForbidden:
    """Return the error as RedirectForbidden."""
    return RedirectForbidden(f"the redirect cannot be followed: {error}")


async def _read_body(answer: httpcore.Response, headers: Headers, request: Request) -> EncodedBody:
    """Read the body as it is sent, up to the request's limit."""
    coding, limit = read_coding(find_header(headers, "content-encoding") or ""), request.max_bytes
    most = limit + ENCODING_BYTES if coding else limit
    received = bytearray()
    pieces = 0
    async for piece in answer.aiter_stream():
        received += piece
        if len(received) > most:
            break
        pieces += 1
        if pieces > PIECES_ALLOWED + len(received) // MIN_PIECE_BYTES:
            raise TooManyChunks("the body comes in too many pieces, which are too small")
        if pieces % PIECES_AT_ONCE == 0:
            await asyncio.sleep(0)
    cut = len(received) > most
    if cut and not request.truncate:
        raise _explain_size(request)
    return EncodedBody(received=bytes(received[:most]), coding=coding, limit=limit, cut=cut)


def _explain_size(request: Request) -> TooLarge:
    return TooLarge(f"the body has more than {request.max_bytes} bytes")


def _read_headers(raw: list[tuple[bytes, bytes]]) -> Headers:
    return tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw)


def _explain_protocol(error: httpcore.ProtocolError, stream: HttpStream) -> FetchError:
    """Return the cause of a protocol error: lost connection, endless headers, or malformed HTTP."""
    if stream.ended:
        return ConnectionLost("the connection was closed before the response was complete")
    if getattr(error.__cause__, "error_status_hint", None) == 431:
        return TooLarge("the headers of the response are too large")
    return ResponseMalformed("the server's answer is not valid HTTP")
