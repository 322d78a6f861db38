"""CreateTable: what a table may be, and the order in which what it may not be is reported."""

import re
import uuid

import pytest

from tests.conformance.refusal import INVALID, invalid, refused
from tests.conformance.table import define, new_name

KEYS_ONLY = {"ProjectionType": "KEYS_ONLY"}


def attribute(name, kind="S"):
    return {"AttributeName": name, "AttributeType": kind}


def schema(*names):
    return [
        {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE", "RANGE"), strict=False)
    ]


def index(name, *keys, **members):
    return {"IndexName": name, "KeySchema": schema(*keys), "Projection": {"ProjectionType": "ALL"}} | members


def test_a_new_table_is_creating_and_then_active(client, make_table):
    definition = define("pk:S / sk:N")
    made = client.create_table(**definition)["TableDescription"]
    try:
        assert made["TableStatus"] == "CREATING"
        assert made["TableName"] == definition["TableName"]
        assert made["KeySchema"] == definition["KeySchema"]
        assert made["AttributeDefinitions"] == definition["AttributeDefinitions"]
        assert (made["ItemCount"], made["TableSizeBytes"]) == (0, 0)
        assert str(uuid.UUID(made["TableId"])) == made["TableId"]
        assert re.fullmatch(rf"arn:aws:dynamodb:[a-z0-9-]+:\d{{12}}:table/{made['TableName']}", made["TableArn"])
        client.get_waiter("table_exists").wait(TableName=made["TableName"], WaiterConfig={"Delay": 1})
        found = client.describe_table(TableName=made["TableName"])["Table"]
        assert (found["TableStatus"], found["TableId"]) == ("ACTIVE", made["TableId"])
    finally:
        client.delete_table(TableName=definition["TableName"])


def test_on_demand_and_provisioned_tables_describe_their_billing(make_table):
    on_demand = make_table("pk:S").describe_table()["Table"]
    assert on_demand["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert on_demand["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    given = {"ReadCapacityUnits": 3, "WriteCapacityUnits": 2}
    provisioned = make_table("pk:S", BillingMode=None, ProvisionedThroughput=given).describe_table()["Table"]
    assert "BillingModeSummary" not in provisioned
    assert provisioned["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **given}


def test_a_table_that_exists_cannot_be_created_again(client, table):
    with refused("ResourceInUseException", f"Table already exists: {table.name}"):
        client.create_table(**table.definition)


def test_names_differ_by_case(make_table):
    name = new_name()
    make_table("pk:S", name=name.lower())
    make_table("pk:S", name=name.upper())


def test_a_table_made_again_has_a_new_id_and_the_same_arn(client, make_table):
    table = make_table("pk:S")
    before = table.describe_table()["Table"]
    table.put(pk="a")
    table.drop()
    client.get_waiter("table_not_exists").wait(TableName=table.name, WaiterConfig={"Delay": 1})
    table.create()
    after = table.describe_table()["Table"]
    assert after["TableArn"] == before["TableArn"]
    assert after["TableId"] != before["TableId"]
    assert table.scan()["Items"] == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("ab", "Member must have length greater than or equal to 3"),
        ("x" * 256, "Member must have length less than or equal to 255"),
    ],
)
def test_a_table_name_has_3_to_255_characters(client, name, problem):
    with invalid(f"1 validation error detected: Value '{name}' at 'tableName' failed to satisfy constraint: {problem}"):
        client.create_table(**define(name=name))


def test_a_table_name_has_only_letters_digits_and_a_few_marks(client):
    with invalid(containing="Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"):
        client.create_table(**define(name="two words"))


def test_a_table_needs_a_name(client):
    definition = define()
    del definition["TableName"]
    with invalid("The parameter 'TableName' is required but was not present in the request"):
        client.create_table(**definition)


P = "One or more parameter values were invalid: "


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
            P + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ),
        (
            {"BillingMode": "PROVISIONED"},
            P + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
        (
            {"AttributeDefinitions": [attribute("pk"), attribute("pk")]},
            "Attribute Name is duplicated: pk",
        ),
        (
            {"AttributeDefinitions": [attribute("pk"), attribute("spare")]},
            P + "Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions",
        ),
        (
            {"KeySchema": schema("pk", "pk"), "AttributeDefinitions": [attribute("pk"), attribute("sk")]},
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        (
            {"KeySchema": [{"AttributeName": "pk", "KeyType": "RANGE"}]},
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
        (
            {
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "HASH"}],
                "AttributeDefinitions": [attribute("pk"), attribute("sk")],
            },
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ),
        (
            {"KeySchema": schema("pk", "sk"), "AttributeDefinitions": [attribute("pk")]},
            "Invalid KeySchema: Some index key attribute have no definition",
        ),
        ({"GlobalSecondaryIndexes": []}, P + "List of GlobalSecondaryIndexes is empty"),
        ({"LocalSecondaryIndexes": []}, P + "List of LocalSecondaryIndexes is empty"),
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            P + "Table is being created with a stream enabled, UpdateViewType is required",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "NEW_IMAGE"}},
            P + "Table is being created with a stream disabled, UpdateViewType should not be specified",
        ),
        (
            {"SSESpecification": {"Enabled": True, "SSEType": "AES256"}},
            P + "SSEType AES256 is not supported",
        ),
    ],
)
def test_a_table_that_cannot_be_is_explained(client, change, text):
    with invalid(text):
        client.create_table(**define("pk:S") | change)


