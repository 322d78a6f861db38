"""The JSON API: what it does for a user, and how it refuses."""

import pytest

from hashrange_systems.checks.registry import CHECK_TYPES
from hashrange_systems.shared.web.request_guard import MAX_BYTES
from systems.tests.checks.services import do
from systems.tests.checks.web.web_client import ADMIN_TOKEN, BASE_URL, WebClient

PROBLEM = {"type", "title", "status", "detail", "faults"}


@pytest.fixture
def api(client, ann):
    return client.client(ann.key)


def add(api, **more):
    response = api.post("/checks", json={"url": "https://example.com/", **more})
    assert response.status_code == 201, response.text
    return response.json()


def is_problem(response, status):
    """Return whether a refusal has the one shape that all have."""
    problem = response.json()
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert set(problem) == PROBLEM
    assert problem["status"] == status
    assert problem["type"].startswith("urn:hashrange:checks:")
    assert problem["detail"]
    return True


def faults_of(response):
    assert is_problem(response, 422)
    return {error["field"]: error["message"] for error in response.json()["faults"]}


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_check_is_added_read_changed_and_deleted(api):
    added = api.post(
        "/checks",
        json={"url": "https://example.com/", "name": "Shop", "attributes": {"keyword": "Hello"}, "delayMs": 60_000},
    )
    check = added.json()
    assert added.headers["location"] == f"{BASE_URL}/api/checks/{check['checkid']}"
    assert (check["status"], check["state"], check["attributes"]) == ("ACTIVE", "Waiting", {"keyword": "Hello"})
    assert check["nextRunAt"] == check["createdAt"]

    path = f"/checks/{check['checkid']}"
    assert api.get(path).json() == check
    assert api.get("/checks").json()["items"] == [check]

    changed = api.patch(path, json={"name": None, "delayMs": 300_000}).json()
    assert (changed["name"], changed["delayMs"], changed["attributes"]) == (None, 300_000, {"keyword": "Hello"})
    assert changed["revision"] == 1

    gone = api.delete(path)
    assert (gone.status_code, gone.content) == (204, b"")
    assert is_problem(api.get(path), 404)


def test_every_fault_is_named_at_once_by_its_field(api):
    wish = {
        "url": "gopher://example.com",
        "delayMs": 1,
        "name": "x" * 101,
        "attributes": {"timeoutMs": 1, "keyword": "", "nonsense": 1},
        "channels": ["not-mine"],
        "maintenance": [{"kind": "WEEKLY", "days": [9], "start": "25:00", "minutes": 0}],
    }
    named = faults_of(api.post("/checks", json=wish))
    assert {"url", "delayMs", "name", "channels", "attributes.timeoutMs", "attributes.keyword"} <= set(named)
    assert "attributes.nonsense" in named
    assert any(field.startswith("maintenance.0") for field in named)
    assert named["delayMs"] == "must be at least 60000 (PRO), not 1"


@pytest.mark.parametrize(
    "delay", [0, -1, 1.5, 10**15, "300000", True, None, [], {}, float("1e300")], ids=lambda given: repr(given)[:10]
)
def test_a_delay_that_is_none_is_refused(api, delay):
    assert set(faults_of(api.post("/checks", json={"url": "https://example.com/", "delayMs": delay}))) == {"delayMs"}


def test_a_field_that_is_not_known_is_refused(api):
    assert faults_of(api.post("/checks", json={"url": "https://example.com/", "delay": 5})) == {
        "delay": "is not known here"
    }


def test_what_is_no_json_is_refused(api):
    response = api.post("/checks", content=b"{", headers={"content-type": "application/json"})
    assert is_problem(response, 400)
    assert response.json()["type"] == "urn:hashrange:checks:NotJson"


def test_an_edit_based_on_an_old_revision_is_refused(api):
    path = f"/checks/{add(api)['checkid']}"
    assert api.patch(path, json={"name": "mine", "seen": 0}).status_code == 200
    assert is_problem(api.patch(path, json={"name": "yours", "seen": 0}), 409)
    assert api.get(path).json()["name"] == "mine"


