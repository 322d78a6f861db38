"""A visitor's session: a signed cookie that says who it is, by which key, and until when. Nothing is stored.

A session ends with its time, with its user, and with the API key that it was begun with. The form token that goes with
it proves that a form was sent from a page of ours.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from starlette.responses import Response

from hashrange.client import base64url
from hashrange_systems.checks.errors import TokenRefused
from hashrange_systems.checks.service.token import open_token, sign_token

COOKIE = "checks_session"
PURPOSE = "session"
LASTS_MS = 7 * 86_400_000
DEMO_KEY = "demo"  # in place of the id of a key: no key has so short an id


@dataclass(frozen=True, slots=True)
class Session:
    """Who a visitor is; without `userid` they have signed out."""

    userid: str
    key_id: str
    text: str  # the cookie

    @property
    def is_demo(self) -> bool:
        """Whether it was begun without a key."""
        return self.key_id == DEMO_KEY


def begin_session(secret: bytes, userid: str, key_id: str, now: int) -> Session:
    """Return a new session."""
    return Session(userid, key_id, sign_token(secret, PURPOSE, [userid, key_id], now + LASTS_MS))


def read_session(secret: bytes, cookie: str | None, now: int) -> Session | None:
    """Return the session that a cookie says; None for none, one that is over, and one that is not ours."""
    if not cookie:
        return None
    try:
        userid, key_id = open_token(secret, PURPOSE, cookie, now)
    except TokenRefused:
        return None
    return Session(userid, key_id, cookie)


def keep_session(response: Response, session: Session, path: str, *, secure: bool) -> None:
    """Have the browser keep a session: out of reach of scripts, and not sent along from other sites."""
    response.set_cookie(
        COOKIE,
        session.text,
        max_age=LASTS_MS // 1000,
        path=path or "/",
        secure=secure,
        httponly=True,
        samesite="lax",
    )


def make_form_token(secret: bytes, session: Session) -> str:
    """Return what every form of this session carries."""
    return base64url.encode(hmac.digest(secret, b"checks form\0" + session.text.encode(), "sha256"))


def is_form_token(secret: bytes, session: Session, given: str) -> bool:
    """Whether a form was made for this session."""
    return hmac.compare_digest(make_form_token(secret, session).encode(), given.encode())
