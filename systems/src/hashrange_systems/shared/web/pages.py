"""The pages of a system: one FastAPI application with routes, templates, static files, error pages and a request guard.

A handler gets what it needs as `Deps`, which a system declares for its `PageDependencies`:

    Deps = Annotated[PageDependencies[Application, PageRenderer], Depends(get_dependencies)]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Protocol, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.middleware import Middleware
from starlette.responses import Response

from hashrange_systems.shared.accounts.team_role import ensure_role
from hashrange_systems.shared.application.application_type import SystemApplication
from hashrange_systems.shared.web.error_pages import ErrorPages
from hashrange_systems.shared.web.request_guard import MAX_BYTES, RequestGuard
from hashrange_systems.shared.web.session_authenticator import SignedInVisitor, SubmittedForm
from hashrange_systems.shared.web.templating import make_static_files


class ErrorRenderer(Protocol):
    """What renders the pages of a system, as far as errors need it."""

    def render_error(self, request: Request, status: int, title: str, text: str) -> Response:
        """Return an error page."""
        ...


A = TypeVar("A", bound=SystemApplication)
R = TypeVar("R", bound=ErrorRenderer)
User = TypeVar("User")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageDependencies(Generic[A, R]):
    """What the handlers of the pages need; a system adds its limits and what finds its visitors."""

    services: A  # the application, which has one of each service
    renderer: R

    @property
    def base_url(self) -> str:
        """The URL of the pages, without a slash at the end."""
        return self.services.runtime.base_url

    @property
    def now(self) -> int:
        """The time in milliseconds."""
        return self.services.runtime.clock.millis()


def get_dependencies(request: Request) -> Any:
    """Return the dependencies of the application, which it has set as `app.state.deps`."""
    return request.app.state.deps


# ── signed-in visitors ───────────────────────────────────────────────────────────────────────────────────────────────
class VisitorFinder(Protocol):
    """What finds the visitor of a page, such as an `AccountAuthenticator`."""

    async def require_visitor(self, request: Request) -> SignedInVisitor[Any]:
        """Return the signed-in visitor; raise SignInRequired."""
        ...

    async def read_form(self, request: Request, max_files: int = 0) -> SubmittedForm[Any]:
        """Return the posted form of a visitor; raise FormRejected if it is from elsewhere."""
        ...


class HasAuthenticator(Protocol):
    """The dependencies of pages with sign-in."""

    @property
    def authenticator(self) -> VisitorFinder:
        """What finds the visitor of a page."""
        ...


SignInDeps = Annotated[HasAuthenticator, Depends(get_dependencies)]


async def require_visitor(request: Request, deps: SignInDeps) -> Any:
    """Return the signed-in visitor; without one, raise what redirects to the sign-in."""
    return await deps.authenticator.require_visitor(request)


async def read_submitted_form(request: Request, deps: SignInDeps) -> Any:
    """Return the form of a signed-in visitor who may change things, with at most one file.

    Raise FormRejected if it is from elsewhere, and RoleMissing for a reader of a team.
    """
    sent = await deps.authenticator.read_form(request, max_files=1)
    ensure_role(sent.visitor.role, "editor")
    return sent


async def ensure_owner(request: Request, deps: SignInDeps) -> None:
    """Raise RoleMissing unless the visitor is an owner of the space: for routes of what belongs to its account."""
    ensure_role((await deps.authenticator.require_visitor(request)).role, "owner")


SignedIn = Annotated[SignedInVisitor[User], Depends(require_visitor)]
Posted = Annotated[SubmittedForm[User], Depends(read_submitted_form)]


class HasRouter(Protocol):
    """A module with the routes of some pages."""

    @property
    def router(self) -> APIRouter:
        """The routes."""
        ...


# ── the application ──────────────────────────────────────────────────────────────────────────────────────────────────
def make_pages(
    deps: PageDependencies[Any, Any],
    modules: Iterable[HasRouter],
    api: FastAPI,
    *,
    static: Path,
    sign_in: str = "/sign-in",
    max_bytes: int = MAX_BYTES,
    uploads: Mapping[str, int] | None = None,
    middleware: Sequence[Middleware] = (),
) -> FastAPI:
    """Return the pages of a system: the routes of the modules, and its API under /api.

    `max_bytes` is the longest body, `uploads` that of paths with longer ones. Visitors sign in at `sign_in`, and go to
    its parent when a form was lost. `middleware` is called within the request guard.
    """
    name = deps.services.runtime.settings.system
    app = FastAPI(title=name, openapi_url=None, docs_url=None, redoc_url=None, middleware=list(middleware))
    app.state.deps = deps
    for module in modules:
        app.include_router(module.router)
    app.mount("/static", make_static_files(static), name="static")
    app.mount("/api", api, name="api")
    ErrorPages(app, deps.renderer.render_error, sign_in=sign_in, home=sign_in.rpartition("/")[0] or "/").install()
    secure = deps.base_url.startswith("https://")
    app.add_middleware(RequestGuard, name=name, secure=secure, max_bytes=max_bytes, uploads=uploads)
    return app
