"""The import of files in the pages, and the metrics of checks for Prometheus."""

import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from systems.tests.checks.model.test_import_file import GATUS, KUMA
from systems.tests.checks.services import do
from systems.tests.checks.web.web_client import find_token, read_text


def upload(browser, content, name="backup.json", **fields):
    data = {"form_token": find_token(browser), **fields}
    return browser.post("/import", data=data, files={"file": (name, content)})


def test_a_file_is_tried_then_imported(client, ann):
    browser = client.browser(ann.key)
    tried = read_text(upload(browser, GATUS, **{"try": "on"}))
    assert "Gatus: 8 of 10 checks would be added" in tried
    assert do(client.checks.list_by_user(ann.user.userid)) == []
    done = read_text(upload(browser, GATUS))
    assert "Gatus: 8 of 10 checks were added" in done
    assert "left out: len([BODY].list) > 0" in done
    added = {check.name: check for check in do(client.checks.list_by_user(ann.user.userid))}
    assert added["page"].status == "PAUSED"
    assert added["front"].delay_ms == 150_000
    assert added["job"].signal_key is not None
    assert added["db"].url == "tcp://db.example:5432"


def test_what_a_check_may_not_be_is_refused_in_a_file_too(client, bob):
    browser = client.browser(bob.key)
    monitors = [{"name": "own", "type": "http", "url": "http://127.0.0.1:8002/"}, {"name": "x", "type": "port"}]
    page = read_text(upload(browser, json.dumps({"monitorList": monitors})))
    assert "Uptime Kuma: 0 of 2 checks were added" in page
    assert "must not be a page of this service" in page


def test_a_trial_of_a_file_that_adds_nothing_does_not_say_that_something_was_done(client, bob):
    monitors = [{"name": "own", "type": "http", "url": "http://127.0.0.1:8002/"}]
    page = read_text(upload(client.browser(bob.key), json.dumps({"monitorList": monitors}), **{"try": "on"}))
    assert "0 of 1 checks would be added" in page


def test_no_more_checks_are_imported_than_the_tier_allows(client):
    new = client.sign_up("carl", "FREE")
    browser = client.browser(new.key)
    for fields in ({"try": "on"}, {}):
        page = read_text(upload(browser, json.dumps(KUMA), **fields))
        assert "5 of 9 checks" in page
        assert "the tier FREE allows no more checks" in page


def test_a_file_that_is_none_is_refused_and_one_is_needed(client, ann):
    browser = client.browser(ann.key)
    assert "aliases are not read" in read_text(upload(browser, "a: &x 1\nb: *x"))
    assert upload(browser, "x" * 1_000_000).status_code == 413
    nothing = browser.post("/import", data={"form_token": find_token(browser)})
    assert "must be chosen" in read_text(nothing)


def test_metrics_are_those_of_ones_own_checks(client, ann, bob):
    (shop,) = client.add(ann.user.userid, name='Sh"op\\', group="Web")
    client.add(bob.user.userid, name="Bob's")
    client.run(ann.user.userid, shop, "uudddd")
    (waiting,) = client.add(ann.user.userid, name="New")
    response = client.client(ann.key).get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    assert "Bob" not in response.text
    found = {
        (sample.name, sample.labels["check"]): (sample.value, sample.labels)
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }
    value, labels = found["hashrange_check_up", shop]
    assert (value, labels["name"], labels["group"], labels["type"]) == (0.0, 'Sh"op\\', "Web", "AVAILABILITY")
    assert found["hashrange_check_incident_open", shop][0] == 1.0
    assert found["hashrange_check_response_seconds", shop][0] == 0.09
    assert ("hashrange_check_up", waiting) not in found
    assert client.client().get("/metrics").status_code == 401


@pytest.mark.parametrize("silence", ["interrupted", "overdue"])
def test_metrics_do_not_say_up_while_nobody_looks(client, ann, clock, silence):
    (shop,) = client.add(ann.user.userid, name="Shop")
    client.run(ann.user.userid, shop, "u")
    do(client.services.presence.write())
    up = f'hashrange_check_up{{check="{shop}"'
    assert up in client.client(ann.key).get("/metrics").text
    clock.advance(60 if silence == "interrupted" else 3600)
    if silence == "overdue":
        do(client.services.presence.write())
    silent = client.client(ann.key).get("/metrics").text
    assert up not in silent
    assert "hashrange_check_last_run_timestamp_seconds{" in silent
