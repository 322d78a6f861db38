"""The guard of requests: half a body never reaches the application."""

import asyncio

from hashrange_systems.shared.web.request_guard import RequestGuard


def serve(messages):
    """Give a guarded application these messages; return the bodies that it got, and what was sent."""
    bodies, sent, left = [], [], list(messages)

    async def app(scope, receive, send):
        bodies.append((await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive():
        return left.pop(0)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
    asyncio.run(RequestGuard(app, name="test", max_bytes=20)(scope, receive, send))
    return bodies, [message.get("status") for message in sent]


def part(body, *, more):
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_body_in_parts_is_passed_on_whole():
    assert serve([part(b"do=delete&", more=True), part(b"slug=a", more=False)]) == ([b"do=delete&slug=a"], [200])


def test_a_request_for_the_headers_alone_gets_no_body():
    sent = []

    async def app(scope, _receive, send):
        assert scope["method"] == "GET"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"all of it"})

    async def receive():
        return part(b"", more=False)

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "HEAD", "path": "/", "headers": []}
    asyncio.run(RequestGuard(app, name="test")(scope, receive, send))
    assert sent[1]["body"] == b""


def test_half_a_body_of_a_client_that_has_gone_is_not_passed_on():
    assert serve([part(b"do=delete&sl", more=True), {"type": "http.disconnect"}]) == ([], [])


def test_a_body_that_is_too_long_is_refused():
    assert serve([part(b"x" * 21, more=True)]) == ([], [413, None])
