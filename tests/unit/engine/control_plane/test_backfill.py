"""An index added to a table too large to be filled in one go: what shows and what may be done until it is full."""

import pytest

from tests.unit.engine.control_plane.test_update_rules import CREATE, ONE_ONLINE, delete

ITEMS = 1_100  # more than are put into a new index within the call


@pytest.fixture
def filled(control):
    control.create(gsi={"old": "b:S"})
    for start in range(0, ITEMS, 25):
        puts = [{"PutRequest": {"Item": {"pk": {"S": str(n)}, "a": {"S": "x"}}}} for n in range(start, start + 25)]
        control.call("BatchWriteItem", RequestItems={"tab": puts})
    return control


def test_a_large_index_fills_behind_an_active_table(filled):
    response = filled.update(**CREATE)
    assert response["TableStatus"] == "UPDATING"
    assert filled.describe()["TableStatus"] == "ACTIVE"
    shown = filled.index("new")
    assert (shown["IndexStatus"], shown["Backfilling"]) == ("CREATING", True)
    filled.engine.finish_jobs()
    shown = filled.index("new")
    assert (shown["IndexStatus"], shown["ItemCount"]) == ("ACTIVE", ITEMS)
    assert "Backfilling" not in shown


def test_while_an_index_fills_the_table_stays_and_no_other_index_is_reshaped(filled):
    filled.update(**CREATE)
    assert filled.refusal("DeleteTable", TableName="tab") == (
        "ResourceInUseException: Attempt to change a resource which is still in use: "
        "Cannot delete table while indexes are being created, updated, or deleted."
    )
    assert filled.refuse_update(**delete("old")) == ONE_ONLINE
    assert filled.update(DeletionProtectionEnabled=True)["TableStatus"] == "ACTIVE"


def test_an_index_can_be_given_up_while_it_fills(filled):
    filled.update(**CREATE)
    filled.update(**delete("new"))
    assert [index["IndexName"] for index in filled.describe()["GlobalSecondaryIndexes"]] == ["old"]
    filled.engine.finish_jobs()
    filled.update(**CREATE)
    filled.engine.finish_jobs()
    assert filled.index("new")["ItemCount"] == ITEMS
