"""Session of a signed-in user: a signed cookie with the user, the API key, an id, the start and the expiry.

A session ends at its expiry, and when its user or its API key is deleted; an application that stores the ids of ended
sessions ends them at sign-out. The form token of a session proves that a form was sent from one of its pages (CSRF
protection).
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from typing import Literal

from starlette.responses import Response

from hashrange_systems.shared.epoch import DAY_MS
from hashrange_systems.shared.errors import TokenInvalid
from hashrange_systems.shared.signed_token import TokenSigner, encode_base64url

PURPOSE = "session"
LIFETIME_MS = 7 * DAY_MS
DEMO_KEY = "demo"  # instead of the id of a key: no key has so short an id


@dataclass(frozen=True, slots=True)
class Session:
    """Who a visitor is; `userid` is empty after signing out."""

    userid: str
    key_id: str
    text: str  # the cookie
    session_id: str = ""
    started_at: int = 0  # in milliseconds

    @property
    def is_demo(self) -> bool:
        """Whether it was started without a key."""
        return self.key_id == DEMO_KEY


@dataclass(frozen=True, slots=True)
class SessionCookies:
    """Starts, reads and writes the sessions of an application."""

    signer: TokenSigner
    lifetime_ms: int = LIFETIME_MS
    name: str = ""  # of the cookie, if it is not that of the application
    same_site: Literal["lax", "strict"] = "lax"

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return self.name or name_cookie(self.signer.application)

    def start(self, userid: str, key_id: str, now: int) -> Session:
        """Return a new session."""
        session_id = secrets.token_hex(10)
        text = self.signer.sign(PURPOSE, [userid, key_id, session_id, str(now)], now + self.lifetime_ms)
        return Session(userid, key_id, text, session_id, now)

    def read(self, text: str | None, now: int) -> Session | None:
        """Return the session of a cookie; None if there is none, or it is expired or not ours."""
        if not text:
            return None
        try:
            userid, key_id, session_id, started_at = self.signer.open(PURPOSE, text, now)
        except (TokenInvalid, ValueError):  # ValueError: of an earlier version, without an id
            return None
        return Session(userid, key_id, text, session_id, int(started_at))

    def write(self, response: Response, session: Session, path: str, *, secure: bool) -> None:
        """Set the cookie: not readable by scripts, and not sent with requests from other sites."""
        response.set_cookie(
            self.cookie,
            session.text,
            max_age=self.lifetime_ms // 1000,
            path=path or "/",
            secure=secure,
            httponly=True,
            samesite=self.same_site,
        )

    def make_form_token(self, session: Session) -> str:
        """Return the CSRF token that each form of this session contains, for whose data the form changes."""
        prefix = f"{self.signer.application} form\0{session.userid}\0".encode()
        return encode_base64url(hmac.digest(self.signer.secret, prefix + session.text.encode(), "sha256"))

    def verify_form_token(self, session: Session, given: str) -> bool:
        """Return whether a form was made for this session."""
        return hmac.compare_digest(self.make_form_token(session).encode(), given.encode())


def name_cookie(application: str) -> str:
    """Return the name of the session cookie of an application."""
    return f"{application}_session"
