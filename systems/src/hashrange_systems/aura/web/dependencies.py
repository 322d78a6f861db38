"""FastAPI dependencies of the pages: services, renderer, the signed-in visitor, the posted form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from hashrange_systems.aura.application import Application
from hashrange_systems.aura.web.page_renderer import PageRenderer
from hashrange_systems.aura.work_schema import Member
from hashrange_systems.shared.web import pages
from hashrange_systems.shared.web.account_dependencies import AccountPageDependencies
from hashrange_systems.shared.web.pages import get_dependencies
from hashrange_systems.shared.web.rate_limit import RateLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class AuraPages(AccountPageDependencies[Application, PageRenderer, Member]):
    """What the handlers of the pages need."""

    preview_limit: RateLimit  # by member: explanations, dry runs, trials of selectors
    import_limit: RateLimit  # by member


Deps = Annotated[AuraPages, Depends(get_dependencies)]
SignedIn = pages.SignedIn[Member]
Posted = pages.Posted[Member]
