"""Sign-in with an API key, and sign-out."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.aura.web.dependencies import Deps
from hashrange_systems.shared.errors import ApiKeyInvalid, TooManyRequests
from hashrange_systems.shared.web import sign_in_routes
from hashrange_systems.shared.web.same_origin import refuse_cross_site
from hashrange_systems.shared.web.sign_in_redirect import find_client_network, parse_next_path
from hashrange_systems.shared.web.sign_in_routes import render_sign_in

router = APIRouter(include_in_schema=False)
router.include_router(sign_in_routes.router)


@router.post("/sign-in")
async def sign_in(request: Request, deps: Deps) -> Response:
    """Start a session for the member of an API key."""
    refuse_cross_site(request)
    form = await request.form(max_files=0, max_fields=10)
    key, path = str(form.get("key", "")).strip(), parse_next_path(str(form.get("next", "/")))
    try:
        deps.sign_in_limit.consume(find_client_network(request))
        session = await deps.authenticator.sign_in(key)
    except ApiKeyInvalid:
        return render_sign_in(request, deps, path, "This key is not valid.", 401)
    except TooManyRequests as error:
        return render_sign_in(request, deps, path, str(error), error.status)
    return deps.renderer.redirect(request, session, path)
