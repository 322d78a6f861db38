"""The whole way of a newcomer in a real browser: sign in, add a check, see it up, break its page, read the message."""

import os
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from tests.conftest import ROOT, find_free_port, start_server, stop, wait_until_healthy

ADMIN_TOKEN = "the operator's token of the browser tests"
STARTED_WITHIN = 240.0
PATIENCE_MS = 120_000


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
    port, log = find_free_port(), tmp_path_factory.mktemp("up") / "log"
    embedded = request.param == "embedded"
    remote = ["--data", str(log.parent / "data"), "--endpoint"]
    where = ["--memory", "--port", "0"] if embedded else [*remote, request.getfixturevalue("wire")]
    command = [sys.executable, "-m", "hashrange.cli", "up", "--demo", "--only", "checks", *where]
    environment = os.environ | {"CHECKS_DEMO_PORT": "0", "CHECKS_ADMIN_TOKEN": ADMIN_TOKEN}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--web-port", str(port)], cwd=ROOT, env=environment, stdout=output, stderr=output
        )
        try:
            wait_for_demo(process, log)
            yield f"http://127.0.0.1:{port}/checks"
        finally:
            stop(process)


def wait_for_demo(process, log):
    deadline = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < deadline and process.poll() is None:
        if "demo data is there" in log.read_text("utf-8"):
            return
        time.sleep(0.1)
    pytest.fail(f"hashrange up did not start:\n{log.read_text('utf-8')}")


@pytest.fixture
def page(chromium, site):
    """A tab of a new browser, in which anything that the browser complains about is a failure."""
    context = chromium.new_context(base_url=f"{site}/", locale="en-GB")
    context.set_default_timeout(PATIENCE_MS)
    tab = context.new_page()
    complaints = []
    tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    yield tab
    context.close()
    refusals = re.compile(r"status of 4(09|22)")  # which a page shows, and a browser notes
    assert [complaint for complaint in complaints if not refusals.search(complaint)] == []


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
    answer = httpx.post(
        f"{site}/api/admin/users",
        json={"email": email, "tier": "PRO"},
        headers={"Authorization": f"Bearer {ADMIN_TOKEN}"},
    )
    assert answer.status_code == 201, answer.text
    return answer.json()["key"]


def test_a_newcomer_adds_a_check_breaks_its_page_and_reads_the_message(page, site, target):
    url, stop_target = target
    page.goto("./")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("API key").fill(sign_up(site, "newcomer@example.com"))
    page.get_by_role("button", name="Sign in", exact=True).click()
    assert "There are no checks yet" in page.inner_text("main")

    page.get_by_role("link", name="Messages").click()
    page.get_by_role("link", name="verify").click()
    page.get_by_role("button", name="Confirm").click()
    assert "Messages are now sent to newcomer@example.com" in page.inner_text("main")

    page.goto("new")
    page.get_by_label("Address").fill("nonsense")
    page.get_by_role("button", name="Add the check").click()
    assert "Address must begin with http:// or https://" in page.inner_text("main")
    page.get_by_label("Address").fill(url)
    page.get_by_label("Name", exact=True).fill("Test page")
    page.get_by_label("Text on the page", exact=True).fill("Everything must go")
    page.get_by_role("button", name="Add the check").click()
    assert page.inner_text("h1") == "Test page"

    run_until(page, "Up")
    stop_target()
    run_until(page, "Down")
    assert "Down for" in page.get_by_role("region", name="Incidents").inner_text()

    page.get_by_role("link", name="Messages").click()
    assert "Test page is down since" in read_until(page, "Test page is down since")
    page.get_by_role("link", name="/check/").first.click()
    assert page.inner_text("h1") == "Test page"


def read_until(page, text):
    """What the page says once it says that; messages are sent by and by, so it is looked at again for a while."""
    for _ in range(60):
        found = page.inner_text("main")
        if text in found:
            break
        page.wait_for_timeout(500)
        page.reload()
    return found


def run_until(page, word):
    """Run a check by hand until it is so; the worker may be running it at the same moment."""
    for _ in range(10):
        page.get_by_role("button", name="Run now").click()
        if page.locator(".head .pill").inner_text() == word:
            return
    pytest.fail(f"the check never became {word}: {page.inner_text('main')}")


def test_a_visitor_of_the_demo_sees_checks_with_plots_at_once(page):
    page.goto("./")
    assert page.locator(".list li").count() >= 5
    assert page.locator(".list li svg.bars").count() >= 5
    page.locator(".list .name a").first.click()
    assert page.locator(".plot svg").count() == 1
    assert (
        page.locator(".plot svg path[stroke]").first.evaluate("path => getComputedStyle(path).stroke").startswith("rgb")
    )


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
    assert not page.get_by_role("button", name="Delete it").is_visible()
    page.get_by_text("Delete…").click()
    page.get_by_role("button", name="Delete it").click()
    assert "The check and its history are deleted." in page.inner_text("main")
    assert page.locator(".list li").count() == count - 1
