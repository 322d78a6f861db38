"""Migrations of tables that the original's programs filled: seed 001 (keys in capitals) and seed 000.

Use them with `hashrange aura migrate`, or step by step with `hashrange migrate`: this module has both by name.
"""

from __future__ import annotations

from typing import Any

from hashrange import load_item
from hashrange.provision import Migration
from hashrange_systems.aura.first import FirstAura
from hashrange_systems.aura.first import Shop as FirstShop
from hashrange_systems.aura.first import Url as FirstUrl
from hashrange_systems.aura.model.country import PREFIX, UNKNOWN, parse_country
from hashrange_systems.aura.model.domain import find_core_name
from hashrange_systems.aura.original import OriginalAura, OriginalShop, OriginalUrl
from hashrange_systems.aura.schema import Aura, Shop, Url
from hashrange_systems.shared.errors import InvalidInput

STANDARDS = ("json-ld", "microdata", "opengraph", "rdfa")
TIMES = ("last_crawled_start", "last_crawled_end", "last_scraped_start", "last_scraped_end", "gsi2_sk", "gsi3_sk")
TEXTS = ("shop_name", "shop_image", "shop_type")

first = Migration("aura seed 001", source=FirstAura, target=Aura)
original = Migration("aura seed 000", source=OriginalAura, target=Aura)


@first.convert(FirstShop)
def convert_first_shop(old: FirstShop) -> Shop:
    """Return a shop that was never crawled, in an unknown country."""
    return Shop(
        domain=old.domain,
        core_domain_name=find_core_name(old.domain),
        standards_used=read_standards(old.standards_used),
    )


@first.convert(FirstUrl)
def convert_first_url(old: FirstUrl) -> Url:
    """Return a URL; `is_product` becomes the type where there is none."""
    return make_url(old.domain, old.url, old.type, is_product=old.is_product, hash_=old.hash, used=old.standards_used)


@original.convert(OriginalShop)
def convert_original_shop(old: OriginalShop) -> Shop:
    """Return a shop in the state that its index key, or else its times, say."""
    wire: dict[str, Any] = {
        "pk": {"S": f"SHOP#{old.domain}"},
        "sk": {"S": "META#"},
        "domain": {"S": old.domain},
        "core_domain_name": {"S": old.core_domain_name or find_core_name(old.domain)},
        "shop_country": {"S": PREFIX + read_country(old.shop_country)},
    }
    for name in (*TIMES, *TEXTS):
        value = getattr(old, name)
        if value:
            wire[name] = {"S": value}
    standards = read_standards(old.standards_used)
    if standards:
        wire["standards_used"] = {"L": [{"S": each} for each in standards]}
    return load(Shop, wire)


@original.convert(OriginalUrl)
def convert_original_url(old: OriginalUrl) -> Url:
    """Return a URL with its hash, whose algorithm is unknown: the next scrape replaces it without an event."""
    return make_url(
        old.domain, old.url, old.type, is_product=bool(old.is_product), hash_=old.hash, used=old.standards_used
    )


def make_url(
    domain: str, url: str, kind: str | None, *, is_product: bool, hash_: str | None, used: list[str] | None
) -> Url:
    """Return a URL; a type of another program is kept."""
    plain = Url(domain=domain, url=url, hash=hash_ or None, standards_used=read_standards(used))
    wanted = kind or ("product" if is_product else "other")
    return plain.model_copy(update={"type": wanted})


def read_standards(used: list[str] | None) -> list[str] | None:
    """Return the standards by their names, without others."""
    known = [each for each in STANDARDS if used and each in {name.strip().lower() for name in used}]
    return known or None


def read_country(text: str | None) -> str:
    """Return the code of a stored country: with or without its prefix, and ZZ for what is none."""
    try:
        return parse_country(text)
    except InvalidInput:
        return UNKNOWN


def load(model: type[Shop], wire: dict[str, Any]) -> Shop:
    """Return an item of its stored form."""
    item = load_item([model], wire)
    assert isinstance(item, model)
    return item
