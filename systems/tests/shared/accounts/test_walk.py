"""A walk through the pages of accounts in a real browser: sign-up, second factor, key, team, new password.

Each page has no barrier at 1280 and 390 px, in light and dark; the walk is made at both widths.
"""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pyotp
import pytest
import uvicorn
from playwright.sync_api import expect

import hashrange
from hashrange import SystemClock
from systems.tests.browser import open_tab
from systems.tests.shared.accounts.sample_pages import SampleSite
from systems.tests.shared.accounts.sample_system import PASSWORD
from tests.browser.accessibility import WIDTHS, assert_accessible
from tests.browser.chromium import chromium  # noqa: F401 a fixture
from tests.conftest import find_free_port

ANN, BOB = "ann.of.a.long.name@example.com", "bob@example.com"
NEW = "another good one"
REFUSALS = re.compile(r"status of 4(00|09|22)")  # 400: a link that was used, which the page says


@contextmanager
def serve(database):
    """Serve the sample system on a free port, in a thread, until the block ends."""
    port = find_free_port()
    site = SampleSite(database, SystemClock(), base_url=f"http://127.0.0.1:{port}/people")
    server = uvicorn.Server(uvicorn.Config(site.site, port=port, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield site
    finally:
        server.should_exit = True
        thread.join(30)


class Walk:
    """A person with a browser, who looks at each page for barriers."""

    def __init__(self, browser, site, width):
        self.browser, self.site, self.width = browser, site, width

    @contextmanager
    def open(self):
        with open_tab(self.browser, self.site.base_url, refusals=REFUSALS) as tab:
            self.tab = tab
            self.narrow()
            yield self

    def narrow(self):
        self.tab.set_viewport_size({"width": self.width, "height": 800})

    def goto(self, path):
        self.tab.goto(f"{self.site.base_url}{path}")
        self.look()

    def read_link(self, address):
        """The path of the link in the last mail; playwright occupies the event loop of this thread."""
        with ThreadPoolExecutor(1) as other:
            return other.submit(self.site.read_link, address).result()

    def look(self, heading=None):
        """Wait for a page, and look for barriers."""
        if heading:
            expect(self.tab.get_by_role("heading", level=1)).to_have_text(heading)
        assert_accessible(self.tab)
        self.narrow()

    def fill(self, button, **fields):
        for name, value in fields.items():
            self.tab.locator(f"[name='{name}']:visible").fill(value)
        self.press(button)

    def press(self, button):
        self.tab.get_by_role("button", name=button, exact=True).click()


@pytest.mark.parametrize("width", WIDTHS)
def test_sign_up_second_factor_key_team_and_new_password_at_this_width(request, width):
    with hashrange.open() as database, serve(database) as site:
        walk = Walk(request.getfixturevalue("chromium"), site, width)
        with walk.open():
            sign_up(walk, ANN)
            secret = turn_on_second_factor(walk)
            make_key(walk)
            invite(walk, BOB)
        with walk.open():
            join(walk, BOB)
        with walk.open():
            reset(walk, ANN, secret)


def sign_up(walk, address):
    walk.goto("/sign-in")
    walk.tab.get_by_role("link", name="Make an account").click()
    walk.look("Make an account")
    walk.fill("Send the link", email=address)
    expect(walk.tab.get_by_role("status")).to_contain_text("on its way")
    walk.look()
    walk.goto(walk.read_link(address))
    walk.fill("Make the account", password=PASSWORD)
    expect(walk.tab.get_by_role("heading", level=1)).to_contain_text("Hello")


def turn_on_second_factor(walk):
    walk.goto("/account")
    walk.tab.get_by_role("link", name="Turn on").click()
    walk.look()
    walk.tab.locator("main form button").first.click()
    expect(walk.tab.locator("[name='code']")).to_be_visible()
    walk.look()
    found = walk.site.services.accounts
    (listed,) = found.db.accounts().run()
    secret = found.db.second_factor(listed.owner).run().secret
    walk.tab.locator("[name='code']").fill(pyotp.TOTP(secret).now())
    walk.tab.locator("[name='code']").press("Enter")
    expect(walk.tab.locator("main")).to_contain_text("recovery codes")
    walk.look()
    return secret


def make_key(walk):
    walk.goto("/account")
    walk.fill("Make a key", **{"key.name": "deploy script"})
    expect(walk.tab.locator("#new-key")).to_contain_text("hrc_")
    walk.look("Account")


def invite(walk, address):
    walk.tab.get_by_role("link", name="Team").click()
    walk.look("Team")
    walk.fill("Invite", email="nobody")
    expect(walk.tab.locator("#email-about")).to_contain_text("must be an e-mail address")
    walk.look("Team")
    walk.tab.locator("main [name='role']").last.select_option("editor")
    walk.fill("Invite", email=address)
    expect(walk.tab.get_by_role("status")).to_contain_text("on its way")
    walk.look("Team")


def join(walk, address):
    link = walk.read_link(address)
    walk.goto(link)
    walk.fill("Make the account and join", password=PASSWORD)
    expect(walk.tab.locator("main")).to_contain_text("editor")
    walk.goto("/account/team")
    expect(walk.tab.locator("main")).to_contain_text("Where you act")
    walk.goto(link)
    expect(walk.tab.get_by_role("alert")).to_contain_text("used or withdrawn")


def reset(walk, address, secret):
    walk.goto("/sign-in")
    walk.tab.get_by_role("link", name="Forgot the password?").click()
    walk.look("New password")
    walk.fill("Send the link", email=address)
    expect(walk.tab.get_by_role("status")).to_contain_text("on its way")
    walk.goto(walk.read_link(address))
    walk.fill("Set the password", password=NEW)
    walk.look("Sign in")
    walk.tab.locator("#name").fill(address)
    walk.tab.locator("#password").fill(NEW)
    walk.tab.locator("#password").press("Enter")
    expect(walk.tab.get_by_role("heading", level=1)).to_have_text("One more step")
    walk.look("One more step")
    walk.tab.locator("[name='code']").fill(pyotp.TOTP(secret).at(SystemClock().millis() // 1000 + 30))
    walk.tab.locator("[name='code']").press("Enter")
    expect(walk.tab.get_by_role("heading", level=1)).to_contain_text("Hello")
