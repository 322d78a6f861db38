"""What is on the web port: the first page, `/health`, and the pages of each system under its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route

from hashrange import __version__
from hashrange.hosting.system import Running, System
from hashrange.hosting.worker import Worker

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """A system, what it runs as, and who keeps it going."""

    system: System
    running: Running
    worker: Worker

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return sorted({table.physical_name for declared in self.system.patterns for table in declared.tables()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where everything is."""

    endpoint: str
    region: str
    web: str
    data: str  # in words
    is_local: bool  # any credentials will do


class Site:
    """The pages of the host itself."""

    def __init__(self, place: Place, hosted: Sequence[Hosted]) -> None:
        self._place = place
        self._hosted = hosted
        templates = Environment(loader=PackageLoader("hashrange.hosting"), autoescape=True, trim_blocks=True)
        self._index, self._missing = templates.get_template("index.html"), templates.get_template("missing.html")

    def make_app(self) -> Starlette:
        """Return the application of the web port."""
        systems = [Mount(f"/{each.system.name}", each.running.app) for each in self._hosted]
        return Starlette(
            routes=[Route("/", self.show_index), Route("/health", self.show_health), *systems],
            exception_handlers={404: self.show_missing},
        )

    async def show_index(self, request: Request) -> Response:
        """Show the systems, and how to use the endpoint."""
        page = self._index.render(place=self._place, hosted=self._hosted, version=__version__)
        return HTMLResponse(page, headers=HEADERS)

    async def show_health(self, request: Request) -> Response:
        """Tell whether everything is at work; it answers 200 as long as there is anybody to ask."""
        systems = {
            each.system.name: {"state": each.worker.state, "restarts": each.worker.restarts} for each in self._hosted
        }
        troubled = any(each.worker.state == "restarting" for each in self._hosted)
        status = "degraded" if troubled else "ok"
        answer = {"status": status, "version": __version__, "endpoint": self._place.endpoint, "systems": systems}
        return JSONResponse(answer, headers={"Cache-Control": "no-store"})

    async def show_missing(self, request: Request, error: Exception) -> Response:
        """Say that there is no such page, and where there are some."""
        assert isinstance(error, HTTPException)
        page = self._missing.render(path=request.url.path, hosted=self._hosted)
        return HTMLResponse(page, error.status_code, headers=HEADERS)
