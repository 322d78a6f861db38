"""What stands before every request: a bound on its body, and the headers that every answer carries."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 128 * 1024  # the largest thing that is sent here is the body of a check, of 16 KB, as JSON
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


class Guard:
    """An application behind the guard; `secure` when it is reached by https."""

    def __init__(self, app: ASGIApp, *, secure: bool = False) -> None:
        self._app = app
        self._headers = {**HEADERS, **({"Strict-Transport-Security": A_YEAR} if secure else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass whose body is not too long."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await read_body(scope, receive)
        if body is None:
            await refuse(self._dress(send))
        else:
            await self._app(scope, replay(body, receive), self._dress(send))

    def _dress(self, send: Send) -> Send:
        """Add the headers; an answer that has one already keeps its own."""

        async def send_dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        return send_dressed


async def read_body(scope: Scope, receive: Receive) -> bytes | None:
    """Return the whole body, or None when it is too long: then the rest is not read."""
    announced = Headers(scope=scope).get("content-length", "0")
    if announced.isdecimal() and int(announced) > MOST_BYTES:
        return None
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return body  # the client has gone
        body += bytes(message.get("body", b""))
        if len(body) > MOST_BYTES:
            return None
        if not message.get("more_body", False):
            return body


def replay(body: bytes, receive: Receive) -> Receive:
    """Return a way to receive a body that was read already."""
    left = [body]

    async def receive_again() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return receive_again


async def refuse(send: Send) -> None:
    """Answer that the body is too long."""
    detail = f"The body is longer than {MOST_BYTES} bytes."
    problem = {"type": "urn:hashrange:checks:TooLong", "title": "Content Too Large", "status": 413, "detail": detail}
    headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": orjson.dumps({**problem, "faults": []})})
