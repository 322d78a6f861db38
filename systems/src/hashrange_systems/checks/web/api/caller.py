"""Who calls the API: by `Authorization: Bearer` and an API key, within what the key is allowed."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from hashrange_systems.checks.errors import KeyUnknown, NotThere
from hashrange_systems.checks.schema import ActiveUser
from hashrange_systems.checks.service.identity import hash_key
from hashrange_systems.checks.web.allowance import Allowance
from hashrange_systems.checks.web.services import Services

KEY = HTTPBearer(scheme_name="apiKey", description="An API key of yours.", auto_error=False)
OPERATOR = HTTPBearer(scheme_name="operator", description="The operator's token; no API key.", auto_error=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """What the handlers of the API share."""

    services: Services
    base_url: str
    per_key: Allowance
    failures: Allowance  # wrong keys, by address

    def blame(self, request: Request) -> KeyUnknown:
        """Count a wrong key and return the refusal; who gives too many is told to wait."""
        self.failures.take(request.client.host if request.client else "")
        return KeyUnknown()


def find_counter(request: Request) -> Counter:
    """Return the application's counter."""
    counter: Counter = request.app.state.counter
    return counter


Here = Annotated[Counter, Depends(find_counter)]
Given = HTTPAuthorizationCredentials | None


async def find_caller(request: Request, counter: Here, given: Annotated[Given, Depends(KEY)]) -> ActiveUser:
    """Return the user whose key was given."""
    digest = hash_key(given.credentials) if given else None
    if given is None or digest is None:
        raise counter.blame(request) if given else KeyUnknown
    counter.per_key.take(digest)
    try:
        return await counter.services.keys.authenticate(given.credentials)
    except KeyUnknown:
        raise counter.blame(request) from None


async def find_operator(request: Request, counter: Here, given: Annotated[Given, Depends(OPERATOR)]) -> None:
    """Let only the operator pass; where there is no token, there is no operator's part."""
    token = counter.services.admin_token
    if token is None:
        raise NotThere("address")
    if given is None:
        raise KeyUnknown
    if not hmac.compare_digest(given.credentials.encode("utf-8", "replace"), token.encode()):
        raise counter.blame(request)


Caller = Annotated[ActiveUser, Depends(find_caller)]
