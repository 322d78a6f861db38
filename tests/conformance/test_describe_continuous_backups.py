from tests.conformance.refusal import refused


def test_recovery_is_off_until_it_is_turned_on(table):
    described = table.describe_continuous_backups()["ContinuousBackupsDescription"]
    assert described["PointInTimeRecoveryDescription"] == {"PointInTimeRecoveryStatus": "DISABLED"}


def test_backups_are_possible_whether_recovery_is_on_or_not(table):
    for enabled in (True, False):
        table.update_continuous_backups(PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": enabled})
        described = table.describe_continuous_backups()["ContinuousBackupsDescription"]
        assert described["ContinuousBackupsStatus"] == "ENABLED"


def test_a_table_can_be_named_by_its_arn(table, client):
    arn = table.describe_table()["Table"]["TableArn"]
    assert client.describe_continuous_backups(TableName=arn)["ContinuousBackupsDescription"]


def test_a_table_that_is_not_there_is_not_found(client):
    with refused("TableNotFoundException", "Table not found: unknown-table"):
        client.describe_continuous_backups(TableName="unknown-table")
