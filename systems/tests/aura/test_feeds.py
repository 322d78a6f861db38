"""The feeds of changes: whatever a shop writes in its titles, they can be parsed."""

from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import pytest

from hashrange_systems.aura.extraction.page_extraction import extract_page
from hashrange_systems.aura.service.feeds import make_rss
from hashrange_systems.aura.web.change_feed import write_rss
from hashrange_systems.aura.web.page_view import name_product
from hashrange_systems.aura.work_schema import NewChange

ODD = "N\x00ul \x1b\x0b\x7f ]]> <b>&amp; \ufffe \uffff \ud800 \u202e 😀"


def make_change(title):
    return NewChange(
        at=datetime(2026, 1, 15, tzinfo=UTC), change_id="c1", domain="a.de", shop_country="DE", url="https://a.de/x",
        kind="PRICE", title=title, state="AVAILABLE", price_minor=100, currency="EUR",
    )  # fmt: skip


@pytest.mark.parametrize("write", [make_rss, write_rss])
def test_control_characters_in_a_title_do_not_break_the_feed(write):
    change = make_change("x").model_copy(update={"title": ODD, "detail": ODD})
    root = ET.fromstring(write([change], "https://example.com/aura").encode())
    title = root.findtext("channel/item/title")
    assert "]]> <b>&amp;" in title
    assert "😀" in title


def test_pages_show_titles_without_control_characters():
    assert name_product(make_change("N\x00ul\x1b vase")) == "N ul vase"
    page = '<h1>N\x0bul\x1b \u202evase</h1><div class="price">1 €</div>'.encode()
    assert extract_page("https://a.de/x", page, "text/html; charset=utf-8").title == "N ul vase"
