"""FastAPI dependencies of the pages: services, renderer, the signed-in visitor, the posted form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from hashrange_systems.aura.services import Services
from hashrange_systems.aura.web.page_renderer import PageRenderer, Visitor
from hashrange_systems.aura.web.run_now import RunNow
from hashrange_systems.aura.work_schema import Member
from hashrange_systems.shared.web.pages import get_dependencies, require_visitor
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.session_authenticator import SessionAuthenticator, SubmittedForm


@dataclass(frozen=True, slots=True, kw_only=True)
class AuraPages:
    """What the handlers of the pages need."""

    services: Services
    renderer: PageRenderer
    authenticator: SessionAuthenticator[Member]
    run_now: RunNow
    sign_in_limit: RateLimit  # by the client's network
    preview_limit: RateLimit  # by member: explanations, dry runs, trials of selectors
    import_limit: RateLimit  # by member
    base_url: str


Deps = Annotated[AuraPages, Depends(get_dependencies)]


async def read_submitted_form(request: Request, deps: Deps) -> SubmittedForm[Member]:
    """Return the posted form, with at most one file."""
    return await deps.authenticator.read_form(request, max_files=1)


SignedIn = Annotated[Visitor, Depends(require_visitor)]
Posted = Annotated[SubmittedForm[Member], Depends(read_submitted_form)]
