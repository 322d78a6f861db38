"""The pages as a person uses them: forms that say what is wrong, and links that lead somewhere."""

import re

import pytest

from hashrange_systems.checks.model.tier import PRO
from hashrange_systems.checks.registry import CHECK_TYPES, name_attributes
from hashrange_systems.checks.service.status_pages import PageContent
from hashrange_systems.checks.web.check_form import ALERTS, list_defaults, make_groups
from hashrange_systems.checks.web.page_renderer import mark_times
from hashrange_systems.shared.text import format_iso_time
from systems.tests.checks.services import do
from systems.tests.checks.web.web_client import Forms, find_token, read_text, send

MARKUP = "<script>alert('x')</script>\"'&"


@pytest.fixture
def browser(client, ann):
    return client.browser(ann.key)


def edit(browser, checkid, **changes):
    """Send the edit form of a check as it is, but for these changes; None unticks a box."""
    path = f"/check/{checkid}/edit"
    filled = Forms(browser.get(path).text).values | changes
    return browser.post(path, data={name: value for name, value in filled.items() if value is not None})


# ── signing in ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_who_is_not_signed_in_is_sent_to_do_so_and_back(client, ann):
    (checkid,) = client.add(ann.user.userid)
    browser = client.browser()
    sent = browser.get(f"/check/{checkid}")
    assert (sent.status_code, sent.headers["location"]) == (303, f"/checks/sign-in?next=/check/{checkid}")
    form = Forms(browser.get("/sign-in", params={"next": f"/check/{checkid}"}).text).values
    back = browser.post("/sign-in", data=form | {"key": ann.key})
    assert back.headers["location"] == f"/checks/check/{checkid}"
    assert browser.get(f"/check/{checkid}").status_code == 200


def test_a_wrong_key_signs_nobody_in(client):
    browser = client.browser()
    response = browser.post("/sign-in", data={"key": "hrc_wrong"})
    assert response.status_code == 401
    assert "This key is not valid" in response.text
    assert "set-cookie" not in response.headers
    assert browser.get("/").status_code == 303


def test_who_tries_many_keys_must_wait(client, ann):
    browser = client.browser()
    tries = [browser.post("/sign-in", data={"key": f"hrc_{number}"}).status_code for number in range(11)]
    assert tries == [401] * 10 + [429]
    assert browser.post("/sign-in", data={"key": ann.key}).status_code == 429
    client.clock.advance(10)
    assert browser.post("/sign-in", data={"key": ann.key}).status_code == 303


def test_signing_out_ends_the_session(browser):
    assert send(browser, "/sign-out").headers["location"] == "/checks/sign-in"
    assert browser.get("/").status_code == 303


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_empty_list_says_what_to_do(browser):
    assert "There are no checks yet" in browser.get("/").text


def test_a_check_is_added_and_shown(client, ann, browser):
    form = Forms(browser.get("/new").text).values
    added = browser.post("/new", data=form | {"url": "https://example.com/", "attributes.keyword": "Hello"})
    path = added.headers["location"].removeprefix("/checks").partition("?")[0]
    assert "The check is added" in browser.get(f"{path}?note=added").text
    (check,) = do(client.checks.list_by_user(ann.user.userid))
    assert (check.url, check.delay_ms, check.attributes) == ("https://example.com/", 300_000, {"keyword": "Hello"})
    assert (check.rules, check.channels, check.name) == (None, None, None)
    assert "example.com" in read_text(browser.get("/"))


def test_an_ebay_check_asks_for_a_price_as_people_write_it(client, ann, browser):
    form = Forms(browser.get("/new", params={"type": "EBAY"}).text).values
    fields_given = {"attributes.query": "leica m6", "attributes.threshold": "1500,50", "attributes.currency": "EUR"}
    assert browser.post("/new", data=form | fields_given).status_code == 303
    (check,) = do(client.checks.list_by_user(ann.user.userid))
    assert check.attributes == {"query": "leica m6", "threshold": 150_050, "currency": "EUR"}
    shown = Forms(browser.get(f"/check/{check.checkid}/edit").text).values
    assert shown["attributes.threshold"] == "1500.50"
    refused = edit(browser, check.checkid, **{"attributes.threshold": "much"})
    assert "Tell me at or below must be a price such as 249.90." in read_text(refused)


