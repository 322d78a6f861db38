"""The pages of accounts: signing in, the account, two factors; and what an attacker tries with them."""

import re
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import httpx
import pyotp
import pytest
from fastapi import FastAPI

import hashrange
from hashrange_systems.shared.web.account_dependencies import SIGN_INS, Offers
from hashrange_systems.shared.web.api import Caller, make_account_callers
from hashrange_systems.shared.web.problem import ProblemHandlers
from hashrange_systems.shared.web.session import name_cookie
from systems.tests.shared.accounts.sample_pages import (
    EVERYTHING,
    InProcessTransport,
    SampleSite,
    find_token,
    read_text,
    send,
)
from systems.tests.shared.accounts.sample_system import PASSWORD, do
from systems.tests.web_routes import list_requests

COOKIE = name_cookie("people")
NAMES = {"name_user": EVERYTHING.name_user, "add_context": EVERYTHING.add_context}


@pytest.fixture
def database(clock):
    """In this process: the services are tested over the wire, too."""
    with hashrange.open(clock=clock) as opened:
        yield opened


@pytest.fixture
def site(database, clock):
    return SampleSite(database, clock)


@pytest.fixture
def ann(site):
    return do(site.services.add("ann", PASSWORD))


@pytest.fixture
def eve(site):
    return do(site.services.add("eve"))


def steal(site, browser):
    """Another browser with the same cookie."""
    thief = site.browser()
    thief.cookies.set(COOKIE, browser.cookies[COOKIE], path="/people")
    return thief


def is_signed_in(browser):
    return browser.get("/").status_code == 200


def turn_on(site, browser):
    """Turn two-factor sign-in on; return the secret and the recovery codes."""
    page = send(browser, "/account/two-factor/begin")
    assert "<svg" in page.text
    secret = re.search(r"type this key: <code[^>]*>([A-Z2-7]+)<", page.text)[1]
    done = send(browser, "/account/two-factor/confirm", code=make_code(site, secret))
    codes = re.search(r"<pre[^>]*>(.*?)</pre>", done.text, re.DOTALL)[1].split()
    site.clock.advance(30)
    return secret, codes


def make_code(site, secret):
    return pyotp.TOTP(secret).at(site.clock.millis() // 1000)


# ── signing in and out ───────────────────────────────────────────────────────────────────────────────────────────────
def test_pages_need_a_session_and_return_to_where_the_visitor_wanted_to_go(site, ann):
    browser = site.browser()
    asked = browser.get("/account")
    assert asked.headers["location"] == "/people/sign-in?next=/account"
    page = browser.get("/sign-in?next=/account")
    assert 'value="/account"' in page.text
    done = browser.post("/sign-in", data={"name": "Ann@Example.com", "password": PASSWORD, "next": "/account"})
    assert done.headers["location"] == "/people/account"
    assert "Good day, ann." in read_text(browser.get("/account"))
    assert browser.get("/sign-in").headers["location"] == "/people/"


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example", "/../x", "/%2F", "javascript:x", "\\evil"])
def test_nobody_is_sent_elsewhere_after_signing_in(site, ann, path):
    done = site.browser().post("/sign-in", data={"key": ann.text, "next": path})
    assert done.headers["location"] == "/people/"


def test_the_cookie_is_for_the_server_alone(site, ann):
    response = site.browser().post("/sign-in", data={"key": ann.text})
    header = response.headers["set-cookie"].lower()
    assert "httponly" in header
    assert "samesite=lax" in header
    assert "path=/people" in header


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ({"key": "hrc_wrong"}, "This key is not valid."),
        ({"name": "ann@example.com", "password": "wrong password"}, "The name or the password is wrong."),
        ({"name": "nobody@example.com", "password": PASSWORD}, "The name or the password is wrong."),
        ({}, "The name or the password is wrong."),
    ],
)
def test_a_wrong_key_or_password_is_refused_with_one_text(site, ann, form, text):
    response = site.browser().post("/sign-in", data=form)
    assert response.status_code == 401
    assert text in read_text(response)
    assert COOKIE not in response.cookies


