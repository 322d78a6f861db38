"""What the handlers of the pages share, and how they ask for it: services, painter, who is there, what was sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from hashrange_systems.checks.web.allowance import Allowance
from hashrange_systems.checks.web.door import Doorkeeper, Sent
from hashrange_systems.checks.web.painter import Painter, Visitor
from hashrange_systems.checks.web.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What every page is made with."""

    services: Services
    painter: Painter
    door: Doorkeeper
    attempts: Allowance  # to sign in, by address
    base_url: str

    @property
    def now(self) -> int:
        """The time in milliseconds."""
        return self.services.clock.millis()


def find_desk(request: Request) -> Desk:
    """Return the application's desk."""
    desk: Desk = request.app.state.desk
    return desk


Here = Annotated[Desk, Depends(find_desk)]


async def admit(request: Request, desk: Here) -> Visitor:
    """Return who is signed in."""
    return await desk.door.admit(request)


async def take_form(request: Request, desk: Here) -> Sent:
    """Return the form that was sent."""
    return await desk.door.take(request)


SignedIn = Annotated[Visitor, Depends(admit)]
Posted = Annotated[Sent, Depends(take_form)]
