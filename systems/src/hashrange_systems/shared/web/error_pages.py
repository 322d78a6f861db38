"""Error pages of a system: refusals of its services, unknown addresses, crashes; and the way to sign-in."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hashrange import CursorInvalid, ValueInvalid
from hashrange_systems.shared.errors import ApplicationError, ResourceMissing, SignInRequired
from hashrange_systems.shared.web.request_guard import HEADERS
from hashrange_systems.shared.web.templating import find_mount_path, redirect_to

log = logging.getLogger(__name__)

NO_SUCH_PAGE = "There is no such page."


@dataclass(frozen=True, slots=True)
class ErrorPages:
    """The error pages of an application; `render` makes a page of a status, a title and a text."""

    app: FastAPI
    render: Callable[[Request, int, str, str], Response]
    sign_in: str = "/sign-in"
    home: str = "/"  # where a visitor goes after signing in for a form that was lost

    def install(self) -> None:
        """Use these pages for the errors of the application."""
        self.app.add_exception_handler(ApplicationError, self.render_application_error)
        self.app.add_exception_handler(CursorInvalid, self.render_invalid_cursor)
        self.app.add_exception_handler(ValueInvalid, self.render_invalid_value)
        self.app.add_exception_handler(RequestValidationError, self.render_not_found)
        self.app.add_exception_handler(HTTPException, self.render_http_error)
        self.app.add_exception_handler(Exception, self.render_crash)

    async def render_application_error(self, request: Request, error: Exception) -> Response:
        """Render a refusal; redirect visitors who must sign in."""
        assert isinstance(error, ApplicationError)
        if isinstance(error, SignInRequired):
            return self._redirect_to_sign_in(request)
        title = "Not found" if isinstance(error, ResourceMissing) else HTTPStatus(error.status).phrase
        response = self.render(request, error.status, title, str(error))
        response.headers.update(error.headers)
        return response

    def _redirect_to_sign_in(self, request: Request) -> Response:
        path = request.url.path.removeprefix(find_mount_path(request)) if request.method == "GET" else self.home
        response = redirect_to(request, self.sign_in)
        response.headers["Location"] += f"?next={quote(path)}" if path not in {"", self.home} else ""
        return response

    async def render_invalid_cursor(self, request: Request, _error: Exception) -> Response:
        """Render a 404 for a page of a list that is not there any more."""
        return self.render(request, 404, "Not found", "There is no such page: begin again at the first one.")

    async def render_invalid_value(self, request: Request, error: Exception) -> Response:
        """Render a 404 for a value that cannot be a key, such as a name that is empty or too long."""
        log.warning("a value of a request cannot be a key: %s", str(error)[:200])
        return self.render(request, 404, "Not found", NO_SUCH_PAGE)

    async def render_not_found(self, request: Request, _error: Exception) -> Response:
        """Render a 404, as for an address with parameters that are not valid."""
        return self.render(request, 404, "Not found", NO_SUCH_PAGE)

    async def render_http_error(self, request: Request, error: Exception) -> Response:
        """Render an error such as 404 or 405."""
        assert isinstance(error, HTTPException)
        text = NO_SUCH_PAGE if error.status_code == 404 else str(error.detail)
        title = HTTPStatus(error.status_code).phrase.capitalize()
        response = self.render(request, error.status_code, title, text)
        response.headers.update(error.headers or {})
        return response

    async def render_crash(self, request: Request, error: Exception) -> Response:
        """Log an unexpected error, and render a 500."""
        if request.app is not self.app:
            return Response(status_code=500)  # a mounted application has logged and answered it
        log.error("page failed", exc_info=error, extra={"fields": {"method": request.method, "path": request.url.path}})
        response = self.render(request, 500, "Something went wrong", "The error is ours, and has been logged.")
        response.headers.update(HEADERS)  # such a response does not pass the request guard
        return response
