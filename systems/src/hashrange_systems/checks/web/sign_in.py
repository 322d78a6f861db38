"""Sign-in with an API key, sign-out, and verification of channels."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.errors import CodeInvalid
from hashrange_systems.checks.web.authentication import SecondFactorStep
from hashrange_systems.checks.web.dependencies import Deps, PageDependencies, PostedForm
from hashrange_systems.shared.errors import (
    AccountSuspended,
    ApiKeyInvalid,
    ResourceMissing,
    TokenInvalid,
    TooManyRequests,
)
from hashrange_systems.shared.web.same_origin import refuse_cross_site
from hashrange_systems.shared.web.sign_in_redirect import find_client_address, parse_next_path
from hashrange_systems.shared.web.templating import redirect_to

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
async def show_sign_in(request: Request, deps: Deps, next: str = "/") -> Response:  # noqa: A002 - the address says next
    """Show the sign-in form, or redirect a signed-in user."""
    if await deps.authenticator.find_visitor(request):
        return redirect_to(request, parse_next_path(next))
    return render_sign_in(request, deps, parse_next_path(next))


@router.post("/sign-in")
async def sign_in(request: Request, deps: Deps) -> Response:
    """Start a session for the user of an API key."""
    refuse_cross_site(request)
    form = await request.form(max_files=0, max_fields=10)
    key, path = str(form.get("key", "")).strip(), parse_next_path(str(form.get("next", "/")))
    try:
        deps.sign_in_limit.consume(find_client_address(request))
        userid, key_id = await deps.authenticator.accounts.authenticate_key(key)
    except ApiKeyInvalid:
        return render_sign_in(request, deps, path, "This key is not valid.", 401)
    except (AccountSuspended, TooManyRequests) as error:
        return render_sign_in(request, deps, path, str(error), error.status)
    if await deps.services.second_factors.is_required(userid):
        return render_code(request, deps, path, SecondFactorStep(deps.services).ask_for_code(userid, key_id))
    return deps.renderer.redirect(request, deps.authenticator.start_session(userid, key_id), path)


@router.post("/sign-in/code")
async def sign_in_with_code(request: Request, deps: Deps) -> Response:
    """Start a session after the second factor."""
    refuse_cross_site(request)
    form = await request.form(max_files=0, max_fields=10)
    token, code = str(form.get("token", "")), str(form.get("code", ""))
    path = parse_next_path(str(form.get("next", "/")))
    try:
        deps.sign_in_limit.consume(find_client_address(request))
        userid, key_id = await SecondFactorStep(deps.services).check_code(token, code)
    except (TokenInvalid, ResourceMissing):
        return render_sign_in(request, deps, path, "That took too long: sign in again.", 401)
    except (CodeInvalid, TooManyRequests) as error:
        return render_code(request, deps, path, token, str(error), error.status)
    return deps.renderer.redirect(request, deps.authenticator.start_session(userid, key_id), path)


@router.post("/sign-in/demo")
async def sign_in_demo(request: Request, deps: Deps) -> Response:
    """Start a session as the demo user."""
    refuse_cross_site(request)
    visitor = await deps.authenticator.enter_demo(request)
    if visitor is None:
        return render_sign_in(request, deps, "/", "There is no demo user here.", 403)
    return deps.renderer.redirect(request, visitor.session, "/")


@router.post("/sign-out")
async def sign_out(request: Request, deps: Deps, sent: PostedForm) -> Response:
    """End the session on the server."""
    empty = await deps.authenticator.sign_out(sent.visitor.session)
    return deps.renderer.redirect(request, empty, "/sign-in")


@router.get("/verify")
async def show_verify(request: Request, deps: Deps, token: str = "") -> Response:
    """Show a button: opening the link alone, as mail scanners do, verifies nothing."""
    return deps.renderer.render(request, "verify.html", link_token=token, channel=None)


@router.post("/verify")
async def verify(request: Request, deps: Deps) -> Response:
    """Verify the channel that the link was sent to."""
    form = await request.form(max_files=0, max_fields=10)
    channel = await deps.services.channels.verify(str(form.get("token", "")))
    await deps.services.users.confirm_email(channel)
    return deps.renderer.render(request, "verify.html", channel=channel)


def render_sign_in(request: Request, deps: PageDependencies, path: str, error: str = "", status: int = 200) -> Response:
    """Render the sign-in form."""
    offers_demo = deps.services.demo_email is not None and deps.authenticator.is_local(request)
    return deps.renderer.render(request, "sign_in.html", None, status, next=path, error=error, offers_demo=offers_demo)


def render_code(
    request: Request, deps: PageDependencies, path: str, token: str, error: str = "", status: int = 200
) -> Response:
    """Render the form for the second factor."""
    return deps.renderer.render(request, "code.html", None, status, next=path, token=token, error=error)
