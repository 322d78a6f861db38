"""Point-in-time recovery: every second of the window gives the table, and its indexes, as they were."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.engine.recovery import table_copy
from tests.conformance.wire import item
from tests.unit.engine.history import INDEXES, Oracle, assert_holds, histories
from tests.unit.engine.local import Local

DAY = 24 * 3600
START = 1_800_000_000


def restore(local, seconds=None, target="back", **members):
    when = {"UseLatestRestorableTime": True} if seconds is None else {"RestoreDateTime": seconds}
    return local.call("RestoreTableToPointInTime", SourceTableName="tab", TargetTableName=target, **when, **members)


def window(local, name="tab"):
    description = local.call("DescribeContinuousBackups", TableName=name)["ContinuousBackupsDescription"]
    recovery = description["PointInTimeRecoveryDescription"]
    return recovery.get("EarliestRestorableDateTime"), recovery.get("LatestRestorableDateTime")


@given(histories, st.data())
@settings(max_examples=60, deadline=None)
def test_every_second_can_be_gone_back_to(history, data):
    local = Local()
    local.create("pk:S / sk:N", recovery=True, **INDEXES)
    oracle = Oracle(local)
    oracle.run(history)
    local.clock.advance(300)
    earliest, latest = map(int, window(local))
    for number in range(3):
        seconds = data.draw(st.integers(earliest, latest))
        restore(local, seconds, f"back{number}")
        assert_holds(local, f"back{number}", oracle.at(max(seconds, START) * 1000))
    assert_holds(local, "tab", list(oracle.held.values()))
    local.close()


def test_a_large_table_is_restored_while_writes_go_on(on_disk, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    on_disk.create("pk:S", recovery=True, gsi={"byn": "n:N"})
    on_disk.put_many(600)
    on_disk.clock.advance(400)
    before, seconds = on_disk.items(), on_disk.seconds
    on_disk.clock.advance(400)
    on_disk.put_many(300, changed="yes")
    on_disk.delete(pk="k500")
    response = restore(on_disk, seconds)["TableDescription"]
    on_disk.put_many(450, changed="again")
    assert response["TableStatus"] == on_disk.describe("back")["TableStatus"] == "CREATING"
    assert on_disk.refusal("Scan", TableName="back") == "ResourceNotFoundException: Requested resource not found"
    on_disk.engine.finish_jobs()
    assert on_disk.describe("back")["TableStatus"] == "ACTIVE"
    assert on_disk.items("back") == before
    assert len(on_disk.items("back", "byn")) == 600
    assert list((on_disk.directory / "backups").iterdir()) == []


def test_a_large_table_in_memory_is_restored_in_slices(local, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    local.create(recovery=True)
    local.put_many(600)
    local.clock.advance(400)
    seconds, before = local.seconds, local.items()
    local.clock.advance(400)
    local.put_many(300, changed="yes")
    restore(local, seconds)
    local.put_many(600, changed="again")
    assert local.describe("back")["TableStatus"] == "CREATING"
    local.engine.finish_jobs()
    assert local.items("back") == before
    assert local.engine.store.execute("SELECT count(*) FROM sqlite_schema WHERE name GLOB 't[0-9]'").fetchall() == [
        (2,)
    ]


def test_the_source_may_be_deleted_while_it_is_restored(on_disk, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    on_disk.create(recovery=True)
    on_disk.put_many(600)
    on_disk.clock.advance(400)
    before = on_disk.items()
    restore(on_disk)
    on_disk.call("DeleteTable", TableName="tab")
    on_disk.engine.finish_jobs()
    assert on_disk.items("back") == before


# -- the window --------------------------------------------------------------------------------------------------------


def test_the_window_starts_when_recovery_was_turned_on_and_ends_five_minutes_ago(local):
    local.clock.advance(0.75)
    local.create(recovery=True)
    assert window(local) == (START, START)
    local.clock.advance(299.9)
    assert window(local) == (START, START)
    local.clock.advance(100)
    assert window(local) == (START, START + 100)
    local.clock.advance(40 * DAY)
    assert window(local)[0] == START + 5 * DAY + 400


def test_the_state_at_the_start_of_the_window_is_that_of_the_millisecond(local):
    local.create()
    local.clock.advance(0.25)
    local.put(pk="before")
    local.clock.advance(0.25)
    local.switch_recovery(on=True)
    local.clock.advance(0.25)
    local.put(pk="after")
    restore(local, START)
    assert local.items("back") == [item(pk="before")]


def test_turning_recovery_off_and_on_starts_a_new_window(local):
    local.create(recovery=True)
    local.put(pk="a")
    local.clock.advance(1000)
    local.switch_recovery(on=False)
    local.put(pk="unseen")
    assert window(local) == (None, None)
    local.clock.advance(1000)
    local.switch_recovery(on=True)
    assert window(local) == (START + 2000, START + 2000)
    local.clock.advance(1000)
    local.delete(pk="unseen")
    restore(local)
    assert local.items("back") == [item(pk="a"), item(pk="unseen")]


def test_turning_recovery_on_again_changes_nothing(local):
    local.create(recovery=True)
    local.clock.advance(1000)
    before = local.call("DescribeContinuousBackups", TableName="tab")
    assert local.switch_recovery(on=True) == before


def test_a_shorter_period_moves_the_window_for_good(local):
    local.create(recovery=True)
    local.clock.advance(10 * DAY)
    local.switch_recovery(on=True, RecoveryPeriodInDays=2)
    assert window(local)[0] == START + 8 * DAY
    response = local.switch_recovery(on=True, RecoveryPeriodInDays=35)
    assert window(local)[0] == START + 8 * DAY
    assert response["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]["RecoveryPeriodInDays"] == 35


def test_the_edge_of_the_window_can_be_gone_back_to_after_trimming(local):
    local.create(recovery=True)
    local.switch_recovery(on=True, RecoveryPeriodInDays=1)
    local.put(pk="old")
    local.clock.advance(DAY / 2)
    local.put(pk="new")
    local.delete(pk="old")
    local.clock.advance(DAY)
    local.engine.finish_jobs()
    earliest, _ = map(int, window(local))
    restore(local, earliest, "edge")
    assert local.items("edge") == [item(pk="new")]
    local.clock.advance(-10)
    restore(local, earliest, "same")  # the clock does not go back, whatever the machine's does
    assert local.items("same") == [item(pk="new")]


@pytest.mark.parametrize("seconds", [0, START - 1, START + 101, START + 400, 10**15])
def test_a_time_outside_the_window_is_refused_with_its_bounds(local, seconds):
    local.create(recovery=True)
    local.clock.advance(400)
    when = {"RestoreDateTime": seconds}
    response = local.refusal("RestoreTableToPointInTime", SourceTableName="tab", TargetTableName="back", **when)
    assert response.startswith("InvalidRestoreTimeException: RestoreDateTime '")
    assert response.endswith(
        "must be within EarliestRestorableDateTime '2027-01-15T08:00:00Z' "
        "and LatestRestorableDateTime '2027-01-15T08:01:40Z'"
    )


def test_the_log_is_kept_for_the_period_and_no_longer(local):
    local.create(recovery=True)
    local.put(pk="a")
    for days, rows in ((34, 1), (1, 1), (0.1, 0)):
        local.clock.advance(days * DAY)
        local.engine.finish_jobs()
        assert local.engine.store.execute("SELECT count(*) FROM c1").fetchall() == [(rows,)], days


def test_what_recovery_logged_goes_a_day_after_it_was_turned_off(local):
    local.create(recovery=True)
    local.put(pk="a")
    local.switch_recovery(on=False)
    local.clock.advance(DAY + 1)
    local.engine.finish_jobs()
    assert local.engine.store.execute("SELECT count(*) FROM c1").fetchall() == [(0,)]


# -- what is restored --------------------------------------------------------------------------------------------------


def test_streams_expiry_recovery_tags_protection_and_class_are_not_restored(local):
    members = {"Tags": [{"Key": "a", "Value": "b"}], "TableClass": "STANDARD_INFREQUENT_ACCESS"}
    encryption = {"Enabled": True, "SSEType": "KMS"}
    caps = {"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 50}
    members |= {"DeletionProtectionEnabled": True, "SSESpecification": encryption, "OnDemandThroughput": caps}
    local.create(view="KEYS_ONLY", recovery=True, **members)
    local.call("UpdateTimeToLive", TableName="tab", TimeToLiveSpecification={"Enabled": True, "AttributeName": "x"})
    restore(local)
    source, table = local.describe(), local.describe("back")
    assert not {"StreamSpecification", "LatestStreamArn", "TableClassSummary", "RestoreSummary"} & set(table)
    assert table["DeletionProtectionEnabled"] is False
    assert local.call("ListTagsOfResource", ResourceArn=table["TableArn"]) == {"Tags": []}
    assert window(local, "back") == (None, None)
    ttl = local.call("DescribeTimeToLive", TableName="back")["TimeToLiveDescription"]
    assert ttl == {"TimeToLiveStatus": "DISABLED"}
    for member in ("SSEDescription", "OnDemandThroughput", "KeySchema", "AttributeDefinitions"):
        assert table[member] == source[member]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["TableId"] != source["TableId"]


def test_items_that_an_index_cannot_hold_are_restored_outside_it(local):
    local.create(recovery=True)
    local.put(pk="a", g=5)
    local.put(pk="b", g="x")
    index = {"IndexName": "byg", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}
    create = {"Create": {**index, "Projection": {"ProjectionType": "ALL"}}}
    added = [{"AttributeName": "g", "AttributeType": "S"}]
    local.call("UpdateTable", TableName="tab", AttributeDefinitions=added, GlobalSecondaryIndexUpdates=[create])
    restore(local)
    assert len(local.items("back")) == 2
    assert local.items("back", "byg") == [item(pk="b", g="x")]


def test_a_restored_table_takes_writes_like_any_other(local):
    local.create("pk:S / sk:N", recovery=True, **INDEXES)
    local.put(pk="a", sk=1, g="one", n=2)
    restore(local)
    local.put("back", pk="a", sk=1, g="two", n=3, x="x")
    assert_holds(local, "back", [item(pk="a", sk=1, g="two", n=3, x="x")])
    assert_holds(local, "tab", [item(pk="a", sk=1, g="one", n=2)])


def test_a_restored_table_can_be_restored(local):
    local.create(recovery=True)
    local.put(pk="a")
    restore(local, target="tab2")
    local.switch_recovery(on=True, name="tab2")
    local.clock.advance(400)
    local.call(
        "RestoreTableToPointInTime", SourceTableName="tab2", TargetTableName="tab3", UseLatestRestorableTime=True
    )
    assert local.items("tab3") == [item(pk="a")]


def test_what_is_being_restored_is_seen_by_description_alone(on_disk, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    on_disk.create(recovery=True)
    on_disk.put_many(600)
    restore(on_disk)
    summary = on_disk.describe("back")["RestoreSummary"]
    assert summary == {
        "SourceTableArn": on_disk.describe()["TableArn"],
        "RestoreDateTime": START,
        "RestoreInProgress": True,
    }
    missing = "TableNotFoundException: Table not found: back"
    assert on_disk.refusal("CreateBackup", TableName="back", BackupName="abc") == missing
    assert on_disk.refusal("DescribeContinuousBackups", TableName="back") == missing
    again = {"SourceTableName": "tab", "TargetTableName": "back", "UseLatestRestorableTime": True}
    assert on_disk.refusal("RestoreTableToPointInTime", **again) == (
        "TableInUseException: Table: back is already being restored"
    )
    assert "ResourceInUseException" in on_disk.refusal("DeleteTable", TableName="back")
    on_disk.engine.finish_jobs()
    assert "RestoreSummary" not in on_disk.describe("back")


def test_a_restore_survives_a_restart_at_any_slice(on_disk, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    monkeypatch.setattr(table_copy, "ROWS_PER_PAGE", 100)
    on_disk.create(recovery=True)
    on_disk.put_many(400)
    before = on_disk.items()
    on_disk.clock.advance(400)
    restore(on_disk)
    on_disk.engine.copies.wait()
    for _ in range(8):
        on_disk.engine.maintain()
        on_disk.reopen()
    on_disk.engine.finish_jobs()
    assert on_disk.items("back") == before
    assert on_disk.describe("back")["ItemCount"] == 400
