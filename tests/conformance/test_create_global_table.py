"""Global tables of version 2017, which the service no longer offers: none is created, listed or found."""

import pytest

from tests.conformance.refusal import invalid, refused


def test_none_is_created(client, table):
    with invalid(containing="global tables version 2017.11.29 is not supported"):
        client.create_global_table(GlobalTableName=table.name, ReplicationGroup=[{"RegionName": "eu-west-1"}])


def test_none_is_listed(client, table):
    names = {each["GlobalTableName"] for each in client.list_global_tables()["GlobalTables"]}
    assert table.name not in names


@pytest.mark.parametrize(
    "operation", ["describe_global_table", "describe_global_table_settings", "update_global_table_settings"]
)
def test_a_plain_table_is_no_global_table(client, table, operation):
    with refused("GlobalTableNotFoundException", f"Global table with name: '{table.name}' does not exist."):
        getattr(client, operation)(GlobalTableName=table.name)


def test_an_update_of_a_plain_table_is_refused(client, table):
    updates = [{"Create": {"RegionName": "eu-west-1"}}]
    with invalid(containing="global tables version 2017.11.29 is not supported"):
        client.update_global_table(GlobalTableName=table.name, ReplicaUpdates=updates)


@pytest.mark.parametrize("operation", ["describe_table_replica_auto_scaling", "update_table_replica_auto_scaling"])
def test_a_table_without_replicas_has_no_auto_scaling_of_them(table, operation):
    with refused("ResourceNotFoundException"):
        getattr(table, operation)()
