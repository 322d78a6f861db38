"""What the page of moderators shows beside an entry, and what they can do there."""

import re

from systems.tests.kelifax.entries import put_plain
from systems.tests.kelifax.web.running_site import make_form
from systems.tests.kelifax.web.test_pages import DAMAGED
from systems.tests.kelifax.web.web_client import flatten, read_text, send


def test_the_queue_warns_of_look_alike_hosts_and_telephone_numbers_of_no_country(client):
    form = make_form("Apple", resourceUrl="https://\u0430pple.com/")
    form["submitter"]["phoneNumber"] = "+1234567890"
    slug = client.do(client.services.submissions.accept(parse(form), confirmed=True)).slug
    page = client.admin().get(f"/admin/queue/{slug}")
    text = read_text(page)
    assert "has letters that look like others" in text
    assert "not one that a country has" in text
    assert '<code class="break">xn--pple-43d.com</code>' in page.text
    client.do(client.services.moderation.approve(slug, client.owner))
    assert "Visit xn--pple-43d.com" in client.visitor().get(f"/r/{slug}").text


def test_a_resubmission_shows_what_was_rejected_why_and_what_changed(client):
    slug = client.submit("Pixel Kit")
    admin = client.admin()
    send(admin, f"/admin/queue/{slug}", do="reject", reason="The purpose is not clear.")
    client.clock.advance(700)
    link = client.find_link("/status/")
    fields = flatten(make_form("Pixel Kit", usagePurpose="Draws icons for telephones, in every size."))
    sent = client.visitor().post(link, data={name: text for name, text in fields.items() if "submitter" not in name})
    assert sent.status_code == 303
    page = admin.get(f"/admin/queue/{slug}")
    assert "It had been rejected: The purpose is not clear." in read_text(page)
    assert re.findall(r"<(?:del|ins)>([^<]*)<", page.text)
    removed, added = (" ".join(re.findall(f"<{tag}>([^<]*)<", page.text)) for tag in ("del", "ins"))
    assert ("interfaces" in removed, "telephones" in added) == (True, True)


def test_votes_are_voided_reviews_hidden_and_owners_removed_beside_their_resource(client):
    slug = client.publish("Pixel Kit")
    visitor, admin, services = client.visitor(), client.admin(), client.services
    send(visitor, f"/r/{slug}/vote", f"/r/{slug}")
    review = {"rating": "5", "text": "A review that is long enough.", "displayName": "Bob", "email": "bob@example.com"}
    send(visitor, f"/r/{slug}/review", **review)
    visitor.post(client.find_link("/review/confirm/"))
    send(visitor, f"/r/{slug}/claim", email="own@example.com", statement="It is my own product.")
    visitor.post(client.find_link("/claim/confirm/"))
    for kind, do in (("reviews", "publish"), ("claims", "grant")):
        (path,) = set(re.findall(rf'action="/kelifax(/admin/{kind}/[^"]+)"', admin.get(f"/admin/{kind}").text))
        send(admin, path, f"/admin/{kind}", do=do)
    page = f"/admin/live/{slug}"
    assert [words for words in ("1 vote", "Published reviews", "Owners") if words in read_text(admin.get(page))] == [
        "1 vote",
        "Published reviews",
        "Owners",
    ]
    (hide,) = set(re.findall(r'action="/kelifax(/admin/reviews/[^"]+)"', admin.get(page).text))
    (take,) = set(re.findall(r'action="/kelifax(/admin/claims/[^"]+)"', admin.get(page).text))
    for path, do in ((hide, "hide"), (take, "refuse")):
        answer = send(admin, path, page, do=do, **{"from": "resource"})
        assert answer.headers["Location"].startswith(f"/kelifax{page}?note=")
    client.do(services.db.count_vote(slug, votes=7))  # as an import does
    send(admin, page, do="void")
    text = read_text(admin.get(page))
    assert not [words for words in ("1 vote", "Published reviews", "Owners") if words in text]
    score = client.do(services.reviews.score(slug))
    assert (score.votes, score.ratings) == (0, 0)
    assert "void" not in read_text(client.admin("mod", "moderator").get(page)).lower()


def test_the_queue_says_who_reviews_an_entry_and_when_it_was_submitted(client):
    slug = client.submit("Pixel Kit")
    send(client.admin("bob"), f"/admin/queue/{slug}", do="hold")
    page = client.admin().get("/admin/queue")
    assert "bob reviews it" in read_text(page)
    assert re.search(r"<time [^>]*data-dated>\d{4}-\d\d-\d\d", page.text)
    client.clock.advance(3600)
    assert "bob reviews it" not in read_text(client.admin("eve").get("/admin/queue"))


def test_the_rejection_of_a_damaged_entry_is_undone_on_its_page(client):
    put_plain(client.database, DAMAGED)
    admin, page = client.admin(), "/admin/live/my_tool-kit"
    send(admin, page, do="reject", reason="It cannot be read.")
    assert send(admin, page, do="undo").status_code == 303
    assert client.visitor().get("/r/my_tool-kit").status_code == 200


