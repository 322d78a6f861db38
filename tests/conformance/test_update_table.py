"""UpdateTable: one change at a time, and an index added to a table that has items already."""

import pytest

from tests.conformance.refusal import INVALID, invalid, not_found, refused
from tests.conformance.table import define_index, new_name, read_types
from tests.conformance.wire import item

PROVISIONED = {"BillingMode": None, "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}}


def add_index(table, name, keys, projection="ALL"):
    definitions = [{"AttributeName": a, "AttributeType": t} for a, t in read_types(keys).items()]
    created = {"Create": define_index(name, (keys, projection))}
    return table.update_table(AttributeDefinitions=definitions, GlobalSecondaryIndexUpdates=[created])


def wait_until_active(table):
    table.client.get_waiter("table_exists").wait(TableName=table.name, WaiterConfig={"Delay": 1})
    return table.describe_table()["Table"]


def test_an_index_added_later_holds_the_items_from_before(make_table):
    table = make_table("pk:S")
    table.put_all({"pk": f"{number}", "a": "x", "b": number} for number in range(30))
    table.put(pk="no key", b=1)
    table.put(pk="wrong type", a=5, b=1)
    table.put(pk="empty", a="", b=1)
    response = add_index(table, "gsi", "a:S / b:N")["TableDescription"]
    assert response["TableStatus"] == "UPDATING"
    (index,) = response["GlobalSecondaryIndexes"]
    assert (index["IndexName"], index["IndexStatus"]) == ("gsi", "CREATING")
    (index,) = wait_until_active(table)["GlobalSecondaryIndexes"]
    assert (index["IndexStatus"], index["ItemCount"]) == ("ACTIVE", 30)
    found = table.query(
        IndexName="gsi", KeyConditionExpression="a = :a", ExpressionAttributeValues=item(**{":a": "x"})
    )["Items"]
    assert [int(one["b"]["N"]) for one in found] == list(range(30))


def test_an_added_index_of_several_attributes_is_filled_too(make_table):
    table = make_table("pk:S")
    table.put_all({"pk": f"{number}", "a": "x", "b": "y", "c": number} for number in range(5))
    add_index(table, "gsi", "a:S,b:S / c:N", "KEYS_ONLY")
    wait_until_active(table)
    assert [set(one) for one in table.scan(IndexName="gsi")["Items"]] == [{"pk", "a", "b", "c"}] * 5


def test_an_added_index_follows_later_writes_and_forbids_wrong_keys(make_table):
    table = make_table("pk:S")
    add_index(table, "gsi", "a:S")
    wait_until_active(table)
    table.put(pk="1", a="x")
    assert table.scan(IndexName="gsi")["Items"] == [item(pk="1", a="x")]
    with invalid(INVALID + "Type mismatch for Index Key a Expected: S Actual: N IndexName: gsi"):
        table.put(pk="2", a=5)


def test_a_deleted_index_is_gone_with_its_attribute_definitions_and_its_rules(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    response = table.update_table(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "gsi"}}])["TableDescription"]
    assert response["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
    found = wait_until_active(table)
    assert "GlobalSecondaryIndexes" not in found
    assert [each["AttributeName"] for each in found["AttributeDefinitions"]] == ["pk"]
    table.put(pk="1", a=5)
    with invalid("The table does not have the specified index: gsi"):
        table.scan(IndexName="gsi")


def test_an_index_can_come_back_with_other_keys(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    table.put(pk="1", a="x", b=1)
    table.update_table(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "gsi"}}])
    wait_until_active(table)
    add_index(table, "gsi", "b:N")
    wait_until_active(table)
    assert table.scan(IndexName="gsi")["Items"] == [item(pk="1", a="x", b=1)]


@pytest.mark.parametrize(
    ("updates", "text"),
    [
        (
            [{"Create": define_index("gsi", "a:S")}],
            INVALID + "AttributeDefinitions is not specified for index: gsi",
        ),
        (
            [{}],
            INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
            "GlobalSecondaryIndexUpdate.Delete must not be null",
        ),
        (
            [{"Create": define_index("gsi", "a:S"), "Delete": {"IndexName": "hsi"}}],
            INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
        ),
    ],
)
def test_an_index_change_that_makes_no_sense_is_explained(table, updates, text):
    with invalid(text):
        table.update_table(GlobalSecondaryIndexUpdates=updates)


def test_one_index_is_created_or_deleted_at_a_time(make_table):
    table = make_table("pk:S", gsi={"one": "a:S", "two": "a:S"})
    text = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    with refused("LimitExceededException", text):
        table.update_table(
            GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "one"}}, {"Delete": {"IndexName": "two"}}]
        )
    assert len(table.describe_table()["Table"]["GlobalSecondaryIndexes"]) == 2


@pytest.mark.parametrize("other", ["Delete", "Create"])
def test_the_number_of_index_changes_comes_before_the_existence_of_the_indexes(table, other):
    text = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
    created = {"IndexName": "two", **define_index("two", "a:S")}
    changes = [{"Delete": {"IndexName": "one"}}, {other: {"IndexName": "two"} if other == "Delete" else created}]
    definitions = [{"AttributeName": "a", "AttributeType": "S"}]
    with refused("LimitExceededException", text):
        table.update_table(GlobalSecondaryIndexUpdates=changes, AttributeDefinitions=definitions)


