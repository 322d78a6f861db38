"""Authentication of the API: `Authorization: Bearer` with an API key, or the operator's token."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from hashrange_systems.checks.application import Application
from hashrange_systems.checks.schema import ActiveUser
from hashrange_systems.shared.errors import ApiKeyInvalid, ResourceMissing
from hashrange_systems.shared.web import api
from hashrange_systems.shared.web.api import KeyAuthenticator
from hashrange_systems.shared.web.pages import get_dependencies

OPERATOR = HTTPBearer(scheme_name="operator", description="The operator's token; no API key.", auto_error=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDependencies:
    """What the handlers of the API need."""

    services: Application
    callers: KeyAuthenticator[ActiveUser]

    @property
    def base_url(self) -> str:
        """The URL of the pages."""
        return self.services.runtime.base_url


Deps = Annotated[ApiDependencies, Depends(get_dependencies)]
Given = HTTPAuthorizationCredentials | None


async def authenticate_operator(request: Request, deps: Deps, given: Annotated[Given, Depends(OPERATOR)]) -> None:
    """Require the operator's token; without a configured token the operator's API does not exist."""
    token = deps.services.runtime.settings.admin_token
    if token is None:
        raise ResourceMissing("address")
    if given is None:
        raise ApiKeyInvalid
    if not hmac.compare_digest(given.credentials.encode("utf-8", "replace"), token.encode()):
        raise deps.callers.count_failure(request)


Caller = api.Caller[ActiveUser]