def test_sign_ins_are_limited_by_the_network_of_the_client(site, ann):
    browser = site.open(peer="203.0.113.9")
    statuses = [browser.post("/sign-in", data={"key": "x"}).status_code for _ in range(SIGN_INS + 1)]
    assert statuses == [401] * SIGN_INS + [429]
    assert browser.post("/sign-in/code", data={"token": "x", "code": "1"}).status_code == 429
    assert site.open(peer="203.0.113.10").post("/sign-in", data={"key": ann.text}).status_code == 303


def test_signing_out_ends_the_session_on_the_server(site, ann):
    browser = site.browser(ann)
    thief = steal(site, browser)
    assert is_signed_in(thief)
    send(browser, "/sign-out")
    assert not is_signed_in(thief)
    assert not is_signed_in(browser)


def test_signing_in_starts_a_session_that_nobody_has_set_before(site, ann, eve):
    set_before = site.browser(eve).cookies[COOKIE]
    response = site.browser().post("/sign-in", data={"key": ann.text}, headers={"Cookie": f"{COOKIE}={set_before}"})
    assert response.cookies[COOKIE] != set_before


def test_signing_out_everywhere_ends_all_sessions_of_one_account(site, ann, eve):
    browsers, other = [site.browser(ann) for _ in range(3)], site.browser(eve)
    send(browsers[0], "/account/sign-out-everywhere")
    assert [is_signed_in(browser) for browser in browsers] == [False] * 3
    assert is_signed_in(other)
    assert is_signed_in(site.browser(ann))


def test_another_password_ends_the_other_sessions_and_keeps_this_one(site, ann):
    browser, other = site.browser(ann), site.browser(ann)
    wrong = send(browser, "/account/password", current="wrong", password="another good one")
    assert wrong.status_code == 401
    short = send(browser, "/account/password", current=PASSWORD, password="short")
    assert short.status_code == 422
    assert is_signed_in(other)
    assert send(browser, "/account/password", current=PASSWORD, password="another good one").status_code == 303
    assert is_signed_in(browser)
    assert not is_signed_in(other)
    assert site.browser().post("/sign-in", data={"name": "ann@example.com", "password": PASSWORD}).status_code == 401


def test_a_stolen_session_does_not_guess_the_current_password(site, ann):
    thief = steal(site, site.browser(ann))
    for _ in range(5):
        send(thief, "/account/password", current="wrong", password="another good one")
    locked = send(thief, "/account/password", current=PASSWORD, password="another good one")
    assert locked.status_code == 401
    assert int(locked.headers["retry-after"]) > 0


def test_an_account_without_a_password_sets_its_first(site, eve):
    browser = site.browser(eve)
    assert 'name="current"' not in browser.get("/account").text
    assert send(browser, "/account/password", password="a first good one").status_code == 303
    signed_in = site.browser().post("/sign-in", data={"name": "eve@example.com", "password": "a first good one"})
    assert signed_in.status_code == 303


# ── two factors ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_with_two_factors_neither_a_key_nor_a_password_alone_opens_the_pages(site, ann):
    secret, codes = turn_on(site, site.browser(ann))
    for form, code in (
        ({"key": ann.text}, make_code(site, secret)),
        ({"name": "ann@example.com", "password": PASSWORD}, codes[0]),
    ):
        browser = site.browser()
        page = browser.post("/sign-in", data=form | {"next": "/account"})
        fields = dict(re.findall(r'name="(next|token)" value="([^"]*)"', page.text))
        assert page.status_code == 200
        assert not is_signed_in(browser)
        assert browser.post("/sign-in/code", data=fields | {"code": "000000"}).status_code == 401
        right = browser.post("/sign-in/code", data=fields | {"code": code})
        assert right.headers["location"] == "/people/account"
        again = site.browser().post("/sign-in/code", data=fields | {"code": code})
        assert again.status_code == 401, "each code counts once"


