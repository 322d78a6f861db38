"""Who may do what: no user sees or changes another's data, by any route; and the security headers."""

import re

import pytest

import hashrange
from hashrange import ManualClock
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.status_pages import PageContent
from hashrange_systems.checks.web.api.api_app import make_checks_api
from hashrange_systems.checks.web.app import make_app
from hashrange_systems.shared.web.request_guard import HEADERS
from hashrange_systems.shared.web.session import name_cookie
from systems.tests.checks.services import do
from systems.tests.checks.web.web_client import ADMIN_TOKEN, WebClient, find_token, send
from systems.tests.conftest import NOON
from systems.tests.web_routes import flatten

COOKIE = name_cookie("checks")

BODIES = {
    "/checks/{checkid}": {"name": "stolen"},
    "/status-pages/{slug}": {"title": "stolen", "checks": []},
    "/status-pages/{slug}/announcements": {"title": "stolen"},
}
HEARTBEATS = {"/heartbeat/{checkid}/{key}", "/heartbeat/{checkid}/{key}/{ending}"}
PUBLIC = {"/status/{slug}", "/status/{slug}/badge.svg", "/metrics"} | HEARTBEATS
OWN_BY_NATURE = {"/report/{month}.csv", "/report/{month}.pdf", "/reports/{month}", "/reports/{month}.csv"} | {
    "/reports/{month}.pdf"
}
SECRETS = ("ann@example.com", "Ann's shop", "https://ann.example/")


def list_routes(app):
    """Every route of an application that takes something in its path, with its method."""
    routes = [route for route in flatten(app.routes) if "{" in route.path]
    return [(method, route.path) for route in routes for method in sorted(route.methods - {"HEAD"})]


def list_all_routes():
    """The routes of the pages and of the API that take something in their path, and the paths of all forms."""
    with hashrange.open() as database:
        hashrange.create_tables(database, Checks)
        services = WebClient(database, ManualClock(NOON)).services
        pages, api = make_app(services), make_checks_api(services)
        posted = {route.path for route in flatten(pages.routes) if "POST" in route.methods}
        return list_routes(pages), list_routes(api), posted


PAGES, CALLS, POSTED = list_all_routes()


@pytest.fixture
def owned_ids(client, ann):
    """What Ann owns, by the names that routes have for it."""
    (checkid,) = client.add(ann.user.userid, name="Ann's shop", url="https://ann.example/")
    client.run(ann.user.userid, checkid, "uuudddd")
    window = {"kind": "WEEKLY", "days": [0], "start": "02:00", "minutes": 60, "zone": "UTC"}
    do(client.checks.edit(ann.user.userid, checkid, changes(maintenance=[window])))
    do(client.pages.publish(ann.user.userid, "ann", PageContent(title="Ann's page", checks=[checkid])))
    news = do(client.pages.announce(ann.user.userid, "ann", "INFO", "Welcome"))
    client.clock.advance(3600)
    return {
        "checkid": checkid,
        "number": "0",
        "channel_id": ann.channel.channel_id,
        "key_id": do(client.keys.list_by_user(ann.user.userid))[0].key_id,
        "userid": ann.user.userid,
        "slug": "ann",
        "month": "2026-01",
        "key": "of-another-heartbeat",
        "ending": "fail",
        "announcement_id": news.announcement_id,
    }


def changes(**given):
    from hashrange_systems.checks.service.check_input import CheckChanges

    return CheckChanges(**given)


def test_there_are_routes_to_try():
    assert len(PAGES) >= 15
    assert len(CALLS) >= 20
    assert ("POST", "/check/{checkid}/delete") in PAGES
    assert ("PATCH", "/checks/{checkid}") in CALLS


# ── another's data ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("method", "path"), CALLS, ids=str)
def test_no_call_with_anothers_key_reaches_anything(client, ann, bob, owned_ids, method, path):
    body = BODIES.get(path, {"tier": "FREE"})
    before = client.everything()
    response = call(client.client(bob.key), method, path.format(**owned_ids), body)
    assert client.everything() == before
    if path in PUBLIC:
        return
    assert not any(secret in response.text for secret in SECRETS), response.text
    if path in OWN_BY_NATURE:
        assert response.status_code == 200
        return
    taken = (method, path) == ("PUT", "/status-pages/{slug}")  # the address is another's: it is not free
    assert response.status_code == (401 if path.startswith("/admin") else 409 if taken else 404), response.text
    owner = ADMIN_TOKEN if path.startswith("/admin") else ann.key
    assert call(client.client(owner), method, path.format(**owned_ids), body).status_code < 300


def call(client, method, path, body):
    sent = method in {"PATCH", "PUT"} or path.endswith("/announcements")
    return client.request(method, path, json=body if sent else None)