def test_a_key_schema_of_a_table_has_at_most_two_elements(client):
    with invalid(
        containing="at 'keySchema' failed to satisfy constraint: Member must have length less than or equal to 2"
    ):
        client.create_table(**define("pk:S") | {"KeySchema": schema("a", "b", "c")})


def test_zero_units_are_refused(client):
    definition = define(
        "pk:S", BillingMode=None, ProvisionedThroughput={"ReadCapacityUnits": 0, "WriteCapacityUnits": 1}
    )
    with invalid(
        "1 validation error detected: Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy "
        "constraint: Member must have value greater than or equal to 1"
    ):
        client.create_table(**definition)


# -- indexes ----------------------------------------------------------


def test_indexes_are_described_as_they_were_given(make_table):
    table = make_table(
        "pk:S / sk:N",
        gsi={"gsi2": ("a:S", ["y", "x"]), "gsi1": ("b:N / pk:S", "KEYS_ONLY")},
        lsi={"lsi": "pk:S / b:N"},
    )
    found = table.describe_table()["Table"]
    assert [each["AttributeName"] for each in found["AttributeDefinitions"]] == ["a", "b", "pk", "sk"]
    second, first = found["GlobalSecondaryIndexes"]
    assert (second["IndexName"], first["IndexName"]) == ("gsi2", "gsi1")
    assert second["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "y"]}
    assert first["KeySchema"] == schema("b", "pk")
    assert (first["IndexStatus"], first["ItemCount"], first["IndexSizeBytes"]) == ("ACTIVE", 0, 0)
    assert first["IndexArn"] == f"{found['TableArn']}/index/gsi1"
    assert "Backfilling" not in first
    (local,) = found["LocalSecondaryIndexes"]
    assert (local["IndexName"], local["KeySchema"]) == ("lsi", schema("pk", "b"))
    assert "IndexStatus" not in local


GLOBAL = "GlobalSecondaryIndexes"
LOCAL = "LocalSecondaryIndexes"


@pytest.mark.parametrize(
    ("keys", "change", "extra", "text"),
    [
        (
            "pk:S",
            {LOCAL: [index("lsi", "pk", "a")]},
            ["a"],
            P + "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
        ),
        (
            "pk:S / sk:S",
            {LOCAL: [index("lsi", "pk")]},
            [],
            P + "Index KeySchema does not have a range key for index: lsi",
        ),
        (
            "pk:S / sk:S",
            {LOCAL: [index("lsi", "a", "sk")]},
            ["a"],
            P + "Index KeySchema does not have the same leading hash key as table KeySchema for index: lsi. "
            "index hash key: a, table hash key: pk",
        ),
        (
            "pk:S / sk:S",
            {LOCAL: [index(f"lsi{number}", "pk", "a") for number in range(6)]},
            ["a"],
            P + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
        ),
        (
            "pk:S",
            {GLOBAL: [index(f"gsi{number:02}", "a") for number in range(21)]},
            ["a"],
            P + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
        ),
        ("pk:S", {GLOBAL: [index("gsi", "a", Projection={})]}, ["a"], P + "Unknown ProjectionType: null"),
        (
            "pk:S",
            {GLOBAL: [index("gsi", "a", Projection={"ProjectionType": "ALL", "NonKeyAttributes": ["x"]})]},
            ["a"],
            P + "ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            "pk:S",
            {GLOBAL: [index("gsi", "a", Projection={"ProjectionType": "INCLUDE"})]},
            ["a"],
            P + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        ),
        (
            "pk:S",
            {GLOBAL: [index("gsi", "a", ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1})]},
            ["a"],
            P + "ProvisionedThroughput should not be specified for index: gsi when BillingMode is PAY_PER_REQUEST",
        ),
        ("pk:S", {GLOBAL: [index("gsi", "a"), index("gsi", "a")]}, ["a"], P + "Duplicate index name: gsi"),
        (
            "pk:S / sk:S",
            {GLOBAL: [index("same", "a")], LOCAL: [index("same", "pk", "a")]},
            ["a"],
            P + "Duplicate index name: same",
        ),
    ],
)
def test_an_index_that_cannot_be_is_explained(client, keys, change, extra, text):
    definition = define(keys) | change
    definition["AttributeDefinitions"] += [attribute(name) for name in extra]
    with invalid(text):
        client.create_table(**definition)


