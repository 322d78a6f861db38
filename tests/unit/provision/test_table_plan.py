"""Plans: what differs between a declared table and the existing one, the steps, and what they lose."""

from contextlib import suppress

import boto3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hashrange
from hashrange import ALL, KEYS_ONLY, Gsi, Item, Lsi, Patterns, PlanError, Provisioned, Table, ThrottlingException, Ttl
from hashrange.core.errors import UnknownOperationException
from hashrange.provision import adopt, apply, create_tables, drift, plan

OPTIONS = {"deletion_protection": False}


def declare(*indexes, fields=None, sort=None, name="orders", **options):
    """Declare a table of orders with one item class that has every attribute of these tests."""
    table = Table(name, "id", sort, indexes=indexes, **{**OPTIONS, **options})
    expiry = {table.ttl: Ttl} if table.ttl else {}
    hints = {"id": str, "user": str, "placed": str, "note": str, **expiry, **(fields or {})}
    keys = {"id": "{id}"} | ({sort: f"{{{sort}}}"} if sort else {})
    type("Order", (Item,), {"__annotations__": hints, "__module__": __name__}, table=table, **keys)
    return table


def actions(changes):
    return [step.action for step in changes.steps]


def put(database, count, **attributes):
    for number in range(count):
        item = {"id": {"S": str(number)}, "user": {"S": "ann"}, "placed": {"S": str(number)}, **attributes}
        database.call("PutItem", {"TableName": "orders", "Item": item})


def read_indexes(database):
    found = database.call("DescribeTable", {"TableName": "orders"})["Table"].get("GlobalSecondaryIndexes", ())
    return sorted(index["IndexName"] for index in found)


def test_a_missing_table_is_created_with_its_options_and_then_the_plan_is_empty(database):
    table = declare(Gsi("ByUser", "user", "placed"), ttl="expires", pitr=True, stream="NEW_IMAGE", tags={"team": "a"})
    changes = plan(database, table)
    assert actions(changes) == [
        "create table orders with ByUser",
        "enable time to live by expires",
        "enable point-in-time recovery",
    ]
    assert apply(database, changes) == list(changes.steps)
    assert not plan(database, table)


def test_an_interrupted_creation_is_completed(database):
    table = declare(ttl="expires", pitr=True)
    apply(database, plan(database, declare()))
    assert actions(plan(database, table)) == ["enable point-in-time recovery", "enable time to live by expires"]
    apply(database, plan(database, table))
    assert not plan(database, table), "an empty table loses nothing by its time to live"


def test_a_plan_is_readable_text_and_drift_lists_its_differences(database):
    apply(database, plan(database, declare(Gsi("ByUser", "user"), Lsi("ByNote", "id", "note"), sort="placed")))
    changes = plan(database, declare(Gsi("ByNote", "note"), sort="placed", pitr=True))
    assert str(changes).splitlines() == [
        "orders",
        "  + enable point-in-time recovery",
        "  + create index ByNote-2 (note), projecting ALL",
        "  - drop index ByUser",
        "      loses the index (user), 0 entries",
        "  x local index ByNote: declared absent, exists (id, note): a local index cannot be dropped, declare it",
    ]
    assert drift(database, declare(Gsi("ByNote", "note"), sort="placed", pitr=True)) == changes.differences
    assert str(plan(database, Table("orders", "other"))).splitlines()[:2] == [
        "orders",
        "  x keys: declared other, exists id, placed",
    ]


def test_indexes_are_created_one_at_a_time_with_progress(database):
    apply(database, plan(database, declare()))
    put(database, 1_500)
    table = declare(Gsi("ByUser", "user", "placed"), Gsi("ByPlaced", "placed", project=KEYS_ONLY))
    reports = []
    apply(database, plan(database, table), report=reports.append)
    assert not plan(database, table)
    assert [report.step.index for report in reports] == sorted((one.step.index for one in reports), reverse=True)
    assert {report.total for report in reports} == {0, 1_500}
    request = {"TableName": "orders", "IndexName": "ByPlaced", "Select": "COUNT"}
    assert database.call("Scan", request)["Count"] == 1_500


def test_an_index_under_another_name_is_recognised_by_its_keys(database):
    apply(database, plan(database, declare(Gsi("GSI1", "user", "placed"))))
    assert not plan(database, declare(Gsi("ByUser", "user", "placed")))


def test_a_projection_is_changed_by_a_second_index_and_the_first_is_dropped_only_when_asked_for(database):
    apply(database, plan(database, declare(Gsi("ByUser", "user", project=["note"]))))
    put(database, 3)
    table = declare(Gsi("ByUser", "user", project=["note", "placed"]))
    changes = plan(database, table)
    assert actions(changes) == ["create index ByUser-2 (user), projecting note, placed", "drop index ByUser"]
    assert [step.loses for step in changes.steps] == ["", "an index that ByUser-2 replaces"]
    apply(database, changes)
    assert read_indexes(database) == ["ByUser", "ByUser-2"]
    assert actions(plan(database, table)) == ["drop index ByUser"]
    apply(database, plan(database, table), allow_loss=True)
    assert read_indexes(database) == ["ByUser-2"]
    assert not plan(database, table)


