"""What a restored table is like when the request says otherwise than its source."""

import pytest


def back_up(local):
    return local.call("CreateBackup", TableName="tab", BackupName="copy")["BackupDetails"]["BackupArn"]


def restore(local, arn, target="back", **members):
    local.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName=target, **members)


UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
MORE = {"ReadCapacityUnits": 7, "WriteCapacityUnits": 8}
SCHEMA = [{"AttributeName": "g", "KeyType": "HASH"}]
INDEX = {
    "IndexName": "byg",
    "KeySchema": SCHEMA,
    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "y"]},
}
LOCAL = {"IndexName": "byn", "Projection": {"ProjectionType": "ALL"}}
LOCAL["KeySchema"] = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}]


@pytest.fixture
def provisioned(local):
    """The backup of a table with 5 units, and 5 for its global index."""
    attributes = {"pk": "S", "sk": "N", "g": "S", "n": "N"}
    local.create(
        "pk:S / sk:N",
        BillingMode="PROVISIONED",
        ProvisionedThroughput=UNITS,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in attributes.items()],
        GlobalSecondaryIndexes=[INDEX | {"ProvisionedThroughput": UNITS}],
        LocalSecondaryIndexes=[LOCAL],
    )
    local.put(pk="a", sk=1, g="x", n=2)
    return local, back_up(local)


def units_of(description):
    return {unit: description["ProvisionedThroughput"][unit] for unit in UNITS}


def test_without_overrides_a_table_is_restored_as_it_was_recorded(provisioned):
    local, arn = provisioned
    restore(local, arn)
    table = local.describe("back")
    assert units_of(table) == units_of(table["GlobalSecondaryIndexes"][0]) == UNITS
    assert [index["IndexName"] for index in table["LocalSecondaryIndexes"]] == ["byn"]
    assert "BillingModeSummary" not in table


def test_throughput_is_overridden_for_the_table_alone(provisioned):
    local, arn = provisioned
    restore(local, arn, ProvisionedThroughputOverride=MORE)
    table = local.describe("back")
    assert (units_of(table), units_of(table["GlobalSecondaryIndexes"][0])) == (MORE, UNITS)


def test_a_table_becomes_on_demand_with_its_indexes(provisioned):
    local, arn = provisioned
    caps = {"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": 60}
    restore(local, arn, BillingModeOverride="PAY_PER_REQUEST", OnDemandThroughputOverride=caps)
    table = local.describe("back")
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["OnDemandThroughput"] == caps
    none = dict.fromkeys(UNITS, 0)
    assert units_of(table) == units_of(table["GlobalSecondaryIndexes"][0]) == none


def test_indexes_may_be_renamed_and_left_out(provisioned):
    local, arn = provisioned
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["y", "x"]}
    renamed = INDEX | {"IndexName": "new", "ProvisionedThroughput": MORE, "Projection": projection}
    restore(local, arn, GlobalSecondaryIndexOverride=[renamed], LocalSecondaryIndexOverride=[])
    table = local.describe("back")
    assert "LocalSecondaryIndexes" not in table
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["new"]
    assert [entry["AttributeName"] for entry in table["AttributeDefinitions"]] == ["g", "pk", "sk"]
    assert len(local.items("back", "new")) == 1
    restore(local, arn, "none", GlobalSecondaryIndexOverride=[], LocalSecondaryIndexOverride=[])
    assert "GlobalSecondaryIndexes" not in local.describe("none")


@pytest.mark.parametrize("change", [{"KeySchema": LOCAL["KeySchema"]}, {"Projection": {"ProjectionType": "ALL"}}])
def test_an_index_that_was_not_there_is_refused(provisioned, change):
    local, arn = provisioned
    index = INDEX | {"ProvisionedThroughput": UNITS} | change
    response = local.refusal(
        "RestoreTableFromBackup", BackupArn=arn, TargetTableName="back", GlobalSecondaryIndexOverride=[index]
    )
    assert response == (
        "ValidationException: Invalid Request: Index byg does not match a secondary index that existed in the source "
        "table and cannot be created during the restore operation"
    )


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        (
            {"BillingModeOverride": "PAY_PER_REQUEST", "ProvisionedThroughputOverride": UNITS},
            "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST",
        ),
        (
            {"BillingModeOverride": "PROVISIONED"},
            "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED",
        ),
        (
            {"OnDemandThroughputOverride": {"MaxReadRequestUnits": 5}},
            "Cannot override MaxReadRequestUnits for OnDemandThroughput unless BillingModeOverride is PAY_PER_REQUEST",
        ),
        (
            {"BillingModeOverride": "PAY_PER_REQUEST", "OnDemandThroughputOverride": {"MaxReadRequestUnits": 0}},
            "Requested MaxReadRequestUnits for OnDemandThroughput is outside of valid range",
        ),
        ({"GlobalSecondaryIndexOverride": [INDEX]}, "Must specify provisioned throughput for index byg"),
        (
            {
                "BillingModeOverride": "PAY_PER_REQUEST",
                "GlobalSecondaryIndexOverride": [INDEX | {"ProvisionedThroughput": UNITS}],
            },
            "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST for index byg",
        ),
    ],
)
def test_throughput_must_go_with_the_billing_mode(provisioned, overrides, text):
    local, arn = provisioned
    response = local.refusal("RestoreTableFromBackup", BackupArn=arn, TargetTableName="back", **overrides)
    assert response == f"ValidationException: Invalid Request: {text}"
    assert local.refusal("DescribeTable", TableName="back").startswith("ResourceNotFoundException")


def test_an_on_demand_table_takes_no_throughput_unless_it_becomes_provisioned(local):
    local.create()
    arn = back_up(local)
    response = local.refusal(
        "RestoreTableFromBackup", BackupArn=arn, TargetTableName="back", ProvisionedThroughputOverride=UNITS
    )
    assert response == (
        "ValidationException: Invalid Request: Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED"
    )
    restore(local, arn, BillingModeOverride="PROVISIONED", ProvisionedThroughputOverride=UNITS)
    assert units_of(local.describe("back")) == UNITS


def test_encryption_is_kept_unless_overridden(local):
    local.create(SSESpecification={"Enabled": True})
    arn = back_up(local)
    restore(local, arn, "kept")
    restore(local, arn, "plain", SSESpecificationOverride={"Enabled": False})
    assert local.describe("kept")["SSEDescription"] == local.describe()["SSEDescription"]
    assert "SSEDescription" not in local.describe("plain")
