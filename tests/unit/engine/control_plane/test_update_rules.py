"""What UpdateTable refuses before and after it has looked at the table, in the service's words."""

import pytest

from tests.unit.engine.control_plane.test_create_rules import attributes, index

P1 = "ValidationException: One or more parameter values were invalid: "
BARE = "ValidationException: "
UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
PAID = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
GUIDE = "Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
CREATE = {"GlobalSecondaryIndexUpdates": [{"Create": index("#a", name="new")}], "AttributeDefinitions": attributes("a")}
STREAM = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
REQUIRED = (
    "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
    "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, MultiRegionConsistency, "
    "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required"
)


def delete(name):
    return {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": name}}]}


def change(name, **members):
    return {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": name, **members}}]}


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"AttributeDefinitions": attributes("pk")},
        {"GlobalSecondaryIndexUpdates": []},
        {"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]},
        {"OnDemandThroughput": {}},
        {"WarmThroughput": {}},
    ],
)
def test_an_update_must_ask_for_something(control, members):
    assert control.refuse_update(**members) == BARE + REQUIRED


def test_the_list_of_what_to_ask_for_leaves_out_what_was_sent(control):
    assert control.refuse_update(MultiRegionConsistency="EVENTUAL") == (
        BARE + REQUIRED.replace("MultiRegionConsistency, ", "")
    )


ALONE = {
    "SSESpecification": ({"Enabled": True}, "Server-Side Encryption modification"),
    "TableClass": ("STANDARD_INFREQUENT_ACCESS", "TableClass modification"),
    "DeletionProtectionEnabled": (True, "DeletionProtection modification"),
    "WarmThroughput": ({"ReadUnitsPerSecond": 13_000}, "WarmThroughput"),
}
PAIRS = [(first, second) for at, first in enumerate(ALONE) for second in list(ALONE)[at + 1 :]]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_of_two_that_stand_alone_the_more_weighty_is_named(control, first, second):
    members = {first: ALONE[first][0], second: ALONE[second][0]}
    assert control.refuse_update(**members) == P1 + f"{ALONE[first][1]} must be the only operation in the request"


CAPS = {"OnDemandThroughput": {"MaxReadRequestUnits": 9}}
RATES = {"WarmThroughput": {"ReadUnitsPerSecond": 13_000}}


@pytest.mark.parametrize(
    ("members", "text"),
    [
        (CAPS | STREAM, "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"),
        (CAPS | RATES, "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request"),
        (RATES | STREAM, "WarmThroughput must be the only operation in the request"),
        (RATES | CREATE, "Create global secondary index cannot be specified when updating WarmThroughput"),
        (STREAM | {"ProvisionedThroughput": UNITS}, "You cannot modify stream status while updating table IOPS"),
        (STREAM | PAID, "You cannot modify stream status while updating table IOPS"),
        (CREATE | {"ProvisionedThroughput": UNITS}, "You cannot create or delete index while updating table IOPS"),
        (
            delete("idx") | {"ProvisionedThroughput": UNITS},
            "You cannot create or delete index while updating table IOPS",
        ),
        (CREATE | STREAM, "You cannot create or delete index while changing stream status"),
        (
            CREATE | {"DeletionProtectionEnabled": True},
            "DeletionProtection modification must be the only operation in the request",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [], "DeletionProtectionEnabled": True},
            "List of GlobalSecondaryIndexUpdates is empty",
        ),
        ({"BillingMode": "PROVISIONED"}, "ProvisionedThroughput must be specified when BillingMode is PROVISIONED"),
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            "If stream is being enabled then UpdateViewType is required",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}},
            "If stream is being disabled, then UpdateViewType must not be specified",
        ),
        (
            {"ReplicaUpdates": [{"Create": {"RegionName": "us-east-1"}}]},
            "ReplicaUpdates is not supported by this endpoint",
        ),
    ],
)
def test_combinations_are_refused_before_the_table_is_looked_up(control, members, text):
    assert control.refuse_update(**members) == P1 + text


@pytest.mark.parametrize(
    ("updates", "text"),
    [
        (
            [{}],
            (
                "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
                "GlobalSecondaryIndexUpdate.Delete must not be null"
            ),
        ),
        (
            [{"Update": {"IndexName": "idx"}, "Delete": {"IndexName": "idx"}}],
            "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
        ),
        (
            [{"Update": {"IndexName": "idx"}}, {"Delete": {"IndexName": "idx"}}],
            "Only one global secondary index update per index is allowed simultaneously. Index: idx",
        ),
        (
            [{"Update": {"IndexName": "ghost", "WarmThroughput": {}}}],
            (
                "WarmThroughput must have at least one of ReadUnitsPerSecond or WriteUnitsPerSecond specified "
                "for index: ghost"
            ),
        ),
        ([{"Create": index("#a")}], "AttributeDefinitions is not specified for index: idx"),
    ],
)
def test_each_index_update_is_one_sound_action(control, updates, text):
    assert control.refuse_update(GlobalSecondaryIndexUpdates=updates) == P1 + text


