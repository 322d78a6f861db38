"""What a write costs: the table by the larger image, each index by what changed in its own entries."""

import pytest

from tests.conformance.wire import item, sized_item


def cost(response):
    """The table's units and those of each index that was charged."""
    consumed = response["ConsumedCapacity"]
    arms = {
        **consumed.get("GlobalSecondaryIndexes", {}),
        **consumed.get("LocalSecondaryIndexes", {}),
    }
    units = {name: arm["CapacityUnits"] for name, arm in arms.items()}
    assert consumed["CapacityUnits"] == consumed["Table"]["CapacityUnits"] + sum(units.values())
    return consumed["Table"]["CapacityUnits"], units


def put(table, attributes):
    return cost(table.put_item(Item=attributes, ReturnConsumedCapacity="INDEXES"))


@pytest.mark.parametrize(("size", "units"), [(10, 1.0), (1024, 1.0), (1025, 2.0), (4096, 4.0)])
def test_a_put_costs_a_unit_per_kb(table, size, units):
    assert put(table, sized_item(size, pk="a")) == (units, {})


def test_a_put_costs_the_larger_of_what_was_and_what_will_be(table):
    put(table, sized_item(3000, pk="a"))
    assert put(table, item(pk="a")) == (3.0, {})
    assert put(table, sized_item(2000, pk="a")) == (2.0, {})


def test_total_names_no_parts(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    response = table.put_item(Item=item(pk="p", a="x"), ReturnConsumedCapacity="TOTAL")
    assert response["ConsumedCapacity"] == {"TableName": table.name, "CapacityUnits": 2.0}


def test_an_index_is_charged_for_each_change_of_its_entry_and_only_then(make_table):
    table = make_table("pk:S", gsi={"gsi": ("a:S", ["seen"])})
    assert put(table, item(pk="p")) == (1.0, {})  # not in the index
    assert put(table, item(pk="p", a="x")) == (1.0, {"gsi": 1.0})  # enters it
    assert put(table, item(pk="p", a="x", unseen=1)) == (1.0, {})  # its entry is the same
    assert put(table, item(pk="p", a="x", seen=1)) == (1.0, {"gsi": 1.0})  # a projected attribute changed
    assert put(table, item(pk="p", a="y", seen=1)) == (1.0, {"gsi": 2.0})  # moved: deleted and inserted
    assert put(table, item(pk="p")) == (1.0, {"gsi": 1.0})  # leaves it


def test_sets_and_numbers_that_are_equal_are_no_change_to_an_index(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:N"})
    put(table, {**item(pk="p", a=1), "s": {"SS": ["x", "y"]}})
    assert put(table, {"pk": {"S": "p"}, "a": {"N": "1.0"}, "s": {"SS": ["y", "x"]}}) == (1.0, {})


def test_an_index_entry_is_measured_by_what_it_projects(make_table):
    table = make_table("pk:S", gsi={"all": "a:S", "keys": ("a:S", "KEYS_ONLY")})
    assert put(table, sized_item(3000, pk="p", a="x")) == (3.0, {"all": 3.0, "keys": 1.0})
    assert put(table, sized_item(2000, pk="p", a="y")) == (3.0, {"all": 3.0 + 2.0, "keys": 2.0})


def test_a_changed_entry_costs_the_larger_of_its_images(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    put(table, sized_item(3000, pk="p", a="x"))
    assert put(table, item(pk="p", a="x")) == (3.0, {"gsi": 3.0})


def test_local_indexes_are_charged_alike(make_table):
    table = make_table("pk:S / sk:S", lsi={"lsi": "pk:S / b:S"})
    assert put(table, item(pk="p", sk="s", b="1")) == (1.0, {"lsi": 1.0})
    assert put(table, item(pk="p", sk="s", b="2")) == (1.0, {"lsi": 2.0})
    assert put(table, item(pk="p", sk="s", b="2")) == (1.0, {})


def test_update_and_delete_are_charged_by_the_same_rules(make_table):
    table = make_table("pk:S", gsi={"gsi": ("a:S", "KEYS_ONLY")})
    table.put(pk="p", a="x", n=1)
    options = {"Key": item(pk="p"), "ReturnConsumedCapacity": "INDEXES"}
    values = {"ExpressionAttributeValues": item(**{":v": "y"})}
    assert cost(table.update_item(UpdateExpression="SET n = :v", **values, **options)) == (1.0, {})
    assert cost(table.update_item(UpdateExpression="SET a = :v", **values, **options)) == (1.0, {"gsi": 2.0})
    assert cost(table.delete_item(**options)) == (1.0, {"gsi": 1.0})
    assert cost(table.delete_item(**options)) == (1.0, {})


@pytest.mark.parametrize("lsi", [None, {"lsi": "pk:S / b:S"}])
def test_collection_metrics_exist_only_with_a_local_index(make_table, lsi):
    table = make_table("pk:S / sk:S", lsi=lsi)
    key = item(pk="p", sk="s")
    responses = [
        table.put_item(Item=key, ReturnItemCollectionMetrics="SIZE"),
        table.update_item(Key=key, ReturnItemCollectionMetrics="SIZE"),
        table.delete_item(Key=key, ReturnItemCollectionMetrics="SIZE"),
    ]
    for response in responses:
        metrics = response.get("ItemCollectionMetrics")
        if lsi is None:
            assert metrics is None
        else:
            assert metrics["ItemCollectionKey"] == item(pk="p")
            low, high = metrics["SizeEstimateRangeGB"]
            assert (low, high) == (0.0, 1.0)
