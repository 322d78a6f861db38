"""Proof of work for forms (ALTCHA): the browser of a visitor computes for a moment: mass submissions become costly.

No other service is involved. Whether a proof was used before is for the caller to guard: `Proof.digest` identifies it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import orjson

from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import FeatureMissing

VALID_MS = 1_200_000
MAX_PAYLOAD = 4000
DEFAULT_COST = 50_000  # hashes at most; about a tenth of a second in a browser


@dataclass(frozen=True, slots=True)
class Proof:
    """A valid proof: what identifies it, and when it expires."""

    digest: str
    expires_at: int


class ProofInvalid(ValueError):
    """A proof that is damaged, wrong, not ours or expired; the text says which."""


def make_challenge(secret: bytes, now: int, cost: int = DEFAULT_COST) -> dict[str, Any]:
    """Return a challenge in the form that the ALTCHA widget reads."""
    try:
        from altcha.v1 import ChallengeOptions, create_challenge
    except ImportError as missing:
        raise FeatureMissing("A proof of work", "kelifax") from missing
    options = ChallengeOptions(hmac_key=derive_key(secret), max_number=cost, expires=from_ms(now + VALID_MS))
    return dict(create_challenge(options).to_dict())


def solve_challenge(challenge: dict[str, Any]) -> str:
    """Return the payload that solves a challenge, as a browser computes it: for programs and tests."""
    for number in range(challenge["maxNumber"] + 1):
        if hashlib.sha256(f"{challenge['salt']}{number}".encode()).hexdigest() == challenge["challenge"]:
            names = ("algorithm", "challenge", "salt", "signature")
            solved = {name: challenge[name] for name in names} | {"number": number}
            return base64.b64encode(orjson.dumps(solved)).decode()
    raise ProofInvalid("has no solution")


def verify_proof(secret: bytes, payload: str, now: int) -> Proof:
    """Return the proof of a payload; raise ProofInvalid."""
    from altcha.v1 import verify_solution

    given = _decode(payload)
    valid, _ = verify_solution(given, derive_key(secret), False)
    if not valid:
        raise ProofInvalid("is wrong")
    expires_at = _find_expiry(given["salt"])
    if expires_at <= now:
        raise ProofInvalid("has expired")
    return Proof(hashlib.sha256(given["challenge"].encode()).hexdigest(), expires_at)


def derive_key(secret: bytes) -> str:
    """Return the key that signs challenges."""
    return hashlib.sha256(b"proof of work\0" + secret).hexdigest()


def _decode(payload: str) -> Any:
    try:
        given = orjson.loads(base64.b64decode(payload[:MAX_PAYLOAD], validate=True))
        texts = [given[name] for name in ("algorithm", "challenge", "salt", "signature")]
        number = given["number"]
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise ProofInvalid("is damaged") from error
    if not all(isinstance(text, str) for text in texts) or type(number) is not int or given["algorithm"] != "SHA-256":
        raise ProofInvalid("is damaged")
    return given


def _find_expiry(salt: str) -> int:
    try:
        return int(parse_qs(salt.partition("?")[2])["expires"][0]) * 1000
    except (KeyError, ValueError) as error:
        raise ProofInvalid("has no end") from error
