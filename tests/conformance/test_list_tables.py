"""ListTables: names in byte order, a page at a time."""

import pytest

from tests.conformance.table import new_name


def list_names(client, prefix, **options):
    """The names with that prefix; the target may hold other tables too."""
    found, start = [], {"ExclusiveStartTableName": prefix}
    while True:
        page = client.list_tables(**options, **start)
        found += page["TableNames"]
        if "LastEvaluatedTableName" not in page:
            return [name for name in found if name.startswith(prefix)]
        assert page["TableNames"][-1] == page["LastEvaluatedTableName"]
        start = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_names_come_in_byte_order_however_they_are_paged(client, make_table, limit):
    prefix = new_name("list")
    for ending in ("_b", "_B", "_a", "_1", "_.", "_-"):
        make_table("pk:S", name=prefix + ending)
    expected = [prefix + ending for ending in ("_-", "_.", "_1", "_B", "_a", "_b")]
    assert list_names(client, prefix, Limit=limit) == expected


def test_a_name_is_listed_until_its_table_is_deleted(client, make_table):
    prefix = new_name("list")
    table = make_table("pk:S", name=f"{prefix}-x")
    assert list_names(client, prefix) == [table.name]
    table.delete_table()
    client.get_waiter("table_not_exists").wait(TableName=table.name, WaiterConfig={"Delay": 1})
    assert list_names(client, prefix) == []


@pytest.mark.parametrize(("limit", "word"), [(0, "greater than or equal to 1"), (101, "less than or equal to 100")])
def test_a_limit_is_from_1_to_100(send, limit, word):
    status, response = send("ListTables", {"Limit": limit})
    assert status == 400
    assert response["message"] == (
        f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint: "
        f"Member must have value {word}"
    )
