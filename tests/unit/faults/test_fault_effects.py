"""What an injected fault does to its call, and that other calls are not affected."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.core.errors import (
    InternalServerError,
    ProvisionedThroughputExceededException,
    RequestLimitExceeded,
    ServiceError,
    ThrottlingException,
    TransactionCanceledException,
    TransactionConflictException,
)
from hashrange.engine.engine import Engine, open_engine
from hashrange.faults.faults import Faults
from hashrange.operations import OPERATIONS
from tests.conformance.wire import item
from tests.unit.engine.history import INDEXES, Oracle, assert_holds, histories
from tests.unit.engine.local import Local

INTERNAL = "InternalServerError: Internal server error"
BUSY = {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
NONE = {"Code": "None"}


def put_request(pk="a", **attributes):
    return {"TableName": "tab", "Item": item(pk=pk, **attributes)}


def puts(*keys):
    return [{"PutRequest": {"Item": item(pk=key)}} for key in keys]


def transaction(*keys, **members):
    return {"TransactItems": [{"Put": put_request(key)} for key in keys], **members}


# -- throttling --------------------------------------------------------------------------------------------------------


def test_so_many_calls_are_throttled_and_do_nothing(local):
    fault = local.faults.throttle("PutItem", table="tab", times=3)
    for _ in range(3):
        with pytest.raises(ProvisionedThroughputExceededException) as caught:
            local.put(pk="a")
    assert caught.value.message.startswith("The level of configured provisioned throughput for the table was exceeded.")
    reason = {"reason": "TableWriteProvisionedThroughputExceeded", "resource": local.describe()["TableArn"]}
    assert caught.value.members == {"ThrottlingReasons": [reason]}
    assert local.items() == []
    local.put(pk="a")
    assert local.items() == [item(pk="a")]
    assert (fault.applied, fault.seen) == (3, 4)


@pytest.mark.parametrize(
    ("error", "cls", "member", "reason"),
    [
        ("ThrottlingException", ThrottlingException, "throttlingReasons", "TableReadMaxOnDemandThroughputExceeded"),
        ("RequestLimitExceeded", RequestLimitExceeded, "ThrottlingReasons", "TableReadAccountLimitExceeded"),
    ],
)
def test_there_are_other_ways_to_be_throttled(local, error, cls, member, reason):
    local.faults.throttle("Query", error=error, times=1)
    values = {":a": {"S": "a"}}
    with pytest.raises(cls) as caught:
        local.call("Query", TableName="tab", KeyConditionExpression="pk = :a", ExpressionAttributeValues=values)
    assert caught.value.members == {member: [{"reason": reason, "resource": local.describe()["TableArn"]}]}


def test_a_call_without_a_table_is_throttled_without_reasons(local):
    local.faults.throttle("ListTables", times=1)
    with pytest.raises(ProvisionedThroughputExceededException) as caught:
        local.call("ListTables")
    assert caught.value.members == {}


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("GetItem", {"TableName": "tab", "Key": item(pk="a")}),
        ("GetItem", {"TableName": "arn:aws:dynamodb:eu-west-2:123456789012:table/tab", "Key": item(pk="a")}),
        ("BatchGetItem", {"RequestItems": {"other": {"Keys": [item(pk="a")]}, "tab": {"Keys": [item(pk="a")]}}}),
        ("BatchWriteItem", {"RequestItems": {"tab": puts("a")}}),
        ("TransactWriteItems", transaction("a")),
        ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "tab", "Key": item(pk="a")}}]}),
        ("ExecuteStatement", {"Statement": "SELECT * FROM tab"}),
        ("ExecuteStatement", {"Statement": """insert into "tab" value {'pk': 'a'}"""}),
        ("BatchExecuteStatement", {"Statements": [{"Statement": """UPDATE "tab" SET x = 1 WHERE pk = 'a'"""}]}),
        ("ExecuteTransaction", {"TransactStatements": [{"Statement": "DELETE FROM tab WHERE pk = 'a'"}]}),
        ("DescribeTable", {"TableName": "tab"}),
    ],
)
def test_the_table_is_found_wherever_a_request_names_it(local, operation, request_):
    local.create(name="other")
    elsewhere = local.faults.throttle(table="others")
    local.faults.throttle(table="tab", times=1)
    with pytest.raises(ProvisionedThroughputExceededException):
        local.call(operation, **request_)
    assert local.call(operation, **request_) is not None
    assert elsewhere.seen == 0


# -- failing -----------------------------------------------------------------------------------------------------------


def test_a_failure_before_the_work_changes_nothing(local):
    local.faults.fail("PutItem", times=1)
    assert local.refusal("PutItem", **put_request()) == INTERNAL
    assert local.items() == []


def test_a_failure_after_the_work_has_done_it(local):
    local.faults.fail("PutItem", after=True, times=1)
    with pytest.raises(InternalServerError):
        local.put(pk="a")
    assert local.items() == [item(pk="a")]
    if local.directory:
        local.reopen()
        assert local.items() == [item(pk="a")]


def test_a_repeated_transaction_with_its_token_is_not_done_twice(local):
    local.faults.fail("TransactWriteItems", after=True, times=1)
    count = {
        "TableName": "tab",
        "Key": item(pk="a"),
        "UpdateExpression": "ADD c :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    request = {"TransactItems": [{"Update": count}], "ClientRequestToken": "once"}
    assert local.refusal("TransactWriteItems", **request) == INTERNAL
    local.call("TransactWriteItems", **request)
    assert local.items() == [item(pk="a", c=1)]


def test_a_transaction_that_failed_before_its_work_has_not_used_its_token(local):
    local.faults.fail("TransactWriteItems", times=1)
    assert local.refusal("TransactWriteItems", **transaction("a", ClientRequestToken="t")) == INTERNAL
    local.call("TransactWriteItems", **transaction("b", ClientRequestToken="t"))
    assert local.items() == [item(pk="b")]


def test_an_error_can_be_chosen(local):
    local.faults.fail("TransactWriteItems", error="TransactionInProgressException", times=1)
    refusal = local.refusal("TransactWriteItems", **transaction("a"))
    assert refusal.startswith("TransactionInProgressException: ")


# -- conflicts ---------------------------------------------------------------------------------------------------------


def test_a_transaction_conflicts_on_the_item_that_is_named(local):
    local.faults.conflict("TransactWriteItems", at=1, times=1)
    with pytest.raises(TransactionCanceledException) as caught:
        local.call("TransactWriteItems", **transaction("a", "b", "c"))
    assert caught.value.members["CancellationReasons"] == [NONE, BUSY, NONE]
    assert caught.value.message.endswith("[None, TransactionConflict, None]")
    assert local.items() == []
    local.call("TransactWriteItems", **transaction("a", "b", "c"))
    assert len(local.items()) == 3


def test_a_transaction_without_such_an_item_is_left_alone(local):
    fault = local.faults.conflict(at=2)
    local.call("TransactWriteItems", **transaction("a", "b"))
    local.put(pk="c")
    assert fault.seen == 0


def test_statements_and_reads_conflict_too(local):
    local.faults.conflict(times=2)
    with pytest.raises(TransactionCanceledException):
        local.call("TransactGetItems", TransactItems=[{"Get": {"TableName": "tab", "Key": item(pk="a")}}])
    statements = [{"Statement": f"INSERT INTO tab VALUE {{'pk': '{key}'}}"} for key in "ab"]
    with pytest.raises(TransactionCanceledException) as caught:
        local.call("ExecuteTransaction", TransactStatements=statements)
    assert caught.value.members["CancellationReasons"] == [BUSY, NONE]
    assert local.items() == []


def test_a_single_write_conflicts_and_a_read_never(local):
    local.faults.conflict()
    with pytest.raises(TransactionConflictException, match="Transaction is ongoing for the item"):
        local.put(pk="a")
    assert local.items() == []
    assert local.call("GetItem", TableName="tab", Key=item(pk="a")) == {}
    assert local.call("ExecuteStatement", Statement="select * from tab") == {"Items": []}
    assert local.refusal("ExecuteStatement", Statement="INSERT INTO tab VALUE {'pk': 'a'}").startswith(
        "TransactionConf"
    )


# -- batches -----------------------------------------------------------------------------------------------------------


def test_the_last_members_of_a_batch_are_left_undone(local):
    local.create(name="other")
    local.faults.unprocessed("BatchWriteItem", last=2, times=1)
    gone = {"DeleteRequest": {"Key": item(pk="z")}}
    batch = {"tab": puts("a", "b", "c"), "other": [gone]}
    response = local.call("BatchWriteItem", RequestItems=batch, ReturnConsumedCapacity="TOTAL")
    assert response["UnprocessedItems"] == {"tab": puts("c"), "other": [gone]}
    assert response["ConsumedCapacity"] == [{"TableName": "tab", "CapacityUnits": 2.0}]
    assert local.items() == [item(pk="a"), item(pk="b")]
    assert local.call("BatchWriteItem", RequestItems=response["UnprocessedItems"]) == {"UnprocessedItems": {}}
    assert len(local.items()) == 3


def test_the_keys_that_are_left_keep_what_was_asked_of_them(local):
    local.put(pk="a", x=1, y=2)
    local.faults.unprocessed("BatchGetItem", times=1)
    options = {"ConsistentRead": True, "ProjectionExpression": "#x", "ExpressionAttributeNames": {"#x": "x"}}
    response = local.call("BatchGetItem", RequestItems={"tab": {"Keys": [item(pk="a"), item(pk="b")], **options}})
    assert response["Responses"] == {"tab": [item(x=1)]}
    assert response["UnprocessedKeys"] == {"tab": {"Keys": [item(pk="b")], **options}}


@pytest.mark.parametrize("last", [2, 3, 30])
def test_the_first_member_of_a_batch_is_always_done(local, last):
    fault = local.faults.unprocessed(last=last)
    response = local.call("BatchWriteItem", RequestItems={"tab": puts("a", "b", "c")})
    assert response["UnprocessedItems"] == {"tab": puts("b", "c")}
    assert local.call("BatchWriteItem", RequestItems={"tab": puts("b")}) == {"UnprocessedItems": {}}
    assert (fault.seen, fault.applied) == (1, 1)


def test_the_whole_batch_is_checked_before_its_first_part_is_done(local):
    fault = local.faults.unprocessed(last=1)
    refusal = local.refusal("BatchWriteItem", RequestItems={"tab": puts("a", "b", "a")})
    assert refusal == "ValidationException: Provided list of item keys contains duplicates"
    assert local.items() == []
    assert fault.applied == 0


# -- what comes first --------------------------------------------------------------------------------------------------

INVALID = [
    ("PutItem", {"TableName": "tab"}),
    ("PutItem", {"TableName": "tab", "Item": item(x="no key")}),
    ("PutItem", {"TableName": "tab", "Item": {"pk": {"N": "1"}}}),
    ("PutItem", {"TableName": "none", "Item": item(pk="a")}),
    ("PutItem", {"TableName": 7, "Item": item(pk="a")}),
    ("UpdateItem", {"TableName": "tab", "Key": item(pk="a"), "UpdateExpression": "SET"}),
    ("GetItem", {"TableName": "tab", "Key": {}}),
    ("Query", {"TableName": "tab"}),
    ("BatchWriteItem", {"RequestItems": {}}),
    ("BatchWriteItem", {"RequestItems": {"none": puts("a")}}),
    ("TransactWriteItems", {"TransactItems": [{"Put": put_request("a")}, {"Put": put_request("a")}]}),
    ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "tab", "Item": item(pk=1)}}]}),
    ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "tab", "Key": item(pk=1)}}]}),
    ("CreateTable", {"TableName": "tab"}),
    ("UpdateTable", {"TableName": "tab"}),
    ("ExecuteStatement", {"Statement": "SELECT"}),
]


@pytest.mark.parametrize(
    ("verb", "options"),
    [("throttle", {}), ("fail", {}), ("fail", {"after": True}), ("conflict", {}), ("unprocessed", {})],
)
@pytest.mark.parametrize(("operation", "request_"), INVALID)
def test_what_is_wrong_with_a_request_comes_first_and_uses_nothing_up(operation, request_, verb, options):
    local = Local(faults=Faults())
    local.create()
    with pytest.raises(ServiceError) as expected:
        local.engine.call(operation, request_)
    fault = getattr(local.faults, verb)(**options)
    with pytest.raises(ServiceError) as caught:
        local.engine.call(operation, request_)
    assert caught.value.body() == expected.value.body()
    assert fault.applied == 0
    local.close()


def test_a_condition_is_not_looked_at_by_a_call_that_is_throttled(local):
    local.put(pk="a")
    local.faults.throttle(times=2)
    condition = {"ConditionExpression": "attribute_not_exists(pk)"}
    assert local.refusal("PutItem", **put_request(), **condition).startswith("ProvisionedThroughput")
    assert local.refusal("TransactWriteItems", TransactItems=[{"Put": {**put_request(), **condition}}]).startswith(
        "ProvisionedThroughput"
    )
    assert local.refusal("PutItem", **put_request(), **condition).startswith("ConditionalCheckFailed")


# -- nothing is half done ----------------------------------------------------------------------------------------------


def retry(call):
    """Call until it is not throttled, has not failed and met nobody."""
    while True:
        try:
            return call()
        except ServiceError as failure:
            if not failure.retryable:
                raise


class Retrying(Local):
    """A client that tries again; what a batch leaves undone it sends again."""

    def call(self, operation, **members):
        response = retry(lambda: super(Retrying, self).call(operation, **members))
        while left := (response or {}).get("UnprocessedItems"):
            response = retry(lambda left=left: super(Retrying, self).call("BatchWriteItem", RequestItems=left))
        return response


FAULTS = st.lists(
    st.sampled_from([
        "throttle chance=0.3",
        "throttle PutItem chance=0.5",
        "fail chance=0.2",
        "fail after=yes chance=0.3",
        "fail after=yes every=3",
        "unprocessed last=1 chance=0.5",
        "unprocessed last=2 every=2",
        "conflict chance=0.3",
    ]),
    max_size=4,
)  # fmt: skip


@given(histories, FAULTS, st.integers(0, 5), st.booleans())
@settings(max_examples=40, deadline=None)
def test_who_tries_again_ends_up_with_what_there_would_be_without_faults(history, faults, seed, stream):
    local = Retrying(faults=Faults())
    local.create("pk:S / sk:N", view="NEW_AND_OLD_IMAGES" if stream else None, **INDEXES)
    oracle = Oracle(local)
    local.engine.faults = Faults.read("; ".join([f"seed {seed}", *faults]))
    oracle.run(history)
    local.engine.faults.clear()
    assert_holds(local, "tab", list(oracle.held.values()))
    local.close()


CONTROL = {
    "CreateTable": {
        "TableName": "new",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    },
    "UpdateTable": {
        "TableName": "tab",
        "AttributeDefinitions": [{"AttributeName": "z", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [
            {
                "Create": {
                    "IndexName": "late",
                    "KeySchema": [{"AttributeName": "z", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    },
    "UpdateTable stream": {
        "TableName": "tab",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    },
    "DeleteTable": {"TableName": "tab"},
    "UpdateTimeToLive": {"TableName": "tab", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "x"}},
    "UpdateContinuousBackups": {
        "TableName": "tab",
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    },
    "CreateBackup": {"TableName": "tab", "BackupName": "copy"},
    "TagResource": {
        "ResourceArn": "arn:aws:dynamodb:eu-west-2:123456789012:table/tab",
        "Tags": [{"Key": "a", "Value": "b"}],
    },
}


def look(local):
    """Everything that can be seen of a database."""
    names = local.call("ListTables")["TableNames"]
    seen = {name: (local.describe(name), local.items(name)) for name in names}
    arns = [described["TableArn"] for described, _ in seen.values()]
    files = sorted(path.name for path in local.directory.rglob("*.db*")) if local.directory else []
    return (
        seen,
        [local.call("ListTagsOfResource", ResourceArn=arn) for arn in arns],
        [local.call("DescribeTimeToLive", TableName=name) for name in names],
        [local.call("DescribeContinuousBackups", TableName=name) for name in names],
        local.call("ListBackups"),
        [name for name in files if "hashrange" not in name],
    )


@pytest.mark.parametrize("named", CONTROL)
def test_what_is_said_of_tables_changes_after_the_fault_and_not_before(local, named):
    operation, request = named.partition(" ")[0], CONTROL[named]
    local.put_many(30)
    before = look(local)
    local.faults.fail(operation, times=1)
    assert local.refusal(operation, **request) == INTERNAL
    assert look(local) == before
    if local.directory:
        local.reopen()
        assert look(local) == before
    local.call(operation, **request)
    assert look(local) != before


def test_a_fault_in_a_group_leaves_the_others_of_the_group_alone(local):
    local.faults.fail("DeleteItem")
    local.faults.fail("CreateTable")
    engine = local.engine
    engine.begin()
    engine.perform(OPERATIONS["PutItem"], put_request("a", n=1))
    for name, request in (
        ("DeleteItem", {"TableName": "tab", "Key": item(pk="a")}),
        ("CreateTable", CONTROL["CreateTable"]),
    ):
        with pytest.raises(InternalServerError):
            engine.perform(OPERATIONS[name], request)
    engine.perform(OPERATIONS["PutItem"], put_request("b", n=2))
    engine.end()
    assert local.items() == local.items(index="byn") == [item(pk="a", n=1), item(pk="b", n=2)]
    assert (local.describe()["ItemCount"], local.call("ListTables")["TableNames"]) == (2, ["tab"])


def test_a_closed_database_says_so_whatever_the_faults(local):
    local.faults.throttle()
    local.close()
    with pytest.raises(Exception, match="closed"):
        local.engine.call("ListTables", {})


def test_without_faults_there_is_nothing_of_them():
    engine = open_engine(None, OPERATIONS)
    assert type(engine) is Engine
    assert engine.faults is None
    engine.close()


def test_an_applied_fault_is_logged(local, caplog):
    caplog.set_level("INFO", "hashrange")
    local.faults.throttle("PutItem", times=1)
    local.refusal("PutItem", **put_request())
    assert caplog.messages == ["Fault injected into PutItem: throttle PutItem times=1"]
