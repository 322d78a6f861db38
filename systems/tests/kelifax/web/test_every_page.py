"""Every page with an address of its own, in a real browser: those behind links and forms too, without barriers."""

import re

import pytest

from hashrange_systems.kelifax.service.actor import OPERATOR as ACTOR
from systems.tests.browser import open_tab
from systems.tests.kelifax.entries import EXAMPLE, put_plain
from systems.tests.kelifax.web.running_site import run_site
from systems.tests.kelifax.web.test_browser import ADMIN, PUBLIC, look_at, sign_in
from systems.tests.kelifax.web.test_odd_requests import list_paths
from tests.browser.accessibility import assert_accessible

NO_PAGE = {
    "/sitemap.xml",
    "/robots.txt",
    "/opensearch.xml",
    "/feed.xml",
    "/feed/{category:path}.xml",
    "/export.{kind}",
    "/metrics",
    "/logo/{name}",
    "/admin/logo/{name}",
    "/admin/find",
    "/resource/{slug:path}",
    "/r/{slug:path}",
    "/submit/duplicates",
    "/search/instant",
    "/admin",
}  # files, redirects, and parts of pages, which the tests of the forms and of the search show
ONLY_DEMO = {"/mailbox"}
FAR = 10**14  # a time at which no token has expired


@pytest.fixture(scope="module")
def running():
    with run_site() as site:
        for name in ("Pixel Kit", "Vector Loom"):
            site.publish(name)
        yield site


@pytest.fixture(scope="module")
def site(running):
    return running.url


@pytest.fixture(scope="module")
def linked(running):
    """The pages behind links of mails, and of a damaged resource; each by the route that it is an example of."""
    services = running.services
    sign = services.runtime.signer.sign
    waiting, rejected = running.submit("Waiting Room"), running.submit("Rejected Kit")
    running.do(services.moderation.reject(rejected, ACTOR, "Say what it costs."))
    ids = {slug: running.do(read_submission(services, slug)) for slug in (waiting, rejected)}
    running.do(services.ownerships.claim("vector-loom", "own@example.com", "It is ours since the beginning.", "::1"))
    running.inbox.wait_for_link("own@example.com", "/claim/confirm/")
    token = running.inbox.wait_for_link("own@example.com", "/claim/confirm/").rpartition("/")[2]
    running.do(services.ownerships.confirm(token))
    (claim,), _ = running.do(services.ownerships.waiting())
    running.do(services.ownerships.grant("vector-loom", claim.claim_id, ACTOR))
    damaged = EXAMPLE | {"resourceSlug": "broken", "resourceStatus": "approved", "approvedAt": "2025-10-26T10:00:00Z"}
    put_plain(running.database, damaged | {"learningResources": "nonsense", "resourceUrl": "https://broken.example/"})
    return {
        "/status/{token}": [
            f"status/{sign('status', [waiting, ids[waiting]], FAR)}",
            f"status/{sign('edit', [rejected, ids[rejected]], FAR)}",
        ],
        "/submit/confirm/{token}": [f"submit/confirm/{sign('confirm', [waiting, ids[waiting]], FAR)}"],
        "/review/confirm/{token}": ["review/confirm/x"],
        "/claim/confirm/{token}": ["claim/confirm/x"],
        "/digest/confirm/{token}": ["digest/confirm/x"],
        "/digest/unsubscribe/{token}": ["digest/unsubscribe/x"],
        "/owner/{token}": [f"owner/{sign('owner', ['vector-loom', claim.claim_id], FAR)}"],
        "/r/{slug}": ["r/broken"],
    }


async def read_submission(services, slug):
    return (await services.db.resource(slug)).submission_id


def matches(route, path):
    """Whether a path is an example of a route."""
    pattern = re.sub(r"\\\{\w+(:path)?\\\}", "[^/?]+", re.escape(route))
    return re.fullmatch(pattern, "/" + path.partition("?")[0].removeprefix("./")) is not None


