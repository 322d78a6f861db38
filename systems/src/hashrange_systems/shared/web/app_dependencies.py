"""FastAPI dependencies that all systems have: what `app.state.deps` holds, and the signed-in visitor."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from fastapi import Depends, Request

from hashrange_systems.shared.web.session_authenticator import SessionAuthenticator


def get_dependencies(request: Request) -> Any:
    """Return the dependencies of the application, which it has set as `app.state.deps`."""
    return request.app.state.deps


class HasAuthenticator(Protocol):
    """The dependencies of pages with sign-in."""

    @property
    def authenticator(self) -> SessionAuthenticator[Any]:
        """What finds the visitor of a page."""
        ...


async def require_visitor(request: Request, deps: Annotated[HasAuthenticator, Depends(get_dependencies)]) -> Any:
    """Return the signed-in visitor; without one, raise what redirects to the sign-in."""
    return await deps.authenticator.require_visitor(request)
