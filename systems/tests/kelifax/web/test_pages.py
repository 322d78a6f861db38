"""What visitors and moderators do with the pages, request by request."""

import json
import re
from xml.etree import ElementTree as ET

import pytest

from systems.tests.kelifax.entries import put_plain
from systems.tests.kelifax.web.running_site import make_form
from systems.tests.kelifax.web.web_client import find_token, flatten, read_text, send

DAMAGED = {
    "resourceSlug": "my_tool-kit", "resourceStatus": "approved", "resourceName": "Old Kit", "searchText": "old kit",
    "createdAt": "2025-01-01T00:00:00Z", "submittedAt": "2025-01-01T00:00:00Z", "approvedAt": "2025-01-02T00:00:00Z",
    "publicFeed": "approved", "publicCategory": "gadgets", "category": "gadgets", "publishedAt": "2025-01-02T00:00:00Z",
    "usagePurpose": "Made by another program.", "resourceUrl": "https://old.example", "tags": "one, two,",
    "learningResources": '{"title":"a|b","url":"https://x.example"}', "submitterEmail": "secret@person.example",
    "keyFeatures": "x", "useCases": "y", "submissionId": "1", "submitterFirstName": "Ann", "submitterLastName": "Lee",
}  # fmt: skip


# ── the form ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_form_goes_step_by_step_and_keeps_everything_that_was_filled_in(client):
    browser = client.visitor()
    fields = flatten(make_form("Pixel Kit"))
    second = send(browser, "/submit", step="0", go="next", **fields)
    assert second.status_code == 200
    assert "2. " not in second.text
    assert 'aria-current="step">Details' in second.text
    back = send(browser, "/submit", step="1", go="back", **fields)
    assert 'value="Pixel Kit"' in back.text
    assert ">\nPixel Kit draws icons for interfaces, in every size.</textarea>" in back.text
    done = send(browser, "/submit", step="2", go="send", **fields)
    assert done.status_code == 303, read_text(done)
    status = browser.get(done.headers["location"].removeprefix("/kelifax"))
    assert "Confirm your address" in status.text
    assert client.do(client.services.moderation.queue()).entries == [], "an unconfirmed submission is not in the queue"
    confirmed = browser.post(client.find_link("/submit/confirm/"))
    assert confirmed.status_code == 303
    assert "In review" in browser.get(confirmed.headers["location"].removeprefix("/kelifax")).text
    assert browser.post(client.find_link("/submit/confirm/")).status_code == 303, "opening the link twice is harmless"


def test_all_errors_are_shown_at_once_with_the_first_wrong_step(client):
    browser = client.visitor()
    form = {  # the seed's own example, which is too short for its own limits
        "submitter": {"firstName": "J", "lastName": "Doe", "companyEmail": "nobody"},
        "resource": {
            "resourceName": "Am",
            "resourceUrl": "javascript:alert(1)",
            "usagePurpose": "Short",
            "category": "",
        },
        "details": {"keyFeatures": ["Feature 1", "Feature 2"], "useCases": ["Use case 1"], "learningResources": []},
    }
    shown = send(browser, "/submit", step="2", go="send", **flatten(form))
    assert shown.status_code == 422
    text = read_text(shown)
    for name in ("Name", "Address", "Purpose", "Category", "Key features", "Use cases", "First name", "E-mail address"):
        assert re.search(rf"{name}[^.]* (must|is required)", text), name
    assert "Nothing is sent yet." in text
    assert 'aria-current="step">The resource' in shown.text


def test_a_duplicate_is_shown_before_anything_is_sent(client):
    client.publish("Pixel Kit")
    browser = client.visitor()
    part = browser.get("/submit/duplicates", params={"name": "Pixel Kitt", "url": ""})
    assert "similar name" in part.text
    assert "/kelifax/r/pixel-kit" in part.text
    same = send(browser, "/submit", step="0", go="next", **flatten(make_form("Pixel Kit")))
    assert same.status_code == 409
    assert "same URL" in same.text
    other = flatten(make_form("Pixel Kit", resourceUrl="https://other.example.com/"))
    refused = send(browser, "/submit", step="2", go="send", **other)
    assert refused.status_code == 409
    assert "another resource with the same name" in refused.text
    assert send(browser, "/submit", step="2", go="send", different="on", **other).status_code == 303


