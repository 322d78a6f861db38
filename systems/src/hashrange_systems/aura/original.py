"""Aura Historia, second layout, as the original's programs filled it: every attribute may be missing or of an old form.

Only migrations read a table through this module; `schema` is the declaration that aura works with.
"""

from typing import Protocol

from hashrange import Get, Item, Key, Patterns, Table

table = Table("${AURA_SOURCE_TABLE:-aura-historia-data}", "pk", "sk", stream="NEW_AND_OLD_IMAGES")


class OriginalShop(Item, table=table, pk="SHOP#{domain}", sk="META#"):
    domain: str
    core_domain_name: str | None = None
    shop_name: str | None = None
    shop_image: str | None = None
    shop_type: str | None = None
    shop_country: str | None = None  # COUNTRY#DE, or DE when it was guessed
    last_crawled_start: str | None = None
    last_crawled_end: str | None = None  # a time, or a state: NEVER#, PROGRESS#time, DONE#time
    last_scraped_start: str | None = None
    last_scraped_end: str | None = None
    standards_used: list[str] | None = None
    gsi2_sk: str | None = None
    gsi3_sk: str | None = None

class OriginalUrl(Item, table=table, pk="SHOP#{domain}", sk="URL#{url}"):
    domain: Key[str]
    url: str
    type: str | None = None
    is_product: bool | None = None
    hash: str | None = None
    standards_used: list[str] | None = None

class OriginalAura(Patterns, Protocol):
    def shop(self, domain: str) -> Get[OriginalShop]: ...
    def url(self, domain: str, url: str) -> Get[OriginalUrl]: ...
