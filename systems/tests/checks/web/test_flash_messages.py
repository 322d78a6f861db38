"""What the pages say after an action: about a check that is added or resumed, when it really runs."""

from dataclasses import replace

import pytest

from hashrange_systems.checks.model.tier import FREE
from hashrange_systems.checks.service.manual_run_limit import ManualRunLimit
from systems.tests.checks.web.web_client import Forms, send


@pytest.fixture
def browser(client, clock):
    """The browser of a user with the tier FREE, who may start four runs at once."""
    client.services.checks = replace(client.checks, manual_runs=ManualRunLimit(client.db, clock))
    return client.browser(client.sign_up("eve", "FREE").key)


def add(browser, check_type="AVAILABILITY", **fields):
    """Add a daily check, whose regular time is hardly ever within seconds; return the next page, and its path."""
    form = Forms(browser.get("/new", params={"type": check_type}).text).values
    form |= (
        {"name": "Shop", "delayMs": "86400000"}
        | ({"url": "https://example.com/"} if check_type == "AVAILABILITY" else {})
        | fields
    )
    path = browser.post("/new", data=form).headers["location"]
    return browser.get(path).text, path.partition("?")[0].removeprefix("/checks")


def test_the_fifth_check_of_a_free_user_does_not_run_right_away_and_the_page_says_so(browser):
    for _ in range(FREE.manual_runs // 3):
        page, path = add(browser)
        assert "The check is added and runs right away." in page
    page, _ = add(browser)
    assert "The check is added. Its first run is at its regular time" in page
    assert "right away" not in page
    assert "due now" not in page
    send(browser, f"{path}/pause")
    page = browser.get(send(browser, f"{path}/resume").headers["location"]).text
    assert "Resumed. Its next run is at its regular time" in page


def test_a_resumed_check_runs_right_away_while_the_budget_lasts(browser):
    _, path = add(browser)
    send(browser, f"{path}/pause")
    assert "Resumed. It runs right away." in browser.get(send(browser, f"{path}/resume").headers["location"]).text


def test_a_new_heartbeat_waits_for_its_signal(browser):
    page, path = add(browser, "HEARTBEAT", **{"attributes.periodMs": "3600000"})
    assert "The check is added and waits for the first signal." in page
    send(browser, f"{path}/pause")
    assert "It waits for the next signal." in browser.get(send(browser, f"{path}/resume").headers["location"]).text