def test_two_factors_are_renewed_and_turned_off_with_a_code(site, ann):
    browser = site.browser(ann)
    secret, codes = turn_on(site, browser)
    assert "10 recovery codes are left" in read_text(browser.get("/account"))
    assert send(browser, "/account/two-factor/off", code="000000").status_code == 401
    renewed = send(browser, "/account/two-factor/recovery", code=codes[0])
    assert codes[1] not in renewed.text
    done = send(browser, "/account/two-factor/off", code=make_code(site, secret))
    assert done.headers["location"] == "/people/account?note=two-factor-off"
    assert is_signed_in(site.browser(ann))


# ── keys and channels ────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_key_is_shown_once_and_its_revocation_ends_its_sessions(site, ann):
    browser = site.browser(ann)
    shown = send(browser, "/account/keys", **{"key.name": "script", "key.scope": "write"})
    text = re.search(r'id="new-key">(hrc_[^<]+)<', shown.text)[1]
    page = browser.get("/account")
    assert text not in page.text
    assert "script" in page.text
    other = site.browser()
    assert other.post("/sign-in", data={"key": text}).status_code == 303
    (revoke,) = [path for path in re.findall(r"/account/keys/[^/]+/revoke", page.text) if ann.key.key_id not in path]
    assert send(browser, revoke).headers["location"] == "/people/account?note=revoked"
    assert not is_signed_in(other)


def test_a_key_may_be_for_reading_only_and_its_name_is_checked(site, ann):
    browser = site.browser(ann)
    shown = send(browser, "/account/keys", **{"key.name": "reader", "key.scope": "read"})
    text = re.search(r'id="new-key">(hrc_[^<]+)<', shown.text)[1]
    assert "only reading" in browser.get("/account").text
    assert site.browser().post("/sign-in", data={"key": text}).status_code == 401
    for name, scope in (("", "write"), ("x", "everything")):
        refused = send(browser, "/account/keys", **{"key.name": name, "key.scope": scope})
        assert refused.status_code == 422
        assert "must be" in read_text(refused)


def test_a_channel_is_added_confirmed_and_removed_without_javascript(site, ann):
    browser = site.browser(ann)
    added = send(browser, "/account/channels", channelType="EMAIL", target=" news@example.com ", subscription="ALARMS")
    assert added.headers["location"] == "/people/account?note=asked"
    assert "not confirmed Alarms only" in read_text(browser.get("/account"))
    do(site.services.outbox.send_all())
    (mail,) = site.services.mailbox.mails("ann")
    link = urlsplit(re.search(r"http://\S+", mail.notification.text)[0])
    assert link.path == "/people/confirm"
    token = parse_qs(link.query)["token"][0]
    stranger = site.browser()
    assert "If that was you" in stranger.get("/confirm", params={"token": token}).text
    assert "not confirmed" in browser.get("/account").text, "opening the link alone confirms nothing"
    assert "news@example.com" in stranger.post("/confirm", data={"token": token}).text
    assert "not confirmed" not in browser.get("/account").text
    (remove,) = re.findall(r"/account/channels/[^/]+/remove", browser.get("/account").text)
    assert send(browser, remove).headers["location"] == "/people/account?note=channel-removed"
    assert "news@example.com" not in browser.get("/account").text
    assert stranger.post("/confirm", data={"token": token}).status_code == 400


def test_the_secret_of_a_webhook_is_shown_once(site, ann):
    browser = site.browser(ann)
    shown = send(browser, "/account/channels", channelType="WEBHOOK", target="https://hooks.example/x")
    secret = re.search(r'id="new-secret">(whsec_[^<]+)<', shown.text)[1]
    assert secret not in browser.get("/account").text


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"channelType": "EMAIL", "target": "nobody"}, "target"),
        ({"channelType": "PIGEON", "target": "roof"}, "channelType"),
        ({"channelType": "APPRISE", "target": "slack://x"}, "channelType"),  # it has no sender here
        ({"channelType": "EMAIL", "target": "a@example.com", "subscription": "SPAM"}, "subscription"),
        ({}, "channelType"),
    ],
)
def test_a_channel_that_cannot_be_is_refused_at_its_field_and_the_values_are_kept(site, ann, form, field):
    refused = send(site.browser(ann), "/account/channels", **form)
    assert refused.status_code == 422
    assert f'id="{field}-about"' in refused.text
    if "target" in form:
        assert f'value="{form["target"]}"' in refused.text


