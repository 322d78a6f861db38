"""What the pages of accounts need of a system, and which of them it offers.

A system derives its dependencies from `AccountPageDependencies`, and includes the routes of what it offers:

    make_pages(deps, (make_account_routes(OFFERS), ...), api, static=STATIC)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Protocol, TypeVar

from fastapi import Depends, Request
from starlette.responses import Response

from hashrange import Clock
from hashrange_systems.shared.accounts.account_services import AccountServices
from hashrange_systems.shared.application.application_type import SystemApplication
from hashrange_systems.shared.channels.sender import Sender
from hashrange_systems.shared.errors import ResourceMissing
from hashrange_systems.shared.web.account_authenticator import AccountAuthenticator
from hashrange_systems.shared.web.pages import ErrorRenderer, PageDependencies, get_dependencies
from hashrange_systems.shared.web.pages import require_visitor as find_signed_in
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.session import Session
from hashrange_systems.shared.web.session_authenticator import SignedInVisitor, SubmittedForm

SIGN_INS = 10  # at once from a client's network, then one every ten seconds

Visitor = SignedInVisitor[Any]
AccountForm = SubmittedForm[Any]


async def add_nothing(_services: Any, _visitor: Visitor) -> Mapping[str, Any]:
    """Return no values."""
    return {}


def name_by_email(user: Any) -> str:
    """Return the e-mail address of a user."""
    return str(user.email)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """Which parts of an account a system offers, and its own words in them."""

    api_keys: bool = False
    password: bool = False  # signing in with a name and a password, and changing it
    second_factor: bool = False
    channels: bool = False
    sign_up: bool = False  # as far as the setting allows it
    password_reset: bool = False
    teams: bool = False
    scopes: bool = False  # keys that may only read
    export: bool = False
    subscriptions: Mapping[str, str] = field(default_factory=dict)  # what a channel gets, and what it is called
    prefix: str = ""  # of the paths of all these pages, such as /admin
    home: str = "/"  # where to go after signing in
    issuer: str = "hashrange"  # whom an authenticator app names
    name_user: Callable[[Any], str] = name_by_email  # of whom the app and the page name
    add_context: Callable[[Any, Visitor], Awaitable[Mapping[str, Any]]] = add_nothing  # for the blocks of account.html


class AccountApplication(Protocol):
    """The application of a system, as far as the pages of accounts use it."""

    @property
    def accounts(self) -> AccountServices[Any]:
        """The accounts."""
        ...

    @property
    def senders(self) -> Mapping[str, Sender]:
        """The senders by type of channel: only these types are offered."""
        ...


class AccountRenderer(Protocol):
    """What renders the pages of a system; a `SessionRenderer` does."""

    def render(
        self, request: Request, template: str, visitor: Visitor | None = None, status: int = 200, **context: Any
    ) -> Response:
        """Return a page."""
        ...

    def redirect(self, request: Request, session: Session, path: str) -> Response:
        """Redirect to a page with a new session."""
        ...


class AccountDeps(Protocol):
    """The dependencies of the pages, as far as those of accounts use them."""

    @property
    def services(self) -> AccountApplication:
        """The application."""
        ...

    @property
    def renderer(self) -> AccountRenderer:
        """What renders pages."""
        ...

    @property
    def authenticator(self) -> AccountAuthenticator[Any]:
        """What finds visitors."""
        ...

    @property
    def sign_in_limit(self) -> RateLimit:
        """The limit of sign-ins, by the client's network."""
        ...

    @property
    def offers(self) -> Offers:
        """What is offered."""
        ...


A = TypeVar("A", bound=SystemApplication)
R = TypeVar("R", bound=ErrorRenderer)
User = TypeVar("User")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPageDependencies(PageDependencies[A, R], Generic[A, R, User]):
    """What the handlers of a system with accounts need."""

    authenticator: AccountAuthenticator[User]
    sign_in_limit: RateLimit
    offers: Offers


def make_sign_in_limit(clock: Clock) -> RateLimit:
    """Return the usual limit of sign-ins from a client's network."""
    return RateLimit(clock, burst=SIGN_INS, per_second=0.1)


Deps = Annotated[AccountDeps, Depends(get_dependencies)]


async def read_account_form(request: Request, deps: Deps) -> AccountForm:
    """Return a form about the visitor's own account, in whose space they may be a reader."""
    return await deps.authenticator.read_form(request)


SignedIn = Annotated[Visitor, Depends(find_signed_in)]
# of the visitor's own account; the forms of a system's data take `web.pages.Posted`, which needs an editor
Posted = Annotated[AccountForm, Depends(read_account_form)]


async def name_member(deps: AccountDeps, visitor: Visitor) -> str:
    """Return what the visitor is called, who may act in the space of somebody else."""
    user = visitor.user
    if visitor.member != visitor.owner:
        user = await deps.services.accounts.owners.find_active(visitor.member)
    return deps.offers.name_user(user)


def require_offer(name: str) -> Any:
    """Return the dependency of a route that exists only if the system offers a part."""

    async def check(deps: Deps) -> None:
        if not getattr(deps.offers, name):
            raise ResourceMissing("page")

    return Depends(check)
