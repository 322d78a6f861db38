"""The pages of teams: members, roles and invitations, in which space one acts, and the page of an invitation.

A system may have its own `team.html` and `invitation.html`, which extend those of `accounts/`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.responses import Response

from hashrange_systems.shared.accounts.schema import Invitation, Membership
from hashrange_systems.shared.accounts.sign_in import Admitted
from hashrange_systems.shared.accounts.team_role import ROLES
from hashrange_systems.shared.errors import ApplicationError, InvalidInput, ResourceMissing, RoleMissing, TokenInvalid
from hashrange_systems.shared.web.account_dependencies import (
    AccountDeps,
    AccountForm,
    Deps,
    Posted,
    SignedIn,
    Visitor,
    require_offer,
)
from hashrange_systems.shared.web.form import Field, group_field_errors, keep_form_values
from hashrange_systems.shared.web.sign_in_pages import begin_session, read_open_form
from hashrange_systems.shared.web.sign_in_redirect import find_client_network
from hashrange_systems.shared.web.sign_up_pages import MailStep, render_choice
from hashrange_systems.shared.web.templating import redirect_to

FIELDS = (
    Field(path="email", label="E-mail address", hint="bob@example.com"),
    Field(path="role", label="Role", input_type="select", options=tuple((role, role) for role in reversed(ROLES))),
)
JOIN = MailStep(
    title="Join a team",
    path="",
    confirm_path="/invitation/new",
    choose="Your address has no account yet: choose a password, and you are a member of the team.",
    button="Make the account and join",
)

router = APIRouter(include_in_schema=False, dependencies=[require_offer("teams")])


@dataclass(frozen=True, slots=True)
class Space:
    """A space in which the visitor can act."""

    owner: str
    name: str
    role: str


# ── the team ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/account/team")
async def show_team(request: Request, deps: Deps, visitor: SignedIn) -> Response:
    """Show the team of the space in which the visitor acts."""
    return await render_team(request, deps, visitor)


@router.post("/account/team/invite")
async def invite(request: Request, deps: Deps, sent: Posted) -> Response:
    """Send an invitation."""
    try:
        await deps.services.accounts.teams.invite(sent.visitor, sent.line("email"), sent.text("role"))
    except RoleMissing:
        raise
    except ApplicationError as error:
        return await render_team(request, deps, sent.visitor, error, sent)
    return redirect_to(request, find_team_page(deps), "invited")


@router.post("/account/team/withdraw")
async def withdraw(request: Request, deps: Deps, sent: Posted) -> Response:
    """Withdraw an invitation."""
    await deps.services.accounts.teams.withdraw(sent.visitor, sent.text("invitation"))
    return redirect_to(request, find_team_page(deps), "withdrawn")


@router.post("/account/team/role")
async def change_role(request: Request, deps: Deps, sent: Posted) -> Response:
    """Give a member another role."""
    await deps.services.accounts.teams.change_role(sent.visitor, sent.text("member"), sent.text("role"))
    return redirect_to(request, find_team_page(deps), "role-changed")


@router.post("/account/team/remove")
async def remove(request: Request, deps: Deps, sent: Posted) -> Response:
    """Remove a member."""
    await deps.services.accounts.teams.remove(sent.visitor, sent.text("member"))
    return redirect_to(request, find_team_page(deps), "member-removed")


@router.post("/account/team/leave")
async def leave(request: Request, deps: Deps, sent: Posted) -> Response:
    """Leave a team; who acts there acts in their own space from then on."""
    teams, visitor, space = deps.services.accounts.teams, sent.visitor, sent.text("space")
    await teams.leave(visitor.member, space)
    if visitor.owner == space:
        await teams.switch(visitor.session.text, visitor.member)
    return redirect_to(request, find_team_page(deps), "left")


@router.post("/account/team/switch")
async def switch(request: Request, deps: Deps, sent: Posted) -> Response:
    """Act in another space."""
    await deps.services.accounts.teams.switch(sent.visitor.session.text, sent.text("space"))
    return redirect_to(request, deps.offers.home)


# ── invitations ──────────────────────────────────────────────────────────────────────────────────────────────────────
@router.get("/invitation")
async def show_invitation(request: Request, deps: Deps, token: str = "") -> Response:
    """Show what somebody is invited to: opening the link alone makes nobody a member."""
    return await render_invitation(request, deps, await deps.authenticator.find_visitor(request), token)


@router.post("/invitation")
async def accept(request: Request, deps: Deps, sent: Posted) -> Response:
    """Make the visitor a member, and act in the space of the team."""
    teams, visitor, token = deps.services.accounts.teams, sent.visitor, sent.text("token")
    try:
        membership = await teams.accept(token, visitor.member)
    except ApplicationError as error:
        return await render_invitation(request, deps, visitor, token, error)
    await teams.switch(visitor.session.text, membership.space)
    return redirect_to(request, deps.offers.home)


@router.post("/invitation/new")
async def accept_as_new(request: Request, deps: Deps) -> Response:
    """Make an account for the invited address, and act in the space of the team."""
    sent = await read_open_form(request)
    accounts, token = deps.services.accounts, sent.text("token")
    try:
        deps.sign_in_limit.consume(find_client_network(request))
        invitation = await accounts.teams.read(token)
        owner = await accounts.teams.accept_as_new(token, sent.text("password"))
    except ApplicationError as error:
        return await render_invitation(request, deps, None, token, error)
    cookie = await accounts.sign_in.start(owner)
    await accounts.teams.switch(cookie, invitation.space)
    return begin_session(request, deps, Admitted(cookie), deps.offers.home)


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def find_team_page(deps: AccountDeps) -> str:
    """Return the path of the page."""
    return f"{deps.offers.prefix}/account/team"


async def render_team(
    request: Request,
    deps: AccountDeps,
    visitor: Visitor,
    error: ApplicationError | None = None,
    sent: AccountForm | None = None,
) -> Response:
    """Render the team of a space; its invitations are for owners."""
    service = deps.services.accounts.teams
    teams = await service.list_teams(visitor.member)
    field_errors, _ = group_field_errors(
        error.errors if isinstance(error, InvalidInput) else (), [each.path for each in FIELDS]
    )
    page = deps.renderer.render(
        request,
        "team.html",
        visitor,
        error.status if error else 200,
        at=deps.offers.prefix,
        error="" if field_errors else str(error or ""),
        field_errors=field_errors,
        values=keep_form_values(sent.form) if sent else {},
        fields=FIELDS,
        roles=ROLES,
        space_name=deps.offers.name_user(visitor.user),
        teams=teams,
        spaces=await list_spaces(deps, visitor, list(teams)),
        members=await service.list_members(visitor),
        invitations=await service.list_invitations(visitor) if visitor.role == "owner" else [],
    )
    page.headers.update(error.headers if error else {})
    return page


async def list_spaces(deps: AccountDeps, visitor: Visitor, teams: list[Membership]) -> list[Space]:
    """Return the spaces in which a visitor can act now, the own one first."""
    roles = {visitor.member: "owner"} | {each.space: str(each.team_role) for each in teams}
    users = {owner: await deps.services.accounts.owners.find_active(owner) for owner in roles}
    return [
        Space(owner, deps.offers.name_user(user), roles[owner]) for owner, user in users.items() if user is not None
    ]


async def render_invitation(
    request: Request, deps: AccountDeps, visitor: Visitor | None, token: str, error: ApplicationError | None = None
) -> Response:
    """Render the button for who has an account, or the form for the password of a new one."""
    accounts = deps.services.accounts
    invitation: Invitation | None = None
    try:
        invitation = await accounts.teams.read(token)
    except (TokenInvalid, ResourceMissing) as over:
        error = over
    known = invitation is None or visitor is not None or await accounts.logins.find_owner(invitation.address)
    if invitation is not None and not known:
        return render_choice(request, deps, JOIN, token, invitation.address, error)
    page = deps.renderer.render(
        request,
        "invitation.html",
        visitor,
        error.status if error else 200,
        at=deps.offers.prefix,
        home=deps.offers.home,
        error=str(error or ""),
        invitation=invitation,
        link_token=token,
    )
    page.headers.update(error.headers if error else {})
    return page
