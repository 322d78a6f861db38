"""Backups of a local database: made, restored, looked at."""


def back_up(local, name="tab", **members):
    return local.call("CreateBackup", TableName=name, BackupName="copy", **members)["BackupDetails"]["BackupArn"]


def restore(local, arn, target="back", **members):
    return local.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName=target, **members)["TableDescription"]


def describe(local, arn):
    return local.call("DescribeBackup", BackupArn=arn)["BackupDescription"]


def status(local, arn):
    return describe(local, arn)["BackupDetails"]["BackupStatus"]


def listed(local, **members):
    return [summary["BackupArn"] for summary in local.call("ListBackups", **members)["BackupSummaries"]]
