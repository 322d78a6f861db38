"""DeleteTable: the table and everything in it is gone, unless it is protected."""

from tests.conformance.refusal import invalid, not_found
from tests.conformance.table import new_name


def test_a_deleted_table_is_deleting_and_then_gone(client, table):
    table.put(pk="a")
    response = table.delete_table()["TableDescription"]
    assert (response["TableName"], response["TableStatus"]) == (table.name, "DELETING")
    client.get_waiter("table_not_exists").wait(TableName=table.name, WaiterConfig={"Delay": 1})
    with not_found(f"Requested resource not found: Table: {table.name} not found"):
        table.describe_table()
    with not_found():
        table.get(pk="a")


def test_the_answer_does_not_describe_the_schema(table):
    response = table.delete_table()["TableDescription"]
    assert not {"KeySchema", "AttributeDefinitions", "CreationDateTime"} & set(response)


def test_a_protected_table_stays_until_it_is_unprotected(make_table):
    table = make_table("pk:S", DeletionProtectionEnabled=True)
    text = (
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first."
    )
    with invalid(text):
        table.delete_table()
    response = table.update_table(DeletionProtectionEnabled=False)["TableDescription"]
    assert (response["TableStatus"], response["DeletionProtectionEnabled"]) == ("ACTIVE", False)
    table.delete_table()


def test_an_unknown_table_is_named(client):
    name = new_name()
    with not_found(f"Requested resource not found: Table: {name} not found"):
        client.delete_table(TableName=name)


def test_the_answer_tells_nothing_about_warm_throughput(table):
    assert "WarmThroughput" not in table.delete_table()["TableDescription"]
