"""On-demand backups: copies that outlive their table, are complete or not there, and give a table back."""

import pytest
from hypothesis import given, settings

from hashrange.engine.recovery import table_copy
from tests.conformance.wire import item
from tests.unit.engine.backup import back_up, describe, listed, restore, status
from tests.unit.engine.history import INDEXES, Oracle, assert_holds, histories
from tests.unit.engine.local import Local

DAY = 24 * 3600
START = 1_800_000_000


@pytest.fixture(params=["memory", "disk"])
def anywhere(request):
    return request.getfixturevalue("local" if request.param == "memory" else "on_disk")


@given(histories, histories)
@settings(max_examples=15, deadline=None)
def test_a_backup_gives_back_what_there_was(before, after):
    local = Local()
    local.create("pk:S / sk:N", **INDEXES)
    oracle = Oracle(local)
    oracle.run(before)
    held, arn = list(oracle.held.values()), back_up(local)
    oracle.run(after)
    restore(local, arn)
    assert_holds(local, "back", held)
    local.close()


def test_a_backup_is_available_after_the_answer_that_says_creating(anywhere):
    anywhere.create()
    anywhere.put(pk="a")
    response = anywhere.call("CreateBackup", TableName="tab", BackupName="copy")["BackupDetails"]
    assert response["BackupStatus"] == "CREATING"
    assert describe(anywhere, response["BackupArn"])["BackupDetails"] == response | {"BackupStatus": "AVAILABLE"}
    assert response["BackupCreationDateTime"] == START
    assert response["BackupArn"].startswith(anywhere.describe()["TableArn"] + f"/backup/0{START * 1000}-")
    assert "BackupExpiryDateTime" not in response


def test_a_backup_outlives_its_table_and_its_namesake(anywhere):
    anywhere.create()
    anywhere.put(pk="a")
    arn = back_up(anywhere)
    anywhere.call("DeleteTable", TableName="tab")
    anywhere.create()
    anywhere.put(pk="b")
    other = back_up(anywhere)
    assert sorted(listed(anywhere, TableName="tab")) == sorted([arn, other])
    restore(anywhere, arn)
    assert anywhere.items("back") == [item(pk="a")]


def test_backups_survive_a_restart(on_disk):
    on_disk.create(gsi={"byn": "n:N"})
    on_disk.put_many(30)
    arn, before = back_up(on_disk), on_disk.items()
    on_disk.delete(pk="k1")
    on_disk.reopen()
    restore(on_disk, arn)
    assert on_disk.items("back") == on_disk.items("back", "byn") == before


def test_a_large_backup_is_of_the_moment_it_was_asked_for(on_disk, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    on_disk.create()
    on_disk.put_many(600)
    before = on_disk.items()
    arn = back_up(on_disk)
    on_disk.put_many(600, changed="yes")
    on_disk.engine.finish_jobs()
    assert status(on_disk, arn) == "AVAILABLE"
    restore(on_disk, arn)
    assert on_disk.describe("back")["TableStatus"] == "CREATING"
    on_disk.engine.finish_jobs()
    assert on_disk.items("back") == before


def test_a_large_backup_is_of_the_table_as_it_was_asked_for(on_disk, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    on_disk.create(gsi={"byn": "n:N"})
    on_disk.put_many(600)
    arn = back_up(on_disk)
    on_disk.put(pk="late")
    on_disk.call("UpdateTable", TableName="tab", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "byn"}}])
    on_disk.engine.finish_jobs()
    described = describe(on_disk, arn)
    assert described["SourceTableDetails"]["ItemCount"] == 600
    assert described["SourceTableFeatureDetails"]["GlobalSecondaryIndexes"]
    restore(on_disk, arn)
    on_disk.engine.finish_jobs()
    assert len(on_disk.items("back", "byn")) == 600


