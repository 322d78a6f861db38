"""The whole way of a newcomer in a real browser: sign in, add a check, see it up, break its page, read the message."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pkgutil import iter_modules

import httpx
import pyotp
import pytest
from playwright.sync_api import expect

from hashrange_systems.checks import web
from hashrange_systems.checks.registry import CHECK_TYPES
from systems.tests.browser import host_demo, open_tab
from systems.tests.web_routes import flatten
from tests.browser.accessibility import SCHEMES, WIDTHS, assert_accessible
from tests.conftest import find_free_port, start_server, stop, wait_until_healthy

ADMIN_TOKEN = "the operator's token of the browser tests"


@pytest.fixture(scope="module")
def wire(tmp_path_factory):
    """The address of a `hashrange serve` of its own: what a test leaves there is in nobody's way."""
    port, log = find_free_port(), tmp_path_factory.mktemp("wire") / "log"
    with log.open("wb") as output:
        process = start_server("--memory", "--port", str(port), output=output)
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            stop(process)


@pytest.fixture(scope="module", params=["embedded", "wire"])
def site(request, tmp_path_factory):
    """The address of the system, as `hashrange up --demo` hosts it, on its own database and over the wire."""
    folder = tmp_path_factory.getbasetemp() / f"checks-{request.param}"
    folder.mkdir(exist_ok=True)  # a second host of the same database needs the keys of the first
    remote = ["--data", str(folder / "data"), "--target"]
    where = [] if request.param == "embedded" else [*remote, request.getfixturevalue("wire")]
    environment = {"CHECKS_DEMO_PORT": "0", "CHECKS_ADMIN_TOKEN": ADMIN_TOKEN}
    with host_demo("checks", folder, *where, environment=environment) as address:
        yield address


on_one_database = pytest.mark.parametrize("site", ["embedded"], indirect=True)  # the pages of both are the same