def test_a_rejected_resource_is_changed_and_sent_again_by_the_mailed_link(client):
    slug = client.submit("Pixel Kit")
    client.do(client.services.moderation.reject(slug, client.moderator, "Say what it costs."))
    client.clock.advance(601)
    link = client.find_link("/status/")
    browser = client.visitor()
    page = browser.get(link)
    assert "Say what it costs." in page.text
    fields = flatten({name: part for name, part in make_form("Pixel Kit").items() if name != "submitter"})
    wrong = browser.post(link, data={**fields, "resource.usagePurpose": "Short"})
    assert wrong.status_code == 422
    assert browser.post(link, data=fields).status_code == 303
    assert [entry.resource_slug for entry in client.do(client.services.moderation.queue()).entries] == [slug]


# ── lists and pages ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_filters_combine_with_sorting_and_pages(client):
    for number in range(30):
        client.publish(f"Tool {number:02d}", tags=["even" if number % 2 == 0 else "odd"], pricing=["paid"])
    client.do(client.services.index_consumer.catch_up())
    browser = client.visitor()
    first = browser.get("/browse", params={"sort": "name"})
    names = re.findall(r">(Tool \d\d)</a>", first.text)
    assert names == sorted(names)
    assert len(names) == 24
    following = re.search(r'href="/kelifax(/browse\?[^"]+)" rel="next"', first.text)[1].replace("&amp;", "&")
    assert len(re.findall(r">(Tool \d\d)</a>", browser.get(following).text)) == 6
    even = browser.get("/browse", params={"tag": "even", "pricing": "paid", "category": "design", "sort": "name"})
    assert len(re.findall(r">(Tool \d[02468])</a>", even.text)) == 15
    assert "Nothing was found" in browser.get("/browse", params={"tag": "even", "pricing": "free"}).text
    newest = browser.get("/category/design")
    after = re.search(r'href="/kelifax(/category/design\?after=[^"]+)" rel="next"', newest.text)[1]
    assert len(re.findall(r">(Tool \d\d)</a>", browser.get(after).text)) == 6
    assert browser.get("/browse", params={"after": "forged"}).status_code == 404


def test_a_damaged_resource_of_an_original_table_has_its_page_and_hides_nothing(client):
    put_plain(client.database, DAMAGED)
    client.publish("Pixel Kit")
    client.do(client.services.index_consumer.catch_up())
    browser = client.visitor()
    page = browser.get("/r/my_tool-kit")
    assert page.status_code == 200
    assert "This entry is damaged" in page.text
    assert "a|b" in page.text
    for path in ("/", "/category/gadgets", "/browse", "/search?q=old", "/export.md", "/export.csv", "/export.json"):
        assert "Old Kit" in browser.get(path).text, path
    for path in (
        "/r/my_tool-kit",
        "/browse",
        "/export.json",
        "/api/resources/my_tool-kit",
        "/sitemap.xml",
        "/feed.xml",
    ):
        assert "secret@person" not in browser.get(path).text, path
    kelifax = client.admin().get("/admin/live/my_tool-kit")
    assert "Damaged" in kelifax.text
    assert "secret@person.example" in kelifax.text


def test_a_damaged_resource_is_marked_in_every_list(client):
    put_plain(client.database, DAMAGED | {"damage": {"learningResources is wrong: secret@person.example"}})
    client.do(client.services.index_consumer.catch_up())
    browser = client.visitor()
    for path in ("/", "/browse", "/browse?sort=name", "/search?q=old", "/search/instant?q=old", "/category/gadgets"):
        page = browser.get(path)
        assert (">Damaged</span>" in page.text, "secret" in page.text) == (True, False), path
    for path in ("/api/resources", "/api/resources?sort=name", "/api/search?q=old", "/api/search?q=old&tag=Two"):
        (entry,) = browser.get(path).json()["resources"]
        assert entry["damaged"], path