def test_every_fault_is_shown_beside_its_field_and_nothing_typed_is_lost(browser):
    form = Forms(browser.get("/new").text).values
    fields_given = {"url": "ftp://example.com", "attributes.timeoutMs": "soon", "attributes.headers": "Bad Name: x"}
    refused = browser.post("/new", data=form | fields_given | {"name": "Kept", "delayMs": "5"})
    text = read_text(refused)
    assert refused.status_code == 422
    assert "Address must begin with http:// or https://, not ftp:." in text
    assert "Timeout in milliseconds must be a whole number." in text
    assert "Headers must have names of letters" in text
    assert "How often must be at least 60000 (PRO), not 5." in text
    assert "4 fields need another look" in text
    assert refused.text.count('aria-invalid="true"') == 4
    kept = Forms(refused.text).values
    assert (kept["url"], kept["name"], kept["attributes.timeoutMs"]) == ("ftp://example.com", "Kept", "soon")
    assert '<details class="more card plain" open>' in refused.text


def test_a_form_sent_as_it_is_changes_nothing(client, ann, browser):
    attributes = {
        "method": "POST",
        "body": "a=1\n\nb=2",
        "headers": {"Accept": "text/html", "X-Token": "1"},
        "acceptedStatus": "200-299,301",
        "timeoutMs": 5000,
        "followRedirects": False,
        "regex": "^a+$",
        "invert": True,
        "soldOutText": "gone",
        "tlsWarningDays": 0,
        "retries": 0,
    }
    rules = {"reminderMs": 3_600_000, "resolved": False, "gone": True}
    given = {"attributes": attributes, "rules": rules, "channels": [ann.channel.channel_id], "name": MARKUP}
    (checkid,) = client.add(ann.user.userid, **given)
    before = client.check(checkid)
    assert edit(browser, checkid).status_code == 303
    after = client.check(checkid)
    assert (after.attributes, after.rules, after.channels) == (before.attributes, before.rules, before.channels)
    assert (after.name, after.url, after.delay_ms) == (before.name, before.url, before.delay_ms)


@pytest.mark.parametrize("check_type", CHECK_TYPES)
def test_the_form_has_a_field_for_every_attribute_and_rule(check_type):
    paths = {field.path for group in make_groups(check_type, PRO) for field in group.fields}
    assert {f"attributes.{name}" for name in name_attributes(check_type)} <= paths
    assert set(list_defaults(check_type)) <= name_attributes(check_type)
    assert {field.path for field in ALERTS} == {"rules.reminderMs", "rules.resolved", "rules.warnings", "rules.gone"}


def test_an_edit_of_what_somebody_else_changed_meanwhile_is_refused(client, ann, browser):
    (checkid,) = client.add(ann.user.userid)
    form = Forms(browser.get(f"/check/{checkid}/edit").text).values
    edit(browser, checkid, name="faster")
    refused = browser.post(f"/check/{checkid}/edit", data=form | {"name": "slower"})
    assert refused.status_code == 409
    assert "was changed meanwhile" in refused.text
    assert client.check(checkid).name == "faster"


def test_a_delay_that_the_tier_no_longer_allows_may_stay(client, ann, browser):
    (checkid,) = client.add(ann.user.userid, delay_ms=60_000)
    user = client.db.user(ann.user.userid).run()
    client.db.change_tier(user.userid, "FREE", check_limit=5, updated_at=user.updated_at).run()
    assert edit(browser, checkid, name="renamed").status_code == 303
    assert (client.check(checkid).name, client.check(checkid).delay_ms) == ("renamed", 60_000)


