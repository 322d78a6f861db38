"""Settings from environment variables: a system lists its variables once, and reads and checks them at the start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from hashrange import HashrangeError

MIN_SECRET_LENGTH = 16


class InvalidSetting(HashrangeError):
    """An environment variable with an invalid value; the text names the variable and the rule."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable: its default in words, and its meaning."""

    name: str
    usual: str
    meaning: str


def read_variables(environment: Mapping[str, str], variables: Sequence[Variable]) -> dict[str, str]:
    """Return the value of each variable; an empty one counts as not set."""
    return {variable.name: environment.get(variable.name, "").strip() for variable in variables}


def parse_url(name: str, text: str, example: str) -> str | None:
    """Return a URL without a slash at the end; None if the variable is not set."""
    if not text:
        return None
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        valid = False
    if not valid:
        raise InvalidSetting(f"{name} is {text!r}: it must be an address such as {example}.")
    return text.rstrip("/")


def parse_file(name: str, text: str) -> Path | None:
    """Return the path of an existing file; None if the variable is not set."""
    if not text:
        return None
    path = Path(text)
    if not path.is_file():
        raise InvalidSetting(f"{name} is {text!r}, where there is no file.")
    return path


def parse_number(name: str, text: str, allowed: range, default: int) -> int:
    """Return a number of a range; the default if the variable is not set."""
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) in allowed):
        raise InvalidSetting(f"{name} is {text!r}: it must be a whole number from {allowed[0]} to {allowed[-1]}.")
    return int(text)


def parse_secret(name: str, text: str) -> str | None:
    """Return a secret that is long enough; None if the variable is not set."""
    if text and len(text) < MIN_SECRET_LENGTH:
        raise InvalidSetting(f"{name} must have at least {MIN_SECRET_LENGTH} characters.")
    return text or None


def split_list(text: str) -> list[str]:
    """Return the parts between commas, without empty ones."""
    return [part for each in text.split(",") if (part := each.strip())]
