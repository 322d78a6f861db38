"""The page of a check: plots that begin with a young check and end now, prices of searches."""

import re
from dataclasses import replace
from itertools import pairwise

from hashrange_systems.shared.epoch import MINUTE_MS
from systems.tests.checks.run_scenario import UP

PRICED = replace(UP, price=21_000, shipping=0, currency="USD", available=False)


def find_places(page, heading):
    """The times of the intervals of a plot, below a heading, in its wide picture."""
    wide = page.partition(f'id="{heading}"')[2].partition('class="narrow"')[0]
    return [int(at) for at in re.findall(r'class="hint" data-at="(\d+)"', wide)]


def find_ticks(page, heading):
    wide = page.partition(f'id="{heading}"')[2].partition('class="narrow"')[0]
    return [int(at) for at in re.findall(r'<text[^>]* data-at="(\d+)"', wide)]


def test_the_plot_of_a_young_check_has_its_minutes_and_nothing_after_now(client, ann):
    (checkid,) = client.add(ann.user.userid, delay_ms=MINUTE_MS)
    created = client.clock.millis()
    client.run(ann.user.userid, checkid, "uuuuuuuu")
    client.clock.advance(1)
    for period in ("24h", "7d", "30d", "90d"):
        page = client.browser(ann.key).get(f"/check/{checkid}", params={"range": period}).text
        places = find_places(page, "times")
        assert len(places) == 8, "one for each run, a minute apart, whatever the period"
        assert [later - before for before, later in pairwise(places)] == [MINUTE_MS] * 7
        times = [*places, *find_ticks(page, "times")]
        assert created - MINUTE_MS < min(times)
        assert max(times) <= client.clock.millis()


def test_the_page_of_a_search_has_the_plot_of_its_prices_with_the_limit(client, ann):
    wanted = {"query": "leica m6", "threshold": 19_900}
    (checkid,) = client.add(ann.user.userid, url=None, check_type="EBAY", attributes=wanted)
    client.run(ann.user.userid, checkid, [*[PRICED] * 5, replace(PRICED, price=19_000, available=True)])
    client.clock.advance(1)
    page = client.browser(ann.key).get(f"/check/{checkid}").text
    assert len(find_places(page, "prices")) == 2
    assert "the limit is 199.00 USD" in page
    (shop,) = client.add(ann.user.userid)
    assert 'id="prices"' not in client.browser(ann.key).get(f"/check/{shop}").text
