import pytest

from tests.conformance.backup import restored
from tests.conformance.refusal import invalid, refused
from tests.conformance.table import new_name
from tests.conformance.wire import item

ON = {"PointInTimeRecoveryEnabled": True}
EITHER = "Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both"


@pytest.fixture
def recoverable(make_table):
    """A table with an index and one item, which can be recovered from now on."""
    table = make_table(gsi={"byg": "g:S"})
    table.put(pk="a", g="x")
    table.update_continuous_backups(PointInTimeRecoverySpecification=ON)
    yield table
    table.update_continuous_backups(PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False})


def window(table):
    described = table.describe_continuous_backups()["ContinuousBackupsDescription"]
    recovery = described["PointInTimeRecoveryDescription"]
    return recovery["EarliestRestorableDateTime"], recovery["LatestRestorableDateTime"]


def test_a_table_is_restored_to_the_moment_recovery_was_turned_on(recoverable, client):
    earliest, latest = window(recoverable)
    assert earliest == latest
    recoverable.put(pk="a", g="changed")
    members = {"SourceTableName": recoverable.name, "UseLatestRestorableTime": True}
    with restored(client, client.restore_table_to_point_in_time, **members) as back:
        assert back.scan()["Items"] == back.scan(IndexName="byg")["Items"] == [item(pk="a", g="x")]


def test_a_source_can_be_named_by_its_arn_and_a_time_by_its_second(recoverable, client):
    arn = recoverable.describe_table()["Table"]["TableArn"]
    members = {"SourceTableArn": arn, "RestoreDateTime": window(recoverable)[0]}
    with restored(client, client.restore_table_to_point_in_time, **members) as back:
        assert back.scan()["Count"] == 1


def test_a_time_outside_the_window_is_refused(recoverable, client):
    with refused("InvalidRestoreTimeException", containing="RestoreDateTime '1970-01-01T00:00:01Z' must be within"):
        client.restore_table_to_point_in_time(
            SourceTableName=recoverable.name, TargetTableName=new_name(), RestoreDateTime=1
        )


def test_what_is_wrong_is_told_in_order(table, recoverable, client):
    """Members first, then the source, its recovery, the time, and last the target."""
    request = {"SourceTableName": "unknown-table", "TargetTableName": recoverable.name}
    with invalid(EITHER):
        client.restore_table_to_point_in_time(**request)
    with invalid(containing="Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set"):
        client.restore_table_to_point_in_time(**request, UseLatestRestorableTime=True, RestoreDateTime=1)
    request["RestoreDateTime"] = 1
    with refused("TableNotFoundException", "Table not found: unknown-table"):
        client.restore_table_to_point_in_time(**request)
    request["SourceTableName"] = table.name
    with refused(
        "PointInTimeRecoveryUnavailableException", f"Point in time recovery is not enabled for table '{table.name}'"
    ):
        client.restore_table_to_point_in_time(**request)
    request["SourceTableName"] = recoverable.name
    with refused("InvalidRestoreTimeException"):
        client.restore_table_to_point_in_time(**request)
    del request["RestoreDateTime"]
    with refused("TableAlreadyExistsException", f"Table already exists: {recoverable.name}"):
        client.restore_table_to_point_in_time(**request, UseLatestRestorableTime=True)


def test_a_source_is_named_in_exactly_one_way(recoverable, client):
    target = {"TargetTableName": new_name(), "UseLatestRestorableTime": True}
    with invalid("The parameter 'TableName' is required but was not present in the request"):
        client.restore_table_to_point_in_time(**target)
    arn = recoverable.describe_table()["Table"]["TableArn"]
    with invalid("Must provide exactly one of: sourceTableArn, sourceTableName"):
        client.restore_table_to_point_in_time(**target, SourceTableName=recoverable.name, SourceTableArn=arn)
    with invalid("sourceTableArn is not a valid ARN"):
        client.restore_table_to_point_in_time(**target, SourceTableArn="no-arn-at-all")
