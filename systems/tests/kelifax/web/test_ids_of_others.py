"""Every route that changes something, with ids and links of somebody else: nothing that was there changes."""

import re

import pytest

from systems.tests.kelifax.web.running_site import make_form
from systems.tests.kelifax.web.test_odd_requests import fill, list_paths
from systems.tests.kelifax.web.web_client import find_token, flatten, send

BY_LINK = (
    "/submit/confirm/{token}", "/status/{token}", "/review/confirm/{token}", "/claim/confirm/{token}", "/owner/{token}",
    "/digest/confirm/{token}", "/digest/unsubscribe/{token}",
)  # fmt: skip
OF_A_VISITOR = {
    "/collections/{collection_id}": ("rename", "share", "unshare", "remove", "delete"),
    "/r/{slug}/favourite": ("", "away"),
    "/favourites/{slug}/remove": ("",),
    "/r/{slug}/vote": ("", "back"),
}  # what a visitor has, and the ways to change it
OF_NOBODY = {
    "/submit",
    "/collections",
    "/digest",
    "/r/{slug}/report",
    "/r/{slug}/review",
    "/r/{slug}/suggest",
    "/r/{slug}/claim",
    "/admin/sign-in",
    "/api/resources",
    "/api/logos",
}  # which add something new, whoever sends it
TABLES = ("kelifax-resources", "kelifax-records", "kelifax-accounts", "kelifax-audit", "kelifax-logos")
COUNTED = ("QUOTA#", "SCORE#", "WORKERS")  # counters of everybody


def read_everything(client):
    """Every stored item by its key, without counters."""
    found = {}
    for table in TABLES:
        keys = [
            key["AttributeName"]
            for key in client.database.call("DescribeTable", {"TableName": table})["Table"]["KeySchema"]
        ]
        for item in client.database.call("Scan", {"TableName": table})["Items"]:
            key = (table, *(item[name]["S"] for name in keys))
            if not key[1].startswith(COUNTED):
                found[key] = item
    return found


def assert_unchanged(client, before):
    after = read_everything(client)
    changed = [key for key, item in before.items() if after.get(key) != item]
    assert changed == []


@pytest.fixture
def victim(client):
    """A visitor with a collection, favourites and a vote, and somebody with a link of every kind."""
    client.publish("Pixel Kit")
    client.publish("Vector Loom")
    browser = client.visitor()
    made = send(browser, "/collections", "/favourites", title="Mine").headers["location"]
    collection = made.rpartition("/")[2]
    page = "/r/pixel-kit"
    assert send(browser, f"{page}/favourite", page, collection=collection).status_code == 303
    assert send(browser, f"{page}/favourite", page).status_code == 303
    assert send(browser, f"{page}/vote", page).status_code == 303
    return collection


@pytest.fixture
def links(client, victim):
    """A genuine token of every kind of link, none of which was used."""
    browser = client.visitor()
    sent = browser.post("/api/resources", json=make_form("Waiting Room", email="w@example.com")).json()
    tokens = {"/status/{token}": sent["statusUrl"].rpartition("/")[2]}
    review = {"rating": "4", "text": "Does what it says, every day.", "displayName": "Lena", "email": "l@example.com"}
    send(browser, "/r/pixel-kit/review", **review)
    send(browser, "/digest", email="d@example.com")
    for slug in ("pixel-kit", "vector-loom"):
        claim = {"email": f"{slug}@example.com", "statement": "It is ours since the beginning."}
        send(browser, f"/r/{slug}/claim", **claim)
        client.clock.advance(1)
    browser.post(client.find_link("/claim/confirm/"))
    (claim,), _ = client.do(client.services.ownerships.waiting())
    client.do(client.services.ownerships.grant(claim.slug, claim.claim_id, client.moderator))
    mails = client.read_mails()
    for path in BY_LINK:
        found = [link for text in mails for link in re.findall(r"http\S+", text) if path.partition("{")[0] in link]
        if found and path not in tokens:
            tokens[path] = found[-1 if "claim" in path else 0].rpartition("/")[2]
    expires = client.clock.millis() + 10**9
    tokens["/digest/unsubscribe/{token}"] = client.services.runtime.signer.sign(
        "unsubscribe", ["d@example.com"], expires
    )
    assert set(tokens) == set(BY_LINK)
    return tokens


