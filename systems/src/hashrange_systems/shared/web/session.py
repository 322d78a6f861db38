"""Session of a signed-in user: a signed cookie with the user, the API key and the expiry. The server stores nothing.

A session ends at its expiry, and when its user or its API key is deleted. The form token of a session proves that a
form was sent from one of its pages (CSRF protection).
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from starlette.responses import Response

from hashrange_systems.shared.errors import TokenInvalid
from hashrange_systems.shared.signed_token import TokenSigner, encode_base64url

PURPOSE = "session"
LIFETIME_MS = 7 * 86_400_000
DEMO_KEY = "demo"  # instead of the id of a key: no key has so short an id


@dataclass(frozen=True, slots=True)
class Session:
    """Who a visitor is; `userid` is empty after signing out."""

    userid: str
    key_id: str
    text: str  # the cookie

    @property
    def is_demo(self) -> bool:
        """Whether it was started without a key."""
        return self.key_id == DEMO_KEY


@dataclass(frozen=True, slots=True)
class SessionCookies:
    """Starts, reads and writes the sessions of an application."""

    signer: TokenSigner

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return name_cookie(self.signer.application)

    def start(self, userid: str, key_id: str, now: int) -> Session:
        """Return a new session."""
        return Session(userid, key_id, self.signer.sign(PURPOSE, [userid, key_id], now + LIFETIME_MS))

    def read(self, text: str | None, now: int) -> Session | None:
        """Return the session of a cookie; None if there is none, or it is expired or not ours."""
        if not text:
            return None
        try:
            userid, key_id = self.signer.open(PURPOSE, text, now)
        except TokenInvalid:
            return None
        return Session(userid, key_id, text)

    def write(self, response: Response, session: Session, path: str, *, secure: bool) -> None:
        """Set the cookie: not readable by scripts, and not sent with requests from other sites."""
        response.set_cookie(
            self.cookie,
            session.text,
            max_age=LIFETIME_MS // 1000,
            path=path or "/",
            secure=secure,
            httponly=True,
            samesite="lax",
        )

    def make_form_token(self, session: Session) -> str:
        """Return the CSRF token that each form of this session contains."""
        prefix = f"{self.signer.application} form\0".encode()
        return encode_base64url(hmac.digest(self.signer.secret, prefix + session.text.encode(), "sha256"))

    def verify_form_token(self, session: Session, given: str) -> bool:
        """Return whether a form was made for this session."""
        return hmac.compare_digest(self.make_form_token(session).encode(), given.encode())


def name_cookie(application: str) -> str:
    """Return the name of the session cookie of an application."""
    return f"{application}_session"