def test_a_check_is_run_paused_resumed_and_deleted(client, ann, browser):
    (checkid,) = client.add(ann.user.userid)
    path = f"/check/{checkid}"
    assert send(browser, f"{path}/run").headers["location"] == f"/checks{path}?note=run"
    assert "250 ms" in read_text(browser.get(path))
    send(browser, f"{path}/pause")
    assert client.check(checkid).status == "PAUSED"
    refused = send(browser, f"{path}/run")
    assert refused.status_code == 409
    assert "This check is paused: resume it first." in refused.text
    send(browser, f"{path}/resume")
    assert client.check(checkid).status == "ACTIVE"
    assert send(browser, f"{path}/delete").headers["location"] == "/checks/?note=deleted"
    assert browser.get(path).status_code == 404


def test_an_outage_is_shown_with_its_reason(client, ann, browser):
    (checkid,) = client.add(ann.user.userid, name="Shop")
    client.run(ann.user.userid, checkid, "uudddd")
    listed = read_text(browser.get("/"))
    assert "Down 1" in listed
    assert "answered 500" in listed
    page = read_text(browser.get(f"/check/{checkid}"))
    assert "Down: answered 500" in page
    assert "HTTP 500: answered 500" in page
    assert "Shop" in read_text(browser.get("/?show=down"))
    assert "No check fits" in read_text(browser.get("/?show=up"))


@pytest.mark.parametrize("period", ["24h", "7d", "30d", "90d", "1000y", ""])
def test_the_plot_has_several_periods(client, ann, browser, period):
    (checkid,) = client.add(ann.user.userid)
    client.run(ann.user.userid, checkid, "uuu")
    client.clock.advance(86_400)
    page = browser.get(f"/check/{checkid}", params={"range": period})
    assert page.status_code == 200
    assert 'aria-current="true"' in page.text
    assert "<svg" in page.text


def test_maintenance_windows_are_added_and_removed(client, ann, browser):
    (checkid,) = client.add(ann.user.userid)
    path = f"/check/{checkid}/maintenance"
    weekly = {"kind": "WEEKLY", "days": ["0", "6"], "weekly.start": "02:30", "weekly.minutes": "90"}
    assert send(browser, path, **weekly, **{"weekly.zone": "Europe/Berlin"}).status_code == 303
    once = {"kind": "ONCE", "once.start": "2026-02-01T10:00", "once.end": "2026-02-01T12:00"}
    assert send(browser, path, **once).status_code == 303
    page = read_text(browser.get(path))
    assert "Mon, Sun at 02:30 (Europe/Berlin) for 1 h 30 min" in page
    assert "2026-02-01 10:00:00 UTC to 2026-02-01 12:00:00 UTC" in page
    send(browser, f"{path}/0/remove")
    assert [window["kind"] for window in client.check(checkid).maintenance] == ["ONCE"]
    assert send(browser, f"{path}/7/remove").status_code == 404
    assert send(browser, f"{path}/x/remove").status_code == 404


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"kind": "WEEKLY", "weekly.start": "2:30", "weekly.minutes": "60"}, "At least one day is needed"),
        (
            {"kind": "WEEKLY", "days": "0", "weekly.start": "25:00", "weekly.minutes": "60"},
            "From must be a time of day",
        ),
        ({"kind": "WEEKLY", "days": "0", "weekly.start": "02:30", "weekly.minutes": ""}, "For minutes must be a whole"),
        ({"kind": "ONCE", "once.start": "", "once.end": "x"}, "From (UTC) must be a time"),
        (
            {"kind": "ONCE", "once.start": "2026-02-02T10:00", "once.end": "2026-02-01T12:00"},
            "must end after it starts",
        ),
        (
            {"kind": "WEEKLY", "days": "0", "weekly.start": "02:30", "weekly.minutes": "9", "weekly.zone": "Mars/X"},
            "Time zone must be a time zone such as Europe/Berlin",
        ),
    ],
)
def test_a_window_that_is_none_is_refused_beside_its_field(client, ann, browser, form, message):
    (checkid,) = client.add(ann.user.userid)
    refused = send(browser, f"/check/{checkid}/maintenance", **form)
    assert refused.status_code == 422
    assert message in read_text(refused)