def test_a_new_index_is_checked_like_one_of_a_new_table(control):
    updates = [{"Create": index("#a", "#b", "#c", "#d", "#e")}]
    assert control.refuse_update(AttributeDefinitions=attributes(*"abcde"), GlobalSecondaryIndexUpdates=updates) == (
        P1 + "The KeySchema exceeds the maximum allowed number of HASH key attributes"
    )
    assert control.refuse_update(**CREATE | {"AttributeDefinitions": attributes("x")}) == (
        P1 + "Some index key attributes are not defined in AttributeDefinitions. Keys: [a], AttributeDefinitions: [x]"
    )


def test_a_missing_table_is_told_only_when_the_request_is_sound(control):
    assert control.refuse_update(DeletionProtectionEnabled=True) == (
        "ResourceNotFoundException: Requested resource not found: Table: tab not found"
    )


@pytest.mark.parametrize(
    ("members", "text"),
    [
        (
            {"ProvisionedThroughput": UNITS},
            P1 + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST",
        ),
        (PAID, P1 + "ProvisionedThroughput must be specified for index: idx"),
        (
            change("idx", ProvisionedThroughput=UNITS),
            P1 + "The only Updates for index: idx when TableThroughputMode is PAY_PER_REQUEST can be to "
            "OnDemandThroughput, WarmThroughput",
        ),
        (
            change("idx"),
            P1 + "The only Updates for index: idx when TableThroughputMode is PAY_PER_REQUEST can be to "
            "OnDemandThroughput, WarmThroughput",
        ),
        (
            change("ghost", OnDemandThroughput={"MaxReadRequestUnits": 5}),
            "ResourceNotFoundException: Requested resource not found: Index ghost for table tab",
        ),
        (delete("ghost"), "ResourceNotFoundException: Requested resource not found: Index ghost for table tab"),
        (delete("loc"), BARE + "Cannot delete an index that is not a GlobalSecondaryIndex: loc"),
        (change("loc"), BARE + "Cannot update an index that is not a GlobalSecondaryIndex: loc"),
        (
            {**CREATE, "GlobalSecondaryIndexUpdates": [{"Create": index("#a", name="idx")}]},
            BARE + "Attempting to create an index which already exists",
        ),
        (
            {**CREATE, "GlobalSecondaryIndexUpdates": [{"Create": index("#a", name="loc")}]},
            BARE + "Attempting to create an index which already exists",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{"Create": index("#a", name="new", ProvisionedThroughput=UNITS)}],
             "AttributeDefinitions": attributes("a")},
            P1 + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: new when BillingMode is "
            "PAY_PER_REQUEST",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{"Create": index("#i", name="new")}],
             "AttributeDefinitions": [{"AttributeName": "i", "AttributeType": "N"}]},
            P1 + "Attributes cannot be redefined. Please check that your attribute has the same type as previously "
            "defined. Existing schema: Schema:[SchemaElement: key{i:S:HASH}] "
            "New schema: Schema:[SchemaElement: key{i:N:HASH}]",
        ),
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 0}},
            P1 + "Requested MaxReadRequestUnits for OnDemandThroughput for table is outside of valid range",
        ),
        (
            {"OnDemandThroughput": {"MaxWriteRequestUnits": 40_001}},
            ("LimitExceededException: Subscriber limit exceeded: Requested MaxWriteRequestUnits for OnDemandThroughput "
            "for table exceeds TableMaxWriteCapacityUnits of the account in region eu-west-2"),
        ),
        (
            {"WarmThroughput": {"ReadUnitsPerSecond": 1}},
            P1 + "Requested ReadUnitsPerSecond for WarmThroughput for table is lower than current WarmThroughput, "
            "decreasing WarmThroughput is not supported",
        ),
        (
            change("idx", WarmThroughput={"WriteUnitsPerSecond": 1}),
            P1 + "Requested WriteUnitsPerSecond for WarmThroughput for index idx is lower than current WarmThroughput, "
            "decreasing WarmThroughput is not supported",
        ),
        ({"StreamSpecification": {"StreamEnabled": False}}, BARE + "Table has no stream to disable: TableName: tab"),
        ({"SSESpecification": {"Enabled": False}}, P1 + "Table is already encrypted by default"),
        ({"SSESpecification": {}}, P1 + "Table is already encrypted by default"),
    ],
)  # fmt: skip
def test_an_on_demand_table_refuses_what_does_not_fit_it(control, members, text):
    control.create("pk:S / sk:S", gsi={"idx": "i:S"}, lsi={"loc": "pk:S / l:S"})
    before = control.describe()
    assert control.refuse_update(**members) == text
    assert control.describe() == before