def test_a_check_is_paused_resumed_and_run(client, api):
    path = f"/checks/{add(api)['checkid']}"
    assert api.post(f"{path}/pause").json()["status"] == "PAUSED"
    assert is_problem(api.post(f"{path}/run"), 409)
    assert api.post(f"{path}/resume").json()["status"] == "ACTIVE"
    client.clock.advance(5)
    ran = api.post(f"{path}/run").json()
    assert (ran["state"], ran["lastResult"]["responseTime"]) == ("Up", 250)


def test_the_limit_of_the_tier_is_told(client):
    free = client.sign_up("free", "FREE")
    client.add(free.user.userid, 5)
    response = client.client(free.key).post("/checks", json={"url": "https://example.com/"})
    assert is_problem(response, 403)
    assert "allows 5 checks" in response.json()["detail"]


def test_results_are_paged_from_the_latest_on(client, ann, api):
    checkid = add(api)["checkid"]
    client.run(ann.user.userid, checkid, "uudu?")
    first = api.get(f"/checks/{checkid}/results", params={"limit": 3}).json()
    rest = api.get(f"/checks/{checkid}/results", params={"limit": 3, "cursor": first["cursor"]}).json()
    statuses = [run["result"]["status"] for run in first["items"] + rest["items"]]
    assert statuses == ["UNKNOWN", "UP", "DOWN", "UP", "UP"]
    assert rest["cursor"] is None


@pytest.mark.parametrize("cursor", ["", "x", "AAAA", "é", "\x00"])
def test_a_cursor_that_is_none_is_refused(api, cursor):
    checkid = add(api)["checkid"]
    assert set(faults_of(api.get(f"/checks/{checkid}/results", params={"cursor": cursor}))) == {"cursor"}


def test_a_cursor_of_another_check_is_refused(client, ann, api):
    one, other = add(api)["checkid"], add(api)["checkid"]
    client.run(ann.user.userid, one, "uuu")
    cursor = api.get(f"/checks/{one}/results", params={"limit": 1}).json()["cursor"]
    assert set(faults_of(api.get(f"/checks/{other}/results", params={"cursor": cursor}))) == {"cursor"}


def test_incidents_and_uptime_are_told(client, ann, api):
    checkid = add(api)["checkid"]
    client.run(ann.user.userid, checkid, "uuuddddduuu")
    client.clock.advance(60)
    (incident,) = api.get(f"/checks/{checkid}/incidents").json()["items"]
    assert (incident["cause"], incident["evidence"]) == ("STATUS", "HTTP 500: answered 500")
    assert incident["endedAt"] is not None

    summary = api.get(f"/checks/{checkid}/summary", params={"days": 1}).json()
    assert (summary["runs"], summary["up"], summary["down"]) == (11, 360_000, 300_000)
    assert summary["uptime"] == "54.545%"
    days = api.get(f"/checks/{checkid}/days", params={"count": 2}).json()["items"]
    assert [(day["day"], day["down"]) for day in days] == [("2026-01-14", 0), ("2026-01-15", 300_000)]


def test_incidents_are_paged_from_the_latest_on(client, ann, api):
    checkid = add(api)["checkid"]
    client.run(ann.user.userid, checkid, "uuuddddduuuddddduuu")
    found = api.get(f"/checks/{checkid}/incidents").json()["items"]
    latest = api.get(f"/checks/{checkid}/incidents", params={"limit": 1}).json()
    older = api.get(f"/checks/{checkid}/incidents", params={"limit": 1, "cursor": latest["cursor"]}).json()
    assert (len(found), latest["items"] + older["items"]) == (2, found)


def test_the_types_of_checks_describe_their_attributes(api):
    found = {each["checkType"]: each["attributes"] for each in api.get("/check-types").json()["items"]}
    assert set(found) == set(CHECK_TYPES)
    assert "soldOutText" in found["AVAILABILITY"]["properties"]


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("given", [None, "", "hrc_wrong", "x" * 5000, "Bearer", "hrc_é"])
def test_without_a_good_key_there_is_nothing(client, given):
    headers = {} if given is None else {"Authorization": f"Bearer {given}".encode()}
    response = client.client().get("/checks", headers=headers)
    assert is_problem(response, 401)
    assert response.headers["www-authenticate"] == "Bearer"


