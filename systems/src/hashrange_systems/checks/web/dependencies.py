"""FastAPI dependencies of the pages: services, renderer, the signed-in visitor, the posted form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from hashrange_systems.checks.application import Application
from hashrange_systems.checks.schema import ActiveUser
from hashrange_systems.checks.web.page_renderer import PageRenderer
from hashrange_systems.shared.web import pages
from hashrange_systems.shared.web.pages import PageDependencies, get_dependencies
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.session_authenticator import SessionAuthenticator, SubmittedForm

UserForm = SubmittedForm[ActiveUser]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksPages(PageDependencies[Application, PageRenderer]):
    """What the handlers of the pages need."""

    authenticator: SessionAuthenticator[ActiveUser]
    sign_in_limit: RateLimit  # by the client's network
    import_limit: RateLimit  # by user
    signal_limit: RateLimit  # by heartbeat URL


Deps = Annotated[ChecksPages, Depends(get_dependencies)]
SignedIn = pages.SignedIn[ActiveUser]
PostedForm = pages.Posted[ActiveUser]
