"""The pages of the host: the index, `/health`, and the application of each system mounted under its name."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from hashrange import __version__
from hashrange.hosting.schema_module import SchemaModule
from hashrange.hosting.supervisor import Supervisor
from hashrange.hosting.system import HealthReporter, RunningSystem, System

HEALTH_TIMEOUT = 5.0

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedSystem:
    """A system, the running instance, and its supervisor."""

    system: System
    running: RunningSystem
    supervisor: Supervisor

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return sorted({table.physical_name for declared in self.system.patterns for table in declared.tables()})


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAddress:
    """Where the endpoint, the pages and the data are."""

    endpoint: str  # empty if our own DynamoDB has none
    region: str
    web: str
    data: str  # a directory, or a phrase for the user
    is_local: bool  # the DynamoDB is ours
    key_id: str | None = None  # whose signature our endpoint requires; any if None


def isolate(app: ASGIApp) -> ASGIApp:
    """Return the application with its own routes only: `url_for` must not find those of another system."""

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        own = {name: value for name, value in scope.items() if name != "router"}
        await app({**own, "app_root_path": scope.get("root_path", "")}, receive, send)

    return run


def count_hosted(hosted: Sequence[HostedSystem], schemas: Sequence[SchemaModule]) -> str:
    """Return how much is hosted: DynamoDB, 1 schema and 3 systems."""
    parts = ["DynamoDB"]
    if schemas:
        parts.append(f"{len(schemas)} {'schema' if len(schemas) == 1 else 'schemas'}")
    if hosted or not schemas:
        parts.append(f"{len(hosted)} {'system' if len(hosted) == 1 else 'systems'}")
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


async def describe_health(hosted: HostedSystem) -> dict[str, object]:
    """Return the state of a system's work, and what the system itself reports."""
    facts: dict[str, object] = {"state": hosted.supervisor.state, "restarts": hosted.supervisor.restarts}
    if isinstance(hosted.running, HealthReporter):
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT):
                facts |= await hosted.running.report_health()
        except Exception as error:  # noqa: BLE001 - the outermost handler: a system that cannot answer is not healthy
            facts |= {"healthy": False, "problem": type(error).__name__}
    return facts


class HostPages:
    """The pages of the host itself."""

    def __init__(
        self, address: HostAddress, hosted: Sequence[HostedSystem], schemas: Sequence[SchemaModule] = ()
    ) -> None:
        self._address = address
        self._hosted = hosted
        self._schemas = schemas
        templates = Environment(loader=PackageLoader("hashrange.hosting"), autoescape=True, trim_blocks=True)
        self._index, self._not_found = templates.get_template("index.html"), templates.get_template("not_found.html")

    def make_app(self) -> Starlette:
        """Return the application of the web port."""
        systems = [Mount(f"/{each.system.name}", isolate(each.running.app)) for each in self._hosted]
        return Starlette(
            routes=[Route("/", self.show_index), Route("/health", self.show_health), *systems],
            exception_handlers={404: self.show_not_found},
        )

    async def show_index(self, request: Request) -> Response:
        """List the systems and schemas, and explain how to use the endpoint."""
        page = self._index.render(
            address=self._address,
            hosted=self._hosted,
            schemas=self._schemas,
            summary=count_hosted(self._hosted, self._schemas),
            version=__version__,
        )
        return HTMLResponse(page, headers=HEADERS)

    async def show_health(self, request: Request) -> Response:
        """Return the state of each system's worker; the status is 200 as long as the process responds."""
        systems = {each.system.name: await describe_health(each) for each in self._hosted}
        degraded = any(facts["state"] == "restarting" or facts.get("healthy") is False for facts in systems.values())
        health = {
            "status": "degraded" if degraded else "ok",
            "version": __version__,
            "endpoint": self._address.endpoint or None,
            "systems": systems,
        }
        return JSONResponse(health, headers={"Cache-Control": "no-store"})

    async def show_not_found(self, request: Request, error: Exception) -> Response:
        """Say that the page does not exist, with links to those that do."""
        assert isinstance(error, HTTPException)
        page = self._not_found.render(path=request.url.path, hosted=self._hosted)
        return HTMLResponse(page, error.status_code, headers=HEADERS)
