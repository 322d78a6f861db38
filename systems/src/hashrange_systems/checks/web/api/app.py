"""The JSON API as an application of its own, mounted under /api: its routes, its problems, its OpenAPI document."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from hashrange import __version__
from hashrange_systems.checks.web.allowance import Allowance
from hashrange_systems.checks.web.api import account, admin, checks, report
from hashrange_systems.checks.web.api.caller import Counter
from hashrange_systems.checks.web.painter import find_root
from hashrange_systems.checks.web.problem import Problem, install, tell_http
from hashrange_systems.checks.web.services import Services

BURST, PER_SECOND = 100, 10.0
FAILURES, FAILURES_PER_SECOND = 20, 0.2
ABOUT = """Website checks: add pages and eBay searches, and read how they are and were.

Send an API key as `Authorization: Bearer KEY`. A key may make 100 requests at once and 10 a second; beyond that the
answer is 429, with `Retry-After`. Every refusal is a problem document (RFC 9457) whose `faults` name each field."""


def make_api(services: Services, base_url: str, burst: int = BURST, failures: int = FAILURES) -> FastAPI:
    """Return the API; a key may make so many requests at once, and an address give so many wrong keys."""
    app = FastAPI(
        title="hashrange checks",
        version=__version__,
        description=ABOUT,
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
        servers=[{"url": f"{base_url}/api"}],
        root_path_in_servers=False,
    )
    app.state.counter = Counter(
        services=services,
        base_url=base_url,
        per_key=Allowance(services.clock, burst=burst, per_second=PER_SECOND),
        failures=Allowance(services.clock, burst=failures, per_second=FAILURES_PER_SECOND),
    )
    for module in (checks, account, report, admin):
        app.include_router(module.router)
    install(app)
    app.add_exception_handler(HTTPException, tell_http_and_methods)
    app.openapi = lambda: app.openapi_schema or describe(app)  # type: ignore[method-assign]  # as FastAPI has it done
    return app


async def tell_http_and_methods(request: Request, error: Exception) -> Response:
    """Answer that there is no such address, or not for this method; then with all that there are."""
    response = await tell_http(request, error)
    if response.status_code == 405:
        response.headers["Allow"] = ", ".join(
            find_methods(request.app, request.url.path.removeprefix(find_root(request)))
        )
    return response


def find_methods(app: FastAPI, path: str) -> list[str]:
    """Return the methods of an address: FastAPI itself knows only those of the first route that fits."""
    templates: dict[str, dict[str, Any]] = app.openapi()["paths"]
    fitting = (each for each in templates if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(each)), path))
    return sorted(method.upper() for method in templates.get(next(fitting, ""), {}))


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, in which every refusal is a problem."""
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
