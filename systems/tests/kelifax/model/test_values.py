"""Slugs, URLs, stored lists, search texts, link checks and differences."""

import string
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.kelifax.model.content import Content
from hashrange_systems.kelifax.model.content_diff import diff_fields, diff_text
from hashrange_systems.kelifax.model.field_rule import is_throw_away
from hashrange_systems.kelifax.model.link_health import GRACE_MS, MIN_FAILURES, evaluate_link, is_alive
from hashrange_systems.kelifax.model.public_entry import format_time, parse_time
from hashrange_systems.kelifax.model.slug import RESERVED, SLUG, is_stored_slug, make_slug
from hashrange_systems.kelifax.model.stored_list import split_lines, split_tags
from hashrange_systems.kelifax.model.web_address import explain_resource_url, normalise_url, show_host, warn_of_host
from hashrange_systems.shared.epoch import DAY_MS
from systems.tests.kelifax.entries import EXAMPLE, create_search_text


# ── slugs ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("C++", "c-plus-plus"),
        ("C#", "c-sharp"),
        ("Amazing Dev Tool", "amazing-dev-tool"),
        ("Node.js", "node-js"),
        ("AT&T", "at-and-t"),
        ("---", "r-id7"),
        ("admin", "admin-resource"),
        ("Sitemap.xml", "sitemap-xml-resource"),
        ("../../etc/passwd", "etc-passwd"),
        ("Straße", "strasse"),
    ],
)
def test_slugs(name, slug):
    assert make_slug(name, "id7") == slug


@given(st.text(max_size=120))
def test_every_name_has_a_slug_that_is_a_path_segment_and_no_page_of_the_site(name):
    slug = make_slug(name, "id7")
    assert SLUG.fullmatch(slug)
    assert len(slug) <= 80
    assert slug not in RESERVED
    assert is_stored_slug(slug)


@pytest.mark.parametrize("slug", ["my_tool-kit", "日本語ツール", "Amazing Tool", "a.b", "a/b", "..", "a?b", "x" * 2000])
def test_slugs_of_the_original_system_are_routable(slug):
    assert is_stored_slug(slug)


@pytest.mark.parametrize("slug", ["", "URL#x", "ALIAS#x", "x" * 2001, "語" * 667, "\ud800"])
def test_keys_of_other_items_and_texts_that_cannot_be_a_key_are_no_slugs(slug):
    assert not is_stored_slug(slug)


# ── URLs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/a",
        "http://example.com/a",
        "https://www.example.com/a/",
        "HTTPS://EXAMPLE.COM:443/a#part",
        "https://example.com/a?utm_source=x&fbclid=y",
        " https://example.com/a ",
        "https://example.com/b/../a",
        "https://example.com/./a/.",
        "https://example.com/../%2e%2E/b/%2e./a",
    ],
)
def test_urls_of_one_page_have_one_normal_form(url):
    assert normalise_url(url) == "https://example.com/a"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.com/a", "https://example.com/A"),
        ("https://example.com/?a=1", "https://example.com/?a=2"),
        ("https://example.com/", "https://example.org/"),
        ("https://example.com:8443/", "https://example.com/"),
        ("https://a.example.com/", "https://example.com/"),
        ("https://xn--pple-43d.com/", "https://apple.com/"),
        ("https://example.com/a%2Fb", "https://example.com/a/b"),
    ],
)
def test_urls_of_different_pages_have_different_normal_forms(one, other):
    assert normalise_url(one) != normalise_url(other)


def test_a_host_with_deceptive_letters_is_shown_in_punycode_and_an_honest_one_in_letters():
    assert show_host("https://\u0430pple.com/x") == "xn--pple-43d.com"
    assert show_host("https://www.münchen.example/") == "münchen.example"
    assert show_host("https://пример.example/") == "пример.example"
    for whole in ("\u0430\u0440\u0440\u04cf\u0435.com", "\u0455\u0441\u043e\u0440\u0435.org", "l\u0131ve.com"):
        assert show_host(f"https://{whole}/").startswith("xn--"), whole
        assert "look like others" in warn_of_host(f"https://{whole}/")
    assert show_host("https://example.com/") == "example.com"


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing(text):
    for url in (text, f"https://example.com/{text}", f"http://www.example.com?{text}"):
        assert normalise_url(normalise_url(url)) == normalise_url(url)
        warn_of_host(url)


