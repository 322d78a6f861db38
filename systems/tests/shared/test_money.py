"""Money as pages write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.shared.money import CURRENCIES, Money, find_money


@pytest.mark.parametrize(
    ("text", "minor", "currency"),
    [
        ("$10.00", 1000, "USD"),
        ("US $1,299.00", 129900, "USD"),
        ("$1,299", 129900, "USD"),
        ("$.99", 99, "USD"),
        ("C $15.49", 1549, "CAD"),
        ("AU $20.00", 2000, "AUD"),
        ("£1,234.56", 123456, "GBP"),
        ("1.234,56 €", 123456, "EUR"),
        ("EUR 12,50", 1250, "EUR"),
        ("12,50 EUR", 1250, "EUR"),
        ("EUR 1.299", 129900, "EUR"),
        ("10,5 €", 1050, "EUR"),
        ("1\u202f234,50\xa0€", 123450, "EUR"),
        ("1 234,50 zł", 123450, "PLN"),
        ("CHF 1'299.90", 129990, "CHF"),
        ("CHF 1\u2019250.\u2013", 125000, "CHF"),
        ("1'250.- CHF", 125000, "CHF"),
        ("Fr. 1'250.-", 125000, "CHF"),
        ("950 Euro", 95000, "EUR"),
        ("950,- €", 95000, "EUR"),
        ("1.250,-- EURO", 125000, "EUR"),
        ("12 500 Kč", 1250000, "CZK"),
        ("¥1,200", 1200, "JPY"),
        ("JPY 1,200", 1200, "JPY"),
        ("+$5.99 shipping", 599, "USD"),
        ("PLUS $5.99", 599, "USD"),
        ("NO EXTRAS $5.99", 599, "USD"),
        ("+ EUR 4,99 Versand", 499, "EUR"),
        ("Delivery in 2-4 days $5.99", 599, "USD"),
    ],
)
def test_an_amount_is_read_in_the_format_of_its_country(text, minor, currency):
    assert list(find_money(text)) == [Money(minor, currency)]


@pytest.mark.parametrize(
    "text",
    ["", "Tap item to see current price", "Free 3 day delivery", "25.99", "12 sold", "€", "$", "we try 5", "10 ft"],
)
def test_a_number_without_a_currency_is_no_money(text):
    assert list(find_money(text)) == []


@pytest.mark.parametrize("text", ["-50 €", "\u221250 €", "-€50", "jetzt -1.250,00 €", "1.5e3 €", "1e3 EUR", "2E+3 €"])
def test_a_discount_and_an_exponent_are_no_money(text):
    assert list(find_money(text)) == []


@pytest.mark.parametrize("text", ["Preis - 50 €", "10-50 €", "VB50 €", "- 50 €", "Nr. 3e: 50 €"])
def test_a_dash_before_a_price_is_no_sign(text):
    assert [money.minor for money in find_money(text)] == [5000]


def test_every_amount_of_a_range_is_found():
    assert [money.minor for money in find_money("EUR 10,00 bis EUR 20,00")] == [1000, 2000]
    assert [money.minor for money in find_money("10,00 € 20,00 €")] == [1000, 2000]


@given(st.integers(0, 10**11), st.sampled_from(sorted(CURRENCIES)))
def test_money_reads_what_it_writes(minor, currency):
    assert list(find_money(str(Money(minor, currency)))) == [Money(minor, currency)]


@given(st.text("0123456789.,' $€£EUR zł", max_size=40))
def test_no_text_breaks_the_reading(text):
    assert all(money.minor >= 0 for money in find_money(text))