def test_an_index_with_a_wider_projection_is_left_alone_unless_asked_for(database):
    apply(database, plan(database, declare(Gsi("ByUser", "user", project=ALL))))
    changes = plan(database, declare(Gsi("ByUser", "user", project=["note"])))
    assert all(step.loses for step in changes.steps)
    assert apply(database, changes) == []


def test_an_index_whose_name_is_taken_by_other_keys_gets_another_name(database):
    apply(database, plan(database, declare(Gsi("ByUser", "user"))))
    table = declare(Gsi("ByUser", "user", "placed"))
    apply(database, plan(database, table))
    assert read_indexes(database) == ["ByUser", "ByUser-2"]
    apply(database, plan(database, table), allow_loss=True)
    assert read_indexes(database) == ["ByUser-2"]


def test_what_is_not_declared_is_dropped_only_when_asked_for_and_is_named(database):
    apply(database, plan(database, declare(Gsi("ByUser", "user"), tags={"team": "a"}, stream="NEW_IMAGE", pitr=True)))
    put(database, 2)
    changes = plan(database, declare())
    assert {step.action: step.loses for step in changes.steps} == {
        "disable point-in-time recovery": "every moment that the table could be restored to",
        "remove tag team": "the tag team=a",
        "disable the stream": "the stream: its readers must begin again with the records of the new one",
        "drop index ByUser": "the index (user), 2 entries",
    }
    assert apply(database, changes) == []
    apply(database, changes, allow_loss=True)
    assert not plan(database, declare())


def test_enabling_time_to_live_on_stored_items_is_a_loss(database):
    apply(database, plan(database, declare()))
    put(database, 1, expires={"N": "1"})
    [step] = plan(database, declare(ttl="expires")).steps
    assert step.loses == "the items whose expires has passed: DynamoDB deletes them"


def test_billing_changes_reach_the_indexes(database):
    index = Gsi("ByUser", "user")
    apply(database, plan(database, declare(index)))
    table = declare(index, billing=Provisioned(read=7, write=3))
    assert actions(plan(database, table)) == ["bill PROVISIONED 7 read, 3 write"]
    apply(database, plan(database, table))
    assert not plan(database, table)
    [live] = database.call("DescribeTable", {"TableName": "orders"})["Table"]["GlobalSecondaryIndexes"]
    assert live["ProvisionedThroughput"]["ReadCapacityUnits"] == 7
    apply(database, plan(database, declare(index)))
    assert not plan(database, declare(index))


def test_protection_and_encryption_are_compared(database):
    apply(database, plan(database, declare()))
    key = "arn:aws:kms:eu-west-2:000000000000:key/11111111-2222-3333-4444-555555555555"
    table = declare(deletion_protection=True, encryption=key)
    assert actions(plan(database, table)) == ["enable deletion protection", f"encrypt with {key}"]
    apply(database, plan(database, table))
    assert not plan(database, table)
    assert [step.loses for step in plan(database, declare(encryption=key)).steps] == ["the protection from DeleteTable"]


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (lambda: declare(sort="placed"), "orders: keys: declared id, placed, exists id"),
        (lambda: declare(Gsi("ByUser", "user"), fields={"user": int}), "orders: type of user: declared N, exists S"),
    ],
)
def test_what_no_request_can_change_is_refused_before_anything_is_sent(database, other, text):
    apply(database, plan(database, declare(Gsi("ByUser", "user"))))
    changes = plan(database, other())
    assert not changes.steps
    with pytest.raises(PlanError, match="Nothing was changed") as caught:
        apply(database, changes)
    assert text in str(caught.value)


def test_a_local_index_cannot_be_added(database):
    apply(database, plan(database, declare(sort="placed")))
    with pytest.raises(PlanError, match="a local index can only be created with its table"):
        apply(database, plan(database, declare(Lsi("ByNote", "id", "note"), sort="placed")))


def test_two_declarations_of_one_table_are_refused():
    with hashrange.open() as database, pytest.raises(PlanError, match="Two declarations differ about the table orders"):
        plan(database, declare(), declare(sort="placed"))


class FailingTransport:
    """A transport that throttles one call."""

    def __init__(self, database, failing):
        self.database, self.left = database, failing

    def call(self, operation, request, *read):
        self.left -= 1
        if self.left == 0:
            raise ThrottlingException("slow down")
        return self.database.call(operation, request, *read)


class Emulator:
    """A transport to an endpoint that lacks options, as DynamoDB Local does: their operations, and their members."""

    def __init__(self, database):
        self.database = database

    def call(self, operation, request, *read):
        if operation.endswith(("ContinuousBackups", "TimeToLive", "OfResource")):
            raise UnknownOperationException("An unknown operation was requested.")
        response = self.database.call(operation, request, *read)
        if operation == "DescribeTable":
            del response["Table"]["DeletionProtectionEnabled"]
        return response


