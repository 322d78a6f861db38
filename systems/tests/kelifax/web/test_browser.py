"""The whole way of a resource in a real browser: submitted, confirmed by mail, approved, published, found."""

import io
import re

import pytest
from PIL import Image
from playwright.sync_api import expect

from systems.tests.browser import open_tab
from systems.tests.kelifax.web.running_site import PASSWORD, run_site
from tests.browser.accessibility import assert_accessible

DESKTOP, TELEPHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def running():
    with run_site() as site:
        for name in ("Pixel Kit", "Vector Loom", "Night Shift"):
            site.publish(name)
        yield site


@pytest.fixture(scope="module")
def site(running):
    return running.url


def draw_logo():
    output = io.BytesIO()
    Image.new("RGB", (200, 200), "teal").save(output, "PNG")
    return output.getvalue()


def sign_in(tab):
    tab.goto("admin/queue")
    tab.get_by_label("Name").fill("ann")
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Sign in").click()
    expect(tab.get_by_role("button", name="Sign out")).to_be_visible()


@pytest.mark.parametrize(
    ("name", "viewport", "script"),
    [("Quiet Canvas", DESKTOP, True), ("Plain Canvas", TELEPHONE, False)],
    ids=["1280 px with JavaScript", "390 px without JavaScript"],
)
def test_a_resource_is_submitted_confirmed_approved_published_and_found(
    chromium, running, site, name, viewport, script
):
    with open_tab(chromium, site, viewport=viewport, java_script_enabled=script) as tab:
        address = f"{name.split()[0].lower()}@example.com"
        submit(tab, name, address)
        expect(tab.get_by_role("heading", name="Confirm your address")).to_be_visible()
        status = tab.url

        tab.goto(running.inbox.wait_for_link(address, "/submit/confirm/"))
        tab.get_by_role("button", name="Confirm the submission").click()
        expect(tab.locator(".pill").first).to_have_text("In review")

        approve(tab, name, script=script)
        tab.goto(status)
        expect(tab.locator(".pill").first).to_have_text("Listed")
        tab.get_by_role("link", name="Open its page").click()
        expect(tab.get_by_role("heading", level=1)).to_have_text(name)
        expect(tab.locator(".title img")).to_have_js_property("naturalWidth", 200)  # waits until it is loaded
        find(tab, running, name, script=script)


def submit(tab, name, address):
    """Fill in the three steps; the first try is full of errors."""
    tab.goto("submit")
    tab.get_by_role("button", name="Continue").click()
    expect(tab.get_by_role("alert")).to_contain_text("4 fields need another look")
    tab.get_by_label("Name", exact=False).first.fill(name)
    tab.get_by_label("Address", exact=False).first.fill(f"https://{name.replace(' ', '-').lower()}.example.org")
    tab.get_by_label("Purpose").fill("A canvas for drawings that should not shout at anybody.")
    tab.get_by_label("Category").select_option("design")
    tab.get_by_label("Open source").check()
    tab.get_by_label("Tags").fill("Drawing, canvas")
    tab.get_by_label("Logo").set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": draw_logo()})
    tab.get_by_role("button", name="Continue").click()
    expect(tab.get_by_role("heading", name="Details")).to_be_visible()
    for at, text in enumerate(["Quiet colours by default", "Layers that can be named", "Exports to paper sizes"], 1):
        tab.get_by_label(f"Key features, entry {at}", exact=True).fill(text)
    for at, text in enumerate(["Sketches for a documentation", "Posters of a small theatre"], 1):
        tab.get_by_label(f"Use cases, entry {at}", exact=True).fill(text)
    tab.get_by_role("button", name="Continue").click()
    tab.get_by_label("First name").fill("Zoë")
    tab.get_by_label("Last name").fill("Díaz")
    tab.get_by_role("button", name="Send it").click()
    expect(tab.get_by_role("alert")).to_contain_text("E-mail address is required")
    tab.get_by_label("E-mail address").fill(address)
    tab.get_by_role("button", name="Send it").click()


def approve(tab, name, *, script):
    """Approve it as a moderator: with the keyboard, or with the button."""
    sign_in(tab)
    tab.get_by_role("link", name=name).click()
    expect(tab.get_by_role("heading", name=name, level=2)).to_be_visible()
    if script:
        tab.keyboard.press("c")
        expect(tab.get_by_text("You review it until")).to_be_visible()
        tab.keyboard.press("a")
    else:
        tab.get_by_role("button", name="Approve").first.click()
    expect(tab.get_by_role("status").first).to_contain_text("Approved")


