"""The settings of checks. docs/systems/checks.md shows them; a test compares them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hashrange_systems.checks.service.check_type import RDAP
from hashrange_systems.checks.service.ebay_search import EbayAccess
from hashrange_systems.shared.application.settings import (
    SystemSettings,
    declare_ca_file,
    declare_keys,
    number,
    parse_addresses,
    parse_list,
    parse_secret,
    parse_url,
    setting,
)

MAX_CONCURRENT_CHECKS = 1000


def parse_policy(text: str) -> tuple[str, ...]:
    """Return non-public addresses as they are stored."""
    parse_addresses(text)
    return parse_list(text)


@dataclass(frozen=True, kw_only=True)
class Settings(SystemSettings):
    """The settings of a process."""

    system: ClassVar[str] = "checks"

    allow: tuple[str, ...] | None = setting(
        None,
        "Non-public addresses that may be checked, separated by commas: `10.0.0.0/8`, `127.0.0.1:9000`, "
        "`wiki.internal`. The first process stores them; `hashrange checks policy set` changes them for all.",
        parse_policy,
        usual="as stored",
    )
    ca_file: Path | None = declare_ca_file()
    workers: int = setting(
        200, "How many checks run at the same time; `0`: none in this process.", number(0, MAX_CONCURRENT_CHECKS)
    )
    keys: Path | None = declare_keys()
    apprise_hosts: tuple[str, ...] = setting(
        (),
        "Hosts, separated by commas, that are allowed in Apprise URLs such as `gotify://`.",
        parse_list,
        usual="`ntfy.sh`",
    )
    admin_token: str | None = setting(
        None, "The token for the operator's API; without it, that API is disabled.", parse_secret, secret=True
    )
    rdap_url: str = setting(RDAP, "The RDAP service that says until when domains are registered.", parse_url)
    demo_port: int = setting(
        8003, "With `--demo`: the port of the pages that the demo checks request.", number(0, 65535)
    )
    ebay_client_id: str = setting(
        "",
        "The credentials of eBay's Browse API; without them, search pages are parsed.",
        str,
        usual="none",
        variable="EBAY_CLIENT_ID",
    )
    ebay_client_secret: str = setting(
        "",
        "The secret that belongs to `EBAY_CLIENT_ID`.",
        str,
        usual="none",
        variable="EBAY_CLIENT_SECRET",
        secret=True,
    )

    @property
    def works(self) -> bool:
        """Whether this process runs checks."""
        return self.workers > 0

    @property
    def ebay(self) -> EbayAccess:
        """The access to eBay."""
        return EbayAccess(client_id=self.ebay_client_id, client_secret=self.ebay_client_secret)

    def check(self) -> Iterator[str]:
        """Yield what is wrong with values that do not fit together."""
        yield from super().check()
        if bool(self.ebay_client_id) != bool(self.ebay_client_secret):
            yield "EBAY_CLIENT_ID and EBAY_CLIENT_SECRET belong together: give both, or none"
