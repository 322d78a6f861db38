"""The routes of sign-in that are the same in all systems with API keys: the form, the demo's session, sign-out.

A system includes `router` and adds `POST /sign-in`; its templates have a `sign_in.html`.
"""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from hashrange_systems.shared.web.pages import get_dependencies
from hashrange_systems.shared.web.same_origin import refuse_cross_site
from hashrange_systems.shared.web.session_authenticator import SessionAuthenticator
from hashrange_systems.shared.web.session_renderer import SessionRenderer
from hashrange_systems.shared.web.sign_in_redirect import parse_next_path
from hashrange_systems.shared.web.templating import redirect_to


class DemoServices(Protocol):
    """The services, as far as sign-in uses them."""

    @property
    def demo_email(self) -> str | None:
        """The address of the demo's user, if there is one."""
        ...


class SignInDependencies(Protocol):
    """The dependencies of the pages, as far as sign-in uses them."""

    @property
    def services(self) -> DemoServices:
        """The services."""
        ...

    @property
    def authenticator(self) -> SessionAuthenticator[Any]:
        """What finds users and makes sessions."""
        ...

    @property
    def renderer(self) -> SessionRenderer[Any]:
        """What renders pages."""
        ...


Deps = Annotated[SignInDependencies, Depends(get_dependencies)]

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
async def show_sign_in(request: Request, deps: Deps, next: str = "/") -> Response:  # noqa: A002 - the address says next
    """Show the sign-in form, or redirect a signed-in user."""
    if await deps.authenticator.find_visitor(request):
        return redirect_to(request, parse_next_path(next))
    return render_sign_in(request, deps, parse_next_path(next))


@router.post("/sign-in/demo")
async def sign_in_demo(request: Request, deps: Deps) -> Response:
    """Start a session as the demo user."""
    refuse_cross_site(request)
    visitor = await deps.authenticator.enter_demo(request)
    if visitor is None:
        return render_sign_in(request, deps, "/", "There is no demo user here.", 403)
    return deps.renderer.redirect(request, visitor.session, "/")


@router.post("/sign-out")
async def sign_out(request: Request, deps: Deps) -> Response:
    """End the session on the server."""
    sent = await deps.authenticator.read_form(request)
    return deps.renderer.redirect(request, await deps.authenticator.sign_out(sent.visitor.session), "/sign-in")


def render_sign_in(
    request: Request, deps: SignInDependencies, path: str, error: str = "", status: int = 200
) -> Response:
    """Render the sign-in form."""
    offers_demo = deps.services.demo_email is not None and deps.authenticator.is_local(request)
    return deps.renderer.render(request, "sign_in.html", None, status, next=path, error=error, offers_demo=offers_demo)
