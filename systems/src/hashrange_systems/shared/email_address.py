"""Syntax of e-mail addresses. Whether an address exists is only known after a verification message."""

from __future__ import annotations

import re
import unicodedata

from hashrange_systems.shared.errors import FieldError, InvalidInput

MAX_ADDRESS_LENGTH = 254
MAX_LOCAL_PART_LENGTH = 64
LOCAL_PART = re.compile(r"[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*")
DOMAIN = re.compile(r"([^\W_]([\w-]{0,61}[^\W_])?\.)+[^\W_]([\w-]{0,61}[^\W_])?")


def validate_email(value: object, field: str = "email") -> str:
    """Return a valid address as its owner spells it; raise InvalidInput for anything else."""
    if not isinstance(value, str):
        raise InvalidInput([FieldError(field, "must be an e-mail address")])
    text = unicodedata.normalize("NFC", value.strip())
    if problem := explain_email(text):
        raise InvalidInput([FieldError(field, problem)])
    return text


def explain_email(text: str) -> str | None:
    """Return why the text is not an e-mail address; None if it is one."""
    if len(text.encode("utf-8", "replace")) > MAX_ADDRESS_LENGTH:
        return f"must be at most {MAX_ADDRESS_LENGTH} bytes"
    local, at, domain = text.rpartition("@")
    if not at or len(local) > MAX_LOCAL_PART_LENGTH or not LOCAL_PART.fullmatch(local) or not DOMAIN.fullmatch(domain):
        return "must be an e-mail address such as ann@example.com"
    return None


def fold_email(address: str) -> str:
    """Return the canonical form of an address, by which it is unique."""
    return address.casefold()
