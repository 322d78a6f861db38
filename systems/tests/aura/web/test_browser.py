"""The way of a newcomer in a real browser, with and without JavaScript; no page has a barrier at either width."""

import re

import pytest
from playwright.sync_api import expect

from systems.tests.browser import host_demo, open_tab
from tests.browser.accessibility import assert_accessible


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the system, as `hashrange up --demo` hosts it."""
    with host_demo("aura", tmp_path_factory.mktemp("up"), environment={"AURA_DEMO_PORT": "0"}) as address:
        yield address


def crawl_until(page, text):
    """Look at a shop again until it says something; a page without JavaScript does not refresh itself."""
    for _ in range(480):
        if text in page.inner_text("main"):
            return
        page.wait_for_timeout(250)
        page.reload()
    pytest.fail(f"the shop never said {text!r}: {page.inner_text('main')}")


def find_demo_url(page, domain):
    """The address of a shop of the demo, whose port is that of a shop that is registered."""
    page.goto("shop/antik-mueller.test")
    port = re.search(r":(\d+)/", page.locator(".head a").first.get_attribute("href"))[1]
    return f"http://{domain}:{port}/"


def add_shop(page, domain):
    address = find_demo_url(page, domain)
    page.goto("add")
    page.get_by_label("Address").fill("no domain")
    page.get_by_role("button", name="Register the shop").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing is saved yet")
    page.get_by_label("Address").fill(address)
    page.get_by_label("Country").select_option("DE")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_role("heading", name="What a crawl of")).to_be_visible()
    page.get_by_role("button", name="Register the shop").click()
    expect(page.get_by_role("heading", name=domain)).to_be_visible()


def test_a_newcomer_adds_a_shop_and_opens_a_product_without_javascript(chromium, site):
    with open_tab(chromium, site, java_script_enabled=False) as page:
        page.goto("./")
        expect(page.get_by_role("heading", name="Germany")).to_be_visible()
        add_shop(page, "galerie-nord.test")
        crawl_until(page, "with a price")
        page.locator("table a").first.click()
        expect(page.get_by_role("heading", name="Price history")).to_be_visible()
        expect(page.locator(".plot svg circle").first).to_be_attached()
        page.get_by_label("Tell me when the price is below").fill("10")
        page.get_by_role("button", name="Put it on my watch list").click()
        expect(page.get_by_role("status")).to_contain_text("It is on your watch list")
        expect(page.get_by_text("below 10.00 EUR")).to_be_visible()


def test_selectors_are_tried_on_a_page_before_they_are_saved(page):
    page.goto("shop/antik-mueller.test")
    crawl_until(page, "with a price")
    page.get_by_text("Options and selectors").click()
    page.get_by_label("Price", exact=True).fill("p.price")
    page.get_by_role("button", name="Test").click()
    expect(page.get_by_role("row", name=re.compile("^override"))).to_contain_text("EUR")
    page.wait_for_timeout(5000)  # longer than the page waits before it refreshes a part
    page.goto("shop/antik-mueller.test")
    expect(page.get_by_label("Price", exact=True)).to_have_value("")


def test_no_page_has_a_barrier_or_is_too_wide(page):
    page.goto("shop/antik-mueller.test")
    crawl_until(page, "with a price")
    product = page.locator("table a").first.get_attribute("href")
    url = page.goto(product) and page.locator(".head p a").nth(1).get_attribute("href")
    paths = ["./", "shop/antik-mueller.test", "shop/robots-kaputt.test", product, "changes", "search?q=Kommode"]
    paths += ["watch", "add", "import", "stuck", "between?country=DE", "country/DE", "account", f"explain?url={url}"]
    for path in paths:
        page.goto(path)
        assert_accessible(page, schemes=("light", "dark") if path == "./" else ("light",))


def test_everything_can_be_reached_by_keyboard(page):
    page.goto("./")
    names = []
    for _ in range(16):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.innerText"))
    assert names[0] == "Skip to the content"
    assert {"Shops", "What changed", "Search", "Watch list", "Explain", "Sign out", "Add a shop"} <= set(names)