# ── the account ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_channel_is_added_confirmed_by_its_link_and_removed(client, ann, browser):
    assert (
        send(browser, "/account/channels", channelType="EMAIL", target="ops@example.com")
        .headers["location"]
        .endswith("asked")
    )
    messages = browser.get("/messages")
    link = next(each for each in Forms(messages.text).links if "/verify" in each)
    assert link.startswith("http://127.0.0.1:8002/checks/verify?token=")
    stranger = client.browser()
    looked = stranger.get(link)
    channel = next(
        each for each in do(client.channels.list_by_user(ann.user.userid)) if each.target == "ops@example.com"
    )
    assert channel.verified_at is None, "who only looks confirms nothing"
    assert "Confirmed" in stranger.post("/verify", data=Forms(looked.text).values).text
    assert do(client.channels.find(ann.user.userid, channel.channel_id)).verified_at is not None
    send(browser, f"/account/channels/{channel.channel_id}/remove")
    assert "ops@example.com" not in browser.get("/account").text


def test_a_channel_that_is_none_is_refused_beside_its_field(browser):
    refused = send(browser, "/account/channels", channelType="EMAIL", target="nobody")
    assert "Address must be an e-mail address such as ann@example.com." in read_text(refused)


def test_the_secret_of_a_webhook_is_shown_once(browser):
    page = send(browser, "/account/channels", channelType="WEBHOOK", target="https://example.com/hook")
    assert "whsec_" in page.text
    assert "whsec_" not in browser.get("/account").text


def test_a_key_is_shown_once_and_opens(client, browser):
    page = send(browser, "/account/keys", **{"key.name": "deploy"})
    key = read_text(page).partition("copy it now. ")[2].split()[0]
    assert key.startswith("hrc_")
    assert client.browser(key).get("/").status_code == 200
    assert key not in browser.get("/account").text
    assert "Name must be a line of 1 to 100 characters." in read_text(send(browser, "/account/keys"))


def test_a_status_page_is_published_shown_to_anybody_and_taken_back(client, ann, browser, clock):
    shown, hidden = client.add(ann.user.userid, 1, name="Shop", url="https://secret.example/") + client.add(
        ann.user.userid, 1, name="Hidden"
    )
    client.run(ann.user.userid, shown, "uudddd")
    refused = send(browser, "/pages/new", slug="Not A Slug", title="")
    assert "Address must be at most 60 small letters" in read_text(refused)
    made = send(browser, "/pages/new", slug="ann-co", title="Ann", checks=[shown], intro="First.\r\n\r\nSecond <b>.")
    assert made.headers["location"] == "/checks/pages/ann-co?note=published"
    assert "another page of yours" in read_text(send(browser, "/pages/new", slug="ann-co", title="Ann"))
    send(
        browser,
        "/pages/ann-co/announcements",
        **{"announcement.importance": "MAINTENANCE", "announcement.title": "Upgrade"},
    )

    anybody = client.browser()
    page = read_text(anybody.get("/status/ann-co"))
    assert "Everything is down" in page
    assert "First. Second <b>. Upgrade" in page
    assert "Shop" in page
    for secret in ("Hidden", hidden, "secret.example", "answered 500", "ann@example.com", "Sign out"):
        assert secret not in anybody.get("/status/ann-co").text
    badge = anybody.get("/status/ann-co/badge.svg")
    assert badge.headers["content-type"] == "image/svg+xml"
    assert badge.headers["cross-origin-resource-policy"] == "cross-origin"
    assert "down" in badge.text
    assert "uptime 30 d" in anybody.get("/status/ann-co/badge.svg", params={"of": "uptime"}).text
    assert send(browser, "/pages/ann-co", slug="ann", title="Ann", checks=[shown]).status_code == 303
    clock.advance(15)  # public pages are cached
    assert anybody.get("/status/ann-co").status_code == 404
    assert "Upgrade" in read_text(browser.get("/pages/ann"))
    send(browser, "/pages/ann/remove")
    clock.advance(15)
    assert anybody.get("/status/ann").status_code == 404


