"""What people sign in with: e-mail addresses and names, each of one owner.

The writes belong into the transaction of the system that creates, changes or deletes the owner. A `create` that finds
the login of somebody else raises Taken: call `explain_taken` with it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hashrange import Clock, Taken, Write
from hashrange_systems.shared.accounts.owner_name import fold_login, is_login, is_owner
from hashrange_systems.shared.accounts.schema import Accounts, Login
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import LoginTaken


@dataclass(frozen=True, slots=True)
class Logins:
    """The logins of all accounts."""

    accounts: Accounts
    clock: Clock

    async def find_owner(self, name: str) -> str | None:
        """Return the owner of a login, however it is capitalised; None if there is none."""
        found = await self.accounts.login(fold_login(name)).consistent() if is_login(name) else None
        return found.owner if found else None

    async def list_by_owner(self, owner: str) -> Sequence[str]:
        """Return the logins of an owner, folded."""
        return sorted(each.name for each in await self.accounts.logins_of(owner)) if is_owner(owner) else []

    def claim(self, name: str, owner: str) -> Write[Login]:
        """Return the write that makes a login an owner's; the transaction raises Taken if it is another's."""
        now = from_ms(self.clock.millis())
        return self.accounts.create(Login(name=name, owner=owner, created_at=now, spelled=find_other_letters(name)))

    def release(self, name: str, owner: str) -> Write[Any]:
        """Return the write that makes a login free again; the transaction raises Conflict if it is not the owner's."""
        return self.accounts.release_login(fold_login(name), owner=owner)

    def move(self, old: str, new: str, owner: str) -> list[Write[Any]]:
        """Return the writes that change a login; none if only its spelling changes."""
        if fold_login(old) == fold_login(new):
            return []
        return [self.claim(new, owner), self.release(old, owner)]


def find_other_letters(name: str) -> str | None:
    """Return a name if folding it changes more than its case, as in straße, which folds to strasse; otherwise None."""
    stripped = name.strip()
    return None if fold_login(name) == unicodedata.normalize("NFC", stripped.lower()) else stripped


def explain_taken(taken: Taken) -> Exception:
    """Return LoginTaken if the first write that failed is a claim; otherwise the error itself."""
    return LoginTaken() if isinstance(taken.current, Login) else taken