def test_a_reported_link_is_listed_with_what_was_found_and_closed_or_unpublished(client):
    first, second = client.publish("Pixel Kit"), client.publish("Other Kit")
    for slug in (first, second):
        send(client.visitor(), f"/r/{slug}/report", f"/r/{slug}")
        client.clock.advance(60)
    admin = client.admin("mod", "moderator")
    text = read_text(admin.get("/admin/reports"))
    assert text.index("Pixel Kit") < text.index("Other Kit")
    assert "The link checker has not requested it yet." in text
    assert "The report is closed." in follow(
        admin, send(admin, f"/admin/reports/{first}", "/admin/reports", do="dismiss")
    )
    send(admin, f"/admin/reports/{second}", "/admin/reports", do="unpublish")
    assert "Nothing waits" in read_text(admin.get("/admin/reports"))
    assert [client.visitor().get(f"/r/{slug}").status_code for slug in (first, second)] == [200, 404]
    assert send(admin, f"/admin/rejected/{second}", do="undo").status_code == 303, "the decision can be undone"
    assert client.visitor().get(f"/r/{second}").status_code == 200
    assert send(admin, f"/admin/reports/{second}", "/admin/queue", do="dismiss").status_code == 404


def test_the_page_offers_undo_of_an_approval_after_a_report_was_closed(client):
    slug = client.publish("Pixel Kit")
    send(client.visitor(), f"/r/{slug}/report", f"/r/{slug}")
    admin = client.admin("mod", "admin")
    send(admin, f"/admin/reports/{slug}", "/admin/reports", do="dismiss")
    page = f"/admin/live/{slug}"
    assert 'value="undo"' in admin.get(page).text
    assert send(admin, page, do="undo").status_code == 303
    assert client.visitor().get(f"/r/{slug}").status_code == 404
    client.do(client.services.moderation.approve(slug, client.owner))
    client.clock.advance(601)
    assert 'value="undo"' not in client.admin("eve").get(page).text


def test_the_report_of_a_resource_that_is_no_longer_listed_can_be_closed(client):
    slug = client.publish("Pixel Kit")
    send(client.visitor(), f"/r/{slug}/report", f"/r/{slug}")
    admin = client.admin()
    send(admin, f"/admin/live/{slug}", do="unpublish", reason="It was sold.")
    assert "It is no longer listed." in read_text(admin.get("/admin/reports"))
    assert "409" in str(send(admin, f"/admin/reports/{slug}", "/admin/reports", do="unpublish").status_code)
    assert send(admin, f"/admin/reports/{slug}", "/admin/reports", do="dismiss").status_code == 303


def test_what_waits_is_listed_by_the_names_of_resources(client):
    slug = client.publish("Pixel Kit")
    visitor, admin = client.visitor(), client.admin()
    review = {"rating": "5", "text": "A review that is long enough.", "displayName": "Bob", "email": "bob@example.com"}
    send(visitor, f"/r/{slug}/review", **review)
    visitor.post(client.find_link("/review/confirm/"))
    send(visitor, f"/r/{slug}/claim", email="own@example.com", statement="It is my own product.")
    visitor.post(client.find_link("/claim/confirm/"))
    client.do(client.services.suggestions.suggest(slug, {"category": "ai"}, "c"))
    send(visitor, f"/r/{slug}/report", f"/r/{slug}")
    for kind in ("reviews", "claims", "suggestions", "reports"):
        assert ">Pixel Kit</a></h2>" in admin.get(f"/admin/{kind}").text, kind
    answer = send(admin, f"/admin/live/{slug}", do="unpublish", reason="It was sold.")
    assert "Undo the decision on Pixel Kit" in follow(admin, answer)
    assert ">Pixel Kit</a></h2>" in admin.get("/admin/reports").text
    refused = send(admin, "/admin/bulk/queue", "/admin/queue", do="approve", slug=slug)
    assert "Pixel Kit : It is rejected now" in read_text(refused)
    client.do(client.services.deletion.delete(slug, client.owner))
    assert admin.get(f"/admin/queue?undo={slug}").status_code == 200


def follow(browser, answer):
    return read_text(browser.get(answer.headers["location"].removeprefix("/kelifax")))


def parse(form):
    from hashrange_systems.kelifax.model.draft import parse_draft

    return parse_draft(form)


def test_the_queue_is_shown_although_its_first_entry_was_deleted_a_moment_ago(client, monkeypatch):
    client.submit("First One")
    client.submit("Second One")
    admin, moderation = client.admin(), client.services.moderation
    find_holders = type(moderation).find_holders

    async def delete_first(self, slugs):
        await client.services.deletion.delete("first-one", client.owner)  # the index lags behind the table
        return await find_holders(self, slugs)

    monkeypatch.setattr(type(moderation), "find_holders", delete_first)
    page = admin.get("/admin/queue")
    assert page.status_code == 200
    assert "Second One" in read_text(page)
    monkeypatch.undo()
    assert admin.get("/admin/queue/first-one").status_code == 404