def find(tab, running, name, *, script):
    """Find it by a word with a typing error, while typing or by sending the form."""
    running.do(running.services.index_consumer.catch_up())
    tab.goto("./")
    word = name.split()[0]
    box = tab.get_by_label("Search the directory")
    if script:
        box.press_sequentially(word[:-2] + word[-1])
        expect(tab.get_by_role("option", name=name)).to_be_visible()
        box.press("ArrowDown")
        box.press("Enter")
    else:
        box.fill(word[:-2] + word[-1])
        tab.get_by_role("button", name="Search").click()
        tab.get_by_role("link", name=name).click()
    expect(tab.get_by_role("heading", level=1)).to_have_text(name)


PUBLIC = [
    "./", "browse", "category/design", "search?q=pixl", "r/pixel-kit", "r/pixel-kit/review", "r/pixel-kit/suggest",
    "submit", "favourites", "digest", "r/pixel-kit/claim", "tag/icons", "export", "privacy", "admin/sign-in",
]  # fmt: skip
IMPORTANT = {"./", "r/pixel-kit", "submit", "admin/queue"}
LOOKS = [(1280, "light"), (390, "dark"), (390, "light"), (1280, "dark")]
ADMIN = [
    "admin/queue", "admin/live", "admin/rejected", "admin/suggestions", "admin/reviews", "admin/claims",
    "admin/reports", "admin/analytics", "admin/audit?slug=pixel-kit", "admin/accounts", "admin/people",
]  # fmt: skip


def look_at(tab, path, number):
    """Fail if a page has a barrier at either width; the important ones are looked at in both colours too."""
    tab.goto(path)
    for width, scheme in LOOKS if path in IMPORTANT else (LOOKS[:2], LOOKS[2:])[number % 2]:
        assert_accessible(tab, widths=(width,), schemes=(scheme,))


def test_no_public_page_has_a_barrier(chromium, site):
    with open_tab(chromium, site) as tab:
        for number, path in enumerate(PUBLIC):
            look_at(tab, path, number)


def test_the_page_of_what_is_missing_has_no_barrier(chromium, site):
    with open_tab(chromium, site, refusals=re.compile("status of 404")) as tab:
        tab.goto("r/nothing")
        assert_accessible(tab)


def test_no_page_of_moderators_has_a_barrier(chromium, running, site):
    running.submit("Waiting Room")
    running.do(running.services.suggestions.suggest("pixel-kit", {"usagePurpose": "Draws icons, only better."}, "::1"))
    running.do(running.services.link_checks.report("pixel-kit", "::1"))
    with open_tab(chromium, site) as tab:
        sign_in(tab)
        for number, path in enumerate(ADMIN):
            look_at(tab, path, number)


def test_moderators_go_through_a_list_of_cards_with_the_keyboard(chromium, running, site):
    for slug in ("vector-loom", "night-shift"):
        running.do(running.services.link_checks.report(slug, "::1"))
    with open_tab(chromium, site) as tab:
        sign_in(tab)
        tab.goto("admin/reports")
        cards = tab.locator("[data-row]")
        before = cards.count()
        tab.keyboard.press("j")
        expect(cards.nth(0)).to_be_focused()
        tab.keyboard.press("j")
        expect(cards.nth(1)).to_be_focused()
        name = cards.nth(1).get_by_role("heading").inner_text()
        tab.keyboard.press("k")
        expect(cards.nth(0)).to_be_focused()
        tab.keyboard.press("j")
        with tab.expect_navigation():
            tab.keyboard.press("a")
        expect(tab.get_by_text("The report is closed.")).to_be_visible()
        assert tab.get_by_role("heading", name=name).count() == 0
        expect(cards).to_have_count(before - 1)


def test_visitors_keep_vote_and_collect_without_an_account(chromium, running, site):
    with open_tab(chromium, site, viewport=TELEPHONE, java_script_enabled=False) as tab:
        tab.goto("r/vector-loom")
        tab.get_by_role("button", name="0 votes").click()
        expect(tab.get_by_role("button", name="1 vote")).to_be_visible()
        with tab.expect_navigation():
            tab.get_by_role("button", name="Keep").click()
        tab.get_by_role("link", name="Favourites").click()
        expect(tab.get_by_role("link", name="Vector Loom")).to_be_visible()
        tab.get_by_label("New collection").fill("For the studio")
        with tab.expect_navigation():
            tab.get_by_role("button", name="Create").click()
        tab.goto("r/vector-loom")
        with tab.expect_navigation():
            tab.get_by_role("button", name="Add", exact=True).click()
        tab.goto("favourites")
        tab.get_by_role("link", name="For the studio").click()
        with tab.expect_navigation():
            tab.get_by_role("button", name="Share it").click()
        shared = tab.url.partition("?")[0]
    with open_tab(chromium, site) as other:
        other.goto(shared)
        expect(other.get_by_role("link", name="Vector Loom")).to_be_visible()
        assert other.get_by_role("button", name="Delete").count() == 0
        other.goto("favourites")
        assert other.get_by_role("link", name="Vector Loom").count() == 0
