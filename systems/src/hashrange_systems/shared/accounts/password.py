"""Passwords: hashed with Argon2id, verified in a thread, and the rules for guessing.

A wrong name costs as much time as a wrong password. After `FREE_ATTEMPTS` failures an account is locked for a time that
doubles with each further failure.
"""

from __future__ import annotations

import asyncio
import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from hashrange_systems.shared.errors import FieldError, InvalidInput

MIN_LENGTH, MAX_LENGTH = 12, 200
FREE_ATTEMPTS = 5
FIRST_LOCK_MS, MAX_LOCK_MS = 30_000, 3_600_000


@cache
def open_hasher() -> PasswordHasher:
    """Return the hasher."""
    return PasswordHasher()


@cache
def make_dummy_hash() -> str:
    """Return the hash that is verified when there is no account."""
    return open_hasher().hash("no account has this password")


def validate_password(password: object, field: str = "password") -> str:
    """Return a password that is long enough, in its normal form; raise InvalidInput."""
    if not isinstance(password, str) or not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise InvalidInput([FieldError(field, f"must have {MIN_LENGTH} to {MAX_LENGTH} characters")])
    return normalise_password(password)


def normalise_password(password: str) -> str:
    """Return the form of a password that is hashed: keyboards differ in how they compose letters."""
    return unicodedata.normalize("NFKC", password)


async def hash_password(password: str) -> str:
    """Return the hash of a password, made in a thread."""
    return await asyncio.to_thread(open_hasher().hash, normalise_password(password))


async def verify_password(stored: str | None, password: str) -> bool:
    """Return whether the password is the one of the hash; without a hash never, after the same time."""
    if len(password) > MAX_LENGTH:
        return False
    return await asyncio.to_thread(_verify, stored, normalise_password(password))


def _verify(stored: str | None, password: str) -> bool:
    try:
        open_hasher().verify(stored or make_dummy_hash(), password)
    except (InvalidHashError, VerificationError):
        return False
    return stored is not None


def needs_rehash(stored: str) -> bool:
    """Return whether a hash was made with older parameters."""
    return open_hasher().check_needs_rehash(stored)


def find_lock_ms(failures: int) -> int:
    """Return how long an account is locked after so many failures in a row."""
    if failures < FREE_ATTEMPTS:
        return 0
    return int(min(FIRST_LOCK_MS * 2 ** min(failures - FREE_ATTEMPTS, 20), MAX_LOCK_MS))
