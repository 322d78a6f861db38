"""Pages that are left open: they are refreshed, and say so when that fails; in a real browser with a fake clock."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

import hashrange_systems.shared.web
from systems.tests.browser import open_tab
from tests.browser.chromium import chromium  # noqa: F401 a fixture

SCRIPT = (Path(hashrange_systems.shared.web.__file__).parent / "static" / "live.js").read_bytes()
PAGE = """<!doctype html><title>Ducks</title><script src="/live.js" defer></script>
<div id="monitoring" data-follow>{notice}</div>
<div id="live" data-refresh="15"><a href="#">Agnes</a> is {state}</div>"""
ANY = re.compile("")
NOTICE = '<p role="alert">No worker is running since <time datetime="2026-01-15T12:00:00Z" data-local>noon</time>.</p>'


class Site:
    """What the server answers now."""

    def __init__(self):
        self.status, self.state, self.notice, self.url = 200, "up", "", ""

    def answer(self, path):
        if path == "/live.js":
            return 200, "text/javascript", SCRIPT
        return self.status, "text/html", PAGE.format(state=self.state, notice=self.notice).encode()


@pytest.fixture
def site():
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, content_type, body = site.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        site.url = f"http://127.0.0.1:{server.server_port}"
        yield site
        server.shutdown()
        thread.join()


@pytest.fixture
def tab(chromium, site):  # noqa: F811 the fixture
    with open_tab(chromium, site.url) as tab:
        tab.clock.install()
        tab.goto("./")
        yield tab


def wait(tab, seconds):
    """Let time pass in the browser; what it requests meanwhile is answered in real time, which `expect` waits for."""
    for _ in range(seconds // 15):
        tab.clock.run_for(15_000)


def test_an_open_page_shows_what_changes_and_that_nobody_works(tab, site):
    site.state, site.notice = "down", NOTICE
    wait(tab, 15)
    expect(tab.locator("#live")).to_contain_text("is down")
    expect(tab.locator("#monitoring")).to_have_text(re.compile("^No worker is running since"))


def test_a_notice_that_stays_is_not_announced_again(tab, site):
    site.notice = NOTICE
    wait(tab, 15)
    expect(tab.locator("#monitoring p")).to_be_visible()
    tab.evaluate("document.querySelector('#monitoring p').dataset.known = 'yes'")
    site.state = "down"
    wait(tab, 15)
    expect(tab.locator("#live")).to_contain_text("is down")
    assert tab.evaluate("document.querySelector('#monitoring p').dataset.known") == "yes"


@pytest.mark.parametrize("trouble", ["an error", "no network"])
def test_a_page_that_cannot_be_refreshed_says_since_when(chromium, site, trouble):  # noqa: F811 the fixture
    with open_tab(chromium, site.url, refusals=ANY) as tab:
        tab.clock.install()
        tab.goto("./")
        if trouble == "an error":
            site.status = 500
        else:
            tab.context.set_offline(True)
        wait(tab, 30)
        assert "Not refreshed" not in tab.inner_text("body")
        wait(tab, 60)
        expect(tab.locator("body")).to_contain_text("Not refreshed since")
        site.status = 200
        tab.context.set_offline(False)
        wait(tab, 30)
        expect(tab.locator("body")).not_to_contain_text("Not refreshed")


def test_a_part_that_somebody_reads_stays_for_some_minutes_and_then_says_its_age(tab, site):
    tab.locator("#live a").focus()
    site.state = "down"
    wait(tab, 240)
    assert "is up" in tab.inner_text("#live")
    assert "Not refreshed" not in tab.inner_text("body")
    wait(tab, 90)
    expect(tab.locator("body")).to_contain_text("Not refreshed since")