def test_the_bounds_of_throughput_come_before_the_existence_of_the_table(client):
    for unit in ("ReadCapacityUnits", "WriteCapacityUnits"):
        units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1} | {unit: 1_000_000_000_001}
        with invalid(f"Given value 1000000000001 for {unit} is out of bounds"):
            client.update_table(TableName=new_name(), ProvisionedThroughput=units)
        name = new_name()
        with not_found(f"Requested resource not found: Table: {name} not found"):  # not so those of an index
            update = {"Update": {"IndexName": "gsi", "ProvisionedThroughput": units}}
            client.update_table(TableName=name, GlobalSecondaryIndexUpdates=[update])


def test_an_unknown_index_is_not_found(table):
    with not_found(f"Requested resource not found: Index gsi for table {table.name}"):
        table.update_table(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "gsi"}}])


def test_an_index_name_can_be_used_once(make_table):
    table = make_table("pk:S", gsi={"gsi": "a:S"})
    with invalid("Attempting to create an index which already exists"):
        add_index(table, "gsi", "a:S")


def test_a_local_index_can_never_be_deleted(make_table):
    table = make_table("pk:S / sk:S", lsi={"lsi": "pk:S / a:S"})
    with invalid("Cannot delete an index that is not a GlobalSecondaryIndex: lsi"):
        table.update_table(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "lsi"}}])


def test_throughput_changes_and_cannot_change_to_what_it_is(make_table):
    table = make_table("pk:S", **PROVISIONED)
    response = table.update_table(ProvisionedThroughput={"ReadCapacityUnits": 7, "WriteCapacityUnits": 5})
    assert response["TableDescription"]["TableStatus"] == "UPDATING"
    assert response["TableDescription"]["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    assert wait_until_active(table)["ProvisionedThroughput"]["ReadCapacityUnits"] == 7
    with invalid(
        "The provisioned throughput for the table will not change. The requested value equals the current value. "
        "Current ReadCapacityUnits provisioned for the table: 7. Requested ReadCapacityUnits: 7. "
        "Current WriteCapacityUnits provisioned for the table: 5. Requested WriteCapacityUnits: 5. "
        "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
    ):
        table.update_table(ProvisionedThroughput={"ReadCapacityUnits": 7, "WriteCapacityUnits": 5})


def test_billing_can_be_switched_both_ways(make_table):
    table = make_table("pk:S", **PROVISIONED)
    table.update_table(BillingMode="PAY_PER_REQUEST")
    found = wait_until_active(table)
    assert found["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert found["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    with invalid(INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"):
        table.update_table(BillingMode="PROVISIONED")
    table.update_table(
        BillingMode="PROVISIONED", ProvisionedThroughput={"ReadCapacityUnits": 2, "WriteCapacityUnits": 3}
    )
    found = wait_until_active(table)
    assert found["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert found["ProvisionedThroughput"]["WriteCapacityUnits"] == 3


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {
                "DeletionProtectionEnabled": True,
                "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
            },
            "DeletionProtection modification must be the only operation in the request",
        ),
        (
            {"TableClass": "STANDARD_INFREQUENT_ACCESS", "DeletionProtectionEnabled": True},
            "TableClass modification must be the only operation in the request",
        ),
        (
            {
                "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
                "ProvisionedThroughput": {"ReadCapacityUnits": 9, "WriteCapacityUnits": 9},
            },
            "You cannot modify stream status while updating table IOPS",
        ),
    ],
)
def test_a_call_makes_one_change(make_table, changes, text):
    table = make_table("pk:S", **PROVISIONED)
    before = table.describe_table()["Table"]
    with invalid(INVALID + text):
        table.update_table(**changes)
    assert table.describe_table()["Table"] == before


REQUIRED = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
    "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
    "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"
)


def test_a_call_that_changes_nothing_is_refused(table):
    with invalid(REQUIRED):
        table.update_table()


@pytest.mark.parametrize("consistency", ["EVENTUAL", "STRONG"])
def test_a_consistency_of_regions_alone_is_no_change_and_missing_from_the_list(table, consistency):
    with invalid(REQUIRED.replace("MultiRegionConsistency, ", "")):
        table.update_table(MultiRegionConsistency=consistency)


def test_a_stream_is_switched_on_once_and_off_once(table):
    spec = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    response = table.update_table(StreamSpecification=spec)["TableDescription"]
    assert response["StreamSpecification"] == spec
    arn = wait_until_active(table)["LatestStreamArn"]
    with invalid(f"Table already has an enabled stream: TableName: {table.name}"):
        table.update_table(StreamSpecification=spec)
    table.update_table(StreamSpecification={"StreamEnabled": False})
    found = wait_until_active(table)
    assert "StreamSpecification" not in found
    assert found["LatestStreamArn"] == arn
    with invalid(f"Table has no stream to disable: TableName: {table.name}"):
        table.update_table(StreamSpecification={"StreamEnabled": False})


def test_an_unknown_table_is_named(client):
    name = new_name()
    with not_found(f"Requested resource not found: Table: {name} not found"):
        client.update_table(TableName=name, DeletionProtectionEnabled=True)