# ── lists in one string ──────────────────────────────────────────────────────────────────────────────────────────────
def test_lists_of_the_original_system_lose_spaces_and_empty_entries():
    assert split_tags("a, b,,c ") == ["a", "b", "c"]
    assert split_tags("") == split_lines("") == []
    assert split_lines("a| b||c ") == ["a", "b", "c"]


def test_the_search_text_is_the_seeds():
    from hashrange_systems.kelifax.model.search_text import contains_all, split_words

    name, tags, category, features = "Amazing Dev Tool", ("Productivity", "ai"), "Development", ("Automated Code",)
    content = Content(resource_name=name, tags=tags, category=category, key_features=features, use_cases=("not this",))
    assert content.make_search_text() == create_search_text(name, tags, category, features)
    assert Content(resource_name=name).make_search_text() == create_search_text(name, [], "", [])
    assert contains_all(EXAMPLE["searchText"], split_words("Automation TOOL"))
    assert not contains_all(EXAMPLE["searchText"], split_words("automation hammer"))


# ── links ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_dead_link_is_given_up_after_a_week_of_failures_and_not_before():
    now, failures, since, dead_at = 0, 0, None, None
    while dead_at is None:
        result = evaluate_link(alive=False, failures=failures, failing_since=since, now=now)
        failures, since = result.failures, result.failing_since
        dead_at = now if result.dead else None
        now = result.next_check
    assert GRACE_MS <= dead_at <= GRACE_MS + DAY_MS
    assert failures >= MIN_FAILURES


def test_one_success_clears_all_failures():
    result = evaluate_link(alive=True, failures=20, failing_since=1, now=GRACE_MS * 2)
    assert (result.failures, result.failing_since, result.dead) == (0, None, False)


def test_a_page_that_refuses_robots_is_alive():
    assert [is_alive(status) for status in (200, 301, 401, 403, 429, 404, 410, 500, 503)] == [True] * 5 + [False] * 4


# ── differences ──────────────────────────────────────────────────────────────────────────────────────────────────────
@given(st.text(string.ascii_lowercase + " \n", max_size=80), st.text(string.ascii_lowercase + " \n", max_size=80))
def test_a_difference_contains_both_texts(before, after):
    parts = diff_text(before, after)
    assert "".join(part.text for part in parts if part.kind != "added") == before
    assert "".join(part.text for part in parts if part.kind != "removed") == after


def test_a_field_that_changed_since_the_suggestion_is_stale():
    current, base = {"tags": ["a"], "category": "ai"}, {"tags": ["b"], "category": "ai"}
    found = diff_fields(current, {"tags": ["c"], "category": "design"}, base)
    assert [(each.label, each.stale) for each in found] == [("Tags", True), ("Category", False)]


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "zzz", ""])
def test_a_stored_time_that_no_calendar_has_in_utc_is_the_epoch(text):
    assert format_time(parse_time(text)) == "1970-01-01T00:00:00Z"


def test_a_time_at_the_ends_of_the_calendar_can_be_written():
    for text in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"):
        assert format_time(datetime.fromisoformat(text)) == text


@pytest.mark.parametrize("url", ["http://①②⑦.0.0.1/", "http://①②⑦.①/", "http://⑩.1/"])
def test_a_host_that_is_a_local_one_in_compatible_characters_is_refused(url):
    assert explain_resource_url(url) is not None


def test_a_subdomain_of_a_throw_away_domain_is_one_too():
    assert is_throw_away("mailinator.com")
    assert is_throw_away("a.b.mailinator.com")
    assert not is_throw_away("example.com")