@pytest.mark.parametrize("tag", ["CI/CD", "a/b/c", "50%", "C#", "what?", "x & y"])
def test_the_page_of_a_tag_is_found_whatever_the_tag_contains(client, tag):
    slug = client.publish("Pixel Kit", tags=[tag])
    client.do(client.services.index_consumer.catch_up())
    browser = client.visitor()
    (link,) = set(re.findall(r'href="/kelifax(/tag/[^"]+)"', browser.get(f"/r/{slug}").text))
    page = browser.get(link.replace("&amp;", "&"))
    assert (page.status_code, "Pixel Kit" in page.text) == (200, True)


def test_the_page_and_the_feed_of_a_category_with_a_slash_are_found(client):
    put_plain(client.database, DAMAGED | {"category": "a/b c", "publicCategory": "a/b c", "learningResources": ""})
    browser = client.visitor()
    links = re.findall(r'href="/kelifax(/category/a%2F[^"]+)"', browser.get("/").text)
    page = browser.get(links[0])
    assert "Old Kit" in page.text
    (feed,) = re.findall(r'href="/kelifax(/feed/[^"]+)"', page.text)
    assert "Old Kit" in browser.get(feed).text


def test_an_owner_cannot_name_a_logo_that_was_never_uploaded(client):
    slug = client.publish("Pixel Kit")
    visitor = client.visitor()
    send(visitor, f"/r/{slug}/claim", email="zoe@pixel-kit.example.com", statement="It is my own product.")
    visitor.post(client.find_link("/claim/confirm/"))
    (claim,), _ = client.do(client.services.ownerships.waiting())
    client.do(client.services.ownerships.grant(slug, claim.claim_id, client.owner))
    fields = flatten(make_form("Pixel Kit", usagePurpose="A purpose that its owner wrote today."))
    answer = visitor.post(client.find_link("/owner/"), data=fields | {"resource.logoImage": "never_uploaded.png"})
    assert answer.status_code == 422
    assert client.do(client.services.directory.find(slug)).logo_image is None
    answer = send(visitor, f"/r/{slug}/suggest", **fields | {"resource.logoImage": "never_uploaded.png"})
    assert answer.status_code == 422


def test_old_addresses_and_aliases_lead_to_the_resource(client):
    slug = client.publish("Pixel Kit")
    client.do(client.services.moderation.add_alias(slug, "pixel-set", client.owner))
    browser = client.visitor()
    assert browser.get("/resource/pixel-kit").headers["location"] == "/kelifax/r/pixel-kit"
    assert browser.get("/r/pixel-set").status_code == 308
    assert browser.get("/r/pixel-set").headers["location"] == "/kelifax/r/pixel-kit"
    assert browser.get("/r/none").status_code == 404


def test_programs_read_the_directory(client):
    client.publish("Pixel <Kit> & more", resourceUrl="https://kit.example.com/?a=1&b=2")
    browser = client.visitor()
    sitemap = ET.fromstring(browser.get("/sitemap.xml").content)
    assert f"{client.base_url}/r/pixel-kit-and-more" in [
        each.text for each in sitemap.iter() if each.tag.endswith("loc")
    ]
    feed = ET.fromstring(browser.get("/feed.xml").content)
    assert feed.find("channel/item/title").text == "Pixel <Kit> & more"
    exported = browser.get("/export.json").json()
    assert exported[0]["resourceName"] == "Pixel <Kit> & more"
    assert not [name for name in exported[0] if name.startswith("submitter")]
    assert r"[Pixel \<Kit\> & more](<https://kit.example.com/?a=1&b=2>)" in browser.get("/export.md").text
    page = browser.get("/r/pixel-kit-and-more").text
    described = json.loads(re.search(r'<script type="application/ld\+json">(.+?)</script>', page)[1])
    assert described["name"] == "Pixel <Kit> & more"
    assert 'property="og:title" content="Pixel &lt;Kit&gt; &amp; more"' in page


def test_views_of_admins_and_robots_are_not_counted(client):
    client.publish("Pixel Kit")
    client.visitor().get("/r/pixel-kit")
    client.visitor(**{"User-Agent": "Examplebot/1.0"}).get("/r/pixel-kit")
    client.admin().get("/r/pixel-kit")
    client.visitor().head("/r/pixel-kit")
    client.do(client.services.view_counts.store())
    assert sum(views for _day, views in client.do(client.services.view_counts.trend("pixel-kit"))) == 1