def test_options_that_an_endpoint_does_not_have_are_left_out(database):
    table = declare(pitr=True, ttl="expires", tags={"team": "a"}, deletion_protection=True)
    emulator = Emulator(database)
    assert create_tables(emulator, table) == ["orders"]
    assert not plan(emulator, table)
    assert not plan(emulator, declare())
    assert actions(plan(emulator, declare(Gsi("ByUser", "user")))) == ["create index ByUser (user), projecting ALL"]
    assert "ttl" not in adopt(emulator, "orders")


def test_a_table_that_cannot_be_created_is_reported_at_once(database):
    with pytest.raises(PlanError, match=r"cannot create table orders: .*Tag"):
        create_tables(database, declare(tags={"aws:x": "y"}))


def test_of_two_indexes_with_the_same_keys_the_one_with_the_declared_projection_is_used(database):
    both = declare(Gsi("Narrow", "user", project=KEYS_ONLY), Gsi("Wide", "user", project=["note"]))
    apply(database, plan(database, both))
    assert not plan(database, both)
    [step] = plan(database, declare(Gsi("Narrow", "user", project=["note"]))).steps
    assert step.action == "drop index Narrow"


def test_the_name_of_a_replacement_is_legal_however_long_the_first_is(database):
    name = "x" * 255
    apply(database, plan(database, declare(Gsi(name, "user", project=KEYS_ONLY))))
    wider = declare(Gsi(name, "user", project=["note"]))
    apply(database, plan(database, wider), allow_loss=True)
    assert read_indexes(database) == ["x" * 250 + "-2"]
    assert not plan(database, wider)


def test_a_key_is_the_same_by_its_id_and_an_alias_is_not_judged(database):
    key = "11111111-2222-3333-4444-555555555555"
    apply(database, plan(database, declare(encryption=f"arn:aws:kms:eu-west-2:000000000000:key/{key}")))
    assert not plan(database, declare(encryption=key))
    assert not plan(database, declare(encryption="alias/orders"))
    assert not plan(database, declare(encryption="AWS_MANAGED"))
    assert actions(plan(database, declare(encryption=key.replace("5", "6")))) == [
        f"encrypt with {key.replace('5', '6')}"
    ]
    assert actions(plan(database, declare())) == ["encrypt with AWS_OWNED"]


def test_a_step_that_the_service_refuses_is_reported_with_its_reason(database):
    apply(database, plan(database, declare()))
    with pytest.raises(PlanError, match=r"orders: cannot set tag aws:x=y: .*Nothing was changed\."):
        apply(database, plan(database, declare(tags={"aws:x": "y"})))


INDEXES = st.lists(
    st.sampled_from(
        [
            Gsi("ByUser", "user"),
            Gsi("ByUser", "user", "placed", project=KEYS_ONLY),
            Gsi("ByPlaced", "placed", project=["note"]),
            Gsi("ByNote", "note", project=["user"]),
            Gsi("ByNote", "note", project=["user", "placed"]),
        ]
    ),
    unique_by=lambda index: index.name,
)
TABLES = st.builds(
    lambda indexes, **options: declare(*indexes, **options),
    INDEXES,
    ttl=st.sampled_from([None, "expires", "note_expires"]),
    pitr=st.booleans(),
    stream=st.sampled_from([None, "NEW_IMAGE", "KEYS_ONLY"]),
    tags=st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy")),
    billing=st.sampled_from(["PAY_PER_REQUEST", Provisioned(read=1, write=2), Provisioned(read=3, write=4)]),
    deletion_protection=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(before=TABLES, after=TABLES, failing=st.integers(1, 60))
def test_any_declaration_becomes_any_other_also_after_a_failure_and_nothing_is_lost_unasked(before, after, failing):
    with hashrange.open() as database:
        apply(database, plan(database, before))
        put(database, 5)
        names = read_indexes(database)
        with suppress(PlanError):
            apply(FailingTransport(database, failing), plan(database, after))
        apply(database, plan(database, after))
        assert set(names) <= set(read_indexes(database))
        assert all(step.loses for step in plan(database, after).steps)
        apply(database, plan(database, after), allow_loss=True)
        assert not plan(database, after)
        assert len(read_indexes(database)) == len(after.indexes)


def test_a_client_of_boto3_is_refused_with_what_to_use_instead():
    client = boto3.client("dynamodb", region_name="eu-west-2", aws_access_key_id="a", aws_secret_access_key="b")
    table = declare()
    for use in (Patterns.open, lambda each: plan(each, table), lambda each: create_tables(each, table)):
        for wrong in (client, "./data"):
            with pytest.raises(TypeError, match=r"is not a database of hashrange: use hashrange\.connect\(url\)"):
                use(wrong)
