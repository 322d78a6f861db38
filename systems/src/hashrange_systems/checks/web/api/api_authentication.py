"""Authentication of the API: `Authorization: Bearer` with an API key, and rate limits."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from hashrange_systems.checks.schema import ActiveUser
from hashrange_systems.checks.services import Services
from hashrange_systems.shared.errors import ApiKeyInvalid, ResourceMissing
from hashrange_systems.shared.identifier import hash_key
from hashrange_systems.shared.web.pages import get_dependencies
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.sign_in_redirect import find_client_network

KEY = HTTPBearer(scheme_name="apiKey", description="An API key of yours.", auto_error=False)
OPERATOR = HTTPBearer(scheme_name="operator", description="The operator's token; no API key.", auto_error=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDependencies:
    """What the handlers of the API need."""

    services: Services
    base_url: str
    per_key: RateLimit
    failures: RateLimit  # invalid keys, by the client's network

    def count_failure(self, request: Request) -> ApiKeyInvalid:
        """Count an invalid key and return the error; raise TooManyRequests at the limit."""
        self.failures.consume(find_client_network(request))
        return ApiKeyInvalid()


Deps = Annotated[ApiDependencies, Depends(get_dependencies)]
Given = HTTPAuthorizationCredentials | None


async def authenticate_caller(request: Request, deps: Deps, given: Annotated[Given, Depends(KEY)]) -> ActiveUser:
    """Return the user of the API key."""
    digest = hash_key(given.credentials) if given else None
    if given is None or digest is None:
        raise deps.count_failure(request) if given else ApiKeyInvalid
    deps.per_key.consume(digest)
    try:
        return await deps.services.keys.authenticate(given.credentials)
    except ApiKeyInvalid:
        raise deps.count_failure(request) from None


async def authenticate_operator(request: Request, deps: Deps, given: Annotated[Given, Depends(OPERATOR)]) -> None:
    """Require the operator's token; without a configured token the operator's API does not exist."""
    token = deps.services.admin_token
    if token is None:
        raise ResourceMissing("address")
    if given is None:
        raise ApiKeyInvalid
    if not hmac.compare_digest(given.credentials.encode("utf-8", "replace"), token.encode()):
        raise deps.count_failure(request)


Caller = Annotated[ActiveUser, Depends(authenticate_caller)]
