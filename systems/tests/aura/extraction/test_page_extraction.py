"""What is read from whole pages: each standard, their disagreements, and pages that are wrong on purpose."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange_systems.aura.extraction.page_extraction import extract_page
from hashrange_systems.aura.extraction.page_facts import Overrides

URL = "https://antik.test/produkt/kommode-12"


def read(html, url=URL, content_type="text/html; charset=utf-8", overrides=None):
    body = html if isinstance(html, bytes) else html.encode()
    return extract_page(url, body, content_type, overrides)


def ld(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return f'<script type="application/ld+json">{text}</script>'


def product(price="1250.00", availability="https://schema.org/InStock", **more):
    offer = {"@type": "Offer", "price": price, "priceCurrency": "EUR", "availability": availability}
    return {"@context": "https://schema.org", "@type": "Product", "name": "Kommode", "offers": offer} | more


MICRODATA = """<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Kommode</h1>
<span itemprop="sku">K-12</span><img itemprop="image" src="/k.jpg">
<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><span itemprop="price" content="%s">x</span>
<meta itemprop="priceCurrency" content="EUR"><link itemprop="availability" href="https://schema.org/%s"></div></div>"""


def summarise(facts):
    return facts.type, facts.state, facts.price_minor, facts.currency


AVAILABLE = ("product", "AVAILABLE", 125000, "EUR")


# ── JSON-LD ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "block",
    [
        product(),
        [product()],
        {"@graph": [{"@type": "WebPage"}, product()]},
        {"@type": "WebPage", "mainEntity": product()},
        product(**{"@type": ["Thing", "Product"]}),
        product(**{"@type": "http://schema.org/Product"}),
        product(price=1250),
        product(price="1.250,00"),
        product(price="1,250.00"),
        {
            "@type": "Offer",
            "price": "1250",
            "priceCurrency": "EUR",
            "availability": "InStock",
            "itemOffered": {"@type": "Product"},
        },
        product(
            offers={"@type": "AggregateOffer", "lowPrice": "1250", "priceCurrency": "EUR", "availability": "InStock"}
        ),
        product(offers=[{"priceSpecification": {"price": "1250", "priceCurrency": "EUR"}, "availability": "InStock"}]),
        {
            "@graph": [
                product(offers={"@id": "#o"}),
                {"@id": "#o", "@type": "Offer", "price": "1250", "priceCurrency": "EUR", "availability": "InStock"},
            ]
        },
        "\ufeff<!-- " + json.dumps(product()) + " -->",
        "//<![CDATA[\n" + json.dumps(product()) + "\n//]]>",
        "/*<![CDATA[*/" + json.dumps(product()) + "/*]]>*/",
        json.dumps(product()) + ";",
        json.dumps(product()).replace("}", ",}"),
        json.dumps(product()).replace('"', "&quot;"),
        json.dumps(product(description="a\tb")).replace("\\t", "\t\n"),
    ],
)
def test_a_product_is_read_from_json_ld_however_it_is_written(block):
    facts = read(ld(block))
    assert summarise(facts) == AVAILABLE
    assert facts.standards_used == ("json-ld",)


def test_a_broken_block_costs_only_itself():
    facts = read(ld('{"@type": "Product", ') + ld(product()))
    assert summarise(facts) == AVAILABLE
    assert "block 1 is not JSON" in facts.answers[0].problems[0]


def test_half_of_a_surrogate_pair_is_replaced_and_the_rest_is_read():
    facts = read(ld(product(name="Vase HALF")).replace("HALF", "\\ud83d"))
    assert (facts.title, *summarise(facts)) == ("Vase \ufffd", *AVAILABLE)
    facts.title.encode()


@pytest.mark.parametrize(
    ("price", "minor"),
    [("1.5e3", 150000), ("2E2", 20000), ("125e-1", 1250), ("1e999999999", None), ("1e40", None), ("1e-40", None)],
)
def test_an_exponent_is_read_and_an_absurd_one_is_no_price(price, minor):
    for written in (json.dumps(product(price)), json.dumps(product(price)).replace(f'"{price}"', price)):
        assert read(ld(written)).price_minor == minor


def test_deeply_nested_json_is_refused_without_recursion():
    facts = read(ld("[" * 100_000 + "]" * 100_000) + ld('{"a":' * 100_000) + ld(product()))
    assert summarise(facts) == AVAILABLE
    assert [problem[:24] for problem in facts.answers[0].problems] == [
        "block 1 is nested more t",
        "block 2 is nested more t",
    ]


@pytest.mark.parametrize(
    ("availability", "state"),
    [
        ("https://schema.org/InStock", "AVAILABLE"),
        ("http://schema.org/LimitedAvailability", "AVAILABLE"),
        ("SoldOut", "SOLD"),
        ("https://schema.org/OutOfStock", "SOLD"),
        ("schema:Reserved", "RESERVED"),
        ("PreOrder", "LISTED"),
        ("Discontinued", "REMOVED"),
        ("https://schema.org/Whatever", "UNKNOWN"),
        ("", "UNKNOWN"),
    ],
)
def test_each_term_proves_its_state_and_no_other_term_proves_any(availability, state):
    assert read(ld(product(availability=availability))).state == state


def test_offers_with_different_prices_give_no_price():
    offers = [
        {"@type": "Offer", "price": price, "priceCurrency": "EUR", "availability": "InStock"} for price in ("10", "20")
    ]
    facts = read(ld(product(offers=offers)))
    assert (facts.state, facts.price_minor) == ("AVAILABLE", None)
    assert facts.price_note == "several prices: 10.00 EUR, 20.00 EUR"


def test_a_page_with_many_products_is_a_listing_unless_one_is_its_own():
    several = [product(name=str(n), url=f"/produkt/{n}") for n in range(5)]
    assert read(ld(several), "https://antik.test/neues").type == "listing"
    own = [*several, product(price="7", url=URL)]
    assert summarise(read(ld(own))) == ("product", "AVAILABLE", 700, "EUR")


@pytest.mark.parametrize(
    ("block", "url", "page_type"),
    [
        ({"@type": "CollectionPage"}, "https://a.test/uhren", "category"),
        ({"@type": "ItemList", "itemListElement": [product()]}, "https://a.test/x", "listing"),
        ({"@type": "ItemList"}, "https://a.test/kategorie/uhren", "category"),
        ({"@type": "SearchResultsPage"}, "https://a.test/x", "listing"),
        ({"@type": "Article"}, "https://a.test/blog", "other"),
        ({"@type": "WebSite"}, "https://a.test/", "other"),
        ({"@type": "WebSite"}, "https://a.test/kategorie/uhren", "category"),
        ({"@type": "WebSite"}, "https://a.test/suche?q=x", "listing"),
        ({"@type": "WebSite"}, "https://a.test/produkt/login", "other"),
    ],
)
def test_pages_without_a_product_are_told_apart(block, url, page_type):
    assert read(ld(block), url).type == page_type


# ── other standards ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_microdata_is_read():
    facts = read(MICRODATA % ("1250", "InStock"))
    assert summarise(facts) == AVAILABLE
    assert (facts.title, facts.number, facts.images) == ("Kommode", "K-12", ("https://antik.test/k.jpg",))
    assert facts.standards_used == ("microdata",)


def test_rdfa_is_read():
    facts = read(
        '<div vocab="https://schema.org/" typeof="Product"><h1 property="name">Kommode</h1>'
        '<div property="offers" typeof="Offer"><span property="price">1.250,00 €</span>'
        '<link property="availability" href="https://schema.org/InStock"></div></div>'
    )
    assert summarise(facts) == AVAILABLE
    assert facts.standards_used == ("rdfa",)


def test_open_graph_is_read_and_is_not_rdfa():
    facts = read(
        '<meta property="og:type" content="product"><meta property="og:title" content="Kommode">'
        '<meta property="product:price:amount" content="1250,00"><meta property="product:price:currency" content="EUR">'
        '<meta property="product:availability" content="in stock"><meta property="og:locale" content="de_DE">'
    )
    assert summarise(facts) == AVAILABLE
    assert (facts.title, facts.language, facts.standards_used) == ("Kommode", "de", ("opengraph",))


# ── disagreements ────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_price_that_the_page_shows_decides_a_disagreement():
    shown = '<p class="price">1.100,00 €</p>'
    facts = read(ld(product()) + MICRODATA % ("1100", "InStock") + shown)
    assert facts.price_minor == 110000
    (disagreement,) = facts.disagreements
    assert disagreement.field == "price"
    assert dict(disagreement.values) == {"json-ld": "1,250.00 EUR", "microdata": "1,100.00 EUR", "page": "1,100.00 EUR"}


def test_without_a_price_on_the_page_json_ld_wins_and_the_disagreement_is_reported():
    facts = read(ld(product()) + MICRODATA % ("1100", "InStock"))
    assert (facts.price_minor, [each.field for each in facts.disagreements]) == (125000, ["price"])


@pytest.mark.parametrize(
    "mark", ["Verkauft", "SOLD", "VENDU", "Venduto!", "Verkocht", "Status: verkauft", "\u2013 Sold \u2013"]
)
def test_a_page_that_says_sold_is_believed_before_metadata_that_says_in_stock(mark):
    facts = read(ld(product()) + f"<h1>Kommode</h1><p>{mark}</p>")
    assert facts.state == "SOLD"
    assert facts.price_minor == 125000, "the last known price stays beside it"
    assert [each.field for each in facts.disagreements] == ["state"]


@pytest.mark.parametrize(
    "elsewhere",
    [
        "<nav><p>Verkauft</p></nav>",
        '<a href="/archiv">Verkauft</a>',
        '<div class="related-products"><p>Verkauft</p></div>',
        "<p>Verkauft wird hier eine Kommode aus dem Jahr 1800, die ihren Besitzer nie gewechselt hat.</p>",
        "<footer><p>SOLD</p></footer>",
    ],
)
def test_the_word_sold_elsewhere_on_the_page_proves_nothing(elsewhere):
    assert read(ld(product()) + f"<h1>Kommode</h1>{elsewhere}").state == "AVAILABLE"


# ── the visible page ─────────────────────────────────────────────────────────────────────────────────────────────────
PLAIN = '<html lang="de"><h1>Kommode</h1><div class="price">%s</div>%s<p>Art.-Nr.: K-12</p></html>'
CART = "<form><button>In den Warenkorb</button></form>"


NEIGHBOURS = [
    '<ul><li><a href="/produkt/kommode-12">x</a><span>Verkauft</span><a href="/produkt/stuhl-3">Stuhl</a></li></ul>',
    '<article><a href="/produkt/stuhl-3"><img src="x"></a><p>Reserviert</p></article>',
    '<div class="product-card"><p>Verkauft</p><a href="/produkt/stuhl-3">Stuhl</a></div>',
    '<ul><li><a href="/los/7">Los 7</a><p>Zuschlag: 300 €</p></li></ul>',
]


@pytest.mark.parametrize("card", NEIGHBOURS)
def test_a_card_of_another_product_proves_nothing_about_this_one(card):
    html = f"<h1>Kommode</h1>{ld(product())}<section><h2>Mehr aus dem Laden</h2>{card}</section>"
    assert summarise(read(html)) == AVAILABLE


@pytest.mark.parametrize(
    "own",
    [
        "<article><h1>Kommode</h1><p>Verkauft</p><a href='/produkt/stuhl-3'>next</a></article>",
        "<h1>Kommode</h1><ul><li>Eiche</li><li>Verkauft</li></ul>",
        "<h1>Kommode</h1><ul><li>Verkauft <a href='/kontakt'>Fragen?</a></li></ul>",
        "<h1>Kommode</h1><ul><li><a href='/produkt/kommode-12'>Kommode</a><p>Verkauft</p></li></ul>",
    ],
)
def test_a_mark_of_the_product_itself_counts_also_in_a_list(own):
    assert read(f"{own}{ld(product())}").state == "SOLD"


def test_the_number_404_is_a_missing_page_only_where_it_stands_alone():
    lot = '<title>Lot 404 - Meissen</title><h1>Lot 404: Meissen Teller</h1><div class="price">120,00 €</div>'
    facts = read(lot + "<button>In den Warenkorb</button>")
    assert (facts.missing, facts.state, facts.price_minor) == (False, "AVAILABLE", 12000)
    assert not read("<title>Teller 404</title><h1>Teller Nr. 404</h1>").missing
    for title in ("404", "404 - Antik Müller", "Error 404", "HTTP 404 | Antik", "Fehler 404: Seite nicht gefunden"):
        assert read(f"<title>{title}</title><p>nothing</p>").missing, title


def test_a_page_without_any_standard_is_read_by_its_shape():
    facts = read(PLAIN % ("1.250,00 €", CART))
    assert summarise(facts) == AVAILABLE
    assert (facts.title, facts.number, facts.language, facts.standards_used) == ("Kommode", "K-12", "de", ())


def test_a_price_alone_does_not_prove_that_the_product_is_available():
    assert summarise(read(PLAIN % ("1.250,00 €", ""))) == ("product", "UNKNOWN", 125000, "EUR")
    assert read(PLAIN % ("1.250,00 €", "<button disabled>In den Warenkorb</button>")).state == "UNKNOWN"


def test_a_price_on_request_is_no_price():
    facts = read(PLAIN % ("Preis auf Anfrage", CART))
    assert (facts.type, facts.price_minor, facts.price_note) == ("product", None, "on request")


def test_a_former_price_is_not_the_price():
    facts = read(PLAIN % ('<del>2.000 €</del> <span class="old-price">1.900 €</span> <ins>1.250,00 €</ins>', CART))
    assert facts.price_minor == 125000


def test_a_list_of_cards_is_a_listing():
    card = '<li><a href="/p/{0}">Nr. {0} <span class="price">{0},00 €</span></a></li>'
    facts = read("<h1>Uhren</h1><ul>" + "".join(card.format(n) for n in range(9)) + "</ul>", "https://a.test/x")
    assert (facts.type, facts.price_minor, len(facts.links)) == ("listing", None, 9)


@pytest.mark.parametrize("title", ["Just a moment...", "Access denied", "Captcha", "Sind Sie ein Mensch?"])
def test_a_robot_wall_proves_nothing(title):
    facts = read(f"<title>{title}</title><h1>{title}</h1><p>Sold</p><p class=price>1 €</p>")
    assert (facts.blocked, facts.state, facts.type, facts.price_minor) == (True, "UNKNOWN", "other", None)


def test_a_page_that_says_it_does_not_exist_is_missing_whatever_its_status():
    facts = read("<title>Seite nicht gefunden</title><h1>404</h1>")
    assert (facts.missing, facts.type, facts.state) == (True, "other", "REMOVED")


# ── auctions ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_lot_is_listed_with_its_estimate_number_and_date():
    facts = read(
        "<h1>Deckelvase</h1><dl><dt>Los-Nr.</dt><dd>Los 45</dd><dt>Schätzpreis:</dt><dd>1.000 - 1.500 €</dd>"
        "<dt>Aufrufpreis</dt><dd>800 €</dd></dl><p>Auktion am 12. März 2027</p>",
        "https://haus.test/lot/45",
    )
    assert summarise(facts) == ("product", "LISTED", 80000, "EUR")
    auction = facts.auction
    assert (auction.lot, auction.estimate_low, auction.estimate_high) == ("45", 100000, 150000)
    assert (auction.sale_date, auction.starting_bid, facts.number) == ("2027-03-12", 80000, "45")


@pytest.mark.parametrize(
    ("lines", "state", "price"),
    [
        (
            "<p>Lot 7</p><p>Estimate: £800\u20131,200</p><p>Current bid: £650</p><p>Starting bid: £400</p>",
            "LISTED",
            65000,
        ),
        ("<p>Lot 7</p><p>Estimate: £800\u20131,200</p><p>Hammer price: £1,400</p>", "SOLD", 140000),
        ("<p>Lot 7</p><p>Estimate: £800\u20131,200</p><p>Withdrawn</p>", "REMOVED", None),
    ],
)
def test_the_price_of_a_lot_is_its_hammer_price_else_its_bid(lines, state, price):
    facts = read(f"<h1>Vase</h1>{lines}", "https://house.test/lot/7")
    assert (facts.state, facts.price_minor) == (state, price)


# ── selectors of the shop ────────────────────────────────────────────────────────────────────────────────────────────
def test_the_selectors_of_a_shop_are_asked_first():
    html = ld(product()) + '<b id="p">CHF 990.-</b><i class="st">reserviert</i>'
    facts = read(html, overrides=Overrides(price="#p", state=".st"))
    assert summarise(facts) == ("product", "RESERVED", 99000, "CHF")
    assert facts.answers[0].extractor == "override"


@pytest.mark.parametrize("selector", ["[[[", "p:unknown(", "x" * 300])
def test_a_selector_that_is_wrong_is_a_problem_and_not_an_error(selector):
    facts = read(ld(product()), overrides=Overrides(price=selector))
    assert summarise(facts) == AVAILABLE
    assert facts.answers[0].problems[0].startswith("price: the selector")


# ── links ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_links_are_absolute_and_of_the_web():
    facts = read(
        '<base href="/shop/"><a href="a#x">1</a><a href="a">2</a><a href="//other.test/b">3</a>'
        '<a href="javascript:x()">4</a>'
        '<a href="mailto:a@b.c">5</a><a href="https://u:p@x.test/">6</a><a href="/c" rel="nofollow">7</a>'
        '<a href="http://[bad">8</a><link rel="canonical" href="/kanon">'
        '<meta name="ROBOTS" content="NOINDEX, nofollow">'
    )
    assert facts.links == ("https://antik.test/shop/a", "https://other.test/b")
    assert (facts.canonical, facts.noindex, facts.nofollow) == ("https://antik.test/kanon", True, True)


# ── bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", "utf-8"),
        ("utf-8", "iso-8859-1"),
        ("cp1252", "utf-8"),
        ("cp1252", "iso-8859-1"),
        ("iso8859_15", "iso-8859-15"),
        ("utf-8-sig", "iso-8859-1"),
        ("utf-16", "utf-8"),
        ("utf-16-le", "utf-16"),
        ("utf-8", "no-such-charset"),
        ("utf-8", "punycode"),
    ],
)
def test_the_bytes_decide_about_their_encoding_before_what_is_declared(encoding, declared):
    html = '<html lang="de"><h1>Größe für Möbel</h1><p class="price">1.250 €</p>'
    facts = read(html.encode(encoding), content_type=f"text/html; charset={declared}")
    assert (facts.title, facts.price_minor, facts.currency) == ("Größe für Möbel", 125000, "EUR")


def test_deeply_nested_elements_are_cut_off():
    facts = read("<h1>Kommode</h1>" + ld(product()) + "<div>" * 100_000 + "x")
    assert summarise(facts) == AVAILABLE
    assert "nested" in facts.problems[0]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_break_the_extraction(body):
    read(body)


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5) | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["@type", "@graph", "@id", "offers", "price", "name", "mainEntity", "image", "availability"]
                ),
                inner | st.just("Product"),
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_no_json_breaks_the_extraction(value):
    read(ld(json.dumps(value).replace("</", "<\\/")))
