"""The pages of signing in: with a key or a password, a code, or as the demo's user; signing out; confirming a channel.

A system may have its own `sign_in.html`, `code.html` and `confirm.html`, which extend those of `accounts/`.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.shared.accounts.sign_in import Admitted, CodeNeeded
from hashrange_systems.shared.errors import (
    ApiKeyInvalid,
    ApplicationError,
    CodeInvalid,
    ResourceMissing,
    TokenInvalid,
    TooManyRequests,
)
from hashrange_systems.shared.web.account_authenticator import SIGNED_OUT
from hashrange_systems.shared.web.account_dependencies import AccountDeps, Deps, Posted
from hashrange_systems.shared.web.posted_form import PostedForm
from hashrange_systems.shared.web.same_origin import refuse_cross_site
from hashrange_systems.shared.web.session import Session
from hashrange_systems.shared.web.sign_in_redirect import find_client_network, parse_next_path
from hashrange_systems.shared.web.templating import redirect_to

router = APIRouter(include_in_schema=False)


@router.get("/sign-in")
async def show_sign_in(request: Request, deps: Deps, next: str = "") -> Response:  # noqa: A002 - the address says next
    """Show the sign-in form, or redirect a signed-in visitor."""
    path = find_next(deps, next)
    if await deps.authenticator.find_visitor(request):
        return redirect_to(request, path)
    return render_sign_in(request, deps, path)


@router.post("/sign-in")
async def sign_in(request: Request, deps: Deps) -> Response:
    """Start a session with an API key, or a name and a password; or ask for the code of the second factor."""
    sent = await read_open_form(request)
    path, name = find_next(deps, sent.line("next")), sent.line("name")
    try:
        deps.sign_in_limit.consume(find_client_network(request))
        found = await check_first_factor(deps, sent)
    except ApiKeyInvalid as error:
        return render_sign_in(request, deps, path, error, "This key is not valid.", name=name)
    except ApplicationError as error:
        return render_sign_in(request, deps, path, error, name=name)
    if isinstance(found, CodeNeeded):
        return render_code(request, deps, path, found.token)
    return begin_session(request, deps, found, path)


@router.post("/sign-in/code")
async def sign_in_with_code(request: Request, deps: Deps) -> Response:
    """Start a session after the second factor."""
    sent = await read_open_form(request)
    path, token = find_next(deps, sent.line("next")), sent.text("token")
    try:
        deps.sign_in_limit.consume(find_client_network(request))
        found = await deps.services.accounts.sign_in.with_code(token, sent.text("code"))
    except (TokenInvalid, ResourceMissing) as error:
        return render_sign_in(request, deps, path, error, "That took too long: sign in again.", status=401)
    except (CodeInvalid, TooManyRequests) as error:
        return render_code(request, deps, path, token, error)
    return begin_session(request, deps, found, path)


@router.post("/sign-in/demo")
async def sign_in_demo(request: Request, deps: Deps) -> Response:
    """Start a session as the demo's user."""
    refuse_cross_site(request)
    visitor = await deps.authenticator.enter_demo(request)
    if visitor is None:
        return render_sign_in(request, deps, deps.offers.home, None, "There is no demo user here.", status=403)
    return deps.renderer.redirect(request, visitor.session, deps.offers.home)


@router.post("/sign-out")
async def sign_out(request: Request, deps: Deps, _sent: Posted) -> Response:
    """End the session on the server."""
    await deps.authenticator.end_session(request)
    return deps.renderer.redirect(request, SIGNED_OUT, f"{deps.offers.prefix}/sign-in")


@router.get("/confirm")
async def show_confirm(request: Request, deps: Deps, token: str = "") -> Response:
    """Show a button: opening the link alone, as mail scanners do, confirms nothing."""
    return deps.renderer.render(
        request, "confirm.html", None, link_token=token, channel=None, at=deps.offers.prefix, home=deps.offers.home
    )


@router.post("/confirm")
async def confirm(request: Request, deps: Deps) -> Response:
    """Confirm the channel that the link was sent to."""
    sent = await read_open_form(request)
    channel = await deps.services.accounts.channels.confirm(sent.text("token"))
    return deps.renderer.render(
        request, "confirm.html", None, link_token="", channel=channel, at=deps.offers.prefix, home=deps.offers.home
    )


async def read_open_form(request: Request) -> PostedForm:
    """Return the form of somebody who has no session yet; raise FormRejected if another site sent it."""
    refuse_cross_site(request)
    return PostedForm(await request.form(max_files=0, max_fields=10))


async def check_first_factor(deps: AccountDeps, sent: PostedForm) -> Admitted | CodeNeeded:
    """Sign in with what the system offers: the key if one was given, otherwise the name and the password."""
    service, offers = deps.services.accounts.sign_in, deps.offers
    key = sent.line("key")
    if offers.api_keys and (key or not offers.password):
        return await service.with_key(key)
    if not offers.password:
        raise ApiKeyInvalid
    return await service.with_password(sent.line("name"), sent.text("password"))


def begin_session(request: Request, deps: AccountDeps, admitted: Admitted, path: str) -> Response:
    """Redirect with the cookie of a new session, which nobody can have set before."""
    return deps.renderer.redirect(request, Session("", "", admitted.cookie), path)


def find_next(deps: AccountDeps, path: str) -> str:
    """Return the path to go to after signing in: always one of our own."""
    return parse_next_path(path) if path else deps.offers.home


def render_sign_in(
    request: Request,
    deps: AccountDeps,
    path: str,
    error: ApplicationError | None = None,
    text: str = "",
    *,
    status: int | None = None,
    name: str = "",
) -> Response:
    """Render the sign-in form with an error."""
    page = deps.renderer.render(
        request,
        "sign_in.html",
        None,
        status or (error.status if error else 200),
        next=path,
        error=text or str(error or ""),
        name=name,
        offers=deps.offers,
        at=deps.offers.prefix,
        offers_sign_up=deps.offers.sign_up and deps.services.accounts.sign_up.policy.is_open,
        offers_demo=deps.authenticator.offers_demo(request),
    )
    page.headers.update(error.headers if error else {})
    return page


def render_code(
    request: Request, deps: AccountDeps, path: str, token: str, error: ApplicationError | None = None
) -> Response:
    """Render the form for the second factor."""
    page = deps.renderer.render(
        request,
        "code.html",
        None,
        error.status if error else 200,
        next=path,
        token=token,
        error=str(error or ""),
        at=deps.offers.prefix,
    )
    page.headers.update(error.headers if error else {})
    return page
