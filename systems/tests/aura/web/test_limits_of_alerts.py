"""Amounts that people type: as they are written in their country, never silently a thousandth of it."""

import pytest

from hashrange_systems.aura.web.product_page import read_limit
from hashrange_systems.shared.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("1250", 125_000),
        ("99.50", 9_950),
        ("2500,50", 250_050),
        ("1.500", 150_000),
        ("2.500,00", 250_000),
        ("3,800.00", 380_000),
        ("1 500", 150_000),
        ("10.00", 1_000),
        ("", None),
    ],
)
def test_an_amount_is_read_as_its_country_writes_it(text, minor):
    assert read_limit("below", text, "EUR") == minor


@pytest.mark.parametrize("text", ["abc", "-5", "1e9", "1.2.3", "NaN", "12 EUR or so"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(InvalidInput):
        read_limit("below", text, "EUR")


def test_a_currency_without_cents_has_none():
    assert read_limit("below", "12000", "JPY") == 12_000
