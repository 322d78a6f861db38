"""eBay: offers out of pages and JSON, and what is made of them."""

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.checks.model.attributes import Ebay
from hashrange_systems.checks.model.ebay import Found, Offer, Unreadable, build_search_url, evaluate_offers
from hashrange_systems.checks.model.ebay_api import build_parameters, read_response
from hashrange_systems.checks.model.ebay_page import read_page
from hashrange_systems.checks.model.fetch_result import Cause, NoResponse, PageResponse
from hashrange_systems.checks.model.outcome import Status
from hashrange_systems.shared.money import Money
from systems.tests.checks.model.storefront import (
    LAYOUTS,
    Listing,
    write_api,
    write_block_page,
    write_empty_page,
    write_page,
    write_unknown_page,
)

LISTINGS = (
    Listing("Brass desk lamp", "$24.50", "+$5.99 shipping", number=225_000_000_001),
    Listing("Desk lamp, green", "$1,099.00", "Free delivery", was="$1,500.00", number=225_000_000_002),
    Listing("Lamp of many sizes", "$10.00 to $20.00", number=225_000_000_003),
    Listing("Slow lamp", "$30.00", "Delivery in 2-4 days +$4.00 delivery", number=225_000_000_004),
)
OFFERS = [
    ("Brass desk lamp", Money(2450, "USD"), 599),
    ("Desk lamp, green", Money(109900, "USD"), 0),
    ("Lamp of many sizes", Money(1000, "USD"), None),
    ("Slow lamp", Money(3000, "USD"), 400),
]
each_layout = pytest.mark.parametrize("layout", LAYOUTS)


def offers_of(response):
    found = read_page(response)
    assert isinstance(found, Found), found
    return [(offer.title, offer.price, offer.shipping) for offer in found.offers]


def evaluate(offers, **attributes):
    given = {"query": "lamp", "threshold": 2000} | attributes
    return evaluate_offers(Ebay(**given), Found(tuple(offers)), 120)


def offer(price, shipping=0, currency="USD"):
    return Offer(title=f"lamp {price}", price=Money(price, currency), shipping=shipping, url="https://ebay.com/itm/7")


@each_layout
def test_every_layout_gives_the_same_offers_and_not_the_placeholder(layout):
    response = write_page(layout, LISTINGS)
    assert offers_of(response) == OFFERS
    assert [offer.url for offer in read_page(response).offers] == [listing.link for listing in LISTINGS]


@each_layout
@pytest.mark.parametrize(
    "placeholder", [Listing("Shop on eBay", "$1.00"), Listing("Mehr bei eBay", "$1.00", number=123456)]
)
def test_the_placeholder_is_known_by_its_title_or_its_link_not_by_its_place(layout, placeholder):
    assert offers_of(write_page(layout, [*LISTINGS, placeholder])) == OFFERS


@each_layout
def test_a_price_that_is_crossed_out_is_not_the_price(layout):
    assert offers_of(write_page(layout, [Listing("Lamp", "$10.00", was="$5.00")])) == [
        ("Lamp", Money(1000, "USD"), None)
    ]


@each_layout
def test_a_range_uses_its_low_end_and_is_never_summed(layout):
    page = write_page(layout, [Listing("Lamp", "$10.00 to $20.00", "Free shipping")])
    assert offers_of(page) == [("Lamp", Money(1000, "USD"), 0)]


@each_layout
def test_european_prices_are_read(layout):
    page = write_page(
        layout,
        [Listing("Lampe", "EUR 1.234,56", "+EUR 4,99 Versand"), Listing("Lampe", "12,50 €", "Kostenloser Versand")],
    )
    assert offers_of(page) == [("Lampe", Money(123456, "EUR"), 499), ("Lampe", Money(1250, "EUR"), 0)]


@each_layout
def test_missing_shipping_is_unknown_not_free(layout):
    assert offers_of(write_page(layout, [Listing("Lamp", "$5.00")])) == [("Lamp", Money(500, "USD"), None)]


@each_layout
def test_results_for_fewer_words_are_not_what_was_asked_for(layout):
    page = write_page(layout, LISTINGS[:1], fewer_words=[Listing("Cheap other thing", "$0.01", "Free shipping")])
    assert offers_of(page) == OFFERS[:1]


@each_layout
def test_a_page_that_says_0_results_has_no_offers_whatever_it_shows_instead(layout):
    assert read_page(write_page(layout, LISTINGS, count=0)) == Found(())


@each_layout
def test_results_without_a_readable_price_are_unreadable(layout):
    found = read_page(write_page(layout, [Listing("Lamp", "See price in basket")]))
    assert (type(found), found.cause) == (Unreadable, Cause.LAYOUT)


@each_layout
def test_only_the_placeholder_and_no_word_about_it_is_unreadable(layout):
    assert isinstance(read_page(write_page(layout, [], count="")), Unreadable)


def test_an_explicit_word_that_nothing_matches_is_believed():
    assert read_page(write_empty_page()) == Found(())


@pytest.mark.parametrize("status", [200, 403, 429, 503])
def test_a_block_page_is_unknown_never_available(status):
    found = read_page(write_block_page(status))
    assert (type(found), found.cause) == (Unreadable, Cause.BLOCKED)
    outcome = evaluate_offers(Ebay(query="lamp", threshold=10**9), found)
    assert (outcome.status, outcome.available, outcome.price) == (Status.UNKNOWN, None, None)


def test_an_unknown_layout_is_unknown_never_available():
    found = read_page(write_unknown_page())
    assert (type(found), found.cause) == (Unreadable, Cause.LAYOUT)
    assert evaluate_offers(Ebay(query="lamp", threshold=10**9), found).status is Status.UNKNOWN


