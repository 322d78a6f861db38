"""Error responses of a JSON API: problem details (RFC 9457) for everything from invalid JSON to a crash."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from hashrange import CursorInvalid, ValueInvalid
from hashrange_systems.shared.errors import ApplicationError, FieldError, InvalidInput
from hashrange_systems.shared.validation import MESSAGES

log = logging.getLogger(__name__)


class FieldErrorModel(BaseModel):
    """One invalid field, and the rule that it breaks."""

    field: str
    message: str


class Problem(BaseModel):
    """Why a request was refused."""

    type: str = Field(description="A name for the cause that never changes.")
    title: str
    status: int
    detail: str
    faults: list[FieldErrorModel] = Field(default=[], description="Every invalid field, if fields are invalid.")


class ProblemResponse(JSONResponse):
    """A problem as it is sent."""

    media_type = "application/problem+json"

    def render(self, content: object) -> bytes:
        """Return the JSON."""
        return orjson.dumps(content)


@dataclass(frozen=True, slots=True)
class ProblemHandlers:
    """The exception handlers of an application; its name is part of the problem types."""

    application: str

    def install(self, app: FastAPI) -> None:
        """Answer every error of the API with a problem."""
        app.add_exception_handler(ApplicationError, self.handle_application_error)
        app.add_exception_handler(CursorInvalid, self.handle_invalid_cursor)
        app.add_exception_handler(ValueInvalid, self.handle_invalid_value)
        app.add_exception_handler(RequestValidationError, self.handle_validation_error)
        app.add_exception_handler(HTTPException, self.handle_http_error)
        app.add_exception_handler(Exception, self.handle_crash)

    def make_problem(
        self,
        status: int,
        cause: str,
        detail: str,
        errors: Iterable[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> ProblemResponse:
        """Return the response for a problem."""
        problem = describe_problem(self.application, status, cause, detail, errors)
        return ProblemResponse(problem.model_dump(), status, headers)

    async def handle_application_error(self, _request: Request, error: Exception) -> Response:
        """Answer with the reason why the system refuses the request."""
        assert isinstance(error, ApplicationError)
        errors = error.errors if isinstance(error, InvalidInput) else ()
        return self.make_problem(error.status, type(error).__name__, str(error), errors, error.headers)

    async def handle_invalid_cursor(self, _request: Request, _error: Exception) -> Response:
        """Answer that the cursor is not one of ours."""
        error = FieldError("cursor", "must be one that an answer gave, unchanged")
        return self.make_problem(422, InvalidInput.__name__, str(error), [error])

    async def handle_invalid_value(self, _request: Request, error: Exception) -> Response:
        """Answer that a value is none that can be stored, such as a name that is empty or too long."""
        log.warning("a value of a request cannot be a key: %s", str(error)[:200])
        return self.make_problem(422, InvalidInput.__name__, "A value is empty, too long, or not possible.")

    async def handle_validation_error(self, _request: Request, error: Exception) -> Response:
        """Answer with every field that does not have the documented form."""
        assert isinstance(error, RequestValidationError)
        details = list(error.errors())
        if any(detail["type"] == "json_invalid" for detail in details):
            return self.make_problem(400, "NotJson", "The body is not JSON.")
        errors = list(describe_validation_errors(details))
        return self.make_problem(422, InvalidInput.__name__, "; ".join(map(str, errors)), errors)

    async def handle_http_error(self, _request: Request, error: Exception) -> Response:
        """Answer that the path does not exist, or not for this method."""
        assert isinstance(error, HTTPException)
        cause = HTTPStatus(error.status_code).phrase.replace(" ", "").replace("-", "")
        return self.make_problem(error.status_code, cause, str(error.detail), headers=error.headers)

    async def handle_crash(self, request: Request, error: Exception) -> Response:
        """Log an unexpected error, and answer without details."""
        fields = {"method": request.method, "path": request.url.path}
        log.error("request failed", exc_info=error, extra={"fields": fields})
        return self.make_problem(500, "Crash", "Something went wrong on our side. It has been logged.")


def describe_problem(
    application: str, status: int, cause: str, detail: str, errors: Iterable[FieldError] = ()
) -> Problem:
    """Return a problem; its type is a URN of the application and the cause."""
    return Problem(
        type=f"urn:hashrange:{application}:{cause}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        faults=[FieldErrorModel(field=error.field, message=error.message) for error in errors],
    )


def describe_validation_errors(details: Iterable[Mapping[str, Any]]) -> Iterator[FieldError]:
    """Yield a field error for each error of pydantic, with our texts."""
    for detail in details:
        path = [str(step) for step in detail["loc"][1:]] or [str(detail["loc"][0])]
        if detail["type"] == "extra_forbidden":
            message = "is not known here"
        else:
            message = MESSAGES.get(detail["type"], detail["msg"]).format(**detail.get("ctx", {}))
        yield FieldError(".".join(path)[:100], message)
