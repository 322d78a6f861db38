"""The rules without I/O: canonical URLs and scope, robots.txt, sitemaps, price alerts, the alarm of a broken shop."""

import gzip
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.aura.model.breakage import Coverage, find_breakage
from hashrange_systems.aura.model.page_reading import LinkFilter, select_links
from hashrange_systems.aura.model.page_url import Scope, canonicalise
from hashrange_systems.aura.model.price_alert import AlertRule, AlertState, evaluate_alert
from hashrange_systems.aura.model.robots import choose_rules, make_rule, read_robots
from hashrange_systems.aura.model.sitemap import MAX_LOCATIONS, read_sitemap
from hashrange_systems.shared.errors import InvalidInput

PATHS = st.text("abcXYZ019-_.~%/;=&?#+ äß[]()\u4e2d", max_size=60)


# ── URLs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTPS://WWW.Antik.DE:443/a#b", "https://www.antik.de/a"),
        ("http://antik.de", "http://antik.de/"),
        ("https://a.de/x?utm_source=m&b=2&a=1&PHPSESSID=9&sort=price", "https://a.de/x?a=1&b=2"),
        ("https://a.de/x;jsessionid=0?page=2", "https://a.de/x?page=2"),
        ("https://antik-müller.de/ä b", "https://xn--antik-mller-zhb.de/%C3%A4%20b"),
        ("javascript:alert(1)", None),
        ("https://ann:secret@a.de/", None),
        ("https://a.de/\x00", None),
        ("https://a.de/" + "x" * 5000, None),
        ("mailto:a@b.de", None),
    ],
)
def test_a_page_has_one_url(url, canonical):
    assert canonicalise(url) == canonical


@given(PATHS)
def test_a_canonical_url_is_its_own_canonical_form(path):
    once = canonicalise(f"https://a.de/{path}")
    assert once is None or canonicalise(once) == once


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/vase", None),
        ("/cartoon-figures", None),
        ("/photo.JPG", "a file"),
        ("/cart", "a basket, an account or a sign-up"),
        ("/de/warenkorb/", "a basket, an account or a sign-up"),
        ("/x?add-to-cart=5", "a basket, an account or a sign-up"),
        ("/my-account/orders", "a basket, an account or a sign-up"),
        ("/a/b/a/b/a/b/a/b", "a path that repeats itself"),
        ("/" + "/".join("abcdefghijklmnopqr"), "a path that is too deep"),
        ("/events?month=3&year=2026", "a calendar"),
        ("/x?a=1&b=2&c=3&d=4&e=5", "too many parameters"),
        ("/intern/x", "excluded for this shop"),
    ],
)
def test_what_is_not_visited_has_a_reason(path, reason):
    scope = Scope(domain="a.de", excludes=("/intern/",))
    assert scope.refuse(f"https://www.a.de{path}") == reason
    assert scope.refuse(f"https://b.de{path}") == "another site"


@pytest.mark.parametrize(
    "path",
    [
        "/products/georgian-silver-bread-basket",
        "/silver-basket-1780",
        "/national-cash-register",
        "/antique-bar-cart",
        "/objet/panier-en-argent",
        "/produkt/alte-kasse",
        "/products/basket",
        "/search?q=basket",
        "/index.php?Itemid=3&option=com_virtuemart&view=productdetails&virtuemart_category_id=2&virtuemart_product_id=5",
    ],
)
def test_antiques_are_not_taken_for_baskets_and_accounts(path):
    assert Scope(domain="a.de").refuse(f"https://a.de{path}") is None


@pytest.mark.parametrize(
    "path",
    [
        "/warenkorb/cart",
        "/shop/cart.php",
        "/index.php?route=checkout/cart",
        "/?action=add_to_cart&id=5",
        "/?option=com_users&view=login",
        "/customer/account/login/",
        "/wp-login.php",
        "/shopping-cart",
        "/lost-password",
        "/wishlist",
    ],
)
def test_baskets_and_accounts_are_found_in_paths_and_parameters(path):
    assert Scope(domain="a.de").refuse(f"https://a.de{path}") == "a basket, an account or a sign-up"


def test_only_sessions_campaigns_and_arrangements_are_left_out_of_a_url():
    kept = ["ref=1", "ref=2", "sid=55", "token=5", "source=estate", "view=productdetails", "dir=7", "mode=lot"]
    for parameter in kept:
        assert canonicalise(f"https://a.de/x?{parameter}") == f"https://a.de/x?{parameter}"
    session = "0f3a9c41d27be586aa10"
    for parameter in ("utm_source=m", f"sid={session}", f"token={session}", "PHPSESSID=1", "view=grid", "dir=asc"):
        assert canonicalise(f"https://a.de/x?{parameter}") == "https://a.de/x", parameter


@pytest.mark.parametrize("domain", ["shop.de", "www.shop.de"])
def test_both_spellings_of_a_domain_are_one_site(domain):
    links = LinkFilter(domain=domain, ports=(80, 443), excludes=(), robots=(), agent="aura")
    found = ["https://www.shop.de/", "https://shop.de/a", "https://sub.shop.de/"]
    assert select_links(found, links) == ["https://www.shop.de/", "https://shop.de/a"]


