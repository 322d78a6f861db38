"""One-time codes of an authenticator app (RFC 6238), recovery codes, and how long wrong ones lock. No I/O."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence

import pyotp

from hashrange_systems.shared.epoch import MINUTE_MS

STEP_MS = 30_000
STEPS_AROUND = (0, -1, 1)  # a clock may be wrong by a step
CODE_DIGITS = 6
RECOVERY_CODES = 10
RECOVERY_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"  # nothing that looks like something else
RECOVERY_LENGTH = 16  # 79 bits
FREE_FAILURES = 5
MAX_LOCK_MS = 24 * 60 * MINUTE_MS


def make_secret() -> str:
    """Return a new secret for an authenticator app."""
    return pyotp.random_base32()


def make_uri(secret: str, account: str, issuer: str) -> str:
    """Return the URI that an authenticator app reads from a QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=account, issuer_name=issuer)


def find_step(secret: str, code: str, now: int, last_step: int) -> int | None:
    """Return the time step of a valid code after the last one that was used; None if it is not valid."""
    if len(code) != CODE_DIGITS or not (code.isascii() and code.isdecimal()):
        return None
    totp, step = pyotp.TOTP(secret), now // STEP_MS
    matching = [step + by for by in STEPS_AROUND if hmac.compare_digest(totp.at((step + by) * STEP_MS // 1000), code)]
    return next((each for each in matching if each > last_step), None)


def find_latest_step(now: int) -> int:
    """Return the latest step of which a code is accepted now."""
    return now // STEP_MS + max(STEPS_AROUND)


def make_recovery_codes() -> list[str]:
    """Return new recovery codes, each for one sign-in."""
    texts = ["".join(secrets.choice(RECOVERY_ALPHABET) for _ in range(RECOVERY_LENGTH)) for _ in range(RECOVERY_CODES)]
    return [f"{text[:4]}-{text[4:8]}-{text[8:12]}-{text[12:]}" for text in texts]


def hash_recovery_code(code: str) -> str:
    """Return what is stored of a recovery code; spaces, dashes and case do not matter."""
    return hashlib.sha256(clean_code(code).encode("utf-8", "surrogatepass")).hexdigest()


def find_recovery_code(code: str, known: Sequence[str]) -> str | None:
    """Return the stored hash of a recovery code; None if it is none of them."""
    given = hash_recovery_code(code)
    return next((each for each in known if hmac.compare_digest(each, given)), None)


def clean_code(code: str) -> str:
    """Return a code without spaces and dashes, in lower case."""
    return "".join(code.split()).replace("-", "").lower()[:100]


def find_lock(failures: int) -> int | None:
    """Return for how many milliseconds the next attempt is refused after so many wrong codes; None for not at all."""
    if failures < FREE_FAILURES:
        return None
    return int(min(MINUTE_MS * 2 ** min(failures - FREE_FAILURES, 20), MAX_LOCK_MS))