def test_an_export_is_a_file_without_secrets(site, ann):
    browser = site.browser(ann)
    response = browser.get("/account/export")
    assert "attachment" in response.headers["content-disposition"]
    assert response.json()["logins"] == ["ann@example.com"]
    assert ann.text not in response.text


# ── attacks ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def list_posts(site):
    """The paths of all forms of the pages, with ids that somebody else has."""
    ids = {
        "{channel_id}": do(site.services.accounts.channels.add("ann", "EMAIL", "x@example.com")).channel_id,
        "{key_id}": do(site.services.accounts.keys.list_by_owner("ann"))[0].key_id,
    }
    posts = [path for method, path in list_requests(site.app) if method == "POST"]
    for name, value in ids.items():
        posts = [path.replace(name, value) for path in posts]
    return posts


def read_stored(site, owner):
    items = site.database.call("Scan", {"TableName": "people-accounts"})["Items"]
    kept = [{name: value for name, value in item.items() if name != "lastUsedAt"} for item in items]
    return sorted(str(item) for item in kept if owner in str(item) and "SESSION#" not in str(item))


def test_no_form_of_another_site_or_session_changes_anything(site, ann, eve):
    browser, foreign = site.browser(ann), find_token(site.browser(eve))
    posts = list_posts(site)
    before = read_stored(site, "ann")
    assert len(posts) > 12
    for path in posts:
        for data, headers in (
            ({}, {}),
            ({"form_token": foreign}, {}),
            ({"form_token": find_token(browser)}, {"Origin": "https://evil.example"}),
            ({"form_token": find_token(browser)}, {"Sec-Fetch-Site": "cross-site"}),
        ):
            is_open = path.startswith(("/sign-in", "/confirm", "/sign-up", "/reset", "/invitation/new"))
            if is_open and not headers:
                continue
            assert browser.post(path, data=data, headers=headers).status_code == 403, (path, data, headers)
    assert read_stored(site, "ann") == before
    assert is_signed_in(browser)


def test_ids_of_another_are_missing_and_stay(site, ann, eve):
    browser = site.browser(eve)
    posts = list_posts(site)
    before = read_stored(site, "ann")
    with_ids = [path for path in posts if re.search(r"/(keys|channels)/", path)]
    assert len(with_ids) == 3
    for path in with_ids:
        assert send(browser, path).status_code == 404
    assert read_stored(site, "ann") == before


def test_without_a_session_every_page_redirects_to_signing_in(site, ann):
    browser = site.browser()
    for method, path in list_requests(site.app):
        if path.startswith(
            ("/sign-in", "/sign-up", "/confirm", "/reset", "/invitation", "/account/channels/", "/account/keys/")
        ):
            continue
        response = browser.request(method, path)
        assert response.headers.get("location", "").startswith("/people/sign-in"), (method, path)


