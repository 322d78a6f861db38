"""Expiry by TTL: which items are deleted, which are not, and the stream records of deleted ones."""

import pytest

from hashrange.engine import ttl
from tests.conformance.wire import item

START = 1_800_000_000
YEAR = 365 * 24 * 3600


@pytest.fixture
def expiring(local):
    """A table with a sort key, an index and a stream, whose items expire by `ttl`."""
    local.create("pk:S / sk:N", gsi={"byg": "g:S"}, view="NEW_AND_OLD_IMAGES")
    switch(local)
    return local


def switch(local, attribute="ttl", *, on=True):
    specification = {"Enabled": on, "AttributeName": attribute}
    local.call("UpdateTimeToLive", TableName="tab", TimeToLiveSpecification=specification)


def left(local):
    return [found["pk"]["S"] for found in local.items()]


def test_an_item_is_swept_once_its_time_is_past(expiring):
    expiring.put(pk="a", sk=1, ttl=START + 10, g="x")
    expiring.clock.advance(10)
    expiring.engine.finish_jobs()
    assert left(expiring) == ["a"]
    expiring.clock.advance(1)
    assert left(expiring) == ["a"], "until it is swept it can be read"
    expiring.engine.finish_jobs()
    assert left(expiring) == []
    assert expiring.items(index="byg") == []
    description = expiring.describe()
    assert (description["ItemCount"], description["TableSizeBytes"]) == (0, 0)


@pytest.mark.parametrize(
    ("value", "expires"),
    [
        ({"N": str(START - 1)}, True),
        ({"N": f"{START - 1}.999999999999999999"}, True),
        ({"N": "179999999e1"}, True),
        ({"N": str(START)}, False),
        ({"N": str(START + 1)}, False),
        ({"N": str(START - 5 * YEAR + 1)}, True),
        ({"N": str(START - 5 * YEAR - 1)}, False),
        ({"N": "0"}, False),
        ({"N": "-5"}, False),
        ({"N": "1" * 38}, False),
        ({"N": "0.00000000000000000000000001"}, False),
        ({"S": str(START - 1)}, False),
        ({"L": [{"N": str(START - 1)}]}, False),
        ({"NS": [str(START - 1)]}, False),
        ({"NULL": True}, False),
    ],
)
def test_only_a_number_that_is_a_recent_time_expires(expiring, value, expires):
    expiring.put(pk="a", sk=1, ttl=value)
    expiring.put(pk="other", sk=1)
    expiring.engine.finish_jobs()
    assert left(expiring) == (["other"] if expires else ["a", "other"])


def test_a_sweep_leaves_a_record_that_names_the_service(expiring):
    expiring.put(pk="a", sk=1, ttl=START - 1)
    expiring.put(pk="b", sk=1)
    expiring.engine.finish_jobs()
    expiring.delete(pk="b", sk=1)
    swept, deleted = expiring.records()[2:]
    assert swept["eventName"] == "REMOVE"
    assert swept["userIdentity"] == {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
    assert swept["dynamodb"]["OldImage"] == item(pk="a", sk=1, ttl=START - 1)
    assert "userIdentity" not in deleted


def test_an_expiry_that_was_pushed_back_survives(expiring):
    expiring.put(pk="a", sk=1, ttl=START + 5)
    expiring.put(pk="b", sk=1, ttl=START + 5)
    expiring.clock.advance(10)
    expiring.set({"pk": "a", "sk": 1}, ttl=START + 1000)
    removal = {"UpdateExpression": "REMOVE #t", "ExpressionAttributeNames": {"#t": "ttl"}}
    expiring.call("UpdateItem", TableName="tab", Key=item(pk="b", sk=1), **removal)
    expiring.engine.finish_jobs()
    assert left(expiring) == ["a", "b"]


def test_items_from_before_expire_too(local):
    local.create()
    local.put(pk="a", ttl=START - 1)
    local.put(pk="b", ttl=START + 10**6)
    local.engine.finish_jobs()
    assert left(local) == ["a", "b"]
    switch(local)
    local.engine.finish_jobs()
    assert left(local) == ["b"]


def test_nothing_expires_once_it_is_turned_off_or_by_another_attribute(local):
    local.create()
    switch(local, "first")
    local.put(pk="a", first=START + 5, second=START + 500)
    local.put(pk="b", second=START + 5)
    switch(local, "first", on=False)
    local.clock.advance(10)
    local.engine.finish_jobs()
    assert left(local) == ["a", "b"]
    switch(local, "second")
    local.engine.finish_jobs()
    assert left(local) == ["a"]


def test_a_key_can_be_the_time(local):
    local.create("pk:S / when:N")
    switch(local, "when")
    local.put(pk="a", when=START - 1)
    local.put(pk="b", when=START + 1)
    local.engine.finish_jobs()
    assert left(local) == ["b"]


def test_more_than_a_slice_is_swept_in_slices(expiring):
    for start in range(0, 2 * ttl.ITEMS_PER_SLICE + 25, 25):
        puts = [{"PutRequest": {"Item": item(pk=f"k{start + at}", sk=0, ttl=START - 1)}} for at in range(25)]
        expiring.call("BatchWriteItem", RequestItems={"tab": puts})
    expiring.engine.maintain()
    assert len(left(expiring)) == ttl.ITEMS_PER_SLICE + 25
    expiring.engine.finish_jobs()
    assert left(expiring) == []


def test_a_large_table_learns_its_expiry_in_slices_and_over_a_restart(on_disk):
    on_disk.create()
    on_disk.put_many(1_200, ttl=START - 1)
    switch(on_disk)
    for _ in range(3):
        on_disk.engine.maintain()
        on_disk.reopen()
    on_disk.put(pk="late", ttl=START - 1)
    on_disk.engine.finish_jobs()
    assert on_disk.items() == []


def test_what_was_swept_can_be_recovered(local):
    local.create(recovery=True)
    switch(local)
    local.put(pk="a", ttl=START + 100)
    local.clock.advance(200)
    local.engine.finish_jobs()
    local.clock.advance(400)
    members = {"SourceTableName": "tab", "TargetTableName": "back"}
    local.call("RestoreTableToPointInTime", **members, RestoreDateTime=START + 150)
    assert local.items("back") == [item(pk="a", ttl=START + 100)]
    assert local.items() == []
