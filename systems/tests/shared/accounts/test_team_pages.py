"""The pages of signing up, of a new password and of teams: without JavaScript, and for nobody else."""

import re

import pytest

from systems.tests.shared.accounts.sample_pages import SampleSite, find_token, read_text, send
from systems.tests.shared.accounts.sample_system import PASSWORD, do

NEW = "another good one"
ANN, BOB = "ann@example.com", "bob@example.com"


@pytest.fixture
def site(database, clock):
    site = SampleSite(database, clock)
    do(site.services.add("ann", PASSWORD))
    return site


def sign_in(site, address=ANN, password=PASSWORD):
    browser = site.browser()
    assert browser.post("/sign-in", data={"name": address, "password": password}).status_code == 303
    return browser


def split(link):
    path, _, token = link.partition("?token=")
    return path, token


def join(site, role="editor", owner="bob"):
    """Bob, who is a member of Ann's team and acts there."""
    do(site.services.add(owner, PASSWORD))
    send(sign_in(site), "/account/team/invite", email=f"{owner}@example.com", role=role)
    browser = sign_in(site, f"{owner}@example.com")
    _, token = split(site.read_link(f"{owner}@example.com"))
    assert send(browser, "/invitation", token=token).status_code == 303
    return browser


# ── signing up ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_person_signs_up_and_is_signed_in(site):
    browser = site.browser()
    assert "/people/sign-up" in browser.get("/sign-in").text
    assert "on its way" in read_text(browser.post("/sign-up", data={"email": "new@example.com"}))
    link = site.read_link("new@example.com")
    path, token = split(link)
    page = browser.get(link)
    assert 'value="new@example.com"' in page.text
    assert do(site.services.accounts.logins.find_owner("new@example.com")) is None, "opening the link does nothing"
    short = browser.post(path, data={"token": token, "password": "short"})
    assert short.status_code == 422
    assert "The password must have 12 to 200 characters" in read_text(short)
    assert browser.post(path, data={"token": token, "password": PASSWORD}).headers["location"] == "/people/"
    assert "Hello" in browser.get("/").text
    again = site.browser().post(path, data={"token": token, "password": NEW})
    assert again.status_code == 400
    assert "has an account" in read_text(again)
    assert 'name="password"' not in again.text


@pytest.mark.parametrize("path", ["/sign-up", "/reset"])
def test_the_answer_is_the_same_for_who_has_an_account(site, path):
    def ask(address):
        page = site.browser().post(path, data={"email": address})
        return page.status_code, dict(page.headers), page.text.replace(address, "ADDRESS")

    known, unknown = ask(ANN), ask("new@example.com")
    assert known[0] == unknown[0] == 200
    assert known[2] == unknown[2]
    assert known[1].keys() == unknown[1].keys()