def test_a_key_is_shown_once_and_opens_until_it_is_revoked(client, api):
    made = api.post("/keys", json={"name": "deploy"})
    new = made.json()
    assert made.status_code == 201
    other = client.client(new["key"])
    assert other.get("/users/me").json()["email"] == "ann@example.com"
    assert new["key"] not in api.get("/keys").text
    assert api.delete(f"/keys/{new['keyId']}").status_code == 204
    assert is_problem(other.get("/users/me"), 401)


def test_a_suspended_user_is_shut_out(client, ann, api):
    do(client.users.suspend(ann.user.userid))
    assert is_problem(api.get("/checks"), 403)


def test_a_key_may_make_so_many_requests_and_then_waits(client, ann, bob, api):
    responses = [api.get("/users/me") for _ in range(101)]
    assert [response.status_code for response in responses[:100]] == [200] * 100
    assert is_problem(responses[100], 429)
    assert responses[100].headers["retry-after"] == "1"
    assert client.client(bob.key).get("/users/me").status_code == 200
    client.clock.advance(1)
    assert [api.get("/users/me").status_code for _ in range(11)] == [200] * 10 + [429]


def test_who_tries_many_keys_is_told_to_wait(client, ann):
    guesses = [client.client(f"hrc_guess{number}").get("/users/me") for number in range(21)]
    assert [guess.status_code for guess in guesses] == [401] * 20 + [429]
    assert guesses[-1].headers["retry-after"] == "5"
    assert client.client(ann.key).get("/users/me").status_code == 200


def test_a_body_that_is_too_long_is_not_read(api):
    response = api.post("/checks", json={"url": "https://example.com/", "name": "x" * MAX_BYTES})
    assert is_problem(response, 413)

    def chunks():
        while True:
            yield b"x" * 10_000

    assert is_problem(api.post("/checks", content=chunks()), 413)


# ── channels and the status page ─────────────────────────────────────────────────────────────────────────────────────
def test_a_channel_is_asked_and_used_once_it_confirms(client, ann, api):
    added = api.post("/channels", json={"channelType": "EMAIL", "target": "ops@example.com"}).json()
    assert (added["asked"], added["verifiedAt"], added["secret"]) == (True, None, None)
    mail = client.mailbox.mails(ann.user.userid)[0]
    assert mail.recipient == "ops@example.com"
    token = mail.notification.data["link"].partition("token=")[2]
    assert api.post("/channels/verify", json={"token": token}).json()["verifiedAt"] is not None
    assert is_problem(api.post("/channels/verify", json={"token": token + "x"}), 400)
    again = api.post(f"/channels/{added['channelId']}/ask")
    assert is_problem(again, 429)
    assert int(again.headers["retry-after"]) > 0


def test_the_secret_of_a_webhook_is_shown_once(api):
    added = api.post("/channels", json={"channelType": "WEBHOOK", "target": "https://example.com/hook"}).json()
    assert added["secret"].startswith("whsec_")
    assert added["secret"] not in api.get("/channels").text


def test_a_client_that_calls_the_type_of_a_channel_kind_still_works(api):
    added = api.post("/channels", json={"kind": "WEBHOOK", "target": "https://example.com/hook"})
    assert added.status_code == 201, added.text
    (listed,) = [
        each for each in api.get("/channels").json()["items"] if each["channelId"] == added.json()["channelId"]
    ]
    assert listed["kind"] == listed["channelType"] == added.json()["kind"] == added.json()["channelType"] == "WEBHOOK"
    described = api.get("/openapi.json").json()["components"]["schemas"]
    assert "channelType" in described["ChannelInput"]["properties"]
    assert described["ChannelModel"]["properties"]["kind"]["deprecated"] is True
    assert is_problem(api.post("/channels", json={"target": "https://example.com/hook"}), 422)


