"""What CreateTable answers and DescribeTable shows of a table, and how both differ."""

import pytest

from tests.unit.engine.control_plane.conftest import ACCOUNT, REGION

ARN = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/tab"
PAID = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 4}}
NOW = 1_800_000_000.0


def test_an_on_demand_table_is_described_in_full(control):
    control.create("pk:S / sk:N")
    described = control.describe()
    identity = described.pop("TableId")
    assert identity == control.describe()["TableId"]
    assert len(identity) == 36
    assert described == {
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "N"},
        ],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": NOW},
        "CreationDateTime": NOW,
        "DeletionProtectionEnabled": False,
        "ItemCount": 0,
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        "TableArn": ARN,
        "TableName": "tab",
        "TableSizeBytes": 0,
        "TableStatus": "ACTIVE",
        "WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000, "Status": "ACTIVE"},
    }


def test_a_provisioned_table_shows_its_figures_and_no_billing_summary(control):
    control.create(**PAID)
    described = control.describe()
    assert "BillingModeSummary" not in described
    assert described["ProvisionedThroughput"] == {
        "NumberOfDecreasesToday": 0, "ReadCapacityUnits": 5, "WriteCapacityUnits": 4,
    }  # fmt: skip
    assert described["WarmThroughput"] == {"ReadUnitsPerSecond": 5, "WriteUnitsPerSecond": 4, "Status": "ACTIVE"}


def test_the_answer_to_create_table_lacks_what_only_a_finished_table_has(control):
    response = control.create(gsi={"idx": "a:S"})
    assert response["TableStatus"] == "CREATING"
    assert response["BillingModeSummary"] == {"BillingMode": "PAY_PER_REQUEST"}
    assert "WarmThroughput" not in response
    index = response["GlobalSecondaryIndexes"][0]
    assert index["IndexStatus"] == "CREATING"
    assert {"WarmThroughput", "Backfilling"}.isdisjoint(index)
    shown = control.index("idx")
    assert (shown["IndexStatus"], shown["WarmThroughput"]["ReadUnitsPerSecond"]) == ("ACTIVE", 12_000)


def test_warm_throughput_that_was_asked_for_is_answered_as_being_prepared(control):
    asked = {"ReadUnitsPerSecond": 12_001}
    response = control.create(WarmThroughput=asked)["WarmThroughput"]
    assert response == {"ReadUnitsPerSecond": 12_001, "WriteUnitsPerSecond": 4_000, "Status": "UPDATING"}
    assert control.describe()["WarmThroughput"] == response | {"Status": "ACTIVE"}


def test_definitions_and_projected_attributes_are_sorted_and_indexes_are_not(control):
    described = control.create("z:S / m:S", gsi={"g-z": ("a:S", ["zz", "aa", "mm"]), "g-a": "m:S"})
    assert [entry["AttributeName"] for entry in described["AttributeDefinitions"]] == ["a", "m", "z"]
    assert [index["IndexName"] for index in described["GlobalSecondaryIndexes"]] == ["g-z", "g-a"]
    assert described["GlobalSecondaryIndexes"][0]["Projection"]["NonKeyAttributes"] == ["aa", "mm", "zz"]


def test_a_local_index_has_no_status_and_no_throughput(control):
    control.create("pk:S / sk:S", lsi={"loc": "pk:S / a:S"})
    assert set(control.describe()["LocalSecondaryIndexes"][0]) == {
        "IndexArn", "IndexName", "IndexSizeBytes", "ItemCount", "KeySchema", "Projection",
    }  # fmt: skip


def test_a_global_index_shows_its_arn_and_figures(control):
    control.create(gsi={"idx": "a:S"})
    shown = control.index("idx")
    assert shown["IndexArn"] == f"{ARN}/index/idx"
    assert shown["ProvisionedThroughput"] == {
        "NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0,
    }  # fmt: skip


def test_a_stream_from_the_start_is_shown_with_its_arn(control):
    described = control.create(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    assert described["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    assert described["LatestStreamArn"] == f"{ARN}/stream/{described['LatestStreamLabel']}"
    assert described["LatestStreamLabel"] == "2027-01-15T08:00:00.000"


@pytest.mark.parametrize("specification", [{}, {"Enabled": False}])
def test_default_encryption_is_not_described(control, specification):
    assert "SSEDescription" not in control.create(SSESpecification=specification)


def test_a_kms_key_is_described_by_its_arn(control):
    described = control.create(SSESpecification={"SSEType": "KMS"})["SSEDescription"]
    assert (described["Status"], described["SSEType"]) == ("ENABLED", "KMS")
    assert described["KMSMasterKeyArn"].startswith(f"arn:aws:kms:{REGION}:{ACCOUNT}:key/")
    named = control.create(
        name="named", SSESpecification={"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/aws/dynamodb"}
    )
    assert named["SSEDescription"] == described


def test_the_default_table_class_is_not_described(control):
    assert "TableClassSummary" not in control.create(TableClass="STANDARD")
    other = control.create(name="rare", TableClass="STANDARD_INFREQUENT_ACCESS")
    assert other["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}


def test_a_recreated_table_has_another_id_and_the_same_arn(control):
    before = control.create()
    control.call("DeleteTable", TableName="tab")
    after = control.create()
    assert after["TableId"] != before["TableId"]
    assert after["TableArn"] == before["TableArn"]


def test_a_table_is_found_by_its_arn_and_answers_with_its_name(control):
    control.create()
    assert control.describe(ARN)["TableName"] == "tab"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nope", "ResourceNotFoundException: Requested resource not found: Table: nope not found"),
        (f"{ARN}x", "ResourceNotFoundException: Requested resource not found: Table: tabx not found"),
        ("Tab", "ResourceNotFoundException: Requested resource not found: Table: Tab not found"),
        (
            ARN.replace(REGION, "us-east-1"),
            (
                "ValidationException: 1 validation error detected: Invalid AWS region in "
                f"'arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/tab'"
            ),
        ),
        (ARN.replace(ACCOUNT, "999999999999"), "AccessDeniedException: Access is denied"),
    ],
)
@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable", "DescribeTimeToLive"])
def test_a_table_that_is_not_here_is_told_apart_by_why(control, operation, name, text):
    control.create()
    assert control.refusal(operation, TableName=name) == text


def test_the_answer_to_delete_table_leaves_out_keys_and_indexes(control):
    control.create(gsi={"idx": "a:S"})
    response = control.call("DeleteTable", TableName="tab")["TableDescription"]
    assert response["TableStatus"] == "DELETING"
    assert response["TableArn"] == ARN
    assert {"CreationDateTime", "KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes"}.isdisjoint(response)
    assert control.refusal("DescribeTable", TableName="tab").startswith("ResourceNotFoundException")


def test_a_protected_table_is_deleted_only_after_the_protection_is_off(control):
    control.create(DeletionProtectionEnabled=True)
    assert control.refusal("DeleteTable", TableName="tab") == (
        "ValidationException: Resource cannot be deleted as it is currently protected against deletion. "
        "Disable deletion protection first."
    )
    assert control.update(DeletionProtectionEnabled=False)["TableStatus"] == "ACTIVE"
    control.call("DeleteTable", TableName="tab")
    assert control.call("ListTables") == {"TableNames": []}
