from tests.conformance.backup import unknown_arn
from tests.conformance.refusal import invalid, refused


def test_a_deleted_backup_is_gone_at_once(table):
    arn = table.create_backup(BackupName="copy")["BackupDetails"]["BackupArn"]
    table.client.describe_backup(BackupArn=arn)
    response = table.client.delete_backup(BackupArn=arn)["BackupDescription"]
    assert response["BackupDetails"]["BackupStatus"] == "DELETED"
    assert response["SourceTableDetails"]["TableName"] == table.name
    for operation in (table.client.describe_backup, table.client.delete_backup):
        with refused("BackupNotFoundException", f"Backup not found: {arn}"):
            operation(BackupArn=arn)
    assert table.list_backups()["BackupSummaries"] == []


def test_an_unknown_backup_is_not_found(table):
    arn = unknown_arn(table)
    with refused("BackupNotFoundException", f"Backup not found: {arn}"):
        table.client.delete_backup(BackupArn=arn)


def test_what_is_no_backup_arn_is_refused(client):
    with invalid("Invalid Backup ARN"):
        client.delete_backup(BackupArn="x" * 48)
