"""Prices that only their language or their form makes clear."""

import pytest

from hashrange_systems.aura.extraction.price_text import read_price_text


@pytest.mark.parametrize(
    ("text", "region", "money"),
    [
        ("12.000 Ft", "", "12000.00 HUF"),
        ("1 250 000 Ft.", "", "1250000.00 HUF"),
        ("900 Ft", "hu", "900.00 HUF"),
        ("900 Ft", "", "None"),
        ("10 ft", "hu", "None"),
        ("1.5e3 €", "", "None"),
        ("-50 €", "", "None"),
    ],
)
def test_a_price_is_read_or_it_is_none(text, region, money):
    assert str(read_price_text(text, region).money) == money
