"""The feed of changes as RSS, CSV and JSON: a link with a token reads the feed, and nothing else. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import format_datetime
from html import escape
from typing import Any

from hashrange_systems.aura.model.price_format import format_amount, format_price
from hashrange_systems.aura.service.changes import AnyChange
from hashrange_systems.aura.web.page_view import link_product, name_kind, name_product
from hashrange_systems.shared.epoch import DAY_MS
from hashrange_systems.shared.errors import TokenInvalid
from hashrange_systems.shared.reports.csv_export import write_csv
from hashrange_systems.shared.signed_token import TokenSigner
from hashrange_systems.shared.text import clean

PURPOSE = "feed"
LIFETIME_MS = 3650 * DAY_MS
NOW = ("at", "kind", "domain", "country", "title", "url", "state", "price", "currency")
COLUMNS = (*NOW, "old_state", "old_price", "old_currency", "detail")


def sign_feed(signer: TokenSigner, member_id: str, now: int) -> str:
    """Return the token of a member's feed links; it ends with the member."""
    day = now - now % DAY_MS  # the same link for a day, so that a page can be cached
    return signer.sign(PURPOSE, [member_id], day + LIFETIME_MS)


def open_feed(signer: TokenSigner, token: str, now: int) -> str | None:
    """Return the member of a token; None if it is not ours."""
    try:
        (member_id,) = signer.open(PURPOSE, token, now)
    except TokenInvalid:
        return None
    return member_id


def write_json(change: AnyChange) -> dict[str, Any]:
    """Return a change as JSON; prices are in minor units."""
    return {
        "id": change.change_id,
        "at": change.at.isoformat(),
        "kind": change.kind,
        "domain": change.domain,
        "country": change.shop_country,
        "url": change.url,
        "title": change.title,
        "state": change.state,
        "priceMinor": change.price_minor,
        "currency": change.currency,
        "oldState": change.old_state,
        "oldPriceMinor": change.old_price_minor,
        "oldCurrency": change.old_currency,
        "detail": change.detail,
    }


def write_changes_csv(changes: Sequence[AnyChange]) -> bytes:
    """Return changes as a CSV file."""
    return write_csv(COLUMNS, ([write_cell(cell) for cell in list_cells(change)] for change in changes))


def list_cells(change: AnyChange) -> list[object]:
    """Return the cells of a change."""
    return [
        change.at.isoformat(),
        change.kind,
        change.domain,
        change.shop_country,
        change.title,
        change.url,
        change.state,
        format_amount(change.price_minor, change.currency),
        change.currency,
        change.old_state,
        format_amount(change.old_price_minor, change.old_currency),
        change.old_currency,
        change.detail,
    ]


def write_cell(value: object) -> str:
    """Return a cell of a CSV file."""
    return "" if value is None else str(value)


def write_rss(changes: Sequence[AnyChange], base_url: str) -> str:
    """Return changes as an RSS 2.0 feed."""
    entries = "".join(write_entry(change, base_url) for change in changes)
    link = escape(f"{base_url}/changes")
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel><title>Aura: what changed</title>'
        f"<link>{link}</link><description>New products, prices and states of all shops.</description>"
        f"{entries}</channel></rss>\n"
    )


def write_entry(change: AnyChange, base_url: str) -> str:
    """Return a change as an entry of the feed."""
    link = f"{base_url}{link_product(change.domain, change.url)}"
    title = f"{name_kind(change)}: {name_product(change)}"
    return (
        f"<item><title>{escape(clean(title, 300))}</title><link>{escape(link)}</link>"
        f'<guid isPermaLink="false">{escape(change.change_id)}</guid>'
        f"<pubDate>{format_datetime(change.at)}</pubDate>"
        f"<description>{escape(clean(describe(change), 1000))}</description></item>"
    )


def describe(change: AnyChange) -> str:
    """Return what changed, in one line."""
    new = " ".join(filter(None, (change.state, format_price(change.price_minor, change.currency))))
    old = " ".join(filter(None, (change.old_state, format_price(change.old_price_minor, change.old_currency))))
    parts = [f"{change.domain}: {new}", f"before: {old}" if old else "", change.detail or ""]
    return "; ".join(part for part in parts if part)
