from tests.conformance.backup import backed_up, unknown_arn
from tests.conformance.refusal import invalid, refused


def test_a_backup_tells_of_itself_and_of_its_table(make_table):
    table = make_table("pk:S / sk:N", gsi={"byg": "g:S"})
    with backed_up(table) as arn:
        described = table.client.describe_backup(BackupArn=arn)["BackupDescription"]
    shown = table.describe_table()["Table"]
    assert described["BackupDetails"]["BackupArn"] == arn
    assert described["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    source = described["SourceTableDetails"]
    for member in ("TableName", "TableId", "TableArn", "KeySchema"):
        assert source[member] == shown[member]
    assert source["TableCreationDateTime"] == shown["CreationDateTime"]
    assert source["BillingMode"] == "PAY_PER_REQUEST"
    (index,) = described["SourceTableFeatureDetails"]["GlobalSecondaryIndexes"]
    assert set(index) == {"IndexName", "KeySchema", "Projection", "ProvisionedThroughput"}


def test_a_backup_outlives_its_table(make_table):
    table = make_table()
    with backed_up(table) as arn:
        table.delete_table()
        assert table.client.describe_backup(BackupArn=arn)["BackupDescription"]["SourceTableDetails"]


def test_an_unknown_backup_is_not_found(table):
    arn = unknown_arn(table)
    with refused("BackupNotFoundException", f"Backup not found: {arn}"):
        table.client.describe_backup(BackupArn=arn)


def test_the_arn_of_a_table_is_not_that_of_a_backup(table):
    with invalid("Invalid Backup ARN"):
        table.client.describe_backup(BackupArn=table.describe_table()["Table"]["TableArn"])
