"""Who does something on the admin side: the name and the role of a signed-in admin, or of an operator."""

from __future__ import annotations

from dataclasses import dataclass

from hashrange_systems.kelifax.errors import NotPermitted
from hashrange_systems.kelifax.record_item import Role


@dataclass(frozen=True, slots=True)
class Actor:
    """An admin or a moderator."""

    name: str
    role: Role

    def require_admin(self, action: str) -> None:
        """Raise NotPermitted unless the role is admin."""
        if self.role != "admin":
            raise NotPermitted(action)


OPERATOR = Actor("operator", "admin")  # of the command line
WORKER = Actor("link checker", "moderator")
