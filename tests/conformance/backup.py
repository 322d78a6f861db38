"""Backups and restored tables for a test, gone after it."""

import contextlib

from tests.conformance.table import TIMES, Table, new_name

UNKNOWN = "arn:aws:dynamodb:{region}:{account}:table/unknown/backup/01489602797149-73d8d5bc"


@contextlib.contextmanager
def backed_up(table, name="copy"):
    """The ARN of a backup of the table."""
    arn = table.create_backup(BackupName=name)["BackupDetails"]["BackupArn"]
    try:
        yield arn
    finally:
        with contextlib.suppress(table.client.exceptions.BackupNotFoundException):
            table.client.delete_backup(BackupArn=arn)


@contextlib.contextmanager
def restored(client, restore, **members):
    """The table that a restoring operation makes, once it is there."""
    table = Table(client, {"TableName": new_name("restored")})
    restore(TargetTableName=table.name, **members)
    try:
        client.get_waiter("table_exists").wait(TableName=table.name, **TIMES)
        yield table
    finally:
        table.drop()


def unknown_arn(table):
    """A well-formed ARN of a backup that does not exist, where the table lives."""
    region, account = table.describe_table()["Table"]["TableArn"].split(":")[3:5]
    return UNKNOWN.format(region=region, account=account)
