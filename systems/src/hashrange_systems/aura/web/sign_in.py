"""Sign-in with an API key, and sign-out."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.aura.web.dependencies import Deps, PageDependencies, Posted
from hashrange_systems.shared.errors import ApiKeyInvalid, TooManyRequests
from hashrange_systems.shared.web.same_origin import refuse_cross_site
from hashrange_systems.shared.web.sign_in_redirect import find_client_address, parse_next_path
from hashrange_systems.shared.web.templating import redirect_to

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
async def show_sign_in(request: Request, deps: Deps, next: str = "/") -> Response:  # noqa: A002 - the address says next
    """Show the sign-in form, or redirect a signed-in member."""
    if await deps.authenticator.find_visitor(request):
        return redirect_to(request, parse_next_path(next))
    return render_sign_in(request, deps, parse_next_path(next))


@router.post("/sign-in")
async def sign_in(request: Request, deps: Deps) -> Response:
    """Start a session for the member of an API key."""
    refuse_cross_site(request)
    form = await request.form(max_files=0, max_fields=10)
    key, path = str(form.get("key", "")).strip(), parse_next_path(str(form.get("next", "/")))
    try:
        deps.sign_in_limit.consume(find_client_address(request))
        session = await deps.authenticator.sign_in(key)
    except ApiKeyInvalid:
        return render_sign_in(request, deps, path, "This key is not valid.", 401)
    except TooManyRequests as error:
        return render_sign_in(request, deps, path, str(error), error.status)
    return deps.renderer.redirect(request, session, path)


@router.post("/sign-in/demo")
async def sign_in_demo(request: Request, deps: Deps) -> Response:
    """Start a session as the demo's member."""
    refuse_cross_site(request)
    visitor = await deps.authenticator.enter_demo(request)
    if visitor is None:
        return render_sign_in(request, deps, "/", "There is no demo here.", 403)
    return deps.renderer.redirect(request, visitor.session, "/")


@router.post("/sign-out")
async def sign_out(request: Request, deps: Deps, sent: Posted) -> Response:
    """End the session on the server."""
    return deps.renderer.redirect(request, await deps.authenticator.sign_out(sent.visitor.session), "/sign-in")


def render_sign_in(request: Request, deps: PageDependencies, path: str, error: str = "", status: int = 200) -> Response:
    """Render the sign-in form."""
    offers_demo = deps.services.demo_email is not None and deps.authenticator.is_local(request)
    return deps.renderer.render(request, "sign_in.html", None, status, next=path, error=error, offers_demo=offers_demo)