@pytest.mark.parametrize(
    "path", ["/", "/r/pixel-kit", "/feed.xml", "/export.csv", "/api/resources", "/static/site.css"]
)
def test_a_request_for_the_headers_alone_is_answered_as_one_for_the_page(client, path):
    client.publish("Pixel Kit")
    whole, alone = client.visitor().get(path), client.visitor().head(path)
    assert (alone.status_code, alone.content) == (whole.status_code, b"") == (200, b"")
    assert alone.headers["content-type"] == whole.headers["content-type"]
    assert client.visitor().head("/r/nothing").status_code == 404


# ── what visitors leave ──────────────────────────────────────────────────────────────────────────────────────────────
def test_a_suggestion_is_shown_as_a_difference_and_applied(client):
    client.publish("Pixel Kit")
    browser, admin = client.visitor(), client.admin()
    form = make_form("Pixel Kit", usagePurpose="Pixel Kit draws pictograms for interfaces, in every size.")
    fields = flatten({name: part for name, part in form.items() if name != "submitter"})
    assert send(browser, "/r/pixel-kit/suggest", **fields, note="Better word").status_code == 303
    shown = admin.get("/admin/suggestions")
    assert "<del>icons</del><ins>pictograms</ins>" in shown.text
    path = re.search(r'action="/kelifax(/admin/suggestions/[^"]+)"', shown.text)[1]
    assert send(admin, path, "/admin/suggestions", do="accept").status_code == 303
    assert "pictograms" in browser.get("/r/pixel-kit").text


def test_a_review_is_confirmed_published_and_shown_without_its_address(client):
    client.publish("Pixel Kit")
    browser, admin = client.visitor(), client.admin()
    review = {"rating": "4", "text": "It does what it says, on every size I tried.", "displayName": "Zoë"}
    wrong = send(browser, "/r/pixel-kit/review", **review, email="nobody")
    assert wrong.status_code == 422
    assert "must be an e-mail address" in wrong.text
    assert send(browser, "/r/pixel-kit/review", **review, email="zoe@example.com").status_code == 303
    assert browser.post(client.find_link("/review/confirm/")).status_code == 200
    assert "It does what it says" not in browser.get("/r/pixel-kit").text
    path = re.search(r'action="/kelifax(/admin/reviews/[^"]+)"', admin.get("/admin/reviews").text)[1]
    assert send(admin, path, "/admin/reviews", do="publish").status_code == 303
    page = browser.get("/r/pixel-kit").text
    assert "It does what it says" in page
    assert "zoe@example.com" not in page


def test_an_owner_claims_a_listing_and_edits_it(client):
    client.publish("Pixel Kit")
    browser, admin = client.visitor(), client.admin()
    sent = {"email": "ceo@example.com", "statement": "I have made it, with two friends."}
    assert send(browser, "/r/pixel-kit/claim", **sent).status_code == 303
    assert browser.post(client.find_link("/claim/confirm/")).status_code == 200
    path = re.search(r'action="/kelifax(/admin/claims/[^"]+)"', admin.get("/admin/claims").text)[1]
    assert send(admin, path, "/admin/claims", do="grant").status_code == 303
    link = client.find_link("/owner/")
    assert "Edit Pixel Kit" in browser.get(link).text
    fields = flatten({name: part for name, part in make_form("Pixel Kit").items() if name != "submitter"})
    moved = browser.post(link, data={**fields, "resource.resourceUrl": "https://elsewhere.example/"})
    assert moved.status_code == 422
    assert browser.post(link, data={**fields, "resource.resourceName": "Pixel Kit Pro"}).status_code == 303
    assert "Pixel Kit Pro" in browser.get("/r/pixel-kit").text


def test_the_digest_is_confirmed_and_ended_with_one_request(client):
    browser = client.visitor()
    assert send(browser, "/digest", email="zoe@example.com", categories=["design"]).status_code == 303
    assert browser.post(client.find_link("/digest/confirm/")).status_code == 200
    client.clock.advance(7 * 86_400 - 60)
    client.publish("Pixel Kit")
    client.clock.advance(120)
    assert client.do(client.services.digests.send_due()) == 1
    client.do(client.services.outbox.send_all())
    link = client.find_link("/digest/unsubscribe/")
    ended = client.visitor().post(link, data={"List-Unsubscribe": "One-Click"})
    assert ended.status_code == 200
    assert client.do(client.services.db.subscription("zoe@example.com")) is None


