"""ASGI middleware that limits the size of request bodies, answers HEAD as GET, and adds security headers."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hashrange_systems.shared.web.problem import describe_problem

MAX_BYTES = 128 * 1024
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
A_YEAR = "max-age=31536000"
HEAD_ONLY = "hashrange.head_only"  # in the scope of a request whose response is sent without its body


class RequestGuard:
    """Guards an application; `name` is the application's in problem types, `secure` that it is served by https."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        name: str,
        secure: bool = False,
        max_bytes: int = MAX_BYTES,
        uploads: Mapping[str, int] | None = None,
    ) -> None:
        self._app = app
        self._name = name
        self._max_bytes = max_bytes
        self._uploads = uploads or {}  # the longest body of paths that end so
        self._headers = {**HEADERS, **({"Strict-Transport-Security": A_YEAR} if secure else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 413 if its body is too long."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = next((size for end, size in self._uploads.items() if scope["path"].endswith(end)), self._max_bytes)
        try:
            body = await read_body(scope, receive, most)
        except ClientDisconnect:
            return  # half a request is none
        if scope["method"] == "HEAD":
            scope, send = {**scope, "method": "GET", HEAD_ONLY: True}, drop_body(send)
        if body is None:
            await self._send_too_long(self._add_headers(send), most)
        else:
            await self._app(scope, replay_body(body, receive), self._add_headers(send))

    def _add_headers(self, send: Send) -> Send:
        """Add the headers that the response does not have."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        return send_with_headers

    async def _send_too_long(self, send: Send, most: int) -> None:
        detail = f"The body is longer than {most} bytes."
        problem = describe_problem(self._name, 413, "TooLong", detail).model_copy(update={"title": "Content Too Large"})
        headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": problem.model_dump_json().encode()})


async def read_body(scope: Scope, receive: Receive, max_bytes: int) -> bytes | None:
    """Return the whole body; None if it is too long, without reading the rest; raise ClientDisconnect if it ends."""
    announced = Headers(scope=scope).get("content-length", "0")
    if announced.isdecimal() and int(announced) > max_bytes:
        return None
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        body += bytes(message.get("body", b""))
        if len(body) > max_bytes:
            return None
        if not message.get("more_body", False):
            return body


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that returns a body which was already read."""
    left = [body]

    async def receive_again() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return receive_again


def drop_body(send: Send) -> Send:
    """Return a `send` that leaves the bodies of responses out."""

    async def send_without_body(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return send_without_body
