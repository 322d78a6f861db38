"""Every slug that an adopted table can have is routable: pages, API, forms of visitors and moderators, feeds, mails."""

import re
from html import unescape
from urllib.parse import quote, urljoin, urlsplit
from xml.etree import ElementTree as ET

import httpx
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.kelifax.model.slug import decode_slug, encode_slug, is_stored_slug
from systems.tests.kelifax.entries import EXAMPLE, get_plain, put_plain
from systems.tests.kelifax.web.web_client import find_token, send

SLUGS = [
    "a/b", "a%2Fb", "..", ".", "a/../b", "../admin", "%2e%2e", "my tool", " tool ", "what?", "50%", "日本語ツール",
    "c:\\tools", "~tilde", "~YS9i", "a/vote", "a;b", "x" * 1000, "語" * 600, "line\nbreak", "Ünï", "<b>\"'&", "r",
]  # fmt: skip
PENDING = EXAMPLE | {"resourceStatus": "pending", "approvedAt": ""}
APPROVED = EXAMPLE | {"resourceStatus": "approved", "approvedAt": "2025-10-26T10:00:00Z"}


def adopt(client, item):
    """Adopt a table with one resource per slug; its name has its number."""
    for number, slug in enumerate(SLUGS):
        own = {"resourceSlug": slug, "resourceName": f"Old Tool {number}", "resourceUrl": f"https://{number}.example/"}
        put_plain(client.database, item | own | {"searchText": f"old tool {number}"})
    report = client.do(client.services.adoption.adopt())
    assert (report.resources, report.damaged) == (len(SLUGS), {})
    client.do(client.services.index_consumer.catch_up())


def find_pages(text):
    """The paths of the resources that a page links to, by their names, as a browser resolves them."""
    links = re.findall(r'href="(/kelifax/r/[^"]*)"[^>]*>(?:<[^>]*>|[^<])*?(Old Tool \d+)<', text)
    resolved = {name: urlsplit(urljoin("http://127.0.0.1/", unescape(link))).path for link, name in links}
    assert all(path.count("/") == 3 for path in resolved.values())
    return {name: path.removeprefix("/kelifax") for name, path in resolved.items()}


def find_stored(client, slug):
    return client.do(client.services.db.resource(slug))


def follow(browser, answer):
    return browser.get(answer.headers["location"].removeprefix("/kelifax"))


def test_old_slugs_are_in_lists_feeds_search_and_the_api(client):
    adopt(client, APPROVED)
    visitor = client.visitor()
    pages = find_pages(visitor.get("/browse").text)
    assert len(pages) == len(SLUGS)
    sitemap = {each.text for each in ET.fromstring(visitor.get("/sitemap.xml").content).iter()}
    feed = {each.text for each in ET.fromstring(visitor.get("/feed.xml").content).iter("link")}
    listed = {each["resourceSlug"] for each in visitor.get("/api/resources?limit=50").json()["resources"]}
    exported = {each["resourceSlug"] for each in visitor.get("/export.json").json()}
    assert listed == exported == set(SLUGS)
    for number, slug in enumerate(SLUGS):
        path = pages[f"Old Tool {number}"]
        page = visitor.get(path)
        assert page.status_code == 200, slug
        assert f"Old Tool {number}" in page.text
        whole = f"{client.base_url}{path}"
        assert f'<link rel="canonical" href="{whole}">' in page.text
        assert {whole} <= sitemap & feed
        assert find_pages(visitor.get(f"/search?q=old+{number}").text)[f"Old Tool {number}"] == path
        assert visitor.get(f"/api/resources/{encode_slug(slug)}").json()["resourceSlug"] == slug


def test_the_address_of_the_original_site_and_the_plain_slug_lead_to_the_page(client):
    adopt(client, APPROVED)
    visitor = client.visitor()
    for slug in ("a/b", "a%2Fb", "what?", "日本語ツール", "my tool", "50%", "x" * 1000):
        for former in (f"/resource/{quote(slug)}", f"/resource/{quote(slug, safe='')}", f"/r/{quote(slug)}"):
            answer = visitor.get(former)
            page = follow(visitor, answer) if answer.status_code == 308 else answer
            assert page.status_code == 200, former
            assert f"Old Tool {SLUGS.index(slug)}" in page.text
        assert visitor.get(f"/api/resources/{quote(slug)}").json()["resourceSlug"] == slug


