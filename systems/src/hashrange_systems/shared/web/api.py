"""The JSON API of a system, mounted under /api: its application, its error responses, and callers with API keys."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, Protocol, TypeVar

from fastapi import Depends, FastAPI, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from hashrange import Clock, __version__
from hashrange_systems.shared.accounts.api_keys import ApiKeys, KeyHolder
from hashrange_systems.shared.errors import ApiKeyInvalid, KeyReadsOnly
from hashrange_systems.shared.identifier import hash_key
from hashrange_systems.shared.web.pages import HasRouter, get_dependencies
from hashrange_systems.shared.web.problem import ProblemHandlers
from hashrange_systems.shared.web.rate_limit import RateLimit
from hashrange_systems.shared.web.sign_in_redirect import find_client_network

KEY = HTTPBearer(scheme_name="apiKey", description="An API key of yours.", auto_error=False)
BURST, PER_SECOND = 100, 10.0  # requests with a key
FAILURES, FAILURES_PER_SECOND = 20, 0.2  # invalid keys of a client's network

O = TypeVar("O")  # noqa: E741 - whose key it is
Given = Annotated[HTTPAuthorizationCredentials | None, Depends(KEY)]


def make_api(
    title: str, about: str, base_url: str, deps: Any, modules: Iterable[HasRouter], problems: ProblemHandlers
) -> FastAPI:
    """Return an API with the routes of the modules, whose handlers get `deps`, and which answers errors as problems.

    It has an OpenAPI document, and not the pages that show it.
    """
    app = FastAPI(
        title=title,
        version=__version__,
        description=about,
        docs_url=None,  # its pages load scripts from other sites
        redoc_url=None,
        servers=[{"url": f"{base_url}/api"}],
        root_path_in_servers=False,
    )
    app.state.deps = deps
    for module in modules:
        app.include_router(module.router)
    problems.install(app)
    return app


# ── callers with API keys ────────────────────────────────────────────────────────────────────────────────────────────
def accept_any(_request: Request, _caller: object) -> None:
    """Accept every request of a valid key."""


@dataclass(frozen=True, slots=True)
class KeyAuthenticator(Generic[O]):
    """Finds whose API key a request has, and limits the requests of a key, and the invalid keys of a network."""

    find_owner: Callable[[str], Awaitable[O]]  # raises ApiKeyInvalid
    per_key: RateLimit
    failures: RateLimit
    check: Callable[[Request, O], None] = accept_any  # raises what refuses the request of a valid key

    async def authenticate(self, request: Request, given: HTTPAuthorizationCredentials | None) -> O:
        """Return whose key it is; raise ApiKeyInvalid, or TooManyRequests at a limit."""
        if given is None:
            raise ApiKeyInvalid
        digest = hash_key(given.credentials)
        if digest is None:
            raise self.count_failure(request)
        self.per_key.consume(digest)
        try:
            found = await self.find_owner(given.credentials)
        except ApiKeyInvalid:
            raise self.count_failure(request) from None
        self.check(request, found)
        return found

    def count_failure(self, request: Request) -> ApiKeyInvalid:
        """Count an invalid key and return the error; raise TooManyRequests at the limit."""
        self.failures.consume(find_client_network(request))
        return ApiKeyInvalid()


def make_key_authenticator(
    find_owner: Callable[[str], Awaitable[O]], clock: Clock, *, burst: int = BURST, failures: int = FAILURES
) -> KeyAuthenticator[O]:
    """Return an authenticator with the usual limits."""
    per_key = RateLimit(clock, burst=burst, per_second=PER_SECOND)
    return KeyAuthenticator(find_owner, per_key, RateLimit(clock, burst=failures, per_second=FAILURES_PER_SECOND))


class HasKeyAuthenticator(Protocol):
    """The dependencies of an API with keys."""

    @property
    def callers(self) -> KeyAuthenticator[Any]:
        """What finds the caller."""
        ...


async def authenticate_caller(
    request: Request, deps: Annotated[HasKeyAuthenticator, Depends(get_dependencies)], given: Given
) -> Any:
    """Return whose API key the request has."""
    return await deps.callers.authenticate(request, given)


Caller = Annotated[O, Depends(authenticate_caller)]


# ── callers with keys of accounts ────────────────────────────────────────────────────────────────────────────────────
def refuse_writes(request: Request, holder: KeyHolder[Any]) -> None:
    """Raise KeyReadsOnly for a request that may write with a key that may only read."""
    if holder.key.scope != "write" and request.method not in {"GET", "HEAD"}:
        raise KeyReadsOnly


def make_account_callers(keys: ApiKeys[O], clock: Clock) -> KeyAuthenticator[KeyHolder[O]]:
    """Return an authenticator of the API keys of accounts, with the usual limits; a key may be for reading only."""
    usual = make_key_authenticator(keys.authenticate, clock)
    return replace(usual, check=refuse_writes)
