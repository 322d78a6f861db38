"""Sign-in with an API key, sign-out, and verification of channels."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.checks.web.authentication import SecondFactorStep
from hashrange_systems.checks.web.dependencies import ChecksPages, Deps
from hashrange_systems.shared.errors import (
    AccountSuspended,
    ApiKeyInvalid,
    CodeInvalid,
    ResourceMissing,
    TokenInvalid,
    TooManyRequests,
)
from hashrange_systems.shared.web import sign_in_routes
from hashrange_systems.shared.web.same_origin import refuse_cross_site
from hashrange_systems.shared.web.sign_in_redirect import find_client_network, parse_next_path
from hashrange_systems.shared.web.sign_in_routes import render_sign_in

router = APIRouter(include_in_schema=False)
router.include_router(sign_in_routes.router)


@router.post("/sign-in")
async def sign_in(request: Request, deps: Deps) -> Response:
    """Start a session for the user of an API key."""
    refuse_cross_site(request)
    form = await request.form(max_files=0, max_fields=10)
    key, path = str(form.get("key", "")).strip(), parse_next_path(str(form.get("next", "/")))
    try:
        deps.sign_in_limit.consume(find_client_network(request))
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
        deps.sign_in_limit.consume(find_client_network(request))
        userid, key_id = await SecondFactorStep(deps.services).check_code(token, code)
    except (TokenInvalid, ResourceMissing):
        return render_sign_in(request, deps, path, "That took too long: sign in again.", 401)
    except (CodeInvalid, TooManyRequests) as error:
        return render_code(request, deps, path, token, str(error), error.status)
    return deps.renderer.redirect(request, deps.authenticator.start_session(userid, key_id), path)


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


def render_code(
    request: Request, deps: ChecksPages, path: str, token: str, error: str = "", status: int = 200
) -> Response:
    """Render the form for the second factor."""
    return deps.renderer.render(request, "code.html", None, status, next=path, token=token, error=error)
