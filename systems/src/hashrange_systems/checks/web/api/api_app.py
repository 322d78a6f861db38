"""The JSON API, mounted under /api: routes, error responses and the OpenAPI document."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from hashrange_systems.checks.application import Application
from hashrange_systems.checks.web.api import account_api as account
from hashrange_systems.checks.web.api import admin_api as admin
from hashrange_systems.checks.web.api import checks_api as checks
from hashrange_systems.checks.web.api import metrics_api as metrics
from hashrange_systems.checks.web.api import reports_api as report
from hashrange_systems.checks.web.api.api_authentication import ApiDependencies
from hashrange_systems.shared.web.api import BURST, FAILURES, make_api, make_key_authenticator
from hashrange_systems.shared.web.problem import Problem, ProblemHandlers
from hashrange_systems.shared.web.templating import find_mount_path

PROBLEMS = ProblemHandlers("checks")
MODULES = (checks, metrics, account, report, admin)
ABOUT = """Website checks: add pages and eBay searches, and read how they are and were.

Send an API key as `Authorization: Bearer KEY`. A key may make 100 requests at once and 10 a second; beyond that the
answer is 429, with `Retry-After`. Every refusal is a problem document (RFC 9457) whose `faults` name each field."""


def make_checks_api(services: Application, burst: int = BURST, failures: int = FAILURES) -> FastAPI:
    """Return the API; `burst` limits the requests of a key, `failures` the invalid keys of a client's network."""
    callers = make_key_authenticator(services.keys.authenticate, services.clock, burst=burst, failures=failures)
    deps = ApiDependencies(services=services, callers=callers)
    app = make_api("hashrange checks", ABOUT, deps.base_url, deps, MODULES, PROBLEMS)
    app.add_exception_handler(HTTPException, handle_http_error_with_methods)
    app.openapi = lambda: app.openapi_schema or describe_api(app)  # type: ignore[method-assign]  # as FastAPI has it done
    return app


async def handle_http_error_with_methods(request: Request, error: Exception) -> Response:
    """Answer 404, or 405 with the allowed methods."""
    response = await PROBLEMS.handle_http_error(request, error)
    if response.status_code == 405:
        response.headers["Allow"] = ", ".join(
            find_methods(request.app, request.url.path.removeprefix(find_mount_path(request)))
        )
    return response


def find_methods(app: FastAPI, path: str) -> list[str]:
    """Return the methods of a path: FastAPI only reports those of the first matching route."""
    templates: dict[str, dict[str, Any]] = app.openapi()["paths"]
    fitting = (each for each in templates if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(each)), path))
    return sorted(method.upper() for method in templates.get(next(fitting, ""), {}))


def describe_api(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with problem details as the error responses."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes, servers=app.servers
    )
    schemas = document["components"]["schemas"]
    shapes = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= shapes.pop("$defs") | {"Problem": shapes}
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    refusal = {"schema": {"$ref": "#/components/schemas/Problem"}}
    for operation in (each for path in document["paths"].values() for each in path.values()):
        operation["responses"].pop("422", None)
        operation["responses"]["4XX"] = {
            "description": "Refused",
            "content": {"application/problem+json": refusal},
        }
    app.openapi_schema = document
    return document
