"""The pages of signing up and of a new password: a form for the address, and the page of the link that is sent there.

A system may have its own `ask_mail.html` and `choose_password.html`, which extend those of `accounts/`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from hashrange_systems.shared.accounts.sign_in import Admitted
from hashrange_systems.shared.errors import ApplicationError, InvalidInput, ResourceMissing, TokenInvalid
from hashrange_systems.shared.web.account_dependencies import AccountDeps, Deps, require_offer
from hashrange_systems.shared.web.sign_in_pages import begin_session, read_open_form
from hashrange_systems.shared.web.sign_in_redirect import find_client_network
from hashrange_systems.shared.web.templating import redirect_to


@dataclass(frozen=True, slots=True, kw_only=True)
class MailStep:
    """The texts and paths of what begins with a link by mail."""

    title: str
    path: str  # of the form for the address; empty if the link is sent otherwise
    confirm_path: str
    hint: str = ""
    sent: str = ""
    choose: str
    button: str


SIGN_UP = MailStep(
    title="Make an account",
    path="/sign-up",
    confirm_path="/sign-up/confirm",
    hint="A link is sent to your address. You choose a password when you open it.",
    sent="A mail is on its way: open its link within a day.",
    choose="Your address is confirmed with this button.",
    button="Make the account",
)
RESET = MailStep(
    title="New password",
    path="/reset",
    confirm_path="/reset/confirm",
    hint="A link is sent to the address that you sign in with.",
    sent="If an account has this address, a mail is on its way: open its link within an hour.",
    choose="Every session of your account ends. Two-factor sign-in stays as it is.",
    button="Set the password",
)

router = APIRouter(include_in_schema=False)


async def require_sign_up(deps: Deps) -> None:
    """Raise ResourceMissing unless people can sign up."""
    if not (deps.offers.sign_up and deps.services.accounts.sign_up.policy.is_open):
        raise ResourceMissing("page")


SIGNING_UP, RESETTING = [Depends(require_sign_up)], [require_offer("password_reset")]


# ── signing up ───────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/sign-up", dependencies=SIGNING_UP)
async def show_sign_up(request: Request, deps: Deps) -> Response:
    """Show the form for the address."""
    return render_ask(request, deps, SIGN_UP)


@router.post("/sign-up", dependencies=SIGNING_UP)
async def ask_sign_up(request: Request, deps: Deps) -> Response:
    """Send the link; the answer is the same for an address that has an account."""
    return await ask(request, deps, SIGN_UP)


@router.get("/sign-up/confirm", dependencies=SIGNING_UP)
async def show_confirm_sign_up(request: Request, deps: Deps, token: str = "") -> Response:
    """Show the form for the password: opening the link alone, as mail scanners do, makes no account."""
    return await show_choice(request, deps, SIGN_UP, token)


@router.post("/sign-up/confirm", dependencies=SIGNING_UP)
async def confirm_sign_up(request: Request, deps: Deps) -> Response:
    """Make the account, and start a session."""
    sent = await read_open_form(request)
    accounts, token = deps.services.accounts, sent.text("token")
    try:
        deps.sign_in_limit.consume(find_client_network(request))
        owner = await accounts.sign_up.confirm(token, sent.text("password"))
    except ApplicationError as error:
        return await show_choice(request, deps, SIGN_UP, token, error)
    return begin_session(request, deps, Admitted(await accounts.sign_in.start(owner)), deps.offers.home)


# ── a new password ───────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/reset", dependencies=RESETTING)
async def show_reset(request: Request, deps: Deps) -> Response:
    """Show the form for the address."""
    return render_ask(request, deps, RESET)


@router.post("/reset", dependencies=RESETTING)
async def ask_reset(request: Request, deps: Deps) -> Response:
    """Send the link; the answer is the same for an address that has no account."""
    return await ask(request, deps, RESET)


@router.get("/reset/confirm", dependencies=RESETTING)
async def show_confirm_reset(request: Request, deps: Deps, token: str = "") -> Response:
    """Show the form for the password."""
    return await show_choice(request, deps, RESET, token)


@router.post("/reset/confirm", dependencies=RESETTING)
async def confirm_reset(request: Request, deps: Deps) -> Response:
    """Set the password; then one signs in with it, and with the second factor if there is one."""
    sent = await read_open_form(request)
    token = sent.text("token")
    try:
        deps.sign_in_limit.consume(find_client_network(request))
        await deps.services.accounts.password_reset.confirm(token, sent.text("password"))
    except ApplicationError as error:
        return await show_choice(request, deps, RESET, token, error)
    return redirect_to(request, f"{deps.offers.prefix}/sign-in", "password-set")


# ── both ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
async def ask(request: Request, deps: AccountDeps, step: MailStep) -> Response:
    """Send the link of a step to an address."""
    accounts = deps.services.accounts
    sent, network = await read_open_form(request), find_client_network(request)
    address, service = sent.line("email"), accounts.sign_up if step is SIGN_UP else accounts.password_reset
    try:
        deps.sign_in_limit.consume(network)
        await service.request(address, network)
    except ApplicationError as error:
        return render_ask(request, deps, step, error, email=address)
    return render_ask(request, deps, step, sent_to=address)


def render_ask(
    request: Request,
    deps: AccountDeps,
    step: MailStep,
    error: ApplicationError | None = None,
    *,
    email: str = "",
    sent_to: str = "",
) -> Response:
    """Render the form for the address, or that the link is on its way."""
    status, at = error.status if error else 200, deps.offers.prefix
    text = describe(error, {"email": "The address"})
    page = deps.renderer.render(
        request, "ask_mail.html", None, status, step=step, error=text, email=email, sent_to=sent_to, at=at
    )
    page.headers.update(error.headers if error else {})
    return page


async def show_choice(
    request: Request, deps: AccountDeps, step: MailStep, token: str, error: ApplicationError | None = None
) -> Response:
    """Render the form for the password of a link, or why the link is over."""
    accounts, address = deps.services.accounts, ""
    try:
        address = accounts.sign_up.read(token) if step is SIGN_UP else await accounts.password_reset.read(token)
    except TokenInvalid as over:
        error = error or over
    if isinstance(error, TokenInvalid):
        address = ""
    return render_choice(request, deps, step, token, address, error)


def render_choice(
    request: Request, deps: AccountDeps, step: MailStep, token: str, address: str, error: ApplicationError | None
) -> Response:
    """Render the form for a password."""
    status, at = error.status if error else 200, deps.offers.prefix
    text = describe(error, {"password": "The password"})
    page = deps.renderer.render(
        request, "choose_password.html", None, status, step=step, error=text, link_token=token, address=address, at=at
    )
    page.headers.update(error.headers if error else {})
    return page


def describe(error: ApplicationError | None, names: dict[str, str]) -> str:
    """Return the text of an error, with the labels of the fields."""
    if isinstance(error, InvalidInput):
        return "; ".join(f"{names.get(each.field, each.field)} {each.message}" for each in error.errors) + "."
    return str(error or "")
