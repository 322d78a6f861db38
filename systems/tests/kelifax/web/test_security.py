"""Attacks on the pages and the API: markup in every field, foreign forms, forged tokens, other visitors' things."""

import csv
import io
import json
import re
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from hashrange_systems.kelifax.web.page_renderer import find_safe_link
from hashrange_systems.shared.proof_of_work import solve_challenge
from systems.tests.kelifax.entries import put_plain
from systems.tests.kelifax.web.running_site import PASSWORD, make_form
from systems.tests.kelifax.web.web_client import find_token, flatten, read_text, send

MARKUP = "\"'><img src=x onerror=alert(1)></textarea></script><script>alert(2)</script>{{98765*9}}"

RSS_TAGS = {"rss", "channel", "title", "link", "description", "item", "guid", "pubDate", "category"}


def assert_harmless(response):
    """Markup of strangers is text, and the policy would stop it anyway."""
    assert response.status_code < 500, response.text
    assert "<img src=x" not in response.text
    assert "<script>alert" not in response.text
    assert "888885" not in response.text or "{{98765*9}}" in response.text
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_markup_in_every_field_is_text_on_every_page(client):
    form = make_form(
        f"Kit {MARKUP}"[:90], usagePurpose=f"Long enough to be taken. {MARKUP}", tags=['"><img src=x>', "</script>"],
        keyFeatures=[f"{MARKUP} {n}" for n in range(3)], useCases=[f"{MARKUP} {n}" for n in range(2)],
        learningResources=[{"title": MARKUP[:100], "url": 'https://x.example/?"><img%20src=x>', "type": "video"}],
        resourceUrl='https://kit.example.com/?q="><img%20src=x>',
    )  # fmt: skip
    form["submitter"]["company"] = MARKUP[:100]
    browser, admin = client.visitor(), client.admin()
    wrong = send(browser, "/submit", step="2", go="send", **flatten(form | {"submitter": {"firstName": MARKUP}}))
    assert wrong.status_code == 422
    assert_harmless(wrong)
    sent = send(browser, "/submit", step="2", go="send", **flatten(form))
    assert sent.status_code == 303, read_text(sent)
    status = sent.headers["location"].removeprefix("/kelifax")
    browser.post(client.find_link("/submit/confirm/"))
    slug = client.do(client.services.moderation.queue()).entries[0].resource_slug
    assert_harmless(admin.get("/admin/queue"))
    assert send(admin, f"/admin/queue/{slug}", do="approve").status_code == 303
    review = {"rating": "1", "text": MARKUP + " and more words", "displayName": MARKUP[:50], "email": "z@example.com"}
    assert send(browser, f"/r/{slug}/review", **review).status_code == 303
    browser.post(client.find_link("/review/confirm/"))
    assert_harmless(admin.get("/admin/reviews"))
    path = re.search(r'action="/kelifax(/admin/reviews/[^"]+)"', admin.get("/admin/reviews").text)[1]
    send(admin, path, "/admin/reviews", do="publish")
    send(browser, "/collections", "/favourites", title=MARKUP[:80])
    changed = flatten({name: part for name, part in form.items() if name != "submitter"})
    changed["resource.usagePurpose"] = f"Changed {MARKUP} again"
    send(browser, f"/r/{slug}/suggest", note=MARKUP, **changed)
    send(admin, f"/admin/live/{slug}", do="unpublish", reason=MARKUP)
    send(admin, f"/admin/live/{slug}", do="undo")
    client.do(client.services.index_consumer.catch_up())
    public = [
        "/",
        "/browse",
        f"/r/{slug}",
        "/category/design",
        "/search?q=kit",
        "/favourites",
        status,
        f"/r/{slug}/suggest",
    ]
    for page in [*public, f"/r/{slug}/review", f"/r/{slug}/claim", "/search/instant?q=kit", "/mailbox"]:
        assert_harmless(browser.get(page))
    for page in (f"/admin/live/{slug}", "/admin/suggestions", "/admin/analytics", f"/admin/audit?slug={slug}"):
        assert_harmless(admin.get(page))
    assert_exports_are_harmless(browser, slug)


