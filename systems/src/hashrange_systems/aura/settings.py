"""The settings of aura: the list of its environment variables, read and checked once.

docs/systems/aura.md shows this list; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from hashrange_systems.shared.application.settings import InvalidSetting, Variable
from hashrange_systems.shared.channels.email_sender import MailServer
from hashrange_systems.shared.fetching.policy import Exemption
from hashrange_systems.shared.settings import (
    list_mail_variables,
    parse_addresses,
    parse_file,
    parse_mail_server,
    parse_number,
    parse_signing_key,
    parse_url,
    read_variables,
)

MAX_SHOPS_AT_ONCE = 200
DEMO_PORT = 8010
USER_AGENT = "hashrange-aura"

VARIABLES = (
    Variable("AURA_URL", "where it runs", "The public URL of the pages, used for links in messages and feeds."),
    Variable(
        "AURA_USER_AGENT",
        f"`{USER_AGENT}`",
        "How the crawler names itself; its first word is what robots.txt files address. Add a URL that explains it.",
    ),
    Variable("AURA_WORKERS", "4", "How many shops are crawled or scraped at the same time; `0`: none in this process."),
    Variable("AURA_REQUESTS", "4", "How many requests one shop gets at the same time."),
    Variable("AURA_DELAY_MS", "1000", "The pause between two requests to one shop; a longer Crawl-delay is kept."),
    Variable("AURA_MAX_PAGES", "100000", "How many pages of one shop a crawl visits."),
    Variable("AURA_CRAWL_HOURS", "48", "How often a shop is crawled."),
    Variable("AURA_SCRAPE_HOURS", "48", "How often a shop is scraped, if it was crawled since."),
    Variable(
        "AURA_ALLOW",
        "none",
        "Non-public addresses that may be crawled, separated by commas: `10.0.0.0/8`, `127.0.0.1:9000`.",
    ),
    Variable(
        "AURA_CA_FILE", "the public ones", "Certificate authorities, in PEM, that are trusted besides the public ones."
    ),
    *list_mail_variables("AURA"),
    Variable("AURA_SECRET", "a file", "The secret that signs cursors and sessions; the same for all processes."),
    Variable("AURA_KEYS", "`keys.json`", "The file with the keys that encrypt webhook secrets; one for all processes."),
    Variable("AURA_DEMO_PORT", str(DEMO_PORT), "With `--demo`: the first port of the demo shops."),
    Variable("DYNAMODB_TABLE_NAME", "`aura-historia-data`", "The original's table: shops, URLs and prices."),
    Variable(
        "AURA_CHECKPOINT_TABLE", "`aura-historia-checkpoints`", "Where the registration of new shops goes on reading."
    ),
    Variable("AURA_WORK_TABLE", "`aura-historia-work`", "The working table: frontiers, reports, changes and members."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a process."""

    url: str | None = None
    user_agent: str = USER_AGENT
    shops_at_once: int = 4
    requests: int = 4
    delay_s: float = 1.0
    max_pages: int = 100_000
    crawl_every: timedelta = timedelta(hours=48)
    scrape_every: timedelta = timedelta(hours=48)
    allow: frozenset[Exemption] = frozenset()
    ca_file: Path | None = None
    mail: MailServer | None = None
    secret: bytes | None = field(default=None, repr=False)
    keys: Path | None = None
    demo_port: int = DEMO_PORT

    @property
    def works(self) -> bool:
        """Whether this process crawls and scrapes."""
        return self.shops_at_once > 0

    @property
    def agent(self) -> str:
        """The product token of the user agent, as robots.txt names it."""
        return self.user_agent.split("/")[0].split(" ")[0]


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read and check the variables."""
    given = read_variables(environment, VARIABLES)

    def number(name: str, allowed: range, default: int) -> int:
        return parse_number(name, given[name], allowed, default)

    url = parse_url("AURA_URL", given["AURA_URL"], "https://example.com/aura")
    return Settings(
        url=url,
        user_agent=_read_agent(given["AURA_USER_AGENT"]),
        shops_at_once=number("AURA_WORKERS", range(MAX_SHOPS_AT_ONCE + 1), 4),
        requests=number("AURA_REQUESTS", range(1, 65), 4),
        delay_s=number("AURA_DELAY_MS", range(600_001), 1000) / 1000,
        max_pages=number("AURA_MAX_PAGES", range(1, 10_000_001), 100_000),
        crawl_every=timedelta(hours=number("AURA_CRAWL_HOURS", range(1, 8761), 48)),
        scrape_every=timedelta(hours=number("AURA_SCRAPE_HOURS", range(1, 8761), 48)),
        allow=parse_addresses("AURA_ALLOW", given["AURA_ALLOW"]),
        ca_file=parse_file("AURA_CA_FILE", given["AURA_CA_FILE"]),
        mail=parse_mail_server(given, "AURA", url, "hashrange aura"),
        secret=parse_signing_key("AURA_SECRET", given["AURA_SECRET"]),
        keys=Path(given["AURA_KEYS"]) if given["AURA_KEYS"] else None,
        demo_port=number("AURA_DEMO_PORT", range(65536), DEMO_PORT),
    )


def _read_agent(text: str) -> str:
    if not text:
        return USER_AGENT
    if not text.isascii() or not text.isprintable() or len(text) > 300:
        raise InvalidSetting("AURA_USER_AGENT must be printable ASCII of at most 300 characters.")
    return text