def test_visitors_use_the_pages_of_old_slugs(client):
    adopt(client, APPROVED)
    for slug in ("a/b", "..", "a%2Fb", "what?", "日本語ツール", "a/vote", "x" * 1000, "語" * 600):
        number = SLUGS.index(slug)
        visitor, path = client.visitor(peer=f"10.0.0.{number}"), f"/r/{encode_slug(slug)}"
        for action in ("vote", "favourite", "report"):
            answer = send(visitor, f"{path}/{action}", page=path)
            assert answer.status_code == 303, slug
            assert follow(visitor, answer).status_code == 200
        assert find_pages(visitor.get("/favourites").text) == {f"Old Tool {number}": path}
        email = f"zoe{number}@techcorp.com"
        fields = {"rating": "5", "text": "It is a very good tool.", "displayName": "Zoe", "email": email}
        assert send(visitor, f"{path}/review", **fields).status_code == 303
        assert "Back to the resource" in visitor.post(client.find_link("/review/confirm/")).text
        claim = {"email": email, "statement": "I wrote this tool myself."}
        assert send(visitor, f"{path}/claim", **claim).status_code == 303
        assert visitor.post(client.find_link("/claim/confirm/")).status_code == 200
        client.do(client.services.view_counts.store())
        client.do(client.services.view_counts.flush())
        assert int(get_plain(client.database, slug)["viewCount"]) >= 1
        client.clock.advance(1)


def test_moderators_decide_about_reviews_and_owners_of_old_slugs(client):
    adopt(client, APPROVED)
    services = client.services
    for number, slug in enumerate(SLUGS):
        fields = {"rating": "5", "text": "It is a very good tool.", "displayName": "Zoe", "email": "zoe@techcorp.com"}
        client.do(services.reviews.submit(slug, fields, f"10.0.1.{number}"))
        client.do(services.reviews.confirm(client.find_link("/review/confirm/").rpartition("/")[2]))
        client.clock.advance(86_400)  # an address gets ten mails a day
    admin = client.admin()
    for _ in SLUGS:
        page = admin.get("/admin/reviews").text
        action = unescape(re.search(r'action="/kelifax(/admin/reviews/[^"]+)"', page)[1])
        assert send(admin, action, page="/admin/reviews", do="publish").status_code == 303
    for slug in SLUGS:
        assert "It is a very good tool." in admin.get(f"/r/{encode_slug(slug)}").text
    person = client.do(services.privacy.export_person("zoe@techcorp.com", client.owner))
    assert {each["slug"] for each in person["reviews"]} == set(SLUGS)


STEPS = (
    ("queue", "hold", "pending"), ("queue", "approve", "approved"), ("live", "undo", "pending"),
    ("queue", "reject", "rejected"), ("rejected", "undo", "pending"), ("queue", "approve", "approved"),
    ("live", "feature", "approved"), ("live", "unpublish", "rejected"),
)  # fmt: skip


def test_moderators_decide_about_old_slugs(client):
    adopt(client, PENDING)
    admin = client.admin()
    links = set(re.findall(r'<a href="/kelifax(/admin/queue/[^"]+)"', admin.get("/admin/queue").text))
    assert len(links) == len(SLUGS)
    token = find_token(admin, "/admin/queue")
    for link in links:
        path = urlsplit(urljoin("http://127.0.0.1/", unescape(link))).path
        slug = decode_slug(httpx.URL(f"http://h{path}").path.removeprefix("/admin/queue/"))
        for name, do, status in STEPS:
            sent = {"form_token": token, "do": do, "reason": "not a tool"}
            answer = admin.post(path.replace("/queue/", f"/{name}/"), data=sent)
            assert answer.status_code == 303, (slug, do)
            assert get_plain(client.database, slug)["resourceStatus"] == status
            client.clock.advance(1)
        assert follow(admin, answer).status_code == 200
        found = admin.get("/admin/find", params={"slug": slug})
        assert f'<h2 class="break">Old Tool {SLUGS.index(slug)}<' in follow(admin, found).text
        assert "unpublished" in admin.get("/admin/audit", params={"slug": slug}).text
        assert admin.post(path, data={"form_token": token, "do": "delete"}).status_code == 303
        assert find_stored(client, slug) is None


@given(st.text(min_size=1, max_size=50))
def test_every_slug_is_one_ascii_segment_that_browsers_leave_alone_and_is_read_back(slug):
    segment = encode_slug(slug)
    assert segment.isascii()
    if is_stored_slug(slug):
        decoded = httpx.URL(f"http://h/r/{segment}/vote").path.removeprefix("/r/").removesuffix("/vote")
        assert decode_slug(decoded) == slug


def test_a_text_that_only_looks_encoded_is_itself():
    for text in ("~", "~a", "~====", "~YQ", "~_w"):
        assert decode_slug(text) == text