def test_a_large_backup_does_not_mind_that_its_table_is_deleted(on_disk, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    on_disk.create()
    on_disk.put_many(600)
    before = on_disk.items()
    arn = back_up(on_disk)
    on_disk.call("DeleteTable", TableName="tab")
    on_disk.engine.finish_jobs()
    restore(on_disk, arn)
    on_disk.engine.finish_jobs()
    assert on_disk.items("back") == before


def test_a_backup_that_is_not_complete_can_neither_be_restored_nor_deleted(on_disk, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    on_disk.create()
    on_disk.put_many(100)
    on_disk.engine.begin()  # nobody can report that the copy is written
    on_disk.engine.perform(on_disk.engine.operations["CreateBackup"], {"TableName": "tab", "BackupName": "copy"})
    (arn,) = [row[0] for row in on_disk.engine.store.execute("SELECT arn FROM backup")]
    operations = {"DescribeBackup": {}, "DeleteBackup": {}, "RestoreTableFromBackup": {"TargetTableName": "back"}}
    responses = {}
    for name, members in operations.items():
        try:
            responses[name] = on_disk.engine.perform(on_disk.engine.operations[name], {"BackupArn": arn, **members})
        except Exception as refusal:  # noqa: BLE001 - whatever it is, it is looked at below
            responses[name] = f"{refusal.name}: {refusal.message}"  # type: ignore[attr-defined]
    on_disk.engine.end()
    assert b'"BackupStatus":"CREATING"' in responses["DescribeBackup"]
    in_use = f"BackupInUseException: Backup is being created: {arn}"
    assert responses["DeleteBackup"] == responses["RestoreTableFromBackup"] == in_use
    on_disk.engine.finish_jobs()
    assert status(on_disk, arn) == "AVAILABLE"


def test_a_deleted_backup_is_gone_at_once_with_all_its_rows(anywhere):
    anywhere.create()
    anywhere.put(pk="a")
    arn = back_up(anywhere)
    response = anywhere.call("DeleteBackup", BackupArn=arn)["BackupDescription"]
    assert response["BackupDetails"]["BackupStatus"] == "DELETED"
    gone = f"BackupNotFoundException: Backup not found: {arn}"
    assert anywhere.refusal("DescribeBackup", BackupArn=arn) == gone
    assert anywhere.refusal("DeleteBackup", BackupArn=arn) == gone
    assert listed(anywhere) == []
    anywhere.engine.finish_jobs()
    tables = "SELECT name FROM sqlite_schema WHERE name GLOB 't[0-9]'"
    assert anywhere.engine.store.execute(tables).fetchall() == [("t1",)]
    if anywhere.directory:
        assert list((anywhere.directory / "backups").iterdir()) == []


def test_a_backup_feeds_one_restore_at_a_time_and_cannot_be_deleted_meanwhile(on_disk, monkeypatch):
    on_disk.create()
    on_disk.put_many(100)
    arn = back_up(on_disk)
    monkeypatch.setattr(table_copy, "SMALL", 10)
    restore(on_disk, arn)
    assert on_disk.refusal("RestoreTableFromBackup", BackupArn=arn, TargetTableName="other") == (
        f"BackupInUseException: Backup is being used to restore another table: {arn}"
    )
    assert on_disk.refusal("RestoreTableFromBackup", BackupArn=arn, TargetTableName="back") == (
        f"TableInUseException: Table: back is already being restored from backup: {arn}"
    )
    assert on_disk.refusal("DeleteBackup", BackupArn=arn) == (
        f"BackupInUseException: Backup is being used to restore table: {arn}"
    )
    on_disk.engine.finish_jobs()
    restore(on_disk, arn, "other")
    on_disk.engine.finish_jobs()
    assert on_disk.items("other") == on_disk.items()
    assert on_disk.call("DeleteBackup", BackupArn=arn)


def test_what_a_backup_tells_of_its_table(local):
    local.create("pk:S / sk:N", view="NEW_IMAGE", gsi={"byg": "g:S"}, lsi={"byn": ("pk:S / n:N", "KEYS_ONLY")})
    local.call("UpdateTimeToLive", TableName="tab", TimeToLiveSpecification={"Enabled": True, "AttributeName": "x"})
    local.put(pk="a", sk=1)
    described, table = describe(local, back_up(local)), local.describe()
    assert described["SourceTableDetails"] == {
        "TableName": "tab",
        "TableId": table["TableId"],
        "TableArn": table["TableArn"],
        "TableSizeBytes": table["TableSizeBytes"],
        "KeySchema": table["KeySchema"],
        "TableCreationDateTime": START,
        "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        "ItemCount": 1,
        "BillingMode": "PAY_PER_REQUEST",
    }
    features = described["SourceTableFeatureDetails"]
    assert features["StreamDescription"] == {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    assert features["TimeToLiveDescription"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "x"}
    assert set(features["GlobalSecondaryIndexes"][0]) == {
        "IndexName",
        "KeySchema",
        "Projection",
        "ProvisionedThroughput",
    }
    assert set(features["LocalSecondaryIndexes"][0]) == {"IndexName", "KeySchema", "Projection"}


def test_a_plain_table_has_no_features(local):
    local.create()
    assert describe(local, back_up(local))["SourceTableFeatureDetails"] == {}


# -- lists -------------------------------------------------------------------------------------------------------------


def test_backups_are_listed_in_the_order_they_were_made_page_by_page(local):
    local.create()
    made = []
    for _ in range(5):
        made.append(back_up(local))
        local.clock.advance(1)
    page = local.call("ListBackups", Limit=2)
    assert [summary["BackupArn"] for summary in page["BackupSummaries"]] == made[:2]
    local.call("DeleteBackup", BackupArn=page["LastEvaluatedBackupArn"])
    rest = local.call("ListBackups", ExclusiveStartBackupArn=page["LastEvaluatedBackupArn"], Limit=3)
    assert [summary["BackupArn"] for summary in rest["BackupSummaries"]] == made[2:]
    assert "LastEvaluatedBackupArn" not in rest


@pytest.mark.parametrize(
    ("lower", "upper", "found"), [(0, 1, 1), (1, 2, 1), (0, 2, 2), (1, 1, 0), (2, 9, 1), (3, 9, 0)]
)
def test_times_are_from_and_up_to_but_without(local, lower, upper, found):
    local.create()
    for _ in range(3):
        back_up(local)
        local.clock.advance(1)
    bounds = {"TimeRangeLowerBound": START + lower, "TimeRangeUpperBound": START + upper}
    assert len(listed(local, **bounds)) == found


def test_an_inverted_time_range_is_refused(local):
    assert local.refusal("ListBackups", TimeRangeLowerBound=2, TimeRangeUpperBound=1) == (
        "ValidationException: One or more parameter values were invalid: "
        "Time range lower bound must be less than or equal to upper bound"
    )


BACKUP = ":table/tab/backup/01800000000000-00000000"


@pytest.mark.parametrize(
    ("arn", "response"),
    [
        ("arn:aws:dynamodb:eu-west-2:000000000000:table/tab", "ValidationException: Invalid Backup ARN"),
        ("x" * 48, "ValidationException: Invalid Backup ARN"),
        ("arn:aws:s3:eu-west-2:{account}" + BACKUP, "ValidationException: BackupArn is not valid"),
        ("arn:aws:dynamodb:eu-west-2:999999999999" + BACKUP, "AccessDeniedException: Access is denied"),
    ],
)
def test_what_names_no_backup_of_ours_is_refused(local, arn, response):
    arn = arn.format(account=local.engine.settings.account)
    for operation in ("DescribeBackup", "DeleteBackup"):
        assert local.refusal(operation, BackupArn=arn) == response


def test_a_backup_is_found_by_whatever_region_its_arn_names(local):
    local.create()
    arn = back_up(local).replace("eu-west-2", "us-east-1")
    assert describe(local, arn)["BackupDetails"]["BackupArn"] == arn
    assert local.refusal("ListBackups", ExclusiveStartBackupArn=arn) == (
        "ValidationException: Invalid Request: The supplied ExclusiveStartBackupArn does not match the region"
    )
    assert local.refusal("RestoreTableFromBackup", BackupArn=arn, TargetTableName="back") == (
        "ValidationException: Invalid Request: sseSpecificationOverride must be provided for cross-region restores"
    )


# -- system backups ----------------------------------------------------------------------------------------------------


def test_a_deleted_table_with_recovery_leaves_a_system_backup(anywhere):
    anywhere.create("pk:S", recovery=True, gsi={"byn": "n:N"})
    anywhere.put_many(30)
    before = anywhere.items()
    anywhere.call("DeleteTable", TableName="tab")
    assert listed(anywhere, TableName="tab") == []
    (arn,) = listed(anywhere, TableName="tab", BackupType="SYSTEM")
    assert listed(anywhere, BackupType="ALL") == [arn]
    details = describe(anywhere, arn)["BackupDetails"]
    assert (details["BackupName"], details["BackupType"]) == ("tab$DeletedTableBackup", "SYSTEM")
    assert details["BackupExpiryDateTime"] == START + 35 * DAY
    assert arn.endswith("-00000000")
    assert describe(anywhere, arn)["SourceTableFeatureDetails"] == {}
    assert anywhere.refusal("DeleteBackup", BackupArn=arn) == (
        f"ValidationException: Invalid Request: User is not allowed to delete the system backup with arn {arn}. "
        "It will automatically expire on 2027-02-19T08:00:00Z"
    )
    anywhere.create()
    anywhere.put(pk="new")
    restore(anywhere, arn)
    assert anywhere.items("back") == anywhere.items("back", "byn") == before


def test_a_system_backup_ends_after_35_days_and_so_do_its_rows(anywhere):
    anywhere.create(recovery=True, view="KEYS_ONLY")
    anywhere.put_many(300)
    anywhere.call("DeleteTable", TableName="tab")
    (arn,) = listed(anywhere, BackupType="SYSTEM")
    anywhere.clock.advance(35 * DAY - 1)
    anywhere.engine.finish_jobs()
    assert status(anywhere, arn) == "AVAILABLE"
    anywhere.clock.advance(1)
    assert anywhere.refusal("DescribeBackup", BackupArn=arn) == f"BackupNotFoundException: Backup not found: {arn}"
    anywhere.engine.finish_jobs()
    assert anywhere.engine.store.execute("SELECT name FROM sqlite_schema WHERE name GLOB '[tc][0-9]'").fetchall() == []


def test_tables_deleted_in_the_same_millisecond_leave_a_backup_each(local):
    for key in "ab":
        local.create(recovery=True)
        local.put(pk=key)
        local.call("DeleteTable", TableName="tab")
    first, second = listed(local, BackupType="SYSTEM")
    restore(local, first, "one")
    restore(local, second, "two")
    assert (local.items("one"), local.items("two")) == ([item(pk="a")], [item(pk="b")])


def test_without_recovery_nothing_is_left(local):
    local.create(recovery=True)
    local.switch_recovery(on=False)
    local.call("DeleteTable", TableName="tab")
    assert listed(local, BackupType="ALL") == []