PARTS = ("api_keys", "password", "second_factor", "channels", "export", "sign_up", "password_reset", "teams")


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("api_keys", ["/account/keys", "/account/keys/x/revoke"]),
        ("password", ["/account/password"]),
        ("second_factor", ["/account/two-factor/begin", "/account/two-factor/off"]),
        ("sign_up", ["/sign-up", "/sign-up/confirm"]),
        ("password_reset", ["/reset", "/reset/confirm"]),
        ("teams", ["/account/team/invite", "/account/team/switch", "/invitation", "/invitation/new"]),
        ("channels", ["/account/channels", "/account/channels/x/ask", "/account/channels/x/remove"]),
    ],
)
def test_what_is_not_offered_is_neither_shown_nor_there(database, clock, name, paths):
    given = dict.fromkeys(PARTS, True) | {name: False}
    site = SampleSite(database, clock, offers=Offers(**given, **NAMES))
    key = do(site.services.add("ann", PASSWORD))
    browser = site.browser()
    form = {"name": "ann@example.com", "password": PASSWORD} if name != "password" else {"key": key.text}
    assert browser.post("/sign-in", data=form).status_code == 303
    shown = browser.get("/account").text
    for path in paths:
        assert f"/people{path}" not in shown
        assert send(browser, path).status_code == 404


def test_a_key_does_not_sign_in_where_keys_are_not_offered_and_a_password_not_where_it_is_not(database, clock):
    keys = SampleSite(database, clock, offers=Offers(api_keys=True, **NAMES))
    key = do(keys.services.add("ann", PASSWORD))
    passwords = SampleSite(database, clock, offers=Offers(password=True, **NAMES), services=keys.services)
    password = {"name": "ann@example.com", "password": PASSWORD}
    neither = SampleSite(database, clock, offers=Offers(**NAMES), services=keys.services)  # they sign in elsewhere
    for form in (password, {"key": key.text}):
        assert neither.browser().post("/sign-in", data=form).status_code == 401
    assert keys.browser().post("/sign-in", data=password).status_code == 401
    assert passwords.browser().post("/sign-in", data={"key": key.text}).status_code == 401
    assert keys.browser().post("/sign-in", data={"key": key.text}).status_code == 303
    assert passwords.browser().post("/sign-in", data=password).status_code == 303


# ── the API ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_key_of_an_account_calls_the_api_and_one_that_may_only_read_changes_nothing(site, ann):
    accounts = site.services.accounts
    reads = do(accounts.keys.add("ann", "reads", scope="read"))
    api = FastAPI()
    api.state.deps = SimpleNamespace(callers=make_account_callers(accounts.keys, site.clock))
    ProblemHandlers("people").install(api)

    @api.api_route("/me", methods=["GET", "POST"])
    async def show(caller: Caller):
        return caller.user.owner

    client = httpx.Client(transport=InProcessTransport(api, "127.0.0.1"), base_url="http://127.0.0.1")
    answers = {
        (name, method): client.request(method, "/me", headers={"Authorization": f"Bearer {text}"}).status_code
        for name, text in (("writes", ann.text), ("reads", reads.text), ("none", "hrc_x"))
        for method in ("GET", "POST")
    }
    assert answers == {
        ("writes", "GET"): 200, ("writes", "POST"): 200,
        ("reads", "GET"): 200, ("reads", "POST"): 403,
        ("none", "GET"): 401, ("none", "POST"): 401,
    }  # fmt: skip


# ── the demo ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_visitors_of_the_demo_are_signed_in_from_this_machine_until_they_sign_out(database, clock):
    site = SampleSite(database, clock, demo=True)
    assert site.browser().get("/").status_code == 303, "its data is being written"
    do(site.services.add("ann"))
    browser = site.browser()
    assert "Hello ann" in browser.get("/").text
    assert COOKIE in browser.cookies
    send(browser, "/sign-out")
    assert browser.get("/").status_code == 303
    assert "Continue as the demo user" in browser.get("/sign-in").text
    assert browser.post("/sign-in/demo").status_code == 303
    assert is_signed_in(browser)
    for stranger, headers in ((site.open(peer="203.0.113.9"), {}), (site.browser(), {"Host": "evil.example"})):
        assert stranger.get("/", headers=headers).status_code == 303
        assert stranger.post("/sign-in/demo", headers=headers).status_code == 403


def test_there_is_no_demo_without_one(site, ann):
    browser = site.browser()
    assert browser.get("/").status_code == 303
    assert "demo" not in browser.get("/sign-in").text
    assert browser.post("/sign-in/demo").status_code == 403