# ── moderation ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_two_moderators_one_wins_and_the_other_sees_why(client):
    client.submit("Pixel Kit")
    ann, bob = client.admin("ann"), client.admin("bob", "moderator")
    assert send(ann, "/admin/queue/pixel-kit", do="hold").status_code == 303
    held = send(bob, "/admin/queue/pixel-kit", do="approve")
    assert held.status_code == 409
    assert "ann is reviewing this resource" in read_text(held)
    token = find_token(bob, "/admin/queue/pixel-kit")
    assert send(ann, "/admin/queue/pixel-kit", do="approve").status_code == 303
    late = bob.post("/admin/queue/pixel-kit", data={"form_token": token, "do": "reject", "reason": "No use"})
    assert late.status_code == 409
    assert "approved now, decided by ann" in read_text(late)
    assert send(ann, "/admin/queue/pixel-kit", do="undo").status_code == 303
    assert "Pending" in ann.get("/admin/queue/pixel-kit").text


def test_many_are_decided_at_once_and_each_failure_is_named(client):
    for name in ("Pixel Kit", "Vector Loom"):
        client.submit(name)
    admin = client.admin()
    nothing = send(admin, "/admin/bulk/queue", "/admin/queue", do="approve")
    assert nothing.status_code == 409
    done = send(admin, "/admin/bulk/queue", "/admin/queue", do="approve", slug=["pixel-kit", "vector-loom", "none"])
    assert "2 of 3 done." in read_text(done)
    assert "There is no such" in read_text(done)


def test_a_moderator_may_not_do_what_admins_do(client):
    client.publish("Pixel Kit")
    bob = client.admin("bob", "moderator")
    assert send(bob, "/admin/live/pixel-kit", do="delete").status_code == 403
    assert bob.get("/admin/people").status_code == 403
    token = find_token(bob, "/admin/accounts")
    given = {"form_token": token, "do": "add", "name": "eve", "password": "a long password for eve", "role": "admin"}
    assert bob.post("/admin/accounts", data=given).status_code == 403
    assert [each.owner for each in client.do(client.services.admins.list_all())] == ["bob"]


def test_a_person_is_exported_and_erased(client):
    client.publish("Pixel Kit", email="zoe@example.com")
    admin = client.admin()
    exported = send(admin, "/admin/people/export", "/admin/people", email="zoe@example.com")
    assert exported.json()["submissions"][0]["submitterFirstName"] == "Zoë"
    assert "1 resources" in read_text(send(admin, "/admin/people/erase", "/admin/people", email="zoe@example.com"))
    assert "zoe@example.com" not in admin.get("/admin/live/pixel-kit").text
    assert "Pixel Kit" in client.visitor().get("/r/pixel-kit").text


@pytest.mark.parametrize(
    "path", ["/admin/analytics", "/admin/audit?slug=pixel-kit", "/admin/accounts", "/admin/rejected"]
)
def test_the_other_pages_of_moderators_are_there(client, path):
    client.publish("Pixel Kit")
    assert client.admin().get(path).status_code == 200


# ── health ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_missing_worker_is_said_everywhere(client):
    browser = client.visitor()
    assert browser.get("/health").status_code == 503
    assert "no worker is running" in browser.get("/").text
    assert "no worker is running" in client.admin().get("/admin/queue").text
    assert 'hashrange_workers{system="kelifax"} 0.0' in browser.get("/metrics").text
    client.do(client.services.presence.write())
    assert browser.get("/health").json()["status"] == "ok"
    assert "no worker is running" not in browser.get("/").text


def test_health_names_the_resources_that_the_search_does_not_have(client):
    client.do(client.services.presence.write())
    client.services.index_consumer.skipped.add("odd-tool")
    health = client.visitor().get("/health").json()
    assert (health["status"], health["healthy"]) == ("search incomplete", False)
    assert health["searchSkippedSlugs"] == ["odd-tool"]


def test_the_bar_of_the_demo_is_a_landmark(client):
    assert '<div class="demo" role="region" aria-label="About the demo">' in client.visitor().get("/").text