def test_every_route_that_changes_something_is_tried_here():
    paths = set(list_paths("POST")) | {"/admin/sign-out"}
    tried = {*BY_LINK, *OF_A_VISITOR, *OF_NOBODY}
    assert {path for path in paths if not path.startswith("/admin/")} | {"/admin/sign-in"} == tried


@pytest.mark.parametrize("path", OF_A_VISITOR)
def test_what_a_visitor_has_is_not_changed_by_another_who_knows_its_id(client, victim, path):
    other = client.visitor()
    token = find_token(other, "/favourites")
    before = read_everything(client)
    for action in OF_A_VISITOR[path]:
        fields = {"form_token": token, "do": action, "take": action, "slug": "pixel-kit", "collection": victim,
                  "title": "Theirs"}  # fmt: skip
        answer = other.post(fill(path.replace("{collection_id}", victim), "pixel-kit"), data=fields)
        assert answer.status_code in {303, 404}
        assert_unchanged(client, before)


@pytest.mark.parametrize("path", BY_LINK)
def test_a_link_of_another_kind_changes_nothing_and_shows_nothing(client, links, path):
    browser = client.visitor()
    before = read_everything(client)
    fields = flatten({name: part for name, part in make_form("Stolen Kit").items() if name != "submitter"})
    for kind, token in links.items():
        if kind == path:
            continue
        client.clock.advance(60)
        assert browser.post(path.format(token=token), data=fields).status_code in {400, 404}, kind
        shown = browser.get(path.format(token=token))
        assert "example.com" not in re.sub(r"https?://[\w.-]+\.example\.com", "", shown.text), kind
    assert_unchanged(client, before)


@pytest.mark.parametrize("path", [path for path in list_paths("POST") if path.startswith("/admin/")])
@pytest.mark.parametrize("who", ["visitor", "moderator of a former session"])
def test_no_route_of_moderators_obeys_others(client, victim, path, who):
    if path == "/admin/sign-in":
        return
    browser = client.visitor()
    token = find_token(browser, "/favourites")
    if who != "visitor":
        client.admin("ann")
        admin = client.admin("eve", "moderator")
        token = find_token(admin, "/admin/queue")
        browser.cookies.set("kelifax_admin", admin.cookies["kelifax_admin"])
        client.do(client.services.admins.remove("eve", client.owner))
    before = read_everything(client)
    for action in ("approve", "reject", "unpublish", "delete", "undo", "feature", "alias", "void", "hold", "grant",
                   "publish", "accept", "dismiss", "add", "password", "role", "remove"):  # fmt: skip
        fields = {"form_token": token, "do": action, "reason": "For no reason.", "alias": "kit", "slug": "pixel-kit",
                  "name": "ann", "password": "a long password of mine", "email": "zoe@example.com"}  # fmt: skip
        answer = browser.post(fill(path.replace("{name}", "live"), "pixel-kit"), data=fields)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/kelifax/admin/sign-in")
    assert_unchanged(client, before)


ONLY_ADMINS = {
    "/admin/live/pixel-kit": ("delete", "alias", "void"),
    "/admin/accounts": ("add", "role", "remove", "password"),
    "/admin/people/erase": ("",),
    "/admin/people/export": ("",),
}


@pytest.mark.parametrize("path", ONLY_ADMINS)
def test_a_moderator_does_not_do_what_admins_do(client, victim, path):
    client.admin("ann")
    moderator = client.admin("bob", "moderator")
    token = find_token(moderator, "/admin/queue")
    before = read_everything(client)
    for action in ONLY_ADMINS[path]:
        fields = {"form_token": token, "do": action, "name": "ann", "alias": "kit", "role": "admin",
                  "password": "a long password of mine", "email": "zoe@example.com"}  # fmt: skip
        answer = moderator.post(path, data=fields)
        assert answer.status_code == 403, action
        assert path.startswith("/admin/live/") or "zoe@example.com" not in answer.text
    assert_unchanged(client, before)