def test_every_page_is_looked_at(linked):
    examples = [
        *PUBLIC,
        *ADMIN,
        *(path for paths in linked.values() for path in paths),
        "collections/x",
        "admin/live/x",
    ]
    pages = [path for path in list_paths("GET") if not path.startswith("/api") and path not in NO_PAGE | ONLY_DEMO]
    assert [page for page in pages if not any(matches(page, path) for path in examples)] == []


def test_no_page_behind_a_link_has_a_barrier(chromium, site, linked):
    with open_tab(chromium, site) as tab:
        for number, path in enumerate(path for paths in linked.values() for path in paths):
            look_at(tab, path, number)


def test_no_page_with_something_on_it_has_a_barrier_and_nothing_covers_anything(chromium, site):
    with open_tab(chromium, site, viewport={"width": 1280, "height": 800}) as tab:
        tab.goto("favourites")
        tab.get_by_label("New collection").fill("For the studio")
        with tab.expect_navigation():
            tab.get_by_role("button", name="Create").click()
        collection = tab.url.partition("?")[0]
        for button in ("Keep", "Add"):
            tab.goto("r/pixel-kit")
            with tab.expect_navigation():
                tab.get_by_role("button", name=button, exact=button == "Add").click()
            assert_accessible(tab)
        for page in (collection, "favourites"):
            tab.goto(page)
            assert_accessible(tab)
            for width in (1280, 390):
                tab.set_viewport_size({"width": width, "height": 800})
                remove = tab.get_by_role("button", name="Remove Pixel Kit").bounding_box()
                below = tab.locator("main form.card").last.bounding_box()
                card = tab.locator(".entry").first.bounding_box()
                assert card["y"] + card["height"] <= remove["y"]
                assert remove["y"] + remove["height"] <= below["y"], "the form does not cover the button"


@pytest.mark.usefixtures("linked")  # which has the damaged resource
def test_forms_with_errors_and_the_open_box_of_a_reason_have_no_barrier(chromium, running, site):
    running.submit("Waiting Hall")
    with open_tab(chromium, site) as tab:
        for page, button in (
            ("submit", "Continue"),
            ("r/pixel-kit/review", "Send the review"),
            ("digest", "Subscribe"),
        ):
            tab.goto(page)
            with tab.expect_navigation():
                tab.get_by_role("button", name=button).click()
            assert_accessible(tab)
        sign_in(tab)
        tab.goto("admin/live/broken")
        assert_accessible(tab)
        tab.goto("admin/queue/waiting-hall")
        tab.keyboard.press("r")
        assert_accessible(tab)
        tab.keyboard.press("Escape")
        assert tab.locator("#reject-reason").is_hidden()
        tab.keyboard.press("r")
        tab.keyboard.type("The page is empty.")
        with tab.expect_navigation():
            tab.keyboard.press("Control+Enter")
        assert "Rejected" in tab.get_by_role("status").first.inner_text()


def test_the_longest_name_makes_no_page_wider_than_a_telephone(chromium, running, site):
    name = "Unbreakable" * 9
    slug = running.submit(name, resourceUrl=f"https://{'long-' * 10}host.example.com/{'path' * 50}")
    with open_tab(chromium, site, viewport={"width": 390, "height": 800}) as tab:
        sign_in(tab)
        tab.goto(f"admin/queue/{slug}")
        assert_fits(tab)
        with tab.expect_navigation():
            tab.get_by_role("button", name="Approve").first.click()
        assert_fits(tab)
        tab.goto(f"r/{slug}")
        with tab.expect_navigation():
            tab.get_by_role("button", name="Keep").click()
        for page in (f"r/{slug}", "favourites", "browse", f"r/{slug}/review", f"r/{slug}/claim", f"admin/live/{slug}",
                     f"admin/audit?slug={slug}", "admin/analytics"):  # fmt: skip
            tab.goto(page)
            assert_fits(tab)


def assert_fits(tab):
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390, tab.url
