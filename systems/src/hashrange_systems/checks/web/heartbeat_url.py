"""The URLs that jobs call: a signal by GET, HEAD or POST, answered in plain text.

/heartbeat/{checkid}/{key}          the job has succeeded
/heartbeat/{checkid}/{key}/start    it starts
/heartbeat/{checkid}/{key}/fail     it has failed
/heartbeat/{checkid}/{key}/{code}   it has ended with this exit status
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse

from hashrange_systems.checks.model.signals import Signal
from hashrange_systems.checks.schema import Check
from hashrange_systems.checks.web.dependencies import ChecksPages, Deps
from hashrange_systems.shared.errors import ApplicationError, TooManyRequests
from hashrange_systems.shared.text import clean

MAX_BODY = 10_000
MAX_MESSAGE = 200
MAX_EXIT_STATUS = 255
METHODS = ["GET", "HEAD", "POST"]

router = APIRouter(prefix="/heartbeat", include_in_schema=False)


@router.api_route("/{checkid}/{key}", methods=METHODS)
async def succeed(request: Request, deps: Deps, checkid: str, key: str) -> PlainTextResponse:
    """Receive the signal that a job has succeeded."""
    return await receive(request, deps, checkid, key, Signal.SUCCESS)


@router.api_route("/{checkid}/{key}/{ending}", methods=METHODS)
async def end(request: Request, deps: Deps, checkid: str, key: str, ending: str) -> PlainTextResponse:
    """Receive another signal, or an exit status."""
    if ending in (Signal.START, Signal.FAIL, Signal.SUCCESS):
        return await receive(request, deps, checkid, key, Signal(ending))
    code = int(ending) if ending.isascii() and ending.isdecimal() and len(ending) <= 3 else MAX_EXIT_STATUS + 1
    if code > MAX_EXIT_STATUS:
        return PlainTextResponse("The URL ends with start, fail, or an exit status from 0 to 255.\n", 404)
    signal = Signal.FAIL if code else Signal.SUCCESS
    return await receive(request, deps, checkid, key, signal, f"exit status {code}" if code else "")


async def receive(
    request: Request, deps: ChecksPages, checkid: str, key: str, signal: Signal, message: str = ""
) -> PlainTextResponse:
    """Store a signal; the body of the request is its message."""
    try:
        deps.signal_limit.consume(f"{checkid}/{key}")  # by both: a wrong key does not use up the right one
        said = clean((await request.body())[:MAX_BODY].decode("utf-8", "replace"), MAX_MESSAGE)
        text = ", ".join(part for part in (message, said) if part)
        counted = await deps.services.heartbeats.receive(checkid, key, signal, text)
    except TooManyRequests as error:
        return PlainTextResponse(f"{error}\n", 429)
    except ApplicationError as error:
        return PlainTextResponse("There is no such heartbeat.\n" if error.status == 404 else f"{error}\n", error.status)
    return PlainTextResponse("OK\n" if counted else "OK, but the check is paused: nothing is counted\n")


def find_signal_url(base_url: str, check: Check) -> str | None:
    """Return the URL that the job of a check calls; None for other checks."""
    return None if check.signal_key is None else f"{base_url}/heartbeat/{check.checkid}/{check.signal_key}"
