"""What is served without signing in, over HTTP: signals of jobs, large status pages, metrics of the workers."""

import re
from itertools import count

import pytest

from hashrange import ManualClock
from hashrange_systems.checks.service.status_pages import PageContent
from systems.tests.checks.check_items import make_check
from systems.tests.checks.run_scenario import make_worker
from systems.tests.checks.services import do

HOUR_MS = 3_600_000
SMALL_PAGE = 400_000


# ── heartbeat URLs ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def job(client, ann):
    attributes = {"periodMs": HOUR_MS, "graceMs": 600_000}
    (checkid,) = client.add(ann.user.userid, url=None, check_type="HEARTBEAT", name="Backup", attributes=attributes)
    return checkid


def find_path(client, ann, checkid):
    """The path of the URL that the check's page and the API show."""
    url = client.client(ann.key).get(f"/checks/{checkid}").json()["signalUrl"]
    assert url in client.browser(ann.key).get(f"/check/{checkid}").text
    return url.removeprefix(client.base_url)


def evaluate(client, checkid):
    """The result after the worker has evaluated what was signalled."""
    client.clock.advance(1)
    do(make_worker(client.db, client.clock).run_due())
    return client.check(checkid).last_result


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_a_job_signals_success_with_any_method(client, ann, job, method):
    response = client.browser().request(method, find_path(client, ann, job))
    assert (response.status_code, response.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert evaluate(client, job)["status"] == "UP"


@pytest.mark.parametrize(
    ("ending", "status", "message"),
    [("/fail", "DOWN", "disk full"), ("/0", "UP", ""), ("/3", "DOWN", "exit status 3, disk full")],
)
def test_a_job_signals_its_end_and_the_body_is_the_message(client, ann, job, ending, status, message):
    path = find_path(client, ann, job)
    assert client.browser().get(f"{path}/start").text == "OK\n"
    assert client.browser().post(path + ending, content=b"disk\x00 full").text == "OK\n"
    result = evaluate(client, job)
    assert result["status"] == status
    assert message in result.get("message", "")


def test_wrong_keys_endings_and_paused_checks_are_told_so(client, ann, job):
    path, browser = find_path(client, ann, job), client.browser()
    for wrong in (f"{path}x", path.replace(job, "another"), f"{path}x/fail"):
        response = browser.post(wrong)
        assert (response.status_code, response.text) == (404, "There is no such heartbeat.\n")
    for ending in ("256", "-1", "begin", "٣"):
        assert browser.get(f"{path}/{ending}").status_code == 404
    do(client.checks.pause(ann.user.userid, job))
    assert "paused" in browser.get(path).text


def test_a_job_that_calls_all_the_time_must_wait_and_others_need_not(client, ann, job):
    path, browser = find_path(client, ann, job), client.browser()
    assert [browser.get(path).status_code for _ in range(21)][-2:] == [200, 429]
    assert browser.get(f"{path}x").status_code == 404, "a wrong key does not use up the right one"


# ── results beyond the first page ────────────────────────────────────────────────────────────────────────────────────
def test_older_results_are_on_the_next_page_and_no_result_is_lost(client, ann):
    (checkid,) = client.add(ann.user.userid, name="Shop")
    for _ in range(3):
        client.run(ann.user.userid, checkid, "u" * 40)
        client.clock.advance(3600)  # runs by hand have a budget
    browser, path, seen = client.browser(ann.key), f"/check/{checkid}/results", []
    while path:
        page = browser.get(path).text
        seen += re.findall(r'<td class="nowrap"><time datetime="([^"]+)"', page)
        older = re.search(r'href="/checks([^"]+after=[^"]+)">Older', page)
        path = older[1] if older else None
    assert len(seen) == len(set(seen)) == 120
    assert seen == sorted(seen, reverse=True)
    assert browser.get(f"/check/{checkid}/results", params={"after": "forged"}).status_code == 404


# ── status pages and metrics ─────────────────────────────────────────────────────────────────────────────────────────
def test_a_status_page_of_two_hundred_checks_is_small(client):
    owner = client.sign_up("cara", "BUSINESS").user.userid
    known = [make_check(f"c{n}", userid=owner, name=f"Shop number {n}") for n in range(200)]
    client.db.batch(known).run()
    shown = [check.checkid for check in known]
    do(client.pages.publish(owner, "shops", PageContent(title="Shops", checks=shown)))
    page = client.browser().get("/status/shops")
    assert page.text.count('class="bars"') == 200
    assert len(page.content) < SMALL_PAGE
    do(client.pages.publish(owner, "few", PageContent(title="Shops", checks=shown[:20])))
    assert "<rect" in client.browser().get("/status/few").text, "with a tooltip for each day"


def test_an_incident_goes_on_while_its_check_is_run(client, ann, clock, monkeypatch):
    (checkid,) = client.add(ann.user.userid, name="Shop")
    do(client.pages.publish(ann.user.userid, "ann-co", PageContent(title="Ann", checks=[checkid])))
    client.run(ann.user.userid, checkid, "uddddd")
    now, ticks = clock.millis(), count(1)
    monkeypatch.setattr(ManualClock, "millis", lambda _: now + next(ticks))  # as of a clock that does not stand still
    assert "has been down for" in client.browser().get("/status/ann-co").text
    page = client.browser(ann.key).get(f"/check/{checkid}").text
    assert "Down for" in page
    assert "when it was last checked" not in page


def test_metrics_tell_the_operator_whether_a_worker_is_there(client, clock):
    assert 'hashrange_workers{system="checks"} 0.0' in client.browser().get("/metrics").text
    client.services.presence.measure = lambda: ("", 42_000)
    do(client.services.presence.write())
    found = client.browser().get("/metrics")
    assert found.headers["content-type"].startswith("text/plain")
    assert 'hashrange_workers{system="checks"} 1.0' in found.text
    assert 'hashrange_worker_late_seconds{system="checks"} 42.0' in found.text
    clock.advance(60)
    late = client.browser().get("/metrics").text
    assert 'hashrange_workers{system="checks"} 0.0' in late
    assert 'hashrange_worker_seen_timestamp_seconds{system="checks"} 1.7684784e+09' in late, "noon of the clock"
