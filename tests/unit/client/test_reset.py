"""`Database.reset` empties a database in memory, and everything that uses it goes on with the empty one."""

import pytest

import hashrange
from hashrange.client.database import open_database
from hashrange.core.clock import ManualClock
from hashrange.faults.faults import Faults
from hashrange.server.runner import serve_in_background

TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
}
WRITE = {"TransactItems": [{"Put": {"TableName": "things", "Item": {"pk": {"S": "a"}}}}], "ClientRequestToken": "one"}


def test_nothing_is_left_after_a_reset():
    with open_database() as db:
        db.create_table(**TABLE)
        db.transact_write_items(**WRITE)
        db.create_backup(TableName="things", BackupName="all")
        db.reset()
        assert db.list_tables() == {"TableNames": []}
        assert db.list_streams() == {"Streams": []}
        assert db.list_backups() == {"BackupSummaries": []}
        db.create_table(**TABLE)
        db.transact_write_items(**WRITE)  # the token is forgotten too
        assert db.scan(TableName="things")["Count"] == 1


def test_region_clock_and_faults_stay():
    clock, faults = ManualClock(5), Faults()
    with open_database(clock=clock, faults=faults, region="us-east-1") as db:
        db.reset()
        assert (db.clock, db.engine.faults, db.region) == (clock, faults, "us-east-1")


def test_clients_resources_and_patches_go_on_with_the_empty_database():
    with open_database() as db, hashrange.patch_boto3(database=db):
        client, resource = db.client(), db.resource()
        client.create_table(**TABLE)
        db.reset()
        assert client.list_tables()["TableNames"] == []
        resource.create_table(**TABLE)
        assert client.list_tables()["TableNames"] == ["things"]


def test_an_open_connection_goes_on_with_the_empty_database():
    with (
        open_database() as db,
        serve_in_background(db.engine) as server,
        db.on_reset(server.replace_engine),
        hashrange.connect(server.url) as remote,
    ):
        for _ in range(20):
            remote.call("CreateTable", TABLE)
            db.reset()
            assert remote.call("ListTables") == {"TableNames": []}


def test_a_directory_is_not_reset(tmp_path):
    with open_database(tmp_path) as db:
        db.create_table(**TABLE)
        with pytest.raises(ValueError, match="Only a database in memory can be reset"):
            db.reset()
        assert db.list_tables() == {"TableNames": ["things"]}
