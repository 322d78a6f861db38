"""What a system implements so that its people can sign in: who may act, and a write that ensures it."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from hashrange import Conflict, Write
from hashrange_systems.shared.accounts.schema import Accounts
from hashrange_systems.shared.errors import AccountSuspended

User_co = TypeVar("User_co", covariant=True)


class Owners(Protocol[User_co]):
    """The owners of a system, such as its users: what accounts, keys and channels belong to."""

    async def find_active(self, owner: str) -> User_co | None:
        """Return an owner who may act now; None if there is none, or it is suspended or being deleted."""
        ...

    def ensure_active(self, owner: str) -> Write[Any] | None:
        """Return the condition that an owner may act, for a transaction; None if there is nothing to ensure."""
        ...


async def commit_for(accounts: Accounts, owners: Owners[object], owner: str, writes: list[Write[Any]]) -> None:
    """Write all or none, if the owner may act; raise AccountSuspended if not, and Conflict for any other reason."""
    ensured = owners.ensure_active(owner)
    try:
        await accounts.transact_all([*writes, *([] if ensured is None else [ensured])]).unread()
    except Conflict as conflict:
        if any(failure.write is ensured for failure in conflict.failures):
            raise AccountSuspended from None
        raise