def test_pages_say_that_nobody_monitors_and_since_when(client, ann, browser, clock):
    (checkid,) = client.add(ann.user.userid, name="Shop")
    send(browser, "/pages/new", slug="ann-co", title="Ann", checks=[checkid])
    paths = ["/", f"/check/{checkid}", "/status/ann-co"]
    for path in paths[:2]:
        assert "Monitoring has not begun: no worker is running." in read_text(browser.get(path))
    public = read_text(browser.get("/status/ann-co"))
    assert "Monitoring has not begun." in public
    assert "worker" not in public
    do(client.services.presence.write())
    seen = format_iso_time(clock.millis())
    for path in paths:
        assert "no worker" not in read_text(browser.get(path))
    clock.advance(60)
    for path in paths:
        page = browser.get(path).text
        assert "Monitoring is interrupted" in page
        assert f'datetime="{seen}"' in page
    assert "worker" not in read_text(browser.get("/status/ann-co"))


def test_an_incident_does_not_grow_while_nobody_looks(client, ann, browser, clock):
    (checkid,) = client.add(ann.user.userid, name="Shop")
    send(browser, "/pages/new", slug="ann-co", title="Ann", checks=[checkid])
    client.run(ann.user.userid, checkid, "uddddd")
    before = clock.millis()
    lasting = re.search(r"Down for ([^<]+)<", browser.get(f"/check/{checkid}").text)[1]
    clock.advance(6 * 3600)
    assert f"Down for {lasting} when it was last checked" in read_text(browser.get(f"/check/{checkid}"))
    assert f"was down for {lasting} when it was last checked" in read_text(browser.get("/status/ann-co"))
    assert clock.millis() > before


def test_times_in_results_are_shown_in_the_zone_of_the_reader():
    text = "no signal since 2026-01-15 12:00:00 UTC; <b>expected by 2026-01-15 13:00:00 UTC"
    assert mark_times(text) == (
        'no signal since <time datetime="2026-01-15T12:00:00Z" data-local>2026-01-15 12:00:00 UTC</time>; '
        '&lt;b&gt;expected by <time datetime="2026-01-15T13:00:00Z" data-local>2026-01-15 13:00:00 UTC</time>'
    )
    assert mark_times("<3") == "&lt;3"


def test_an_ebay_check_links_to_its_search(client, ann, browser):
    wanted = {"query": "leica m6", "threshold": 100}
    (checkid,) = client.add(ann.user.userid, url=None, check_type="EBAY", attributes=wanted)
    links = Forms(browser.get(f"/check/{checkid}").text).links
    assert any(link.startswith("https://www.ebay.com/sch/i.html?_nkw=leica+m6") for link in links)


def test_the_buttons_of_the_import_say_what_they_do_without_a_script_too(browser):
    page = browser.get("/import").text
    assert 'name="try" value="on">Show what would be added</button><button>Import</button>' in page


def test_reports_are_offered_for_each_month_and_downloaded(client, ann):
    client.add(ann.user.userid, name="Shop")
    client.clock.advance(40 * 86_400)
    browser = client.browser(ann.key)
    links = [link for link in Forms(browser.get("/reports").text).links if "/report/" in link]
    assert [link.rpartition("/")[2] for link in links] == ["2026-02.pdf", "2026-02.csv", "2026-01.pdf", "2026-01.csv"]
    assert browser.get("/report/2026-01.csv").text.count("Shop") == 1
    assert browser.get("/report/2026-01.pdf").content.startswith(b"%PDF-")
    assert browser.get("/report/2026-03.pdf").status_code == 404
    assert browser.get("/report/nonsense.csv").status_code == 404