@pytest.mark.parametrize("path", ["/sign-up", "/reset"])
def test_mails_are_limited_and_a_wrong_address_is_refused_at_its_field(site, path):
    refused = site.browser().post(path, data={"email": "nobody"})
    assert refused.status_code == 422
    assert "The address must be an e-mail address" in read_text(refused)
    statuses = [site.browser().post(path, data={"email": ANN}).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    network = site.open(peer="203.0.113.9")
    statuses = [network.post(path, data={"email": f"a{n}@example.com"}).status_code for n in range(11)]
    assert statuses == [200] * 10 + [429]


@pytest.mark.parametrize("path", ["/sign-up", "/reset", "/sign-up/confirm", "/reset/confirm", "/invitation/new"])
def test_no_other_site_sends_these_forms(site, path):
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        refused = site.browser().post(path, data={"email": ANN, "token": "x", "password": NEW}, headers=headers)
        assert refused.status_code == 403


@pytest.mark.parametrize("path", ["/sign-up/confirm", "/reset/confirm", "/invitation", "/invitation/new"])
def test_a_link_that_is_damaged_says_so(site, path):
    for token in ("", "x", "x" * 5000):
        shown = site.browser().get(path.removesuffix("/new"), params={"token": token})
        assert shown.status_code == 400
        assert "damaged or not ours" in read_text(shown)
        if path != "/invitation":
            assert site.browser().post(path, data={"token": token, "password": NEW}).status_code == 400


# ── a new password ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_new_password_by_mail_ends_every_session(site):
    signed_in = sign_in(site)
    browser = site.browser()
    browser.post("/reset", data={"email": ANN})
    path, token = split(site.read_link(ANN))
    assert browser.get(path, params={"token": token}).status_code == 200
    assert "Hello ann" in signed_in.get("/").text
    done = browser.post(path, data={"token": token, "password": NEW})
    assert done.headers["location"] == "/people/sign-in?note=password-set"
    assert signed_in.get("/").status_code == 303
    assert "Hello ann" in sign_in(site, password=NEW).get("/").text
    assert browser.post(path, data={"token": token, "password": PASSWORD}).status_code == 400


# ── teams ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_member_acts_in_the_space_of_the_team_and_comes_back(site):
    bob = join(site)
    assert "Hello ann" in bob.get("/").text
    assert "editor bob" in bob.get("/").text
    page = read_text(bob.get("/account/team"))
    assert "ann editor now" in page
    assert send(bob, "/account/team/switch", space="bob").status_code == 303
    assert "Hello bob" in bob.get("/").text
    assert BOB in read_text(sign_in(site).get("/account/team"))


def test_a_person_without_an_account_makes_one_with_the_invitation(site):
    send(sign_in(site), "/account/team/invite", email="new@example.com", role="reader")
    link = site.read_link("new@example.com")
    browser = site.browser()
    assert "has no account yet" in read_text(browser.get(link))
    _, token = split(link)
    assert browser.post("/invitation/new", data={"token": token, "password": "short"}).status_code == 422
    assert browser.post("/invitation/new", data={"token": token, "password": PASSWORD}).status_code == 303
    assert "Hello ann" in browser.get("/").text
    assert site.browser().post("/invitation/new", data={"token": token, "password": NEW}).status_code == 400


def test_an_invitation_asks_to_sign_in_and_is_for_one_account(site):
    do(site.services.add("bob", PASSWORD))
    do(site.services.add("eve", PASSWORD))
    send(sign_in(site), "/account/team/invite", email=BOB, role="owner")
    link = site.read_link(BOB)
    assert "Sign in, then open the link" in read_text(site.browser().get(link))
    eve = sign_in(site, "eve@example.com")
    refused = send(eve, "/invitation", token=split(link)[1])
    assert refused.status_code == 409
    assert "is for bob@example.com" in read_text(refused)
    assert "Join the team" in sign_in(site, BOB).get(link).text


def test_readers_send_no_form_of_the_system_and_editors_none_of_the_account(site):
    outcomes = {}
    for role, owner in (("reader", "rob"), ("editor", "ed"), ("owner", "ora")):
        browser = join(site, role, owner)
        outcomes[role] = [send(browser, path).status_code for path in ("/note", "/delete")]
        assert browser.get("/").status_code == 200
    assert outcomes == {"reader": [403, 403], "editor": [200, 403], "owner": [200, 200]}
    assert [owner for owner, _ in site.services.notes] == ["ann"] * 3


@pytest.mark.parametrize("role", ["reader", "editor"])
def test_only_owners_manage_the_team_on_its_page(site, role):
    bob = join(site, role)
    send(sign_in(site), "/account/team/invite", email="carl@example.com", role="reader")
    (invitation,) = re.findall(r'name="invitation" value="(\w+)"', sign_in(site).get("/account/team").text)
    page = bob.get("/account/team").text
    assert "carl" not in page
    assert "/account/team/remove" not in page
    for path, fields in (
        ("invite", {"email": "dan@example.com", "role": "owner"}),
        ("withdraw", {"invitation": invitation}),
        ("role", {"member": "bob", "role": "owner"}),
        ("remove", {"member": "bob"}),
    ):
        assert send(bob, f"/account/team/{path}", **fields).status_code == 403, path


def test_who_is_removed_is_out_at_once_and_signs_in_to_the_own_space(site):
    bob, ann = join(site), sign_in(site)
    token = find_token(bob)
    assert send(ann, "/account/team/remove", member="bob").status_code == 303
    assert bob.get("/").status_code == 303
    assert bob.post("/note", data={"form_token": token}).status_code == 303
    assert site.services.notes == []
    assert "Hello bob" in sign_in(site, BOB).get("/").text


def test_who_leaves_acts_in_the_own_space(site):
    bob = join(site)
    assert send(bob, "/account/team/leave", space="ann").status_code == 303
    assert "Hello bob" in bob.get("/").text
    assert send(bob, "/account/team/leave", space="ann").status_code == 404
    assert send(bob, "/account/team/switch", space="ann").status_code == 404
    assert send(bob, "/account/team/leave", space="bob").status_code == 409


def test_the_account_page_is_about_who_signed_in_not_about_the_team(site):
    bob = join(site)
    account = read_text(bob.get("/account"))
    assert "Account bob" in account
    assert "Account ann" not in account
    send(bob, "/account/keys", **{"key.name": "script of bob", "key.scope": "write"})
    assert [key.name for key in do(site.services.accounts.keys.list_by_owner("ann"))] == ["first key"]


def test_a_form_of_one_space_is_refused_in_another(site):
    bob = join(site)
    token = find_token(bob)
    send(bob, "/account/team/switch", space="bob")
    assert bob.post("/note", data={"form_token": token}).status_code == 403
    assert send(bob, "/note").status_code == 200
    assert site.services.notes == [("bob", "bob")]


def test_an_invitation_with_a_wrong_address_or_role_is_refused_at_its_field(site):
    ann = sign_in(site)
    for email, role, field in (("nobody", "reader", "email"), (BOB, "king", "role")):
        refused = send(ann, "/account/team/invite", email=email, role=role)
        assert refused.status_code == 422
        assert f'id="{field}-about"' in refused.text
        assert f'value="{email}"' in refused.text
    assert send(ann, "/account/team/invite", email=ANN, role="reader").status_code == 409


def test_ids_of_another_team_are_missing(site):
    join(site)
    do(site.services.add("eve", PASSWORD))
    send(sign_in(site), "/account/team/invite", email="carl@example.com", role="reader")
    (invitation,) = re.findall(r'name="invitation" value="(\w+)"', sign_in(site).get("/account/team").text)
    eve = sign_in(site, "eve@example.com")
    for path, fields in (
        ("withdraw", {"invitation": invitation}),
        ("role", {"member": "bob", "role": "reader"}),
        ("remove", {"member": "bob"}),
        ("switch", {"space": "ann"}),
        ("leave", {"space": "ann"}),
        ("remove", {}),
        ("switch", {"space": "x" * 600}),
    ):
        assert send(eve, f"/account/team/{path}", **fields).status_code == 404, path
