"""Signing in with two factors, and signing out: a cookie that somebody kept is worth nothing afterwards."""

import re

import pyotp

from hashrange_systems.shared.web.session import name_cookie
from systems.tests.checks.web.web_client import find_token, read_text, send

COOKIE = name_cookie("checks")


def steal(client, browser):
    """Another browser with the same cookie."""
    thief = client.browser()
    thief.cookies.set(COOKIE, browser.cookies[COOKIE], path="/checks")
    return thief


def turn_on(client, browser):
    """Turn two-factor sign-in on; return the secret and the recovery codes."""
    page = send(browser, "/account/two-factor/begin")
    assert "<svg" in page.text
    secret = re.search(r"type this key: <code[^>]*>([A-Z2-7]+)<", page.text)[1]
    done = send(browser, "/account/two-factor/confirm", code=make_code(client, secret))
    codes = re.search(r"<pre[^>]*>(.*?)</pre>", done.text, re.DOTALL)[1].split()
    client.clock.advance(30)
    return secret, codes


def make_code(client, secret):
    return pyotp.TOTP(secret).at(client.clock.millis() // 1000)


def begin(client, key):
    """Sign in with the key; return the browser and the fields of the form for the code."""
    browser = client.browser()
    page = browser.post("/sign-in", data={"key": key, "next": "/reports"})
    fields = dict(re.findall(r'name="(next|token)" value="([^"]*)"', page.text))
    return browser, page, fields


def test_signing_out_ends_the_session_on_the_server(client, ann):
    browser = client.browser(ann.key)
    thief = steal(client, browser)
    assert thief.get("/").status_code == 200
    send(browser, "/sign-out")
    assert thief.get("/").headers["location"].startswith("/checks/sign-in")
    assert client.browser(ann.key).get("/").status_code == 200


def test_signing_out_everywhere_ends_all_sessions_but_not_later_ones(client, ann):
    browsers = [client.browser(ann.key) for _ in range(3)]
    send(browsers[0], "/account/sign-out-everywhere")
    assert [browser.get("/").status_code for browser in browsers] == [303] * 3
    client.clock.advance(1)
    assert client.browser(ann.key).get("/").status_code == 200


def test_signing_in_starts_a_session_that_nobody_has_set_before(client, ann, bob):
    """Session fixation: whoever put a cookie into a browser does not have the session that is started there."""
    set_before = client.browser(bob.key).cookies[COOKIE]
    response = client.browser().post("/sign-in", data={"key": ann.key}, headers={"Cookie": f"{COOKIE}={set_before}"})
    assert response.cookies[COOKIE] != set_before
    thief = client.browser()
    thief.cookies.set(COOKIE, set_before, path="/checks")
    assert 'title="bob@example.com"' in thief.get("/account").text


def test_with_two_factors_a_key_alone_does_not_open_the_pages(client, ann):
    secret, codes = turn_on(client, client.browser(ann.key))
    browser, page, fields = begin(client, ann.key)
    assert (page.status_code, fields["next"]) == (200, "/reports")
    assert COOKIE not in browser.cookies
    assert browser.get("/").status_code == 303
    wrong = browser.post("/sign-in/code", data=fields | {"code": "000000"})
    assert wrong.status_code == 401
    assert "not valid" in read_text(wrong)
    right = browser.post("/sign-in/code", data=fields | {"code": make_code(client, secret)})
    assert right.headers["location"] == "/checks/reports"
    assert browser.get("/").status_code == 200
    other, _, fields = begin(client, ann.key)
    assert other.post("/sign-in/code", data=fields | {"code": codes[0]}).status_code == 303


def test_the_form_for_the_code_is_worth_nothing_later_or_for_another(client, ann, bob):
    secret, _ = turn_on(client, client.browser(ann.key))
    browser, _, fields = begin(client, ann.key)
    for token in ("", "x", fields["token"][:-2], client.browser(bob.key).cookies[COOKIE]):
        assert (
            browser.post("/sign-in/code", data={"token": token, "code": make_code(client, secret)}).status_code == 401
        )
    client.clock.advance(301)
    late = browser.post("/sign-in/code", data=fields | {"code": make_code(client, secret)})
    assert "sign in again" in read_text(late)


def test_it_is_turned_off_with_a_code(client, ann):
    browser = client.browser(ann.key)
    secret, codes = turn_on(client, browser)
    assert "10 recovery codes are left" in read_text(browser.get("/account"))
    assert send(browser, "/account/two-factor/off", code="000000").status_code == 401
    renewed = send(browser, "/account/two-factor/recovery", code=codes[0])
    assert codes[1] not in renewed.text
    assert send(browser, "/account/two-factor/off", code=make_code(client, secret)).status_code == 303
    assert client.browser(ann.key).get("/").status_code == 200


def test_a_form_of_another_session_turns_nothing_on(client, ann, bob):
    browser, other = client.browser(ann.key), client.browser(bob.key)
    refused = browser.post("/account/two-factor/begin", data={"form_token": find_token(other)})
    assert refused.status_code == 403


def test_the_page_of_two_factor_sign_in_does_not_say_that_it_is_on_before_it_is(client):
    page = client.browser(client.sign_up("ann").key).get("/account/two-factor").text
    assert "When it is on, a key alone does not open these pages" in page