# ── all pages ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_every_link_of_every_page_leads_somewhere_under_the_path_it_is_mounted_at(client, ann, browser):
    (checkid,) = client.add(ann.user.userid, name="Shop")
    client.run(ann.user.userid, checkid, "uudddd")
    do(client.pages.publish(ann.user.userid, "ann-co", PageContent(title="Ann", checks=[checkid])))
    seen, todo = set(), ["/checks/"]
    while todo:
        path = todo.pop()
        seen.add(path)
        response = browser.get(f"http://127.0.0.1:8002{path}")
        assert response.status_code == 200, path
        if not response.headers["content-type"].startswith("text/html"):
            continue
        links = [link.partition("#")[0] for link in Forms(response.text).links if not link.startswith("#")]
        ours = [link for link in links if link != "https://example.com/"]
        assert all(link.startswith("/checks/") for link in ours), (path, ours)
        pages = {link for link in ours if not is_action(link)}
        todo += [link for link in pages if link not in seen and link not in todo]
    assert {f"/checks/check/{checkid}/edit", "/checks/status/ann-co/badge.svg", "/checks/api/openapi.json"} <= seen


def is_action(link):
    """Return whether a form is sent there."""
    last = link.rpartition("/")[2]
    return last in {"run", "pause", "sign-out", "delete", "remove", "revoke", "ask", "channels", "keys", "page"} | {
        "begin",
        "confirm",
        "off",
        "recovery",
        "sign-out-everywhere",
        "announcements",
    }


def test_what_users_and_web_pages_wrote_is_escaped_everywhere(client, ann, browser):
    hostile = {"name": MARKUP, "url": "https://example.com/?q=%3Cscript%3E\"'><script>alert('x')</script>"}
    (checkid,) = client.add(ann.user.userid, **hostile, attributes={"keyword": MARKUP, "headers": {"X-A": MARKUP}})
    client.target.script = [down_with(MARKUP)]
    for _ in range(4):
        client.clock.advance(60)
        do(client.checks.run_now(ann.user.userid, checkid))
    do(client.keys.add(ann.user.userid, MARKUP))
    do(client.channels.verify(ann.token))
    do(client.pages.publish(ann.user.userid, "ann-co", PageContent(title=MARKUP, checks=[checkid])))
    client.deliver()
    client.clock.advance(60)
    paths = [
        "/",
        f"/check/{checkid}",
        f"/check/{checkid}/edit",
        f"/check/{checkid}/maintenance",
        "/account",
        "/messages",
    ]
    for path in [*paths, "/status/ann-co", "/status/ann-co/badge.svg", f"/new?type={MARKUP}", "/?show=<script>"]:
        response = browser.get(path)
        assert response.status_code == 200
        assert "<script>" not in response.text, path
        assert "alert('x')" not in response.text, path
        assert "onerror=" not in response.text


def down_with(message):
    from hashrange_systems.checks.model.outcome import Outcome, Status

    return Outcome(status=Status.DOWN, message=message, response_time=5)


def test_a_page_that_is_not_there_says_so(browser):
    for path in ("/nonsense", "/check/nonsense", "/status/nonsense", "/static/nonsense.css", "/?page=x"):
        response = browser.get(path)
        assert response.status_code == 404
        assert "Not found" in response.text


def test_many_checks_are_shown_page_by_page(client, ann, browser):
    client.add(ann.user.userid, 51)
    assert browser.get("/").text.count("/edit") == 0
    assert browser.get("/").text.count('class="state"') == 50
    assert browser.get("/?page=2").text.count('class="state"') == 1
    assert browser.get("/?page=-5").status_code == 200


def test_a_check_of_another_system_can_be_seen_and_deleted(client, ann, browser):
    (checkid,) = client.add(ann.user.userid)
    key = {"PK": {"S": checkid}, "SK": {"S": "CHECK"}}
    set_type = {
        "UpdateExpression": "SET checkType = :t REMOVE dueShard, nextRunAt",
        "ExpressionAttributeValues": {":t": {"S": "AI CHECK"}},
    }
    client.database.call("UpdateItem", {"TableName": "CHECK", "Key": key, **set_type})
    assert "Not ours" in browser.get("/").text
    assert browser.get(f"/check/{checkid}").status_code == 200
    assert browser.get(f"/check/{checkid}/edit").status_code == 404
    assert send(browser, f"/check/{checkid}/delete").status_code == 303


def test_the_token_of_a_form_is_that_of_the_session(client, ann, browser):
    assert find_token(browser) == find_token(browser, "/new")
    assert find_token(browser) != find_token(client.browser(client.sign_up("cid").key))
