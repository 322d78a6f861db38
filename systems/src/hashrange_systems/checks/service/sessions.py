"""Ends sessions: one at sign-out, or all of a user. A cookie that somebody kept is refused afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashrange_systems.checks.schema import Checks, EndedSession, User
from hashrange_systems.shared.epoch import DAY_MS, from_ms, to_ms
from hashrange_systems.shared.web.session import LIFETIME_MS, Session

if TYPE_CHECKING:
    from hashrange import Clock


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of all users."""

    db: Checks
    clock: Clock

    async def end(self, session: Session) -> None:
        """End a session; the record is kept until the cookie would have expired."""
        expires_at = from_ms(session.started_at + LIFETIME_MS + DAY_MS)
        await self.db.put(EndedSession(userid=session.userid, session_id=session.session_id, expires_at=expires_at))

    async def end_all(self, userid: str) -> None:
        """End every session of a user that has been started until now."""
        await self.db.sign_out_everywhere(userid, signed_out_at=from_ms(self.clock.millis()))

    async def has_ended(self, user: User, session: Session) -> bool:
        """Return whether a session was ended before its expiry."""
        if user.signed_out_at is not None and session.started_at <= to_ms(user.signed_out_at):
            return True
        return await self.db.ended_session(session.userid, session.session_id).consistent() is not None
