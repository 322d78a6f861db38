import re

from tests.conformance.backup import backed_up
from tests.conformance.refusal import invalid, refused


def test_a_new_backup_is_being_created(table):
    response = table.create_backup(BackupName="copy")["BackupDetails"]
    assert (response["BackupName"], response["BackupStatus"], response["BackupType"]) == ("copy", "CREATING", "USER")
    arn = table.describe_table()["Table"]["TableArn"]
    assert re.fullmatch(re.escape(arn) + r"/backup/\d{14}-[0-9a-f]{8}", response["BackupArn"])
    assert "BackupExpiryDateTime" not in response
    table.client.delete_backup(BackupArn=response["BackupArn"])


def test_backups_may_have_the_same_name(table):
    with backed_up(table, "same") as first, backed_up(table, "same") as second:
        assert first != second


def test_a_table_that_is_not_there_cannot_be_backed_up(client):
    with refused("TableNotFoundException", "Table not found: unknown-table"):
        client.create_backup(TableName="unknown-table", BackupName="copy")


def test_a_name_has_three_characters_of_a_few_kinds(table):
    with invalid(containing="at 'backupName' failed to satisfy constraint: Member must have length greater than"):
        table.create_backup(BackupName="ab")
    with invalid(containing="at 'backupName' failed to satisfy constraint: Member must satisfy regular expression"):
        table.create_backup(BackupName="a b c")
