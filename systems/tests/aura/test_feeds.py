"""The feeds of changes: whatever a shop writes in its titles, they can be parsed."""

import asyncio
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest

from hashrange_systems.aura.extraction.page_extraction import extract_page
from hashrange_systems.aura.model.price_format import format_amount, format_price
from hashrange_systems.aura.service.notices import describe_change
from hashrange_systems.aura.web.change_feed import write_changes_csv, write_rss
from hashrange_systems.aura.web.page_view import name_product
from hashrange_systems.aura.work_schema import NewChange
from hashrange_systems.shared.epoch import from_ms

ODD = "N\x00ul \x1b\x0b\x7f ]]> <b>&amp; \ufffe \uffff \ud800 \u202e 😀"


def make_change(title):
    return NewChange(
        at=datetime(2026, 1, 15, tzinfo=UTC), change_id="c1", domain="a.de", shop_country="DE", url="https://a.de/x",
        kind="PRICE", title=title, state="AVAILABLE", price_minor=100, currency="EUR",
    )  # fmt: skip


def test_no_change_is_lost_between_two_pages_of_changes(services):
    """Several products are scraped at the same time: changes of one millisecond are nothing special."""
    moments = [0, 1, 1, 1, 2, 2, 3]

    async def read():
        for number, moment in enumerate(moments):
            at = from_ms(services.clock.millis() - 10 + moment)
            change = make_change(f"Vase {number}").model_copy(update={"change_id": f"c{number}", "at": at})
            await services.work.create(change)
        seen, before = [], None
        while page := await services.changes.latest(2, before=before):
            seen += [change.title for change in page]
            before = page[-1].at
        return seen

    seen = asyncio.run(read())
    assert sorted(seen) == [f"Vase {number}" for number in range(len(moments))]


def test_control_characters_in_a_title_do_not_break_the_feed():
    change = make_change("x").model_copy(update={"title": ODD, "detail": ODD})
    root = ET.fromstring(write_rss([change], "https://example.com/aura").encode())
    title = root.findtext("channel/item/title")
    assert "]]> <b>&amp;" in title
    assert "😀" in title


@pytest.mark.parametrize(
    ("minor", "currency", "shown", "in_a_file"),
    [
        (None, "EUR", "", ""),
        (0, "EUR", "0.00 EUR", "0.00"),
        (99_950, "EUR", "999.50 EUR", "999.50"),
        (125_000, "EUR", "1,250.00 EUR", "1250.00"),
        (123_456_789, "GBP", "1,234,567.89 GBP", "1234567.89"),
        (1_250_000, "JPY", "1,250,000 JPY", "1250000"),
        (125_000, None, "1,250.00", "1250.00"),
    ],
)
def test_a_price_has_separators_where_people_read_it_and_none_in_a_file(minor, currency, shown, in_a_file):
    assert format_price(minor, currency) == shown
    assert format_amount(minor, currency) == in_a_file


def test_messages_feeds_and_files_write_the_same_price():
    change = make_change("Vase").model_copy(
        update={"price_minor": 1_250_000, "currency": "JPY", "old_price_minor": 1_300_000, "old_currency": "JPY"}
    )
    assert "AVAILABLE 1,250,000 JPY\nbefore: 1,300,000 JPY" in describe_change(change, "cheaper")
    assert "1,250,000 JPY" in write_rss([change], "https://example.com/aura")
    assert ",1250000,JPY," in write_changes_csv([change]).decode()


def test_pages_show_titles_without_control_characters():
    assert name_product(make_change("N\x00ul\x1b vase")) == "N ul vase"
    page = '<h1>N\x0bul\x1b \u202evase</h1><div class="price">1 €</div>'.encode()
    assert extract_page("https://a.de/x", page, "text/html; charset=utf-8").title == "N ul vase"
