"""The physical layout is the seed's: what the original system wrote is read here, and the other way round."""

import pytest

from hashrange import dump_item
from hashrange_systems.checks.schema import Active, ActiveUser, Failed, ForeignCheck, Paused, SuspendedUser, User
from systems.tests.checks.check_items import (
    CHECK,
    NOON,
    USER,
    get_plain,
    make_active,
    make_check,
    make_user,
    put_plain,
    to_plain,
)


def describe(database, name):
    table = database.call("DescribeTable", {"TableName": name})["Table"]
    return table, {index["IndexName"]: index for index in table["GlobalSecondaryIndexes"]}


def keys(description):
    return [(part["AttributeName"], part["KeyType"]) for part in description["KeySchema"]]


def test_the_user_table_has_the_seeds_keys_and_index(db, database):
    table, indexes = describe(database, "USER")
    assert keys(table) == [("PK", "HASH"), ("SK", "RANGE")]
    assert keys(indexes["Email-Index"]) == [("email", "HASH"), ("PK", "RANGE")]
    assert indexes.keys() == {"Email-Index"}


def test_the_check_table_has_the_seeds_keys_indexes_and_projection(db, database):
    table, indexes = describe(database, "CHECK")
    assert keys(table) == [("PK", "HASH"), ("SK", "RANGE")]
    assert keys(indexes["User-Check-Index"]) == [("userid", "HASH"), ("PK", "RANGE")]
    assert keys(indexes["Type-Status-Index"]) == [("checkType", "HASH"), ("status", "RANGE")]
    projection = indexes["Type-Status-Index"]["Projection"]
    assert projection["ProjectionType"] == "INCLUDE"
    assert {*projection["NonKeyAttributes"], "PK"} == {"PK", "userid", "createdAt"}
    assert indexes.keys() - {"User-Check-Index", "Type-Status-Index"} == {
        "Due-Index",
        "Outbox-Index",
        "Owner-Alert-Index",
    }


def test_the_seeds_example_user_is_read_as_it_is_and_stored_back_to_the_letter(db, database):
    put_plain(database, "USER", USER)
    user = db.user("123456").required().run()
    assert (type(user), user.userid, user.tier, user.check_limit) == (ActiveUser, "123456", "PRO", 100)
    assert to_plain(dump_item(user)) == USER
    db.put(user).run()
    assert get_plain(database, "USER", "123456", "USER") == USER


def test_the_seeds_example_check_is_read_as_it_is_and_stored_back_to_the_letter(db, database):
    put_plain(database, "CHECK", CHECK)
    check = db.check("abcdef").required().run()
    assert (type(check), check.checkid, check.delay_ms) == (Active, "abcdef", 300_000)
    assert check.attributes == {"keyword": "Example"}
    assert check.last_result == {"status": "UP", "responseTime": 250, "keywordFound": True}
    assert to_plain(dump_item(check)) == CHECK
    db.put(check).run()
    assert get_plain(database, "CHECK", "abcdef", "CHECK") == CHECK


def test_a_user_written_here_is_read_attribute_by_attribute_with_plain_getitem(db, database):
    db.create(make_user("123456", email="user@example.com", tier="PRO", check_limit=100)).run()
    added = {"checkCount": 0}
    times = {"createdAt": "2026-01-15T12:00:00Z", "updatedAt": "2026-01-15T12:00:00Z"}
    assert get_plain(database, "USER", "123456", "USER") == USER | times | added


def test_a_check_written_here_is_read_attribute_by_attribute_with_plain_getitem(db, database):
    check = make_active("abcdef", userid="123456", attributes={"keyword": "Example"})
    db.create(check).run()
    db.record(check, NOON, {"status": "UP", "responseTime": 250, "keywordFound": True}).run()
    times = dict.fromkeys(("createdAt", "updatedAt", "lastExecutedAt"), "2026-01-15T12:00:00Z")
    assert get_plain(database, "CHECK", "abcdef", "CHECK") == CHECK | times


def test_a_scheduled_check_has_two_attributes_more(db, database):
    db.create(make_check("abcdef")).run()
    item = get_plain(database, "CHECK", "abcdef", "CHECK")
    assert item.keys() - CHECK.keys() == {"dueShard", "nextRunAt"}
    assert item["nextRunAt"] == "2026-01-15T12:00:00.000Z"


def test_a_tier_that_is_not_ours_is_readable_and_kept(db, database):
    put_plain(database, "USER", USER | {"tier": "PLATINUM"})
    user = db.user("123456").required().run()
    assert user.tier == "PLATINUM"
    assert to_plain(dump_item(user)) == USER | {"tier": "PLATINUM"}
    assert [login.tier for login in db.login("user@example.com")] == ["PLATINUM"]


@pytest.mark.parametrize(
    ("status", "kind"), [("ACTIVE", ActiveUser), ("SUSPENDED", SuspendedUser), ("INVITED", User), ("", User)]
)
def test_a_user_is_read_in_its_status_and_in_one_that_is_not_ours(db, database, status, kind):
    put_plain(database, "USER", USER | {"status": status})
    user = db.user("123456").required().run()
    assert (type(user), user.status) == (kind, status)


@pytest.mark.parametrize(
    ("status", "kind"), [("ACTIVE", Active), ("PAUSED", Paused), ("FAILED", Failed), ("ARCHIVED", ForeignCheck)]
)
def test_a_check_is_read_in_its_status_and_in_one_that_is_not_ours(db, database, status, kind):
    put_plain(database, "CHECK", CHECK | {"status": status})
    for check in (db.check("abcdef").required().run(), *db.checks_of("123456")):
        assert (type(check), check.status) == (kind, status)
        assert to_plain(dump_item(check)) == CHECK | {"status": status}


@pytest.mark.parametrize("check_type", ["EBAY", "KEYWORD CHECK", "EBAY PRICE THRESHOLD", "PAGE DIFFERENCE", "AI CHECK"])
def test_a_type_that_is_not_ours_is_readable_with_whatever_attributes_it_has(db, database, check_type):
    attributes = {"threshold": 12, "opposite": True, "list": ["a", {"b": 1}], "nothing": None}
    item = CHECK | {"checkType": check_type, "attributes": attributes, "lastResult": {"page": "text", "diff": 3}}
    put_plain(database, "CHECK", item)
    check = db.check("abcdef").required().run()
    assert (check.check_type, check.attributes) == (check_type, attributes)
    assert to_plain(dump_item(check)) == item


def test_later_attributes_of_the_original_system_survive_a_pause(db, database):
    later = {"alias": "home", "cron": "* * * * *", "useProxy": False, "mostRecentAlert": "2024-06-30T00:00:00Z"}
    put_plain(database, "CHECK", CHECK | later)
    db.pause(db.check("abcdef").required().run(), updated_at=NOON, seen=None).run()
    item = get_plain(database, "CHECK", "abcdef", "CHECK")
    assert item == CHECK | later | {"status": "PAUSED", "updatedAt": "2026-01-15T12:00:00Z"}


def test_a_check_that_never_ran_has_no_result(db, database):
    put_plain(database, "CHECK", {name: value for name, value in CHECK.items() if not name.startswith("last")})
    check = db.check("abcdef").required().run()
    assert (check.last_executed_at, check.last_result) == (None, None)