def test_each_origin_has_its_own_robots_txt():
    links = LinkFilter(
        domain="a.de",
        ports=(80, 443),
        excludes=(),
        robots=(("https://a.de", b""), ("https://www.a.de", b"User-agent: *\nDisallow: /")),
        agent="aura",
    )
    assert select_links(["https://a.de/x", "https://www.a.de/x", "http://a.de/x"], links) == [
        "https://a.de/x",
        "http://a.de/x",  # not read yet: the site reads it before the page is requested
    ]


def test_links_are_canonical_in_scope_allowed_and_once():
    links = LinkFilter(
        domain="a.de",
        ports=(80, 443),
        excludes=(),
        robots=(("https://a.de", b"User-agent: *\nDisallow: /no"),),
        agent="aura",
    )
    found = ["https://a.de/x?utm_a=1", "https://a.de/x", "https://a.de/no", "https://b.de/", "https://a.de:99/", "x:y"]
    assert select_links(found, links) == ["https://a.de/x"]


# ── robots.txt ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_longest_rule_of_the_own_group_counts():
    body = (
        b"User-agent: *\nDisallow: /\n\nUser-agent: aura\nDisallow: /*?id=\nAllow: /ok\nDisallow: /o\nCrawl-delay: 2.5"
    )
    allows = make_rule(body, "aura")
    assert [allows(f"https://a.de{path}") for path in ("/x", "/x?id=1", "/ok/1", "/other")] == [
        True,
        False,
        True,
        False,
    ]
    assert read_robots(body, "aura").crawl_delay_s == 2.5
    assert not make_rule(body, "another")("https://a.de/x")


@pytest.mark.parametrize(
    ("status", "rules"), [(200, b"x"), (404, b""), (401, b""), (429, None), (500, None), (304, None)]
)
def test_only_a_file_that_is_certainly_absent_allows_everything(status, rules):
    assert choose_rules(status, b"x") == rules


@given(st.binary(max_size=300))
def test_any_bytes_are_a_robots_txt(body):
    read_robots(body, "aura")
    assert make_rule(body, "aura")("https://a.de/robots.txt") in {True, False}


# ── sitemaps ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_sitemap_has_at_most_fifty_thousand_urls():
    body = "<urlset>" + "<url><loc>https://a.de/x</loc></url>" * (MAX_LOCATIONS + 10) + "</urlset>"
    assert len(read_sitemap(gzip.compress(body.encode())).locations) == MAX_LOCATIONS


@given(st.binary(max_size=300))
def test_any_bytes_are_a_sitemap(body):
    read_sitemap(body)
    read_sitemap(b"<urlset>" + body)
    read_sitemap(b"\x1f\x8b" + body)


# ── alerts ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def prices(rule, *amounts, base=10000, currency="EUR"):
    """Return the reasons that a series of prices tells."""
    state, notified = AlertState(base_minor=base), []
    for amount in amounts:
        change = SimpleNamespace(
            kind="PRICE", state="AVAILABLE", old_state="AVAILABLE", price_minor=amount, currency=currency
        )
        result = evaluate_alert(rule, state, change)
        state = result.state
        notified.append(list(result.reasons))
    return notified


def test_limits_tell_once_and_again_after_the_other_side():
    below = AlertRule(below_minor=9000, currency="EUR")
    assert prices(below, 9500, 8000, 7000, 9000, 8999) == [[], ["below your limit"], [], [], ["below your limit"]]
    above = AlertRule(above_minor=12000, currency="EUR")
    assert prices(above, 12000, 12001, 13000, 11000, 15000) == [[], ["above your limit"], [], [], ["above your limit"]]


def test_a_percentage_is_measured_from_what_was_told_in_both_directions():
    rule = AlertRule(percent=10, currency="EUR")
    assert prices(rule, 9500, 9000, 8500, 9900) == [[], ["down by 10 %"], [], ["up by 10 %"]]


def test_a_price_in_another_currency_or_none_tells_nothing():
    rule = AlertRule(below_minor=9000, percent=1, currency="EUR")
    assert prices(rule, 1, currency="USD") == [[]]
    assert prices(rule, None) == [[]]


def test_limits_that_cannot_be_met_are_refused():
    with pytest.raises(InvalidInput, match=r"below.*percent"):
        AlertRule(below_minor=-1, percent=0).check()


# ── breakage ─────────────────────────────────────────────────────────────────────────────────────────────────────────
USUAL = Coverage(products=100, priced=90, stated=80, titled=100)


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (USUAL, None),
        (Coverage(products=60, priced=54, stated=48, titled=60), None),
        (Coverage(products=49, priced=49, stated=49, titled=49), "49 products instead of about 100"),
        (
            Coverage(products=100, priced=40, stated=80, titled=100),
            "40% of the products have a price, usually 90% have",
        ),
        (Coverage(products=0, priced=0, stated=0, titled=0), "0 products instead of about 100"),
    ],
)
def test_a_shop_is_measured_by_its_own_baseline(now, reason):
    assert find_breakage([USUAL] * 5, now) == reason


def test_without_a_baseline_there_is_no_alarm():
    empty = Coverage(products=0, priced=0, stated=0, titled=0)
    assert find_breakage([USUAL] * 2, empty) is None
    assert find_breakage([Coverage(products=2, priced=2, stated=2, titled=2)] * 5, empty) is None