@pytest.fixture
def target():
    """A page on this machine that can be stopped, and the way to stop it."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"Everything must go")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def end():
        if thread.is_alive():
            server.shutdown()
            thread.join()
            server.server_close()

    yield f"http://127.0.0.1:{server.server_address[1]}/", end
    end()


def sign_up(site, email):
    response = httpx.post(
        f"{site}/api/admin/users",
        json={"email": email, "tier": "PRO"},
        headers={"Authorization": f"Bearer {ADMIN_TOKEN}"},
    )
    assert response.status_code == 201, response.text
    return response.json()["key"]


def test_a_newcomer_adds_a_check_breaks_its_page_and_reads_the_message(page, site, target):
    url, stop_target = target
    page.goto("./")
    with page.expect_navigation():
        page.get_by_role("button", name="Sign out").click()
    page.get_by_label("API key").fill(sign_up(site, "newcomer@example.com"))
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("main")).to_contain_text("There are no checks yet")

    page.get_by_role("link", name="Messages").click()
    page.get_by_role("link", name="verify").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("main")).to_contain_text("Messages are now sent to newcomer@example.com")

    page.goto("new")
    page.get_by_label("Address").fill("nonsense")
    page.get_by_role("button", name="Add the check").click()
    expect(page.locator("main")).to_contain_text("Address must begin with http:// or https://")
    page.get_by_label("Address").fill(url)
    page.get_by_label("Name", exact=True).fill("Test page")
    page.get_by_label("Text on the page", exact=True).fill("Everything must go")
    page.get_by_role("button", name="Add the check").click()
    expect(page.locator("h1")).to_have_text("Test page")

    run_until(page, "Up")
    stop_target()
    run_until(page, "Down")
    expect(page.get_by_role("region", name="Incidents")).to_contain_text("Down for")

    page.get_by_role("link", name="Messages").click()
    expect(page.locator("h1")).to_have_text("Messages")
    reload_until(page, "Test page is down since")
    page.get_by_role("link", name="/check/").first.click()
    expect(page.locator("h1")).to_have_text("Test page")


def reload_until(page, text):
    """Reload the page until it says that: messages are sent by and by."""
    for _ in range(240):
        if text in page.inner_text("main"):
            return
        page.wait_for_timeout(500)
        page.reload()
    pytest.fail(f"the page never said {text!r}: {page.inner_text('main')}")


def run_until(page, word):
    """Run a check by hand until it is so; the worker may be running it at the same moment."""
    for _ in range(30):
        with page.expect_navigation():
            page.get_by_role("button", name="Run now").click()
        if page.locator(".head .pill").inner_text() == word:
            return
    pytest.fail(f"the check never became {word}: {page.inner_text('main')}")


def test_a_visitor_of_the_demo_sees_checks_with_plots_at_once(page):
    page.goto("./")
    assert page.locator(".list li").count() >= 5
    assert page.locator(".list li svg.bars").count() >= 5
    page.locator(".list .name a").first.click()
    expect(page.locator(".plot svg:visible")).to_have_count(1)  # the wide or the narrow one
    expect(page.locator(".plot svg path[stroke]").first).to_have_css("stroke", re.compile("^rgb"))


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (390, "dark"), (1280, "light")])
def test_no_page_is_wider_than_its_window(page, width, scheme):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.goto("./")
    path = page.locator(".list .name a").first.get_attribute("href").removeprefix("/checks/")
    paths = [
        "./",
        path,
        f"{path}/edit",
        f"{path}/maintenance",
        "new",
        "new?type=EBAY",
        "account",
        "messages",
        "reports",
    ]
    for each in [*paths, "status/demo"]:
        page.goto(each)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, each


def add_long_words(api):
    """Add checks, a status page, a channel and a key; return the ids, the address and the key."""
    url = "https://words.invalid/" + "p" * 900
    tags = [f"{number}".ljust(40, "t") for number in range(5)]
    wishes = [
        {"url": url, "name": "N" * 100, "group": "G" * 60, "tags": tags, "attributes": {"retries": 0}},
        {"checkType": "EBAY", "attributes": {"query": "q" * 200, "threshold": 100, "retries": 0}},
        {"checkType": "HEARTBEAT", "name": "J" * 100, "attributes": {"periodMs": 60_000}},
    ]
    added = [api.post("/checks", json=wish).raise_for_status().json() for wish in wishes]
    ids = [each["checkid"] for each in added]
    httpx.post(f"{added[2]['signalUrl']}/fail", content="m" * 5000).raise_for_status()
    slug = "long-" + "s" * 35
    content = {"title": "T" * 80, "intro": "I" * 900, "checks": ids}
    api.put(f"/status-pages/{slug}", json=content).raise_for_status()
    news = {"title": "A" * 80, "text": "B" * 900}
    api.post(f"/status-pages/{slug}/announcements", json=news).raise_for_status()
    api.post("/channels", json={"channelType": "WEBHOOK", "target": url}).raise_for_status()
    key = api.post("/keys", json={"name": "K" * 60}).raise_for_status().json()["key"]
    for checkid in ids[:2]:
        api.post(f"/checks/{checkid}/run")
    return ids, slug, key


@on_one_database
def test_no_page_is_wider_than_its_window_however_long_the_words_are(page, site):
    """Names, groups, tags, titles and addresses as long as they may be, without a space."""
    person = "x" * 60 + "@" + "y" * 60 + ".example.com"
    with httpx.Client(base_url=f"{site}/api", headers={"Authorization": f"Bearer {sign_up(site, person)}"}) as api:
        ids, slug, key = add_long_words(api)
    page.goto("sign-in")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("h1")).to_have_text("Checks")
    parts = [f"check/{checkid}{end}" for checkid in ids for end in ("", "/edit", "/results", "/maintenance")]
    wide = []
    for path in ["./", "pages", f"pages/{slug}", f"status/{slug}", "messages", "reports", "account", *parts]:
        page.goto(path)
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wide.append((path, width))
    assert wide == []


def test_everything_can_be_reached_by_keyboard(page):
    page.goto("./")
    names = []
    for _ in range(14):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.innerText"))
    assert names[:3] == ["Skip to the content", "Checks", "Checks"]
    assert {"Messages", "Account", "Sign out", "Add a check"} <= set(names)
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "what has the focus is seen"


def test_a_check_is_deleted_only_after_a_second_click(page):
    page.goto("./")
    count = page.locator(".list li").count()
    page.locator(".list .name a").last.click()
    expect(page.get_by_text("Delete…")).to_be_visible()
    expect(page.get_by_role("button", name="Delete it")).to_be_hidden()
    page.get_by_text("Delete…").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.locator("main")).to_contain_text("The check and its history are deleted.")
    expect(page.locator(".list li")).to_have_count(count - 1)


# ── accessibility and plots ──────────────────────────────────────────────────────────────────────────────────────────
PAGES = (
    *(
        "./",
        "new",
        "new?type=HEARTBEAT",
        "check/demo-payments",
        "check/demo-camera?range=7d",
        "check/demo-shop/results",
    ),
    *("check/demo-shop/edit", "check/demo-shop/maintenance", "messages", "pages", "pages/new", "pages/demo", "reports"),
    *("account", "account/two-factor", "import", "status/demo", "verify?token=unknown"),
    *(f"new?type={check_type}" for check_type in CHECK_TYPES if check_type != "HEARTBEAT"),
)
ERRORS = ("check/nothing", "check/demo-shop/results?after=nothing")
FILES = {"/report/{month}.csv", "/report/{month}.pdf", "/status/{slug}/badge.svg", "/metrics"}


def test_the_pages_that_axe_looks_at_are_all_pages():
    paths = [f"/{path.removeprefix('./').partition('?')[0]}" for path in (*PAGES, *ERRORS, "sign-in")]
    pages = [route for route in list_routes() if route.path not in FILES]
    assert [route.path for route in pages if not any(route.path_regex.match(path) for path in paths)] == []


def list_routes():
    """The routes of GET requests of all modules with pages; the API and what jobs call are elsewhere."""
    modules = [import_module(f"{web.__name__}.{each.name}") for each in iter_modules(web.__path__)]
    routers = [module.router for module in modules if hasattr(module, "router")]
    routes = [route for router in routers for route in flatten(router.routes)]
    return [route for route in routes if "GET" in route.methods and not route.path.startswith("/heartbeat")]


@on_one_database
def test_axe_finds_nothing_on_any_page_at_both_widths(page):
    page.goto("pages/demo")
    page.get_by_text("Announce something").click()
    page.get_by_label("Headline").fill("Upgrade on Sunday")
    with page.expect_navigation():
        page.get_by_role("button", name="Announce it").click()
    page.goto("new?type=HEARTBEAT")
    page.get_by_role("button", name="Add the check").click()
    expect(page.get_by_role("heading", name="The job calls")).to_be_visible()
    assert_accessible(page, schemes=("light",))
    for number, path in enumerate(PAGES):
        page.goto(path)
        assert_accessible(page, schemes=SCHEMES if number % 4 == 0 else ("light",))
    page.goto("account/two-factor")
    page.get_by_role("button", name="Turn it on").click()
    expect(page.locator(".qr svg")).to_be_visible()
    assert_accessible(page)


@on_one_database
def test_axe_finds_nothing_on_pages_that_say_what_is_wrong(chromium, site):
    context = chromium.new_context(base_url=f"{site}/", locale="en-GB")
    tab = context.new_page()
    for path in ERRORS:
        assert tab.goto(path).status >= 400
        assert_accessible(tab, schemes=("light",))
    tab.goto("verify?token=unknown")
    tab.get_by_role("button", name="Confirm").click()
    expect(tab.locator("h1")).not_to_have_text("Confirm this address")
    assert_accessible(tab, schemes=("light",))
    context.close()


@on_one_database
def test_axe_finds_nothing_on_the_pages_of_signing_in(page, site):
    key = sign_up(site, "careful@example.com")
    page.goto("./")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    assert_accessible(page)
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("main")).to_contain_text("There are no checks yet")
    assert_accessible(page, schemes=("light",))
    page.goto("account/two-factor")
    page.get_by_role("button", name="Turn it on").click()
    secret = pyotp.TOTP(page.locator("code.break").inner_text())
    page.get_by_label("Code of the app").fill(secret.now())
    page.get_by_role("button", name="Turn it on").click()
    expect(page.locator("#codes")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("h1")).to_have_text("One more step")
    assert_accessible(page)


@on_one_database
def test_a_plot_is_explored_by_keys_and_by_touch_in_the_readers_time_zone(chromium, site):
    telephone = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "timezone_id": "Asia/Kolkata"}
    with open_tab(chromium, site, **telephone) as page:
        page.goto("check/demo-shop")
        plot, readout = page.locator("[data-explore]").nth(1), page.locator("#times-readout")
        assert page.locator(".plot svg.narrow .zone").text_content() in {"Asia/Kolkata", "Asia/Calcutta"}
        minutes = page.locator(".plot svg.narrow text[data-at]").first.text_content().partition(":")[2]
        assert minutes[:2] == "30"  # round hours of UTC are half past in India
        plot.press("End")
        last = readout.inner_text()
        assert re.search(r"p50 \d+ ms", last)
        plot.press("ArrowLeft")
        assert readout.inner_text() != last
        plot.press("Escape")
        expect(readout).to_have_text("")
        box = plot.bounding_box()
        page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(readout).to_have_text(re.compile("p50"))
