"""The settings of the directory: the list of its environment variables, read and checked once.

docs/systems/kelifax.md shows this list; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from hashrange_systems.shared.fetching.errors import PolicyInvalid
from hashrange_systems.shared.fetching.policy import Exemption, parse_exemptions
from hashrange_systems.shared.notifications.email_sender import MailServer, MailServerInvalid, read_server
from hashrange_systems.shared.notifications.sender import DeliveryRefused
from hashrange_systems.shared.proof_of_work import DEFAULT_COST
from hashrange_systems.shared.settings import (
    InvalidSetting,
    Variable,
    parse_file,
    parse_number,
    parse_secret,
    parse_url,
    read_variables,
    split_list,
)

VARIABLES = (
    Variable("KELIFAX_URL", "where it runs", "The public URL of the pages, used for links in mails and feeds."),
    Variable("KELIFAX_SITE", "`Kelifax`", "The name of the directory."),
    Variable(
        "KELIFAX_SMTP_URL",
        "no e-mail",
        "The mail server: `smtp://host`, `smtp+starttls://user:password@host` or `smtps://user:password@host`. "
        "Without one, submissions are not confirmed by mail and say so to the moderators.",
    ),
    Variable("KELIFAX_SENDER", "`kelifax@` and the host of `KELIFAX_URL`", "The sender address of mails."),
    Variable("KELIFAX_SMTP_CA_FILE", "the public ones", "Certificate authorities, in PEM, for the mail server."),
    Variable(
        "KELIFAX_LOGOS",
        "the data directory",
        "Where logos are stored: a directory, or `s3://bucket/prefix`; the same for all processes.",
    ),
    Variable("KELIFAX_SECRET", "a file", "The secret that signs cursors, links and forms; the same for all processes."),
    Variable(
        "KELIFAX_ALLOW",
        "none",
        "Non-public addresses that the link checker may request, separated by commas: `10.0.0.0/8`, `wiki.internal`.",
    ),
    Variable("KELIFAX_WORK", "1", "`0`: no background work in this process; another one must do it."),
    Variable("KELIFAX_PROOF_COST", f"{DEFAULT_COST}", "How many hashes the browser of a submitter computes at most."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a process."""

    url: str | None = None
    site: str = "Kelifax"
    mail: MailServer | None = None
    logos: str | None = None
    secret: bytes | None = field(default=None, repr=False)
    allow: frozenset[Exemption] = frozenset()
    works: bool = True
    proof_cost: int = DEFAULT_COST


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read and check the variables."""
    given = read_variables(environment, VARIABLES)
    url = parse_url("KELIFAX_URL", given["KELIFAX_URL"], "https://example.com/kelifax")
    return Settings(
        url=url,
        site=given["KELIFAX_SITE"] or "Kelifax",
        mail=_read_mail(given, url),
        logos=given["KELIFAX_LOGOS"] or None,
        secret=(parse_secret("KELIFAX_SECRET", given["KELIFAX_SECRET"]) or "").encode() or None,
        allow=_read_allowed(given["KELIFAX_ALLOW"]),
        works=parse_number("KELIFAX_WORK", given["KELIFAX_WORK"], range(2), 1) == 1,
        proof_cost=parse_number("KELIFAX_PROOF_COST", given["KELIFAX_PROOF_COST"], range(1, 10_000_001), DEFAULT_COST),
    )


def _read_mail(given: Mapping[str, str], url: str | None) -> MailServer | None:
    if not given["KELIFAX_SMTP_URL"]:
        return None
    host = urlsplit(url).hostname if url else None
    sender = given["KELIFAX_SENDER"] or (f"kelifax@{host}" if host else "")
    if not sender:
        raise InvalidSetting("KELIFAX_SMTP_URL needs KELIFAX_SENDER, the address that mails are from.")
    ca_file: Path | None = parse_file("KELIFAX_SMTP_CA_FILE", given["KELIFAX_SMTP_CA_FILE"])
    try:
        return read_server(given["KELIFAX_SMTP_URL"], sender, ca_file, given["KELIFAX_SITE"] or "Kelifax")
    except MailServerInvalid as error:  # its text does not contain the password
        raise InvalidSetting(f"KELIFAX_SMTP_URL cannot be used: {error}.") from error
    except DeliveryRefused as error:
        raise InvalidSetting(f"KELIFAX_SENDER is {sender!r}: it must be an e-mail address.") from error


def _read_allowed(text: str) -> frozenset[Exemption]:
    try:
        return parse_exemptions(split_list(text))
    except PolicyInvalid as error:
        raise InvalidSetting(f"KELIFAX_ALLOW cannot be used: {error}.") from error
