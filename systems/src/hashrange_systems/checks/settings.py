"""How the checks system is configured: by variables of the environment, all of them listed here, read and checked once.

docs/systems/checks.md shows this list; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from hashrange import HashrangeError
from hashrange_systems.checks.senders.email import MailServer, MailServerInvalid, read_server
from hashrange_systems.checks.senders.sender import ReceiverRefuses
from hashrange_systems.checks.service.ebay import EbayAccess
from hashrange_systems.shared.fetching.errors import PolicyInvalid
from hashrange_systems.shared.fetching.policy import Exemption, parse_exemptions

LEAST_SECRET = 16
MOST_AT_ONCE = 1000


class SettingInvalid(HashrangeError):
    """A variable of the environment that does not say what it should; the text names it and what it must be."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the environment: what it is when not given, and what it is for."""

    name: str
    usual: str
    meaning: str


VARIABLES = (
    Variable(
        "CHECKS_URL", "where it runs", "The address that users reach the pages at; links in messages begin with it."
    ),
    Variable(
        "CHECKS_SMTP_URL",
        "no e-mail",
        "The mail server: `smtp://host`, `smtp+starttls://user:password@host` or `smtps://user:password@host`.",
    ),
    Variable("CHECKS_SENDER", "`checks@` and the host of `CHECKS_URL`", "The address that e-mails are from."),
    Variable(
        "CHECKS_SMTP_CA_FILE", "the public ones", "Authorities, in PEM, that the mail server's certificate is of."
    ),
    Variable(
        "CHECKS_ALLOW",
        "none",
        "Addresses that are not public and may be checked all the same, with commas: `10.0.0.0/8`, `127.0.0.1:9000`, "
        "`wiki.internal`.",
    ),
    Variable("CHECKS_CA_FILE", "the public ones", "Authorities, in PEM, that checks trust besides the public ones."),
    Variable(
        "CHECKS_WORKERS", "100", "How many checks are run at the same time; `0`: none here, another process does."
    ),
    Variable(
        "CHECKS_SECRET", "a file", "What cursors, sessions and links are signed with; the same for all processes."
    ),
    Variable(
        "CHECKS_KEYS", "`keys.json`", "The file of the keys that seal webhook secrets; the same for all processes."
    ),
    Variable(
        "CHECKS_APPRISE_HOSTS",
        "`ntfy.sh`",
        "Hosts, with commas, that users may name in Apprise URLs such as `gotify://`.",
    ),
    Variable("CHECKS_ADMIN_TOKEN", "none", "Opens the operator's part of the API to who sends it; without it, nobody."),
    Variable("CHECKS_DEMO_PORT", "8003", "With `--demo`: the port of the pages that the demo checks look at."),
    Variable("EBAY_CLIENT_ID", "none", "The credentials of eBay's Browse API; without them its pages are read."),
    Variable("EBAY_CLIENT_SECRET", "none", "The secret that belongs to `EBAY_CLIENT_ID`."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment says."""

    url: str | None = None
    mail: MailServer | None = None
    allow: frozenset[Exemption] = frozenset()
    ca_file: Path | None = None
    at_once: int = 100
    secret: bytes | None = field(default=None, repr=False)
    keys: Path | None = None
    apprise_hosts: tuple[str, ...] = ()
    admin_token: str | None = field(default=None, repr=False)
    demo_port: int = 8003
    ebay: EbayAccess = field(default_factory=EbayAccess)

    @property
    def works(self) -> bool:
        """Whether this process runs checks."""
        return self.at_once > 0


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read the variables; what is empty is as if it were not there."""
    given = {variable.name: environment.get(variable.name, "").strip() for variable in VARIABLES}
    url = _read_url(given["CHECKS_URL"])
    return Settings(
        url=url,
        mail=_read_mail(given, url),
        allow=_read_allowed(given["CHECKS_ALLOW"]),
        ca_file=_read_file("CHECKS_CA_FILE", given["CHECKS_CA_FILE"]),
        at_once=_read_number("CHECKS_WORKERS", given["CHECKS_WORKERS"], range(MOST_AT_ONCE + 1), 100),
        secret=(_read_long("CHECKS_SECRET", given["CHECKS_SECRET"]) or "").encode() or None,
        keys=Path(given["CHECKS_KEYS"]) if given["CHECKS_KEYS"] else None,
        apprise_hosts=tuple(_split(given["CHECKS_APPRISE_HOSTS"])),
        admin_token=_read_long("CHECKS_ADMIN_TOKEN", given["CHECKS_ADMIN_TOKEN"]),
        demo_port=_read_number("CHECKS_DEMO_PORT", given["CHECKS_DEMO_PORT"], range(65536), 8003),
        ebay=_read_ebay(given),
    )


def _read_url(text: str) -> str | None:
    if not text:
        return None
    try:
        parts = urlsplit(text)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
    except ValueError:
        fits = False
    if not fits:
        raise SettingInvalid(f"CHECKS_URL is {text!r}: it must be an address such as https://example.com/checks.")
    return text.rstrip("/")


def _read_mail(given: Mapping[str, str], url: str | None) -> MailServer | None:
    if not given["CHECKS_SMTP_URL"]:
        return None
    host = urlsplit(url).hostname if url else None
    sender = given["CHECKS_SENDER"] or (f"checks@{host}" if host else "")
    if not sender:
        raise SettingInvalid("CHECKS_SMTP_URL needs CHECKS_SENDER, the address that e-mails are from.")
    ca_file = _read_file("CHECKS_SMTP_CA_FILE", given["CHECKS_SMTP_CA_FILE"])
    try:
        return read_server(given["CHECKS_SMTP_URL"], sender, ca_file)
    except MailServerInvalid as fault:  # its text does not repeat the password
        raise SettingInvalid(f"CHECKS_SMTP_URL cannot be used: {fault}.") from fault
    except ReceiverRefuses as fault:
        raise SettingInvalid(f"CHECKS_SENDER is {sender!r}: it must be an e-mail address.") from fault


def _read_allowed(text: str) -> frozenset[Exemption]:
    try:
        return parse_exemptions(_split(text))
    except PolicyInvalid as fault:
        raise SettingInvalid(f"CHECKS_ALLOW cannot be used: {fault}.") from fault


def _read_file(name: str, text: str) -> Path | None:
    if not text:
        return None
    path = Path(text)
    if not path.is_file():
        raise SettingInvalid(f"{name} is {text!r}, where there is no file.")
    return path


def _read_number(name: str, text: str, allowed: range, usual: int) -> int:
    if not text:
        return usual
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) in allowed):
        raise SettingInvalid(f"{name} is {text!r}: it must be a whole number from {allowed[0]} to {allowed[-1]}.")
    return int(text)


def _read_long(name: str, text: str) -> str | None:
    if text and len(text) < LEAST_SECRET:
        raise SettingInvalid(f"{name} must have at least {LEAST_SECRET} characters.")
    return text or None


def _split(text: str) -> list[str]:
    return [part for each in text.split(",") if (part := each.strip())]


def _read_ebay(given: Mapping[str, str]) -> EbayAccess:
    client_id, secret = given["EBAY_CLIENT_ID"], given["EBAY_CLIENT_SECRET"]
    if bool(client_id) != bool(secret):
        raise SettingInvalid("EBAY_CLIENT_ID and EBAY_CLIENT_SECRET belong together: give both, or none.")
    return EbayAccess(client_id=client_id, client_secret=secret)
