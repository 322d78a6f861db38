"""The feed of changes as CSV and RSS; JSON is what `change_json` of a page or command makes."""

from __future__ import annotations

from collections.abc import Iterable
from email.utils import format_datetime
from xml.sax.saxutils import escape

from hashrange_systems.aura.model.price_format import format_price
from hashrange_systems.aura.work_schema import Change
from hashrange_systems.shared.reports.csv_export import write_csv
from hashrange_systems.shared.text import clean

MAX_TEXT = 5000

COLUMNS = (
    "at", "kind", "domain", "country", "url", "title", "state", "price_minor", "currency", "old_state",
    "old_price_minor", "old_currency", "detail",
)  # fmt: skip


def make_csv(changes: Iterable[Change]) -> bytes:
    """Return changes as CSV; cells that a spreadsheet would calculate are disarmed."""
    rows = [
        (
            change.at.isoformat(), change.kind, change.domain, change.shop_country, change.url, change.title,
            change.state, change.price_minor, change.currency, change.old_state, change.old_price_minor,
            change.old_currency, change.detail,
        )
        for change in changes
    ]  # fmt: skip
    return write_csv(COLUMNS, [["" if cell is None else cell for cell in row] for row in rows])


def make_rss(changes: Iterable[Change], base_url: str) -> str:
    """Return changes as an RSS 2.0 feed."""
    items = "".join(make_entry(change) for change in changes)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>'
        f"<title>What changed in antique shops</title><link>{escape(base_url)}</link>"
        f"<description>Prices and states of products</description>{items}</channel></rss>\n"
    )


def make_entry(change: Change) -> str:
    """Return one entry of the feed."""
    before = format_price(change.old_price_minor, change.old_currency)
    after = format_price(change.price_minor, change.currency)
    text = change.detail or f"{change.old_state or ''} {before} → {change.state or ''} {after}".strip()
    title = f"{change.kind}: {change.title or change.url}"
    return (
        f"<item><title>{write_text(title)}</title><link>{write_text(change.url)}</link>"
        f'<guid isPermaLink="false">{write_text(change.change_id)}</guid>'
        f"<pubDate>{format_datetime(change.at)}</pubDate><description>{write_text(text)}</description></item>"
    )


def write_text(text: str) -> str:
    """Return a text for XML: escaped, without characters that XML cannot have."""
    return escape(clean(text, MAX_TEXT))