def test_attributes_that_no_key_uses_are_refused(client):
    definition = define("pk:S", gsi={"gsi": "a:S"})
    definition["AttributeDefinitions"].append(attribute("spare"))
    with invalid(containing=INVALID + "Some AttributeDefinitions are not used. AttributeDefinitions: ["):
        client.create_table(**definition)


def test_an_index_of_a_provisioned_table_needs_its_own_throughput(client):
    given = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    definition = define("pk:S", gsi={"gsi": "a:S"}, BillingMode=None, ProvisionedThroughput=given)
    with invalid(INVALID + "ProvisionedThroughput is not specified for index: gsi"):
        client.create_table(**definition)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (
            "a:S,b:S,c:S,d:S,e:S",
            INVALID + "The KeySchema exceeds the maximum allowed number of HASH key attributes",
        ),
        (
            "a:S / b:S,c:S,d:S,e:S,f:S",
            INVALID + "The KeySchema exceeds the maximum allowed number of RANGE key attributes",
        ),
    ],
)
def test_an_index_has_up_to_four_attributes_on_each_side(client, make_table, keys, text):
    make_table("pk:S", gsi={"gsi": "a:S,b:S,c:N,d:B / e:S,f:S,g:N,h:B"})
    with invalid(text):
        client.create_table(**define("pk:S", gsi={"gsi": keys}))


def test_the_partition_attributes_of_an_index_come_first(client):
    definition = define("pk:S", gsi={"gsi": "a:S,b:S / c:S"})
    definition[GLOBAL][0]["KeySchema"].append({"AttributeName": "pk", "KeyType": "HASH"})
    with invalid(INVALID + "All HASH key attributes must precede RANGE key attributes in the KeySchema"):
        client.create_table(**definition)


def test_tags_given_at_creation_are_there(client, make_table):
    tags = [{"Key": "team", "Value": "shop"}]
    table = make_table("pk:S", Tags=tags)
    arn = table.describe_table()["Table"]["TableArn"]
    assert client.list_tags_of_resource(ResourceArn=arn)["Tags"] == tags
