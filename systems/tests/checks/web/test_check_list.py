"""The list of checks: filters, search, order and groups, as pure functions and once on the page."""

from datetime import timedelta

import pytest

from hashrange_systems.checks.web.check_list import ListQuery, group_rows, list_checks, read_query, select_checks
from hashrange_systems.checks.web.check_view import make_row
from systems.tests.checks.check_items import MINUTE, NOON, make_check, make_paused

NOW = int(NOON.timestamp() * 1000)
UP = {"status": "UP", "responseTime": 90}
DOWN = {"status": "DOWN", "cause": "STATUS", "responseTime": 700, "message": "answered 500"}
STATE_DOWN = {"phase": "DOWN"}


def make_checks():
    """A shop that is up, its API that is down, a blog without a group, and a paused port."""
    return [
        make_check("c1", name="Shop", group="Sales", tags=["eu", "web"], last_result=UP, next_run_at=NOON + MINUTE),
        make_check(
            "c2",
            name="orders API",
            url="https://api.example.com/orders",
            group="Sales",
            tags=["eu"],
            last_result=DOWN,
            created_at=NOON + timedelta(hours=1),
            next_run_at=NOON + MINUTE,
        ),
        make_check("c3", name="Blog", created_at=NOON + timedelta(hours=2), last_result=UP | {"responseTime": 2000}),
        make_paused("c4", name="Database", url="tcp://db.example.com:5432", check_type="TCP", tags=["db"]),
    ]


def find(**given):
    return [each.check.checkid for each in select_checks(list_checks(make_checks(), NOW), read_query(given))]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"q": "shop"}, ["c1"]),
        ({"q": "ORDERS api"}, ["c2"]),
        ({"q": "api.example.com"}, ["c2"]),
        ({"q": "sales eu"}, ["c1", "c2"]),
        ({"q": "sales db"}, []),
        ({"group": "Sales"}, ["c1", "c2"]),
        ({"group": "sales"}, []),
        ({"group": ""}, ["c1", "c2", "c3", "c4"]),
        ({"tag": "EU"}, ["c1", "c2"]),
        ({"tag": "e"}, []),
        ({"type": "TCP"}, ["c4"]),
        ({"type": "NONE SUCH"}, ["c1", "c2", "c3", "c4"]),
        ({"show": "paused"}, ["c4"]),
        ({"show": "up", "q": "blog"}, ["c3"]),
        ({"show": "none such"}, []),
    ],
)
def test_words_states_groups_tags_and_types_select_checks(given, found):
    assert sorted(find(**given)) == found


def test_the_order_is_by_state_name_time_or_age():
    assert find(sort="name") == ["c3", "c4", "c2", "c1"]
    assert find(sort="time") == ["c3", "c2", "c1", "c4"]
    assert find(sort="new") == ["c3", "c2", "c1", "c4"]
    assert find() == find(sort="none such")
    assert find()[-1] == "c4", "what is not run is last"
    assert find()[0] == "c2", "what is not up is first"


def test_groups_have_the_tone_of_their_worst_and_the_rest_comes_last():
    checks = [each.check for each in select_checks(list_checks(make_checks(), NOW), ListQuery())]
    groups = group_rows([make_row(check, [], NOW) for check in checks])
    assert [(each.title, len(each.rows)) for each in groups] == [("Sales", 2), ("Other checks", 2)]
    assert groups[0].tone in {"down", "pending"}
    assert [each.title for each in group_rows([make_row(checks[-1], [], NOW)])] == [""]
    assert group_rows([]) == []


def test_links_keep_the_query_and_leave_out_what_is_usual():
    query = read_query({"q": " a&b ", "tag": "EU", "sort": "name"})
    assert query.link() == "?q=a%26b&tag=eu&sort=name"
    assert query.link(tag=None, show="down") == "?q=a%26b&show=down&sort=name"
    assert ListQuery().link() == "?"
    assert query.narrows
    assert not read_query({"sort": "name"}).narrows


def test_the_page_shows_what_was_selected_and_says_when_there_is_nothing(client, ann):
    client.add(ann.user.userid, name="Shop", group="Sales", tags=["eu"])
    client.add(ann.user.userid, name="Blog")
    browser = client.browser(ann.key)
    found = browser.get("/", params={"q": "sales"}).text
    assert ">Shop</a>" in found
    assert ">Blog</a>" not in found
    assert 'value="sales"' in found
    nothing = browser.get("/", params={"q": '"><script>'})
    assert nothing.status_code == 200
    assert "<script>" not in nothing.text.partition('id="q"')[2].partition("</form>")[0]