def assert_exports_are_harmless(browser, slug):
    """What programs read is well-formed, and a reader of Markdown shows no element."""
    feeds = [ET.fromstring(browser.get(path).content) for path in ("/feed.xml", "/feed/design.xml", "/sitemap.xml")]
    assert MARKUP in feeds[0].findtext("channel/item/description")
    assert {each.tag for feed in feeds[:2] for each in feed.iter()} <= RSS_TAGS
    (linked,) = re.findall(r'<script type="application/ld\+json"[^>]*>(.*?)</script>', browser.get(f"/r/{slug}").text)
    assert MARKUP in json.loads(linked)["description"]
    assert not re.search(r"(?<!\\)<(?!https?:)", browser.get("/export.md").text)
    assert all(not cell.startswith(("=", "+", "-", "@")) for row in read_csv(browser) for cell in row)
    assert browser.get("/export.json").json()[0]["usagePurpose"].endswith(MARKUP)


def read_csv(browser):
    return csv.reader(io.StringIO(browser.get("/export.csv").text))


@pytest.mark.parametrize(
    "path", ["/search", "/search/instant", "/browse", "/submit/duplicates", "/admin/audit", "/status/x", "/tag/x"]
)
def test_markup_in_addresses_is_text(client, path):
    browser = client.admin() if path.startswith("/admin") else client.visitor()
    given = dict.fromkeys(("q", "category", "tag", "name", "url", "slug", "note", "after"), MARKUP)
    assert_harmless(browser.get(path, params=given))
    assert_harmless(browser.get(path + "/" + MARKUP.replace("/", "")))


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", " javascript:x", "JaVaScRiPt:x", "//x"])
def test_an_address_of_an_original_table_is_no_script(client, address):
    assert find_safe_link(address) == "about:blank"
    put_plain(
        client.database,
        {"resourceSlug": "evil", "resourceStatus": "approved", "resourceName": "Evil", "resourceUrl": address,
         "createdAt": "2025-01-01T00:00:00Z", "submittedAt": "2025-01-01T00:00:00Z", "submissionId": "1",
         "approvedAt": "2025-01-01T00:00:00Z", "submitterFirstName": "A", "submitterLastName": "B",
         "submitterEmail": "a@b.example", "usagePurpose": "x", "category": "other"},
    )  # fmt: skip
    page = client.visitor().get("/r/evil")
    assert page.status_code == 200
    assert not re.search(r'href="\s*(javascript|data|//)', page.text, re.IGNORECASE)


# ── forms ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_forms_of_other_sites_and_sessions_are_refused(client):
    client.publish("Pixel Kit")
    browser, other = client.visitor(), client.visitor()
    token = find_token(browser, "/r/pixel-kit")
    assert browser.post("/r/pixel-kit/vote", data={}).status_code == 403
    assert other.post("/r/pixel-kit/vote", data={"form_token": token}).status_code == 403
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert browser.post("/r/pixel-kit/vote", data={"form_token": token}, headers=headers).status_code == 403
    admin = client.admin()
    stolen = find_token(admin, "/admin/queue")
    assert admin.post("/admin/live/pixel-kit", data={"do": "delete"}).status_code == 403
    assert browser.post("/admin/live/pixel-kit", data={"form_token": stolen, "do": "delete"}).status_code == 303
    assert client.do(client.services.reviews.score("pixel-kit")).votes == 0
    assert client.visitor().get("/r/pixel-kit").status_code == 200


def test_a_program_that_fills_in_every_field_is_refused(client):
    browser = client.visitor()
    fields = flatten(make_form("Pixel Kit")) | {"website": "https://spam.example"}
    assert send(browser, "/submit", step="2", go="send", **fields).status_code == 403


def test_without_a_proof_few_submissions_are_taken_and_a_proof_works_once(client):
    browser = client.visitor(peer="203.0.113.5")
    for number in range(5):
        form = make_form(f"Tool {number}", email=f"a{number}@example.com")
        assert browser.post("/api/resources", json=form).status_code == 201
    form = make_form("Tool six", email="six@example.com")
    refused = browser.post("/api/resources", json=form)
    assert refused.status_code == 429
    proof = {"X-Proof-Of-Work": solve_challenge(browser.get("/api/challenge").json())}
    assert browser.post("/api/resources", json=form, headers=proof).status_code == 201
    replayed = browser.post("/api/resources", json=make_form("Tool seven"), headers=proof)
    assert replayed.status_code == 400
    assert "was used before" in replayed.text


def test_wrong_passwords_lock_an_account_and_an_address(client):
    client.admin("ann")
    attacker = client.visitor(peer="203.0.113.9")
    answers = [attacker.post("/admin/sign-in", data={"name": "ann", "password": "guess"}) for _ in range(12)]
    assert {answer.status_code for answer in answers} == {401, 429}
    assert not [answer for answer in answers if "kelifax_admin" in answer.headers.get("set-cookie", "")]
    locked = client.visitor().post("/admin/sign-in", data={"name": "ann", "password": PASSWORD})
    assert locked.status_code == 401
    assert "wait" in read_text(locked)
    nobody = client.visitor().post("/admin/sign-in", data={"name": "nobody", "password": "guess"})
    assert "The name or the password is wrong." in read_text(nobody)


