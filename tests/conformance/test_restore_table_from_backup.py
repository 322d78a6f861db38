from tests.conformance.backup import backed_up, restored, unknown_arn
from tests.conformance.refusal import invalid, refused
from tests.conformance.table import new_name
from tests.conformance.wire import item


def test_a_restored_table_holds_the_items_and_indexes_of_the_backup(make_table, client):
    table = make_table("pk:S / sk:N", gsi={"byg": "g:S"}, lsi={"byn": ("pk:S / n:N", "KEYS_ONLY")})
    table.put(pk="a", sk=1, g="x", n=5)
    with backed_up(table) as arn:
        table.put(pk="a", sk=1, g="changed")
        with restored(client, client.restore_table_from_backup, BackupArn=arn) as back:
            assert back.scan()["Items"] == [item(pk="a", sk=1, g="x", n=5)]
            query = {"KeyConditionExpression": "g = :g", "ExpressionAttributeValues": item(**{":g": "x"})}
            assert back.query(IndexName="byg", **query)["Count"] == 1
            assert back.scan(IndexName="byn")["Count"] == 1
            assert "RestoreSummary" not in back.describe_table()["Table"]


def test_the_answer_tells_where_the_table_comes_from(table, client):
    with backed_up(table) as arn:
        described = {}

        def restore(**members):
            described.update(client.restore_table_from_backup(BackupArn=arn, **members)["TableDescription"])

        with restored(client, restore) as back:
            assert (described["TableName"], described["TableStatus"]) == (back.name, "CREATING")
            summary = described["RestoreSummary"]
            assert (summary["SourceBackupArn"], summary["RestoreInProgress"]) == (arn, True)
            assert summary["SourceTableArn"] == table.describe_table()["Table"]["TableArn"]


def test_an_empty_override_leaves_all_indexes_out(make_table, client):
    table = make_table(gsi={"byg": "g:S"})
    with backed_up(table) as arn:
        override = {"GlobalSecondaryIndexOverride": []}
        with restored(client, client.restore_table_from_backup, BackupArn=arn, **override) as back:
            assert "GlobalSecondaryIndexes" not in back.describe_table()["Table"]


def test_a_table_that_is_there_is_not_restored_over(table, client):
    with backed_up(table) as arn, refused("TableAlreadyExistsException", f"Table already exists: {table.name}"):
        client.restore_table_from_backup(TargetTableName=table.name, BackupArn=arn)


def test_an_unknown_backup_is_not_found(table, client):
    arn = unknown_arn(table)
    with refused("BackupNotFoundException", f"Backup not found: {arn}"):
        client.restore_table_from_backup(TargetTableName=new_name(), BackupArn=arn)


def test_an_index_that_was_not_there_cannot_be_made(table, client):
    index = {"IndexName": "new", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}
    index["Projection"] = {"ProjectionType": "ALL"}
    text = (
        "Invalid Request: Index new does not match a secondary index that existed in the source table "
        "and cannot be created during the restore operation"
    )
    with backed_up(table) as arn, invalid(text):
        client.restore_table_from_backup(
            TargetTableName=new_name(), BackupArn=arn, GlobalSecondaryIndexOverride=[index]
        )
