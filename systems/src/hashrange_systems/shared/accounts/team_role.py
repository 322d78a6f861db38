"""What the members of a team may do in the space of its owner: readers look, editors change, owners do everything.

Every form of a system needs an editor (`web.pages.read_submitted_form`); what belongs to the account of the space, such
as its keys, channels, members and deletion, needs an owner: `ensure_role(visitor.role, "owner")`.
"""

from __future__ import annotations

from typing import Protocol, get_args

from hashrange_systems.shared.accounts.schema import Role
from hashrange_systems.shared.errors import RoleMissing

ROLES: tuple[Role, ...] = get_args(Role)  # the mightiest first


class TeamActor(Protocol):
    """Who acts: a signed-in visitor or the session of one."""

    @property
    def owner(self) -> str:
        """The owner of the space in which they act."""
        ...

    @property
    def member(self) -> str:
        """Who signed in."""
        ...

    @property
    def role(self) -> Role:
        """What they may do there, as of this request."""
        ...


def ensure_role(role: Role, needed: Role) -> None:
    """Raise RoleMissing unless a role may do what needs another one."""
    if ROLES.index(role) > ROLES.index(needed):
        raise RoleMissing(needed)
