from tests.conformance.backup import backed_up
from tests.conformance.refusal import INVALID, invalid


def test_the_backups_of_a_table_are_summarized_in_order(table):
    with backed_up(table, "one") as first, backed_up(table, "two") as second:
        summaries = table.list_backups()["BackupSummaries"]
        shown = table.describe_table()["Table"]
    assert {summary["BackupArn"] for summary in summaries} == {first, second}
    assert summaries == sorted(summaries, key=lambda summary: summary["BackupCreationDateTime"])
    for summary in summaries:
        assert (summary["TableId"], summary["TableArn"]) == (shown["TableId"], shown["TableArn"])
        assert (summary["BackupStatus"], summary["BackupType"]) == ("AVAILABLE", "USER")


def test_a_page_goes_on_after_the_one_before(table):
    with backed_up(table) as first, backed_up(table) as second:
        page = table.list_backups(Limit=1)
        rest = table.list_backups(Limit=1, ExclusiveStartBackupArn=page["LastEvaluatedBackupArn"])
    assert "LastEvaluatedBackupArn" not in rest
    found = [*page["BackupSummaries"], *rest["BackupSummaries"]]
    assert sorted(summary["BackupArn"] for summary in found) == sorted([first, second])


def test_an_unknown_table_has_no_backups(client):
    assert client.list_backups(TableName="unknown-table")["BackupSummaries"] == []


def test_only_the_asked_for_types_are_listed(table):
    with backed_up(table):
        assert table.list_backups(BackupType="SYSTEM")["BackupSummaries"] == []
        assert len(table.list_backups(BackupType="ALL")["BackupSummaries"]) == 1
    with invalid(containing="at 'backupType' failed to satisfy constraint"):
        table.list_backups(BackupType="NONE")


def test_times_and_limits_are_checked(table):
    with invalid(f"{INVALID}Time range lower bound must be less than or equal to upper bound"):
        table.list_backups(TimeRangeLowerBound=2, TimeRangeUpperBound=1)
    with invalid(
        containing="at 'limit' failed to satisfy constraint: Member must have value less than or equal to 100"
    ):
        table.list_backups(Limit=101)
