"""FastAPI dependencies of the pages: services, renderer, the signed-in visitor, the posted form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from hashrange_systems.checks.schema import ActiveUser
from hashrange_systems.checks.services import Services
from hashrange_systems.checks.web.page_renderer import PageRenderer, Visitor
from hashrange_systems.shared.web.pages import get_dependencies, require_visitor
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.session_authenticator import SessionAuthenticator, SubmittedForm

UserForm = SubmittedForm[ActiveUser]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksPages:
    """What the handlers of the pages need."""

    services: Services
    renderer: PageRenderer
    authenticator: SessionAuthenticator[ActiveUser]
    sign_in_limit: RateLimit  # by the client's network
    import_limit: RateLimit  # by user
    signal_limit: RateLimit  # by heartbeat URL
    base_url: str

    @property
    def now(self) -> int:
        """The time in milliseconds."""
        return self.services.clock.millis()


Deps = Annotated[ChecksPages, Depends(get_dependencies)]


async def read_submitted_form(request: Request, deps: Deps) -> UserForm:
    """Return the posted form."""
    return await deps.authenticator.read_form(request)


SignedIn = Annotated[Visitor, Depends(require_visitor)]
PostedForm = Annotated[UserForm, Depends(read_submitted_form)]
