"""E-mail addresses as far as their text tells. Whether somebody reads what is sent there, only an answer can tell."""

from __future__ import annotations

import re
import unicodedata

from hashrange_systems.checks.model.refusal import Fault, InputRefused

LONGEST_ADDRESS = 254
LONGEST_LOCAL_PART = 64
LOCAL_PART = re.compile(r"[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*")
DOMAIN = re.compile(r"([^\W_]([\w-]{0,61}[^\W_])?\.)+[^\W_]([\w-]{0,61}[^\W_])?")


def settle_email(value: object, field: str = "email") -> str:
    """Return the address as its owner spells it; refuse what is none, or could be more than one."""
    if not isinstance(value, str):
        raise InputRefused([Fault(field, "must be an e-mail address")])
    text = unicodedata.normalize("NFC", value.strip())
    if problem := explain_email(text):
        raise InputRefused([Fault(field, problem)])
    return text


def explain_email(text: str) -> str | None:
    """Return why the text is no e-mail address, or None when it is one."""
    if len(text.encode("utf-8", "replace")) > LONGEST_ADDRESS:
        return f"must be at most {LONGEST_ADDRESS} bytes"
    local, at, domain = text.rpartition("@")
    if not at or len(local) > LONGEST_LOCAL_PART or not LOCAL_PART.fullmatch(local) or not DOMAIN.fullmatch(domain):
        return "must be an e-mail address such as ann@example.com"
    return None


def fold_email(address: str) -> str:
    """Return the one form of an address that stands for all its spellings: two users never share it."""
    return address.casefold()