def test_a_status_page_tells_anybody_names_and_states_and_no_addresses(client, ann, api, clock):
    named, unnamed = add(api, name="Shop")["checkid"], add(api, url="https://secret.example/")["checkid"]
    hidden = add(api, name="Hidden")["checkid"]
    client.run(ann.user.userid, named, "u")
    page = {"title": "Ann & Co", "checks": [named, unnamed], "intro": "Welcome."}
    made = page | {"slug": "ann-co", "url": f"{BASE_URL}/status/ann-co", "announcements": []}
    assert api.put("/status-pages/ann-co", json=page).json() == made
    assert api.get("/status-pages").json()["items"] == [made]
    assert api.get("/status-pages/ann-co").json() == made
    news = api.post(
        "/status-pages/ann-co/announcements", json={"title": "Upgrade", "endsAt": "2026-01-20T12:00:00Z"}
    ).json()
    assert client.client().get("/status/ann-co").json()["announcements"] == [news]
    assert api.delete(f"/status-pages/ann-co/announcements/{news['announcementId']}").status_code == 204

    public = client.client().get("/status/ann-co")
    assert public.json()["checks"] == [
        {"name": "Shop", "state": "Up", "uptime": None},
        {"name": "Check 2", "state": "Waiting", "uptime": None},
    ]
    assert hidden not in public.text
    assert "secret.example" not in public.text
    assert api.delete("/status-pages/ann-co").status_code == 204
    clock.advance(15)  # public pages are cached
    assert is_problem(client.client().get("/status/ann-co"), 404)


def test_the_public_json_is_cached_and_limited_like_the_page(client, ann, api, clock):
    checkid = add(api, name="Shop")["checkid"]
    api.put("/status-pages/ann-co", json={"title": "Ann", "checks": [checkid]})
    stranger = client.client()
    answers = [stranger.get("/status/ann-co") for _ in range(100)]
    assert {answer.text for answer in answers} == {answers[0].text}
    api.put("/status-pages/ann-co", json={"title": "Bob", "checks": [checkid]})
    assert stranger.get("/status/ann-co").json()["title"] == "Ann", "from memory"
    others = [stranger.get(f"/status/none{number}") for number in range(40)]
    assert {answer.status_code for answer in others} == {404, 429}
    assert is_problem(others[-1], 429)
    assert others[-1].headers["retry-after"] == "1"
    assert client.browser().get("/status/none").status_code == 429, "one limit for both"
    clock.advance(15)
    assert stranger.get("/status/ann-co").json()["title"] == "Bob"


def test_the_public_json_says_when_monitoring_is_interrupted(client, ann, api, clock):
    checkid = add(api, name="Shop")["checkid"]
    client.run(ann.user.userid, checkid, "u")
    api.put("/status-pages/ann-co", json={"title": "Ann", "checks": [checkid]})
    do(client.services.presence.write())
    working = client.client().get("/status/ann-co").json()
    assert (working["state"], working["monitoring"]) == ("up", {"state": "working", "since": None})
    clock.advance(41)
    silent = client.client().get("/status/ann-co").json()
    assert silent["monitoring"] == {"state": "interrupted", "since": "2026-01-15T12:01:00Z"}
    assert (silent["state"], silent["checks"][0]["state"]) == ("unknown", "Unknown")
    assert "Unknown" in client.browser().get("/status/ann-co").text
    assert "unknown" in client.browser().get("/status/ann-co/badge.svg").text


def test_an_overdue_check_is_unknown_in_the_public_json(client, ann, api, clock):
    checkid = add(api, name="Shop")["checkid"]
    client.run(ann.user.userid, checkid, "u")
    api.put("/status-pages/ann-co", json={"title": "Ann", "checks": [checkid]})
    clock.advance(3600)
    do(client.services.presence.write())
    overdue = client.client().get("/status/ann-co").json()
    assert (overdue["state"], overdue["checks"][0]["state"]) == ("unknown", "Unknown")


def test_the_page_of_a_suspended_user_is_not_there(client, ann, api):
    assert api.put("/status-pages/ann-co", json={"title": "Ann", "checks": []}).status_code == 200
    do(client.users.suspend(ann.user.userid))
    assert is_problem(client.client().get("/status/ann-co"), 404)
    assert client.browser().get("/status/ann-co").status_code == 404
    assert client.browser().get("/status/ann-co/badge.svg").status_code == 404