@pytest.mark.parametrize(("method", "path"), PAGES, ids=str)
def test_no_page_with_anothers_session_reaches_anything(client, ann, bob, owned_ids, method, path):
    browser, owner = client.browser(bob.key), client.browser(ann.key)
    before = client.everything()
    response = visit(browser, method, path.format(**owned_ids))
    assert client.everything() == before
    if path in PUBLIC:
        return
    assert not any(secret in response.text for secret in SECRETS), response.text
    if path in OWN_BY_NATURE:
        assert response.status_code == 200
        return
    assert response.status_code == 404, response.text
    mine = visit(owner, method, path.format(**owned_ids))
    assert mine.status_code in {200, 303, 409, 422, 429}
    assert "sign-in" not in mine.headers.get("location", "")


def visit(browser, method, path):
    return browser.get(path) if method == "GET" else send(browser, path)


@pytest.mark.parametrize(("method", "path"), PAGES, ids=str)
def test_no_page_is_for_who_is_not_signed_in(client, ann, owned_ids, method, path):
    before = client.everything()
    response = client.browser().request(method, path.format(**owned_ids), data={} if method == "POST" else None)
    assert client.everything() == before
    if path not in PUBLIC:
        assert response.status_code == 303
        assert response.headers["location"].startswith("/checks/sign-in")


@pytest.mark.parametrize(("method", "path"), CALLS, ids=str)
def test_no_call_is_for_who_has_no_key(client, ann, owned_ids, method, path):
    before = client.everything()
    response = call(client.client(), method, path.format(**owned_ids), {})
    assert client.everything() == before
    assert response.status_code == (200 if path in PUBLIC else 401)


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
def test_a_session_does_not_open_the_api(client, ann, owned_ids, method):
    browser = client.browser(ann.key)
    assert browser.request(method, f"/api/checks/{owned_ids['checkid']}").status_code in {401, 405}


def test_checks_channels_and_pages_of_another_cannot_be_named(client, ann, bob, owned_ids):
    api = client.client(bob.key)
    wish = {"url": "https://example.com/", "channels": [owned_ids["channel_id"]]}
    assert api.post("/checks", json=wish).status_code == 422
    page = {"title": "Bob", "checks": [owned_ids["checkid"]]}
    assert api.put("/status-pages/bob", json=page).status_code == 422
    assert api.put("/status-pages/ann", json=page | {"checks": []}).status_code == 409
    assert api.patch("/users/me", json={"email": "ANN@example.com"}).status_code == 409


def test_messages_are_only_ones_own(client, ann, bob, owned_ids):
    do(client.channels.verify(ann.token))
    client.run(ann.user.userid, owned_ids["checkid"], "uuudddd")
    client.deliver()
    assert "shop" in client.browser(ann.key).get("/messages").text
    assert "shop" not in client.browser(bob.key).get("/messages").text


# ── sessions ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_cookie_is_out_of_reach_and_for_this_path_only(client, ann):
    cookie = client.browser().post("/sign-in", data={"key": ann.key}).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/checks;" in cookie
    assert "Secure" not in cookie
    assert ann.key not in cookie


def test_the_cookie_is_secure_where_the_site_is(opened, clock):
    client = WebClient(opened, clock, base_url="https://checks.example/checks")
    response = client.browser().post("/sign-in", data={"key": client.sign_up("ann").key})
    assert "; Secure" in response.headers["set-cookie"]
    assert response.headers["strict-transport-security"] == "max-age=31536000"


def test_a_session_ends_with_its_time_its_key_and_its_user(client, ann, bob):
    mine, short, old = client.browser(ann.key), client.browser(bob.key), client.sign_up("cid")
    third = client.browser(old.key)
    client.clock.advance(7 * 86_400 - 1)
    assert mine.get("/").status_code == 200
    do(client.keys.revoke(ann.user.userid, do(client.keys.list_by_user(ann.user.userid))[0].key_id))
    assert mine.get("/").status_code == 303
    do(client.users.suspend(bob.user.userid))
    assert short.get("/").status_code == 303
    assert third.get("/").status_code == 200
    client.clock.advance(1)
    assert third.get("/").status_code == 303


@pytest.mark.parametrize(
    "forge",
    [
        lambda text: text[:-1],
        lambda text: f"{'B' if text[0] == 'A' else 'A'}{text[1:]}",
        lambda text: "",
        lambda text: "é",
    ],
)
def test_a_forged_session_opens_nothing(client, ann, forge):
    browser = client.browser(ann.key)
    text = browser.cookies[COOKIE]
    stranger = client.browser()
    response = stranger.get("/", headers={"Cookie": f"{COOKIE}={forge(text)}".encode()})
    assert response.status_code == 303


def test_the_link_of_a_mail_is_no_session(client, ann):
    response = client.browser().get("/", headers={"Cookie": f"{COOKIE}={ann.token}"})
    assert response.status_code == 303


# ── forms ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_form_without_the_token_of_its_session_is_refused(client, ann, bob, owned_ids):
    browser, path = client.browser(ann.key), f"/check/{owned_ids['checkid']}/delete"
    for token in ("", "x", find_token(client.browser(bob.key))):
        assert browser.post(path, data={"form_token": token}).status_code == 403
    assert client.check(owned_ids["checkid"]) is not None


WITHOUT_SESSION = {"/sign-in", "/sign-in/code", "/sign-in/demo", "/verify"} | HEARTBEATS
FORMS = sorted(POSTED - WITHOUT_SESSION)


