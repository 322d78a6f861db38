"""The settings of the directory: the list of its environment variables, read and checked once.

docs/systems/kelifax.md shows this list; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hashrange_systems.shared.channels.email_sender import MailServer
from hashrange_systems.shared.fetching.policy import Exemption
from hashrange_systems.shared.proof_of_work import DEFAULT_COST
from hashrange_systems.shared.settings import (
    Variable,
    list_mail_variables,
    parse_addresses,
    parse_mail_server,
    parse_number,
    parse_signing_key,
    parse_url,
    read_variables,
)

VARIABLES = (
    Variable("KELIFAX_URL", "where it runs", "The public URL of the pages, used for links in mails and feeds."),
    Variable("KELIFAX_SITE", "`Kelifax`", "The name of the directory."),
    *list_mail_variables("KELIFAX", " Without one, submissions are not confirmed by mail, and moderators are told."),
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
        mail=parse_mail_server(given, "KELIFAX", url, given["KELIFAX_SITE"] or "Kelifax"),
        logos=given["KELIFAX_LOGOS"] or None,
        secret=parse_signing_key("KELIFAX_SECRET", given["KELIFAX_SECRET"]),
        allow=parse_addresses("KELIFAX_ALLOW", given["KELIFAX_ALLOW"]),
        works=parse_number("KELIFAX_WORK", given["KELIFAX_WORK"], range(2), 1) == 1,
        proof_cost=parse_number("KELIFAX_PROOF_COST", given["KELIFAX_PROOF_COST"], range(1, 10_000_001), DEFAULT_COST),
    )