@pytest.mark.parametrize(
    ("members", "text"),
    [
        (
            {"ProvisionedThroughput": UNITS},
            BARE + "The provisioned throughput for the table will not change. The requested value equals the current "
            "value. Current ReadCapacityUnits provisioned for the table: 5. Requested ReadCapacityUnits: 5. Current "
            "WriteCapacityUnits provisioned for the table: 5. Requested WriteCapacityUnits: 5. " + GUIDE,
        ),
        (
            change("idx", ProvisionedThroughput=UNITS),
            BARE
            + "The provisioned throughput for the index idx will not change. The requested value equals the current "
            "value. Current ReadCapacityUnits provisioned for index idx: 5. Requested ReadCapacityUnits: 5. Current "
            "WriteCapacityUnits provisioned for index idx: 5. Requested WriteCapacityUnits: 5. " + GUIDE,
        ),
        (
            {"OnDemandThroughput": {"MaxReadRequestUnits": 5}},
            P1 + "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is "
            "PROVISIONED",
        ),
        (
            change("idx", OnDemandThroughput={"MaxReadRequestUnits": 5}),
            P1 + "MaxReadRequestUnits for OnDemandThroughput for index : idx cannot be specified when the table "
            "BillingMode is PROVISIONED",
        ),
        (CREATE, P1 + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: new"),
        (
            {"ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 40_001}},
            (
                "LimitExceededException: The requested WriteCapacityUnits, 40001, is above the per table maximum for "
                f"the account in eu-west-2. Per table maximum: 40000. {GUIDE}"
            ),
        ),
        (
            change("idx", ProvisionedThroughput={"ReadCapacityUnits": 50_000, "WriteCapacityUnits": 5}),
            (
                "LimitExceededException: The requested ReadCapacityUnits for index idx, 50000, is above the per index "
                f"maximum for the account in eu-west-2. Per index maximum: 40000. {GUIDE}"
            ),
        ),
    ],
)
def test_a_provisioned_table_refuses_what_does_not_fit_it(control, members, text):
    control.create(
        **PAID,
        AttributeDefinitions=attributes("pk", "i"),
        GlobalSecondaryIndexes=[index("#i", ProvisionedThroughput=UNITS)],
    )
    before = control.describe()
    assert control.refuse_update(**members) == text
    assert control.describe() == before


ONE_ONLINE = (
    "LimitExceededException: Subscriber limit exceeded: "
    "Only 1 online index can be created or deleted simultaneously per table"
)


def test_one_index_is_created_or_deleted_per_call(control):
    control.create(gsi={"one": "a:S", "two": "b:S"})
    both = delete("one")["GlobalSecondaryIndexUpdates"] + delete("two")["GlobalSecondaryIndexUpdates"]
    assert control.refuse_update(GlobalSecondaryIndexUpdates=both) == ONE_ONLINE
    swap = delete("one")["GlobalSecondaryIndexUpdates"] + CREATE["GlobalSecondaryIndexUpdates"]
    assert control.refuse_update(**CREATE | {"GlobalSecondaryIndexUpdates": swap}) == ONE_ONLINE


def test_the_twenty_first_index_exceeds_a_limit(control):
    control.create(gsi={f"g{n:02}": f"a{n:02}:S" for n in range(20)})
    assert control.refuse_update(**CREATE) == (
        "LimitExceededException: Subscriber limit exceeded: "
        "Number of global secondary indexes exceeds per-table limit of 20"
    )


def test_an_enabled_stream_cannot_be_enabled_again_with_any_view(control):
    control.create(**STREAM)
    for view in ("KEYS_ONLY", "NEW_IMAGE"):
        refused = control.refuse_update(StreamSpecification={"StreamEnabled": True, "StreamViewType": view})
        assert refused == BARE + "Table already has an enabled stream: TableName: tab"


def test_the_same_key_again_is_refused_and_an_alias_is_not(control):
    key = {"Enabled": True, "SSEType": "KMS"}
    arn = control.create(SSESpecification=key)["SSEDescription"]["KMSMasterKeyArn"]
    assert control.refuse_update(SSESpecification=key | {"KMSMasterKeyId": arn}) == (
        P1 + "Table is already encrypted with given KMSMasterKeyId. "
        "Use KMSMasterKeyId parameter if you want to change Master Key"
    )
    assert control.update(SSESpecification=key)["SSEDescription"]["Status"] == "UPDATING"