@pytest.mark.parametrize("path", FORMS)
def test_every_form_needs_the_token_of_its_session(client, ann, bob, owned_ids, path):
    browser, before = client.browser(ann.key), client.everything()
    for token in ("", find_token(client.browser(bob.key))):
        refused = browser.post(path.format(**owned_ids), data={"form_token": token})
        assert refused.status_code == 403
    assert client.everything() == before
    assert len(FORMS) > 20


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://[evil"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_of_another_site_is_refused(client, ann, owned_ids, headers):
    browser = client.browser(ann.key)
    form = {"form_token": find_token(browser)}
    assert browser.post(f"/check/{owned_ids['checkid']}/pause", data=form, headers=headers).status_code == 403
    assert client.browser().post("/sign-in", data={"key": ann.key}, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "///evil",
        "/..//evil",
        "javascript:alert(1)",
        "/\r\nX: y",
    ],
)
def test_signing_in_leads_only_to_our_own_pages(client, ann, target):
    response = client.browser().post("/sign-in", data={"key": ann.key, "next": target})
    assert response.headers["location"] == "/checks/"
    again = client.browser(ann.key).get("/sign-in", params={"next": target})
    assert again.headers["location"] == "/checks/"


# ── what browsers are told ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("path", ["/", "/sign-in", "/nonsense", "/api/checks", "/api/openapi.json", "/static/look.css"])
def test_every_answer_forbids_frames_foreign_scripts_and_guessing(client, path):
    headers = client.browser().get(path).headers
    assert {name: headers[name] for name in HEADERS if name != "Cache-Control"} == {
        name: value for name, value in HEADERS.items() if name != "Cache-Control"
    }
    assert headers["cache-control"] == ("no-store" if "static" not in path else "public, max-age=31536000, immutable")
    assert "access-control-allow-origin" not in headers


def test_no_page_has_a_script_or_style_of_its_own(client, ann, owned_ids):
    browser = client.browser(ann.key)
    for path in ("/", "/new", f"/check/{owned_ids['checkid']}", "/account", "/messages", "/reports", "/status/ann"):
        text = browser.get(path).text
        assert re.findall(r"<script(?! src=\"/checks/static/)", text) == []
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text), path
        assert re.findall(r'(?:src|href)="(https?:)?//(?!ann\.example|127\.0\.0\.1:8002)', text) == []


def test_a_check_of_a_hostile_scheme_that_another_system_wrote_is_no_link(client, ann, owned_ids):
    key = {"PK": {"S": owned_ids["checkid"]}, "SK": {"S": "CHECK"}}
    hostile = {":u": {"S": "javascript:alert(1)"}}
    update = {"UpdateExpression": "SET #u = :u", "ExpressionAttributeNames": {"#u": "url"}}
    client.database.call(
        "UpdateItem", {"TableName": "CHECK", "Key": key, **update, "ExpressionAttributeValues": hostile}
    )
    assert 'href="javascript:' not in client.browser(ann.key).get(f"/check/{owned_ids['checkid']}").text


# ── the demo ─────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def demo(opened, clock):
    client = WebClient(opened, clock, demo_email="demo@example.com")
    client.add(client.sign_up("demo").user.userid, name="Demo shop")
    return client


def test_a_visitor_of_the_demo_is_signed_in(demo):
    browser = demo.browser()
    assert "Demo shop" in browser.get("/").text
    (checkid,) = [
        check.checkid for check in do(demo.checks.list_by_user(do(demo.users.by_email("demo@example.com")).userid))
    ]
    assert send(browser, f"/check/{checkid}/pause").status_code == 303


def test_who_signs_out_of_the_demo_stays_out_until_they_want_in(demo):
    browser = demo.browser()
    send(browser, "/sign-out")
    assert browser.get("/").status_code == 303
    assert "Continue as the demo user" in browser.get("/sign-in").text
    assert browser.post("/sign-in/demo").status_code == 303
    assert browser.get("/").status_code == 200


def test_before_the_demo_data_is_there_one_is_asked_to_sign_in(opened, clock):
    client = WebClient(opened, clock, demo_email="demo@example.com")
    assert client.browser().get("/").status_code == 303


def test_the_demo_is_for_this_machine_alone(demo):
    assert demo.browser(peer="192.0.2.7").get("/").status_code == 303
    assert demo.browser(peer="192.0.2.7").post("/sign-in/demo").status_code == 403
    assert demo.browser().get("/", headers={"Host": "rebound.example:8002"}).status_code == 303
    assert demo.browser().get("/", headers={"Host": "localhost:8002"}).status_code == 200
    assert demo.browser().get("/", headers={"Host": "["}).status_code == 303


def test_without_the_demo_nobody_is_signed_in_by_themselves(client, ann):
    assert client.browser().get("/").status_code == 303
    assert client.browser().post("/sign-in/demo").status_code == 403


def test_a_session_of_the_demo_is_worth_nothing_elsewhere(opened, clock, demo):
    browser = demo.browser()
    browser.get("/")
    real = WebClient(opened, clock)
    assert real.browser().get("/", headers={"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}"}).status_code == 303
