"""How many confirmation messages may be sent: to an address and by a user, on a day. Nobody can flood a mailbox."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from hashrange import Conflict
from hashrange_systems.shared.email_address import fold_email
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import TooSoon
from hashrange_systems.shared.fetching.errors import BadUrl
from hashrange_systems.shared.fetching.http_url import normalise_host

if TYPE_CHECKING:
    from hashrange import Clock

TO_AN_ADDRESS = 3  # a day, whoever asks
BY_A_USER = 20
KEPT_DAYS = 2


class DayBudgetSpent(TooSoon):
    """No more today."""

    WAIT_S = 86_400


class MessageCounters(Protocol):
    """The patterns of a system: its `spend_message` adds to the counter of a scope and day while it is below `most`."""

    def spend_message(self, scope: str, day: date, sent: int, expires_at: datetime, most: int) -> Any:
        """Count messages."""
        ...

    def transact_all(self, writes: Iterable[Any]) -> Any:
        """Run all writes or none."""
        ...


@dataclass(frozen=True, slots=True)
class MessageBudgets:
    """Counts the messages of each address and user; the counters are in the database, so all processes share them."""

    db: MessageCounters
    clock: Clock

    async def spend(self, userid: str, target: str, *, purpose: str = "", most: int = BY_A_USER) -> None:
        """Count a message; raise DayBudgetSpent if the address or the user has had enough of them today.

        Messages of another purpose have their own counters, so that nobody who asks for one uses up the other.
        """
        now = from_ms(self.clock.millis())
        day, expires_at = now.date(), now + timedelta(days=KEPT_DAYS)
        scopes = {
            f"ADDRESS#{purpose}{hash_target(target)}": TO_AN_ADDRESS,
            f"USER#{purpose}{userid}": most,
        }
        try:
            await self.db.transact_all(
                self.db.spend_message(scope, day, sent=1, expires_at=expires_at, most=most)
                for scope, most in scopes.items()
            ).unread()
        except Conflict:
            raise DayBudgetSpent("No more confirmation messages are sent today: try again tomorrow.") from None


def fold_domain(domain: str) -> str:
    """Return a domain as the DNS has it: bücher.example is xn--bcher-kva.example."""
    try:
        return str(normalise_host(domain))
    except BadUrl:
        return domain.casefold()


def hash_target(target: str) -> str:
    """Return the hash of an address, by its canonical form: counters contain no addresses of people."""
    folded = target
    if "@" in target and "://" not in target:
        local, _, domain = target.rpartition("@")
        mailbox = fold_email(local).partition("+")[0].replace(".", "")  # ann+shop@, a.nn@ and ann@ may be one mailbox
        folded = f"{mailbox}@{fold_domain(domain)}"
    return hashlib.sha256(folded.encode()).hexdigest()[:32]