# ── reports ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_month_is_given_as_json_csv_and_pdf(client, ann, api):
    checkid = add(api, name="Shop")["checkid"]
    client.run(ann.user.userid, checkid, "uuudddd")
    client.clock.advance(60)
    (row,) = api.get("/reports/2026-01").json()["items"]
    assert (row["name"], row["incidents"], row["runs"]) == ("Shop", 1, 7)
    csv = api.get("/reports/2026-01.csv")
    assert csv.headers["content-disposition"] == 'attachment; filename="checks-2026-01.csv"'
    assert "Shop" in csv.text
    pdf = api.get("/reports/2026-01.pdf")
    assert (pdf.headers["content-type"], pdf.content[:5]) == ("application/pdf", b"%PDF-")


@pytest.mark.parametrize("month", ["2026-13", "2026-1", "january", "2026-02", "9999-01", "2026-01-01"])
def test_of_a_month_that_is_none_or_to_come_there_is_no_report(api, month):
    for suffix in ("", ".csv", ".pdf"):
        assert is_problem(api.get(f"/reports/{month}{suffix}"), 404)


# ── the operator ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_operator_takes_users_in_and_moves_them(client):
    operator = client.client(ADMIN_TOKEN)
    new = operator.post("/admin/users", json={"email": "new@example.com", "tier": "FREE"}).json()
    path = f"/admin/users/{new['userid']}"
    user = client.client(new["key"])
    assert user.get("/users/me").json()["tier"] == "FREE"
    assert client.mailbox.mails(new["userid"])[0].recipient == "new@example.com"
    assert operator.patch(path, json={"tier": "PRO"}).json()["checkLimit"] == 100
    add(user)
    assert operator.post(f"{path}/suspend").json()["status"] == "SUSPENDED"
    assert user.get("/users/me").status_code == 403
    assert operator.post(f"{path}/reinstate").json()["status"] == "ACTIVE"
    assert [each["userid"] for each in operator.get("/admin/checks").json()["items"]] == [new["userid"]]
    assert [each["userid"] for each in operator.get("/admin/users").json()["items"]] == [new["userid"]]
    assert operator.delete(path).status_code == 204
    assert is_problem(operator.get(path), 404)


def test_without_a_token_there_is_no_operator(opened, clock):
    client = WebClient(opened, clock, admin_token=None)
    user = client.sign_up("ann")
    for given in (None, "", "None", user.key):
        assert is_problem(client.client(given).get("/admin/users"), 404)


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_every_refusal_has_one_shape(api):
    assert is_problem(api.get("/nonsense"), 404)
    refused = api.put("/checks")
    assert is_problem(refused, 405)
    assert refused.headers["allow"] == "GET, POST"
    assert is_problem(api.post("/checks", content=b"\xff"), 422)
    assert is_problem(api.get("/checks/x/summary", params={"days": "many"}), 422)


def test_a_failure_of_ours_tells_nothing(client, ann, api, caplog):
    def fail(*_):
        raise RuntimeError("secret detail")

    object.__setattr__(client.services.checks.db.session.transport, "call_async", fail)
    response = api.get("/checks")
    assert is_problem(response, 500)
    assert "secret detail" not in response.text
    assert "secret detail" in caplog.text
    page = client.browser(peer="127.0.0.2").get("/status/x")
    assert page.status_code == 500
    assert "secret detail" not in page.text
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_the_document_of_the_api_names_every_route_and_the_problem(api):
    document = api.get("/openapi.json").json()
    assert {"/checks", "/checks/{checkid}/run", "/admin/users", "/reports/{month}.pdf"} <= set(document["paths"])
    operations = [each for path in document["paths"].values() for each in path.values()]
    assert all("application/problem+json" in each["responses"]["4XX"]["content"] for each in operations)
    assert all(each.get("security") for path, each in _secured(document))


def _secured(document):
    for path, operations in document["paths"].items():
        for each in operations.values():
            if path not in {"/status/{slug}", "/check-types"}:
                yield path, each
