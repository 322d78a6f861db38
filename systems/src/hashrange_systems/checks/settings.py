"""The settings of the checks system: the list of its environment variables, read and checked once.

docs/systems/checks.md shows this list; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hashrange_systems.checks.service.check_type import RDAP
from hashrange_systems.checks.service.ebay_search import EbayAccess
from hashrange_systems.shared.application.settings import InvalidSetting, Variable
from hashrange_systems.shared.channels.email_sender import MailServer
from hashrange_systems.shared.settings import (
    list_mail_variables,
    parse_addresses,
    parse_file,
    parse_mail_server,
    parse_number,
    parse_secret,
    parse_signing_key,
    parse_url,
    read_variables,
    split_list,
)

MAX_CONCURRENT_CHECKS = 1000
USUAL_AT_ONCE = 200
DEMO_PORT = 8003

VARIABLES = (
    Variable("CHECKS_URL", "where it runs", "The public URL of the pages, used for links in messages."),
    *list_mail_variables("CHECKS"),
    Variable(
        "CHECKS_ALLOW",
        "as stored",
        "Non-public addresses that may be checked, separated by commas: `10.0.0.0/8`, `127.0.0.1:9000`, "
        "`wiki.internal`. The first process stores them; `hashrange checks policy set` changes them for all.",
    ),
    Variable(
        "CHECKS_CA_FILE",
        "the public ones",
        "Certificate authorities, in PEM, that checks trust besides the public ones.",
    ),
    Variable("CHECKS_WORKERS", str(USUAL_AT_ONCE), "How many checks run at the same time; `0`: none in this process."),
    Variable(
        "CHECKS_SECRET", "a file", "The secret that signs cursors, sessions and links; the same for all processes."
    ),
    Variable(
        "CHECKS_KEYS", "`keys.json`", "The file with the keys that encrypt webhook secrets; the same for all processes."
    ),
    Variable(
        "CHECKS_APPRISE_HOSTS",
        "`ntfy.sh`",
        "Hosts, separated by commas, that are allowed in Apprise URLs such as `gotify://`.",
    ),
    Variable("CHECKS_ADMIN_TOKEN", "none", "The token for the operator's API; without it, that API is disabled."),
    Variable("CHECKS_RDAP_URL", f"`{RDAP}`", "The RDAP service that says until when domains are registered."),
    Variable("CHECKS_DEMO_PORT", str(DEMO_PORT), "With `--demo`: the port of the pages that the demo checks request."),
    Variable("EBAY_CLIENT_ID", "none", "The credentials of eBay's Browse API; without them, search pages are parsed."),
    Variable("EBAY_CLIENT_SECRET", "none", "The secret that belongs to `EBAY_CLIENT_ID`."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a process."""

    url: str | None = None
    mail: MailServer | None = None
    allow: tuple[str, ...] | None = None  # None: as the deployment says
    ca_file: Path | None = None
    at_once: int = USUAL_AT_ONCE
    secret: bytes | None = field(default=None, repr=False)
    keys: Path | None = None
    apprise_hosts: tuple[str, ...] = ()
    admin_token: str | None = field(default=None, repr=False)
    rdap: str = RDAP
    demo_port: int = DEMO_PORT
    ebay: EbayAccess = field(default_factory=EbayAccess)

    @property
    def works(self) -> bool:
        """Whether this process runs checks."""
        return self.at_once > 0


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read and check the variables."""
    given = read_variables(environment, VARIABLES)
    url = parse_url("CHECKS_URL", given["CHECKS_URL"], "https://example.com/checks")
    return Settings(
        url=url,
        mail=parse_mail_server(given, "CHECKS", url, "hashrange checks"),
        allow=_read_allowed(given["CHECKS_ALLOW"]),
        ca_file=parse_file("CHECKS_CA_FILE", given["CHECKS_CA_FILE"]),
        at_once=parse_number(
            "CHECKS_WORKERS", given["CHECKS_WORKERS"], range(MAX_CONCURRENT_CHECKS + 1), USUAL_AT_ONCE
        ),
        secret=parse_signing_key("CHECKS_SECRET", given["CHECKS_SECRET"]),
        keys=Path(given["CHECKS_KEYS"]) if given["CHECKS_KEYS"] else None,
        apprise_hosts=tuple(split_list(given["CHECKS_APPRISE_HOSTS"])),
        admin_token=parse_secret("CHECKS_ADMIN_TOKEN", given["CHECKS_ADMIN_TOKEN"]),
        rdap=parse_url("CHECKS_RDAP_URL", given["CHECKS_RDAP_URL"], RDAP) or RDAP,
        demo_port=parse_number("CHECKS_DEMO_PORT", given["CHECKS_DEMO_PORT"], range(65536), DEMO_PORT),
        ebay=_read_ebay(given),
    )


def _read_allowed(text: str) -> tuple[str, ...] | None:
    parse_addresses("CHECKS_ALLOW", text)
    return tuple(split_list(text)) or None


def _read_ebay(given: Mapping[str, str]) -> EbayAccess:
    client_id, secret = given["EBAY_CLIENT_ID"], given["EBAY_CLIENT_SECRET"]
    if bool(client_id) != bool(secret):
        raise InvalidSetting("EBAY_CLIENT_ID and EBAY_CLIENT_SECRET belong together: give both, or none.")
    return EbayAccess(client_id=client_id, client_secret=secret)
