"""The JSON API, mounted under /api: its error responses, and its OpenAPI document.

Status codes are those of the original: 201, 400 for an invalid form, 404, 409 for what is listed already.
"""

from __future__ import annotations

import logging

import orjson
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

from hashrange_systems.kelifax.application import Application
from hashrange_systems.kelifax.errors import AlreadyListed
from hashrange_systems.kelifax.web.api import resource_api
from hashrange_systems.kelifax.web.api.resource_api import ApiDependencies
from hashrange_systems.shared.errors import FieldError, InvalidInput
from hashrange_systems.shared.web.api import make_api
from hashrange_systems.shared.web.problem import ProblemHandlers
from hashrange_systems.shared.web.rate_limit import RateLimit

log = logging.getLogger(__name__)

ABOUT = "A directory of tools and resources. Everything here is public; nothing is about submitters."


class ApiProblems(ProblemHandlers):
    """Problems with the status codes of the original system."""

    async def handle_application_error(self, request: Request, error: Exception) -> Response:
        """Answer 400 for an invalid form, and name the entry that a duplicate duplicates."""
        if isinstance(error, InvalidInput):
            return self.make_problem(400, "InvalidInput", str(error), error.errors)
        if isinstance(error, AlreadyListed):
            problem = self.make_problem(409, "AlreadyListed", str(error))
            content = orjson.loads(bytes(problem.body))
            existing = {
                "resourceSlug": error.existing.slug,
                "resourceName": error.existing.name,
                "status": error.existing.status,
            }
            content |= {"existing": existing, "suggestion": error.suggestion}
            return JSONResponse(content, 409, media_type="application/problem+json")
        return await super().handle_application_error(request, error)

    async def handle_invalid_cursor(self, _request: Request, _error: Exception) -> Response:
        """Answer that the cursor is not one of this list."""
        error = FieldError("after", "must be the cursor of the page before, with the same filters")
        return self.make_problem(400, "InvalidInput", str(error), [error])

    async def handle_invalid_value(self, _request: Request, error: Exception) -> Response:
        """Answer that a value of the address is none that can be stored, such as a slug that is too long."""
        log.warning("a value of an address cannot be a key: %s", str(error)[:200])
        return self.make_problem(400, "InvalidInput", "A value of the address is too long, or not possible.")

    async def handle_validation_error(self, request: Request, error: Exception) -> Response:
        """Answer 400 where FastAPI says 422."""
        response = await super().handle_validation_error(request, error)
        content = orjson.loads(bytes(response.body)) | {"status": 400, "title": "Bad Request"}
        return JSONResponse(content, 400, media_type="application/problem+json")


def make_kelifax_api(services: Application, base_url: str, limit: RateLimit) -> FastAPI:
    """Return the API; `limit` is that of submissions and uploads, by the client's network."""
    deps = ApiDependencies(services=services, base_url=base_url, limit=limit)
    return make_api("Kelifax", ABOUT, base_url, deps, [resource_api], ApiProblems("kelifax"))
