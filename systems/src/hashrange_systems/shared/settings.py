"""Settings from environment variables: a system lists its variables once, and reads and checks them at the start.

The variables of a system begin with its name (`CHECKS_URL`); those of the mail server are the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from hashrange_systems.shared.application.settings import MIN_SECRET_LENGTH, InvalidSetting, Variable
from hashrange_systems.shared.channels.email_sender import MailServer, MailServerInvalid, read_server
from hashrange_systems.shared.channels.sender import DeliveryRefused
from hashrange_systems.shared.fetching.errors import PolicyInvalid
from hashrange_systems.shared.fetching.policy import Exemption, parse_exemptions


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


def parse_signing_key(name: str, text: str) -> bytes | None:
    """Return a secret that signs texts; None if the variable is not set."""
    secret = parse_secret(name, text)
    return secret.encode() if secret else None


def list_mail_variables(prefix: str, note: str = "") -> tuple[Variable, Variable, Variable]:
    """Return the variables of the mail server of a system."""
    address = (
        f"The mail server: `smtp://host`, `smtp+starttls://user:password@host` or `smtps://user:password@host`.{note}"
    )
    return (
        Variable(f"{prefix}_SMTP_URL", "no e-mail", address),
        Variable(
            f"{prefix}_SENDER", f"`{prefix.lower()}@` and the host of `{prefix}_URL`", "The sender address of e-mails."
        ),
        Variable(f"{prefix}_SMTP_CA_FILE", "the public ones", "Certificate authorities, in PEM, for the mail server."),
    )


def parse_mail_server(given: Mapping[str, str], prefix: str, url: str | None, name: str) -> MailServer | None:
    """Return the mail server of a system, which signs its mails with `name`; None if the variable is not set."""
    if not given[f"{prefix}_SMTP_URL"]:
        return None
    host = urlsplit(url).hostname if url else None
    sender = given[f"{prefix}_SENDER"] or (f"{prefix.lower()}@{host}" if host else "")
    if not sender:
        raise InvalidSetting(f"{prefix}_SMTP_URL needs {prefix}_SENDER, the address that e-mails are from.")
    ca_file = parse_file(f"{prefix}_SMTP_CA_FILE", given[f"{prefix}_SMTP_CA_FILE"])
    try:
        return read_server(given[f"{prefix}_SMTP_URL"], sender, ca_file, name)
    except MailServerInvalid as error:  # its text does not contain the password
        raise InvalidSetting(f"{prefix}_SMTP_URL cannot be used: {error}.") from error
    except DeliveryRefused as error:
        raise InvalidSetting(f"{prefix}_SENDER is {sender!r}: it must be an e-mail address.") from error


def parse_addresses(name: str, text: str) -> frozenset[Exemption]:
    """Return non-public addresses that may be requested."""
    try:
        return parse_exemptions(split_list(text))
    except PolicyInvalid as error:
        raise InvalidSetting(f"{name} cannot be used: {error}.") from error


def split_list(text: str) -> list[str]:
    """Return the parts between commas, without empty ones."""
    return [part for each in text.split(",") if (part := each.strip())]
