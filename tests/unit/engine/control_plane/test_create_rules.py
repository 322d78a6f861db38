"""What CreateTable refuses, in the service's words and order."""

import pytest

from tests.conformance.table import define_index

P1 = "ValidationException: One or more parameter values were invalid: "
BARE = "ValidationException: "
PAID = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}}
INITIAL = (
    "is lower than initial throughput for OnDemand. See: https://docs.aws.amazon.com/amazondynamodb/latest/"
    "developerguide/on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
)


def attributes(*names):
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def schema(*elements):
    return [{"AttributeName": element[1:], "KeyType": {"#": "HASH", ">": "RANGE"}[element[0]]} for element in elements]


def index(*elements, name="idx", projection=None, **more):
    projection = {"ProjectionType": "ALL"} if projection is None else projection
    return {"IndexName": name, "KeySchema": schema(*elements), "Projection": projection, **more}


@pytest.mark.parametrize(
    ("members", "text"),
    [
        (
            {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
            P1
            + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        ),
        (
            {"BillingMode": None},
            P1 + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
        (
            {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": {"ReadCapacityUnits": 10**12 + 1, "WriteCapacityUnits": 1},
            },
            BARE + "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
        ),
        (
            {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": {"ReadCapacityUnits": 40_001, "WriteCapacityUnits": 1},
            },
            (
                "LimitExceededException: The requested ReadCapacityUnits, 40001, is above the per table maximum for "
                "the account in eu-west-2. Per table maximum: 40000. Refer to the Amazon DynamoDB Developer Guide for "
                "current limits and how to request higher limits."
            ),
        ),
        (
            {**PAID, "OnDemandThroughput": {"MaxReadRequestUnits": 1, "MaxWriteRequestUnits": 1}},
            P1
            + "MaxReadRequestUnits for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED.",
        ),
        (
            {"OnDemandThroughput": {"MaxWriteRequestUnits": -1}},
            P1 + "Requested MaxWriteRequestUnits for OnDemandThroughput for table is outside of valid range",
        ),
        (
            {"WarmThroughput": {"ReadUnitsPerSecond": 11_999}},
            P1 + f"Requested ReadUnitsPerSecond for WarmThroughput for table {INITIAL}",
        ),
        (
            {**PAID, "WarmThroughput": {"ReadUnitsPerSecond": 5, "WriteUnitsPerSecond": 4}},
            P1 + "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than WriteCapacityUnits of "
            "ProvisionedThroughput",
        ),
    ],
)
def test_figures_must_go_with_the_billing_mode(control, members, text):
    assert control.refuse_create(**members) == text


@pytest.mark.parametrize(
    ("names", "elements", "text"),
    [
        (["pk", "pk"], ["#pk"], BARE + "Attribute Name is duplicated: pk"),
        (["pk"], ["#pk", ">pk"], BARE + "Invalid KeySchema: Some index key attribute have no definition"),
        (["pk", "x"], ["#pk", ">sk"], BARE + "Invalid KeySchema: Some index key attribute have no definition"),
        ([], ["#pk"], BARE + "Invalid KeySchema: Some index key attribute have no definition"),
        (
            ["pk"],
            ["#PK"],
            P1 + "Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [PK], AttributeDefinitions: [pk]",
        ),
        (
            ["pk", "x"],
            ["#pk"],
            P1 + "Number of attributes in KeySchema does not exactly match number of attributes defined in "
            "AttributeDefinitions",
        ),
        (["pk", "sk"], [">sk", "#pk"], BARE + "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
        (["pk", "sk"], ["#pk", "#sk"], BARE + "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type"),
        (
            ["pk", "sk"],
            ["#pk", ">pk"],
            BARE + "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
    ],
)
def test_a_table_key_is_one_or_two_defined_attributes(control, names, elements, text):
    refused = control.refuse_create(AttributeDefinitions=attributes(*names), KeySchema=schema(*elements))
    assert refused == text


def test_definitions_and_keys_are_listed_in_the_order_of_the_service(control):
    refused = control.refuse_create(
        "pk:S / sk:S",
        AttributeDefinitions=attributes("pk", "sk", "a", "b", "c"),
        GlobalSecondaryIndexes=[index("#a")],
    )
    assert refused == (
        P1 + "Some AttributeDefinitions are not used. AttributeDefinitions: [sk, a, b, pk, c], keys used: [a, sk, pk]"
    )


def test_an_undefined_index_key_is_named_with_what_is_defined(control):
    refused = control.refuse_create("pk:S / sk:S", GlobalSecondaryIndexes=[index("#q")])
    assert refused == (
        P1 + "Some index key attributes are not defined in AttributeDefinitions. "
        "Keys: [q], AttributeDefinitions: [sk, pk]"
    )


def test_a_spare_definition_masks_every_later_rule(control):
    broken = index("#a", projection={}, ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 1})
    refused = control.refuse_create(
        AttributeDefinitions=attributes("pk", "a", "spare"), GlobalSecondaryIndexes=[broken, broken]
    )
    assert "Some AttributeDefinitions are not used" in refused


@pytest.mark.parametrize(
    ("keys", "local", "text"),
    [
        ("pk:S / sk:S", [], "List of LocalSecondaryIndexes is empty"),
        (
            "pk:S",
            [index("#pk", ">a")],
            "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
        ),
        ("pk:S / sk:S", [index("#pk")], "Index KeySchema does not have a range key for index: idx"),
        (
            "pk:S / sk:S",
            [index("#a", ">sk")],
            (
                "Index KeySchema does not have the same leading hash key as table KeySchema for index: idx. "
                "index hash key: a, table hash key: pk"
            ),
        ),
        (
            "pk:S / sk:S",
            [index("#pk", ">a", name=f"l-{n}") for n in range(6)],
            "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
        ),
    ],
)
def test_local_indexes_share_the_hash_key_and_have_a_range_key(control, keys, local, text):
    used = dict.fromkeys(element["AttributeName"] for each in local for element in each["KeySchema"])
    defined = attributes(*dict.fromkeys(["pk", "sk"][: keys.count(":")]) | used)
    assert control.refuse_create(keys, AttributeDefinitions=defined, LocalSecondaryIndexes=local) == P1 + text


@pytest.mark.parametrize(
    ("elements", "text"),
    [
        ([">a"], BARE + "Invalid KeySchema: The first KeySchemaElement is not a HASH key type"),
        (
            ["#a", ">b", "#c"],
            P1 + "All HASH key attributes must precede RANGE key attributes in the KeySchema",
        ),
        (
            ["#a", "#b", "#c", "#d", "#e"],
            P1 + "The KeySchema exceeds the maximum allowed number of HASH key attributes",
        ),
        (
            ["#a", ">b", ">c", ">d", ">e", ">f"],
            P1 + "The KeySchema exceeds the maximum allowed number of RANGE key attributes",
        ),
        (["#a", "#a"], BARE + "The KeySchema contains multiple key attributes with the same name"),
        (["#a", ">a"], BARE + "Both the Hash Key and the Range Key element in the KeySchema have the same name"),
    ],
)
def test_global_keys_are_up_to_four_hash_then_up_to_four_range_attributes(control, elements, text):
    names = dict.fromkeys(["pk", *(element[1:] for element in elements)])
    refused = control.refuse_create(AttributeDefinitions=attributes(*names), GlobalSecondaryIndexes=[index(*elements)])
    assert refused == text


def test_a_global_index_may_have_eight_key_attributes(control):
    described = control.create(gsi={"wide": "a:S,b:S,c:S,d:S / e:S,f:N,g:S,h:B"})
    shown = [element["AttributeName"] for element in described["GlobalSecondaryIndexes"][0]["KeySchema"]]
    assert shown == list("abcdefgh")


@pytest.mark.parametrize(
    ("projection", "text"),
    [
        ({}, "Unknown ProjectionType: null"),
        (
            {"ProjectionType": "ALL", "NonKeyAttributes": ["x"]},
            "ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            {"ProjectionType": "KEYS_ONLY", "NonKeyAttributes": ["x"]},
            "ProjectionType is KEYS_ONLY, but NonKeyAttributes is specified",
        ),
        ({"ProjectionType": "INCLUDE"}, "ProjectionType is INCLUDE, but NonKeyAttributes is not specified"),
        (
            {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x", "y", "x"]},
            "Duplicate element in NonKeyAttributes: x",
        ),
    ],
)
def test_a_projection_names_attributes_exactly_when_it_includes_them(control, projection, text):
    refused = control.refuse_create(
        AttributeDefinitions=attributes("pk", "a"), GlobalSecondaryIndexes=[index("#a", projection=projection)]
    )
    assert refused == P1 + text


@pytest.mark.parametrize(
    ("table", "more", "text"),
    [
        (
            {},
            {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
            "ProvisionedThroughput should not be specified for index: idx when BillingMode is PAY_PER_REQUEST",
        ),
        (PAID, {}, "ProvisionedThroughput is not specified for index: idx"),
        (
            PAID,
            {
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
                "OnDemandThroughput": {"MaxReadRequestUnits": 1},
            },
            (
                "MaxReadRequestUnits for OnDemandThroughput for index: idx cannot be specified when table BillingMode "
                "is PROVISIONED."
            ),
        ),
        (
            {},
            {"OnDemandThroughput": {"MaxReadRequestUnits": 0}},
            "Requested MaxReadRequestUnits for OnDemandThroughput for index : idx is outside of valid range",
        ),
        (
            {},
            {"WarmThroughput": {"WriteUnitsPerSecond": 1}},
            f"Requested WriteUnitsPerSecond for WarmThroughput for index idx {INITIAL}",
        ),
    ],
)
def test_the_figures_of_an_index_must_go_with_the_billing_mode(control, table, more, text):
    refused = control.refuse_create(
        AttributeDefinitions=attributes("pk", "a"), GlobalSecondaryIndexes=[index("#a", **more)], **table
    )
    assert refused == P1 + text


def test_index_names_are_unique_over_both_kinds(control):
    refused = control.refuse_create("pk:S / sk:S", gsi={"same": "sk:S"}, lsi={"same": "pk:S / a:S"})
    assert refused == P1 + "Duplicate index name: same"


def test_there_are_at_most_twenty_global_indexes(control):
    assert control.refuse_create(gsi={f"g{n:02}": f"a{n:02}:S" for n in range(21)}) == (
        P1 + "GlobalSecondaryIndex count exceeds the per-table limit of 20"
    )
    assert len(control.create(gsi={f"g{n:02}": f"a{n:02}:S" for n in range(20)})["GlobalSecondaryIndexes"]) == 20


def test_an_empty_list_of_global_indexes_is_refused(control):
    assert control.refuse_create(GlobalSecondaryIndexes=[]) == P1 + "List of GlobalSecondaryIndexes is empty"


def test_indexes_project_at_most_a_hundred_attributes_together(control):
    many = {f"gsi{n}": ("a:S", [f"x{n}{m}" for m in range(20)]) for n in range(5)}
    assert len(control.create(gsi=many)["GlobalSecondaryIndexes"]) == 5
    refused = control.refuse_create(name="more", gsi=many | {"last": ("a:S", ["one"])})
    assert refused.startswith(P1)


@pytest.mark.parametrize(
    ("members", "text"),
    [
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            P1 + "Table is being created with a stream enabled, UpdateViewType is required",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}},
            P1 + "Table is being created with a stream disabled, UpdateViewType should not be specified",
        ),
        (
            {"SSESpecification": {"Enabled": False, "SSEType": "KMS"}},
            P1 + "SSEType can not be specified if Enabled is false",
        ),
        (
            {"SSESpecification": {"Enabled": False, "KMSMasterKeyId": "k"}},
            P1 + "KMSMasterKeyId can not be specified if Enabled is false",
        ),
        (
            {"SSESpecification": {"Enabled": True, "KMSMasterKeyId": "k"}},
            P1 + "SSEType KMS is required if KMSMasterKeyId is specified",
        ),
        ({"SSESpecification": {"Enabled": True, "SSEType": "AES256"}}, P1 + "SSEType AES256 is not supported"),
        ({"Tags": [{}]}, BARE + "The Tag Key provided is invalid, Key: null"),
        ({"ResourcePolicy": ""}, P1 + "Invalid policy document: This policy contains invalid Json"),
    ],
)
def test_streams_encryption_tags_and_policies_are_checked_too(control, members, text):
    assert control.refuse_create(**members) == text
    assert control.call("ListTables")["TableNames"] == []


def test_an_existing_name_is_refused_only_after_everything_else(control):
    control.create()
    assert control.refuse_create() == "ResourceInUseException: Table already exists: tab"
    assert "duplicated" in control.refuse_create(AttributeDefinitions=attributes("pk", "pk"))


def test_names_differ_by_case(control):
    control.create(name="tab")
    assert control.create(name="TAB")["TableName"] == "TAB"


VECTOR = {"IndexName": "vec", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 3, "DistanceFunction": "COSINE"}


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("VectorIndexes", [VECTOR | {"Projection": {"ProjectionType": "ALL"}}]),
        ("GlobalTableSourceArn", "arn:aws:dynamodb:us-east-1:111122223333:table/tab"),
    ],
)
def test_what_cannot_be_given_is_refused_and_not_ignored(control, member, value):
    assert control.refuse_create(**{member: value}) == P1 + f"{member} is not supported by this endpoint"


def test_an_index_named_like_its_table_with_the_tables_own_keys_is_legal(control):
    described = control.create("pk:S / sk:S", gsi={"tab": "pk:S / sk:S"}, lsi={"own": "pk:S / sk:S"})
    assert define_index("tab", "pk:S / sk:S")["KeySchema"] == described["GlobalSecondaryIndexes"][0]["KeySchema"]
