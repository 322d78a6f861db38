"""What the JSON API answers when it refuses: one shape, RFC 9457, for everything from a typing error to a crash."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from hashrange import CursorInvalid
from hashrange_systems.checks.errors import ChecksError, KeyUnknown, TooSoon
from hashrange_systems.checks.model.kind import MESSAGES
from hashrange_systems.checks.model.refusal import Fault, InputRefused
from hashrange_systems.checks.web.allowance import TooMany

log = logging.getLogger(__name__)

URN = "urn:hashrange:checks:"
SOON_S = 60


class FaultShown(BaseModel):
    """One field that is wrong, and what it must be."""

    field: str
    message: str


class Problem(BaseModel):
    """Why a request was refused."""

    type: str = Field(description="A name for the cause that never changes.", examples=[f"{URN}NotThere"])
    title: str
    status: int
    detail: str
    faults: list[FaultShown] = Field(default=[], description="Every field that is wrong, when fields are.")


class ProblemResponse(JSONResponse):
    """A problem as it is sent."""

    media_type = "application/problem+json"

    def render(self, content: object) -> bytes:
        """Return the JSON."""
        return orjson.dumps(content)


def tell(
    status: int,
    cause: str,
    detail: str,
    faults: Iterable[Fault] = (),
    headers: Mapping[str, str] | None = None,
) -> ProblemResponse:
    """Return the answer that tells of a problem."""
    shown = [FaultShown(field=fault.field, message=fault.message) for fault in faults]
    title = HTTPStatus(status).phrase
    problem = Problem(type=URN + cause, title=title, status=status, detail=detail, faults=shown)
    return ProblemResponse(problem.model_dump(), status, headers)


def install(app: FastAPI) -> None:
    """Have an application answer every failure as a problem."""
    app.add_exception_handler(ChecksError, tell_refusal)
    app.add_exception_handler(CursorInvalid, tell_cursor)
    app.add_exception_handler(RequestValidationError, tell_misfit)
    app.add_exception_handler(HTTPException, tell_http)
    app.add_exception_handler(Exception, tell_crash)


async def tell_refusal(_request: Request, error: Exception) -> Response:
    """Answer what the service refused."""
    assert isinstance(error, ChecksError)
    faults = error.faults if isinstance(error, InputRefused) else ()
    return tell(error.status, type(error).__name__, str(error), faults, find_headers(error))


def find_headers(error: ChecksError) -> dict[str, str]:
    """Return the headers that go with a refusal."""
    if isinstance(error, KeyUnknown):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, TooMany):
        return {"Retry-After": str(error.wait_s)}
    return {"Retry-After": str(SOON_S)} if isinstance(error, TooSoon) else {}


async def tell_cursor(_request: Request, _error: Exception) -> Response:
    """Answer that a cursor is none of ours."""
    fault = Fault("cursor", "must be one that an answer gave, unchanged")
    return tell(422, InputRefused.__name__, str(fault), [fault])


async def tell_misfit(_request: Request, error: Exception) -> Response:
    """Answer that the request is not of the documented form, field by field."""
    assert isinstance(error, RequestValidationError)
    details = list(error.errors())
    if any(detail["type"] == "json_invalid" for detail in details):
        return tell(400, "NotJson", "The body is not JSON.")
    faults = list(name_faults(details))
    return tell(422, InputRefused.__name__, "; ".join(map(str, faults)), faults)


def name_faults(details: Iterable[Mapping[str, Any]]) -> Iterator[Fault]:
    """Yield a fault for each of pydantic's errors, in our words."""
    for detail in details:
        path = [str(step) for step in detail["loc"][1:]] or [str(detail["loc"][0])]
        if detail["type"] == "extra_forbidden":
            message = "is not known here"
        else:
            message = MESSAGES.get(detail["type"], detail["msg"]).format(**detail.get("ctx", {}))
        yield Fault(".".join(path)[:100], message)


async def tell_http(_request: Request, error: Exception) -> Response:
    """Answer that there is no such address, or not for this method."""
    assert isinstance(error, HTTPException)
    cause = HTTPStatus(error.status_code).phrase.replace(" ", "").replace("-", "")
    return tell(error.status_code, cause, str(error.detail), headers=error.headers)


async def tell_crash(request: Request, error: Exception) -> Response:
    """Answer that it is our fault, and log why; nothing of it goes out."""
    log.error("request failed", exc_info=error, extra={"fields": {"method": request.method, "path": request.url.path}})
    return tell(500, "Crash", "Something went wrong on our side. It has been logged.")