def test_no_answer_is_unknown_because_ebay_is_not_what_is_checked():
    found = read_page(NoResponse(cause=Cause.TIMEOUT, message="too slow"))
    assert evaluate_offers(Ebay(query="lamp", threshold=1), found).status is Status.UNKNOWN


@given(st.text(max_size=200) | st.text("<>/=\"' lisc-ard", max_size=200))
def test_no_page_breaks_the_reading(body):
    assert isinstance(read_page(PageResponse(status=200, body=body)), Found | Unreadable)


def test_the_api_gives_the_same_kind_of_offers():
    response = write_api(
        [
            ("Lamp", "11.00", "USD", ["4.50", "3.00"], "FIXED_PRICE", "BEST_OFFER"),
            ("Free lamp", "12.00", "USD", ["0.00"], "FIXED_PRICE"),
            ("Calculated lamp", "9.99", "USD", [None], "FIXED_PRICE"),
            ("Collected lamp", "9.98", "USD", [], "FIXED_PRICE"),
            ("Auctioned lamp", "0.01", "USD", ["0.00"], "AUCTION"),
        ]
    )
    assert [(offer.title, offer.price.minor, offer.shipping) for offer in read_response(response).offers] == [
        ("Lamp", 1100, 300),
        ("Free lamp", 1200, 0),
        ("Calculated lamp", 999, None),
        ("Collected lamp", 998, None),
    ]


def test_the_api_that_found_nothing_says_so():
    assert read_response(write_api([])) == Found(())


@pytest.mark.parametrize(
    "response",
    [
        write_api([], total=12),
        write_api([("Lamp", "priceless", "USD", [], "FIXED_PRICE")]),
        PageResponse(status=401, body='{"errors": [{"errorId": 1001}]}'),
        PageResponse(status=200, body="<html>"),
        PageResponse(status=200, body="[]"),
        PageResponse(status=200, body='{"total": 1, "itemSummaries": {"0": 1}}'),
        PageResponse(status=200, body='{"total": 1, "itemSummaries": [5, null, {"price": []}]}'),
        PageResponse(status=200, body="[" * 100_000),
        NoResponse(cause=Cause.CONNECT, message="refused"),
    ],
    ids=range(9),
)
def test_an_api_answer_that_tells_nothing_is_unreadable(response):
    assert isinstance(read_response(response), Unreadable)


def test_the_api_is_asked_for_fixed_prices_cheapest_first():
    parameters = build_parameters(Ebay(query="desk lamp", threshold=1, currency="EUR"))
    assert parameters["q"] == "desk lamp"
    assert parameters["sort"] == "price"
    assert parameters["filter"] == "buyingOptions:{FIXED_PRICE},priceCurrency:EUR"


def test_the_search_is_always_buy_it_now_and_cheapest_first():
    url = build_search_url(Ebay(query="desk lamp & more", threshold=1))
    assert url.startswith("https://www.ebay.com/sch/i.html?")
    assert parse_qs(urlsplit(url).query) == {"_nkw": ["desk lamp & more"], "_sop": ["15"], "LH_BIN": ["1"]}


def test_a_given_search_keeps_its_own_filters_but_not_its_order():
    given = "https://www.ebay.de/sch/i.html?_nkw=lampe&_sop=10&LH_BIN=0&LH_ItemCondition=1000#top"
    url = build_search_url(Ebay(url=given, threshold=1))
    assert url == "https://www.ebay.de/sch/i.html?_nkw=lampe&LH_ItemCondition=1000&_sop=15&LH_BIN=1"


@pytest.mark.parametrize(("price", "available"), [(1999, True), (2000, True), (2001, False)])
def test_the_lowest_price_is_available_at_or_below_the_threshold(price, available):
    outcome = evaluate([offer(5000), offer(price), offer(9000)])
    assert (outcome.status, outcome.available, outcome.price) == (Status.UP, available, price)
    assert (outcome.currency, outcome.link, outcome.response_time) == ("USD", "https://ebay.com/itm/7", 120)


def test_shipping_counts_when_it_is_to_be_included():
    offers = [offer(1500, 600), offer(1900, 0)]
    assert evaluate(offers).price == 1900
    assert evaluate(offers, include_shipping=False).price == 1500


def test_unknown_shipping_proves_no_price_but_is_shown():
    outcome = evaluate([offer(1500, None), offer(2500)])
    assert (outcome.available, outcome.price) == (None, 2500)
    assert "15.00 USD with unknown shipping" in outcome.message


def test_unknown_shipping_does_not_hide_an_offer_that_is_certain():
    assert evaluate([offer(1500, None), offer(1900)]).available is True


def test_only_offers_of_unknown_shipping_are_shown_as_such():
    outcome = evaluate([offer(1500, None)])
    assert (outcome.status, outcome.available, outcome.price, outcome.shipping_known) == (Status.UP, None, 1500, False)
    assert evaluate([offer(2500, None)]).available is False


def test_unknown_shipping_does_not_matter_when_it_is_not_included():
    assert evaluate([offer(1500, None)], include_shipping=False).available is True


def test_prices_of_another_currency_are_not_compared():
    assert evaluate([offer(1, currency="CAD")]).status is Status.UNKNOWN
    assert evaluate([offer(1, currency="CAD"), offer(5000)]).price == 5000


def test_no_offers_is_not_available_rather_than_unknown():
    outcome = evaluate([])
    assert (outcome.status, outcome.available, outcome.price) == (Status.UP, False, None)