@pytest.mark.parametrize(
    "path", ["/admin/queue", "/admin/people", "/admin/accounts", "/admin/logo/x.png", "/admin/audit"]
)
def test_admin_pages_ask_for_a_sign_in(client, path):
    browser = client.visitor()
    for cookie in ("", "hrs_forged", "x" * 500):
        browser.cookies.set("kelifax_admin", cookie)
        answer = browser.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/kelifax/admin/sign-in")


def test_a_sign_in_leads_nowhere_else(client):
    client.admin("ann")
    given = {"name": "ann", "password": PASSWORD}
    for path in ("//evil.example", "/admin/../../x"):
        assert (
            client.visitor().post("/admin/sign-in", data={**given, "next": path}).headers["location"]
            == "/kelifax/admin"
        )


# ── what belongs to others ───────────────────────────────────────────────────────────────────────────────────────────
def test_collections_of_others_are_neither_seen_nor_changed(client):
    owner, other = client.visitor(), client.visitor()
    made = send(owner, "/collections", "/favourites", title="Mine").headers["location"].removeprefix("/kelifax")
    other.get("/favourites")
    assert other.get(made).status_code == 404
    for action in ("rename", "share", "unshare", "remove", "delete"):
        assert send(other, made, "/favourites", do=action, title="Theirs", slug="x").status_code == 404
    assert "Mine" in owner.get(made).text


@pytest.mark.parametrize("kind", ["/status/", "/submit/confirm/", "/review/confirm/", "/claim/confirm/", "/owner/",
                                  "/digest/confirm/", "/digest/unsubscribe/"])  # fmt: skip
def test_a_forged_or_foreign_token_opens_nothing(client, kind):
    client.submit("Pixel Kit")
    browser = client.visitor()
    sent = browser.post("/api/resources", json=make_form("Vector Loom", email="v@example.com")).json()
    foreign = sent["statusUrl"].rpartition("/")[2]
    tokens = ["x", "a" * 3000, foreign[:-2] + "AA", *([] if kind == "/status/" else [foreign])]
    for token in tokens:
        for answer in (browser.post(kind + token), browser.get(kind + token)):
            assert answer.status_code in {200, 400, 404}
        assert browser.post(kind + token).status_code in {400, 404}, token
    assert client.do(client.services.db.resource("vector-loom")) is None, "it is still unconfirmed"


def test_pending_logos_and_odd_names_are_not_public(client):
    output = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(output, "PNG")
    browser = client.visitor()
    name = browser.post("/api/logos", content=output.getvalue()).json()["logoImage"]
    slug = client.submit("Pixel Kit", logoImage=name)
    client.do(client.services.logo_consumer.catch_up())
    assert browser.get(f"/logo/{name}").status_code == 404
    assert client.admin().get(f"/admin/logo/{name}").status_code == 200
    client.do(client.services.moderation.approve(slug, client.moderator))
    shown = browser.get(f"/logo/{name}")
    assert shown.headers["content-type"] == "image/png"
    assert shown.headers["content-security-policy"] == "default-src 'none'"
    for odd in ("..%2f..%2fsecret", "secret", name.upper(), "%00"):
        assert browser.get(f"/logo/{odd}").status_code == 404


def test_a_logo_is_public_with_its_resource_before_any_worker_has_seen_either(client):
    output = io.BytesIO()
    Image.new("RGB", (64, 64), "navy").save(output, "PNG")
    browser = client.visitor()
    name = browser.post("/api/logos", content=output.getvalue()).json()["logoImage"]
    client.publish("Pixel Kit", logoImage=name)
    assert browser.get(f"/logo/{name}").status_code == 200


@pytest.mark.parametrize("content", [b"<svg onload=alert(1)>", b"GIF89a", b"\x89PNG\r\n\x1a\nPK\x03\x04", b""])
def test_no_picture_no_logo(client, content):
    answer = client.visitor().post("/api/logos", content=content)
    assert answer.status_code == 400
    assert answer.json()["faults"][0]["field"] == "resource.logoImage"
    assert client.visitor().post("/api/logos", content=bytes(4_000_000)).status_code == 413
