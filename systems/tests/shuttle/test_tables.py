"""The tables that the declaration makes are those of the seed."""

import pytest

import hashrange
from hashrange_systems.shuttle.schema import Operator, Shuttle
from systems.tests.shuttle.example import HISTORY, JOBS, SHOPS


def describe(database, name):
    return database.call("DescribeTable", {"TableName": name})["Table"]


def keys_of(description):
    return [(part["AttributeName"], part["KeyType"]) for part in description["KeySchema"]]


def test_the_three_tables_are_created_once(database):
    assert sorted(hashrange.create_tables(database, Shuttle, Operator)) == [HISTORY, JOBS, SHOPS]
    assert hashrange.create_tables(database, Shuttle, Operator) == []


def test_the_environment_names_the_tables(database, monkeypatch):
    monkeypatch.setenv("ENVIRONMENT", "prod")
    created = hashrange.create_tables(database, Shuttle, Operator)
    assert sorted(created) == [f"InavorShuttle-prod-{name}" for name in ("import-history", "jobs", "shops")]
    assert Operator.open(database).shop("mystore.myshopify.com").run() is None


@pytest.mark.parametrize(
    ("name", "keys", "types"),
    [
        (SHOPS, [("domain", "HASH")], {"domain": "S"}),
        (JOBS, [("jobId", "HASH")], {"jobId": "S", "shopDomain": "S", "status": "S", "createdAt": "N"}),
        (HISTORY, [("shopDomain", "HASH"), ("timestamp", "RANGE")], {"shopDomain": "S", "timestamp": "N"}),
    ],
)
def test_keys_and_their_types_are_the_seeds(tables, name, keys, types):
    found = describe(tables, name)
    assert keys_of(found) == keys
    assert {part["AttributeName"]: part["AttributeType"] for part in found["AttributeDefinitions"]} == types


@pytest.mark.parametrize("name", [SHOPS, JOBS, HISTORY])
def test_every_table_is_on_demand_encrypted_and_kept(tables, name):
    found = describe(tables, name)
    assert found["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert found["SSEDescription"]["Status"] == "ENABLED"
    assert found["SSEDescription"]["SSEType"] == "KMS"
    assert found["DeletionProtectionEnabled"] is True


@pytest.mark.parametrize("name", [SHOPS, JOBS, HISTORY])
def test_every_table_can_be_restored_to_a_point_in_time(tables, name):
    found = tables.call("DescribeContinuousBackups", {"TableName": name})["ContinuousBackupsDescription"]
    assert found["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


def test_the_jobs_table_has_the_two_indexes_and_no_other_has_any(tables):
    indexes = {index["IndexName"]: index for index in describe(tables, JOBS)["GlobalSecondaryIndexes"]}
    assert {name: keys_of(index) for name, index in indexes.items()} == {
        "shopDomain-createdAt-index": [("shopDomain", "HASH"), ("createdAt", "RANGE")],
        "status-createdAt-index": [("status", "HASH"), ("createdAt", "RANGE")],
    }
    assert {index["Projection"]["ProjectionType"] for index in indexes.values()} == {"ALL"}
    assert {index["IndexStatus"] for index in indexes.values()} == {"ACTIVE"}
    assert not describe(tables, SHOPS).get("GlobalSecondaryIndexes")
    assert not describe(tables, HISTORY).get("GlobalSecondaryIndexes")


def test_jobs_and_history_expire_and_shops_do_not(tables):
    def ttl_of(name):
        return tables.call("DescribeTimeToLive", {"TableName": name})["TimeToLiveDescription"]

    for name in (JOBS, HISTORY):
        assert ttl_of(name) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expiresAt"}
    assert ttl_of(SHOPS) == {"TimeToLiveStatus": "DISABLED"}
