"""The settings of aura. docs/systems/aura.md shows them; a test compares them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hashrange_systems.shared.application.settings import (
    InvalidSetting,
    SystemSettings,
    declare_ca_file,
    declare_exemptions,
    declare_keys,
    number,
    setting,
)
from hashrange_systems.shared.fetching.policy import Exemption

MAX_SHOPS_AT_ONCE = 200
MAX_AGENT = 300
YEAR_H = 8760


def parse_agent(text: str) -> str:
    """Return a user agent."""
    if not text.isascii() or not text.isprintable() or len(text) > MAX_AGENT:
        raise InvalidSetting(f"must be printable ASCII of at most {MAX_AGENT} characters")
    return text


@dataclass(frozen=True, kw_only=True)
class Settings(SystemSettings):
    """The settings of a process."""

    system: ClassVar[str] = "aura"

    user_agent: str = setting(
        "hashrange-aura",
        "How the crawler names itself; its first word is what robots.txt files address. Add a URL that explains it.",
        parse_agent,
    )
    workers: int = setting(
        4,
        "How many shops are crawled or scraped at the same time; `0`: none in this process.",
        number(0, MAX_SHOPS_AT_ONCE),
    )
    requests: int = setting(4, "How many requests one shop gets at the same time.", number(1, 64))
    delay_ms: int = setting(
        1000, "The pause between two requests to one shop; a longer Crawl-delay is kept.", number(0, 600_000)
    )
    max_pages: int = setting(100_000, "How many pages of one shop a crawl visits.", number(1, 10_000_000))
    crawl_hours: int = setting(48, "How often a shop is crawled.", number(1, YEAR_H))
    scrape_hours: int = setting(48, "How often a shop is scraped, if it was crawled since.", number(1, YEAR_H))
    allow: frozenset[Exemption] = declare_exemptions("crawls and webhooks")
    ca_file: Path | None = declare_ca_file()
    keys: Path | None = declare_keys()
    demo_port: int = setting(8010, "With `--demo`: the first port of the demo shops.", number(0, 65_535))

    @property
    def works(self) -> bool:
        """Whether this process crawls and scrapes."""
        return self.workers > 0

    @property
    def agent(self) -> str:
        """The product token of the user agent, as robots.txt names it."""
        return self.user_agent.split("/")[0].split(" ")[0]
