"""Random writes on a table with every index type, against a reference table: all that can be read afterwards agrees."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.core.errors import ServiceError
from tests.conformance.paging import read_all
from tests.conformance.wire import item
from tests.unit.engine.local import Local, sort_items
from tests.unit.engine.reference_table import ReferenceTable

KEYS = "pk:S / sk:N"
LOCAL = {"by-l": ("pk:S / l:S", "KEYS_ONLY"), "by-n": ("pk:S / n:N", ["x"])}
GLOBAL = {
    "all": "g:S / n:N",
    "keys": ("n:N", "KEYS_ONLY"),
    "some": ("g:S / b:B", ["x", "y"]),
    "many": ("g:S,n:N / l:S,b:B", ["x"]),
}
INDEXES = LOCAL | GLOBAL
ALWAYS = "attribute_not_exists(nothing)"

keys = st.builds(item, pk=st.sampled_from(["a", "b"]), sk=st.integers(-1, 5))
index_keys = {
    "g": st.sampled_from([{"S": "g"}, {"S": "g\x00"}, {"S": "gé"}]),
    "n": st.sampled_from([{"N": "-100.5"}, {"N": "0"}, {"N": "0.02"}, {"N": "30"}]),
    "l": st.sampled_from([{"S": "a"}, {"S": "a\x00"}, {"S": "a\x00b"}, {"S": "\U0001f600"}, {"S": "\uffff"}]),
    "b": st.sampled_from([{"B": "AA=="}, {"B": "AP8="}, {"B": "/w=="}]),
}
others = {
    "x": st.sampled_from([{"S": "long" * 20}, {"M": {"k": {"L": [{"NULL": True}]}}}, {"NS": ["-3", "1", "20"]}]),
    "y": st.sampled_from([{"BOOL": True}, {"BS": ["AA==", "/w=="]}, {"S": ""}]),
}
attributes = st.fixed_dictionaries({}, optional=index_keys | others)
crowded = st.fixed_dictionaries(index_keys, optional=others)
bad = st.sampled_from([{"g": {"N": "1"}}, {"l": {"S": ""}}, {"n": {"NULL": True}}, {"b": {"B": ""}}])
puts = st.tuples(st.just("put"), keys, attributes)
deletes = st.tuples(st.just("delete"), keys)
updates = st.tuples(st.just("update"), keys, attributes, st.sets(st.sampled_from("gnlbxy"), max_size=3))
checks = st.tuples(st.just("check"), keys)
conditions = st.sampled_from([None, None, None, "attribute_exists(pk)", "attribute_not_exists(pk)"])


def key_of(member):
    return repr(member[0][1]) if isinstance(member[0], tuple) else repr(member[1])


batches = st.tuples(st.just("batch"), st.lists(puts | deletes, min_size=1, max_size=6, unique_by=key_of))
needful = updates.filter(lambda update: update[2] or update[3])  # in a transaction an update must update something
members = st.tuples(puts | deletes | needful | checks, conditions)
transactions = st.tuples(st.just("transact"), st.lists(members, min_size=1, max_size=5, unique_by=key_of))
refused = st.tuples(st.just("refuse"), st.sampled_from(["PutItem", "BatchWriteItem", "UpdateItem"]), keys, bad)
starts = st.lists(st.tuples(st.just("put"), keys, crowded), min_size=6, max_size=20)
steps = st.lists(st.one_of(puts, deletes, updates, batches, transactions, refused), max_size=15)
histories = st.tuples(starts, steps).map(lambda parts: parts[0] + parts[1])


class Writer:
    """Does the same to the engine and to the reference table."""

    def __init__(self, local, reference):
        self.local = local
        self.reference = reference

    def run(self, history):
        for step, *arguments in history:
            getattr(self, step)(*arguments)

    def put(self, key, attributes):
        self.local.call("PutItem", **put_request(key, attributes))
        self.reference.put(key | attributes)

    def delete(self, key):
        self.local.call("DeleteItem", TableName="tab", Key=dict(key))
        self.reference.delete(key)

    def update(self, key, changed, removed):
        self.local.call("UpdateItem", **update_request(key, changed, removed))
        self.reference.update(key, changed, removed - changed.keys())

    def batch(self, writes):
        requests = [
            {"PutRequest": {"Item": copy(key | rest[0])}} if step == "put" else {"DeleteRequest": {"Key": copy(key)}}
            for step, key, *rest in writes
        ]
        self.local.call("BatchWriteItem", RequestItems={"tab": requests})
        for step, key, *rest in writes:
            self.reference.put(key | rest[0]) if step == "put" else self.reference.delete(key)

    def transact(self, guarded):
        holds = [
            condition is None
            or (condition == "attribute_exists(pk)") == (self.reference.key(member[1]) in self.reference.items)
            for member, condition in guarded
        ]
        request = {"TransactItems": [transaction_member(member, condition) for member, condition in guarded]}
        if not all(holds):
            self.cancelled(request, holds)
            return
        self.local.call("TransactWriteItems", **request)
        for (step, key, *rest), _ in guarded:
            if step == "put":
                self.reference.put(key | rest[0])
            elif step == "update":
                self.reference.update(key, rest[0], rest[1] - rest[0].keys())
            elif step == "delete":
                self.reference.delete(key)

    def cancelled(self, request, holds):
        with pytest.raises(ServiceError) as caught:
            self.local.call("TransactWriteItems", **request)
        reasons = [reason["Code"] for reason in caught.value.members["CancellationReasons"]]
        assert reasons == ["None" if held else "ConditionalCheckFailed" for held in holds]

    def refuse(self, operation, key, attributes):
        request = {
            "PutItem": put_request(key, attributes),
            "UpdateItem": update_request(key, attributes, set()),
            "BatchWriteItem": {"RequestItems": {"tab": [{"PutRequest": {"Item": copy(key | attributes)}}]}},
        }[operation]
        assert self.local.refusal(operation, **request).startswith("ValidationException: ")


def copy(wire):
    """Values of one's own, since the engine may make them canonical in place."""
    return {name: dict(value) for name, value in wire.items()}


def put_request(key, attributes):
    return {"TableName": "tab", "Item": copy(key | attributes)}


def update_request(key, changed, removed):
    sets = ", ".join(f"#{name} = :{name}" for name in changed)
    removes = ", ".join(f"#{name}" for name in sorted(removed - changed.keys()))
    named = changed.keys() | removed
    text = " ".join(f"{word} {clause}" for word, clause in (("SET", sets), ("REMOVE", removes)) if clause)
    request = {"TableName": "tab", "Key": copy(key)}
    if text:
        request |= {"UpdateExpression": text, "ExpressionAttributeNames": {f"#{name}": name for name in named}}
    if changed:
        request["ExpressionAttributeValues"] = {f":{name}": dict(value) for name, value in changed.items()}
    return request


def transaction_member(member, condition):
    step, key, *rest = member
    if step == "check":
        return {"ConditionCheck": {"TableName": "tab", "Key": copy(key), "ConditionExpression": condition or ALWAYS}}
    request = {
        "put": lambda: put_request(key, *rest),
        "delete": lambda: {"TableName": "tab", "Key": copy(key)},
        "update": lambda: update_request(key, *rest),
    }[step]()
    return {step.capitalize(): request | ({"ConditionExpression": condition} if condition else {})}


# -- the comparison -------------------------------------------------------------------------------------------------


def assert_agree(local, reference):
    """Everything that can be read says the same as the reference table."""
    for index in (None, *INDEXES):
        named = {"IndexName": index} if index else {}
        entries = reference.entries(index)
        assert sort_items(read_all(partial(local.call, "Scan"), TableName="tab", **named)) == entries
        assert_segments(local, named, entries)
        for partition in reference.partitions(index):
            assert_partition(local, reference, index, partition)
    assert_counters(local, reference)


def assert_segments(local, named, entries):
    """The segments of a parallel scan have every entry once, whatever their number."""
    for total in (2, 3, 7):
        segments = [
            read_all(
                partial(local.call, "Scan"), TableName="tab", **named, TotalSegments=total, Segment=segment, Limit=2
            )
            for segment in range(total)
        ]
        assert sort_items([found for segment in segments for found in segment]) == entries


def assert_partition(local, reference, index, partition):
    """A query has the entries of the partition in order, both ways, and pages of any size say the same."""
    request = query_request(index, partition)
    found = read_all(partial(local.call, "Query"), **request)
    mine = [each for each in reference.members(index) if all(each[name] == value for name, value in partition.items())]
    assert sort_items(found) == sort_items([reference.project(each, index) for each in mine])
    positions = [reference.position(each, index) for each in found]
    assert positions == sorted(positions)
    for forward in (True, False):
        wanted = found if forward else found[::-1]
        for limit in range(1, len(found) + 2):
            paged = read_all(partial(local.call, "Query"), **request, ScanIndexForward=forward, Limit=limit)
            assert paged == wanted


def query_request(index, partition):
    return {
        "TableName": "tab",
        **({"IndexName": index} if index else {}),
        "KeyConditionExpression": " AND ".join(f"#{name} = :{name}" for name in partition),
        "ExpressionAttributeNames": {f"#{name}": name for name in partition},
        "ExpressionAttributeValues": {f":{name}": value for name, value in partition.items()},
    }


def assert_counters(local, reference):
    described = local.describe()
    assert (described["ItemCount"], described["TableSizeBytes"]) == reference.count()
    for index in described["LocalSecondaryIndexes"] + described["GlobalSecondaryIndexes"]:
        assert (index["ItemCount"], index["IndexSizeBytes"]) == reference.count(index["IndexName"])


@pytest.fixture(scope="module")
def opened():
    """One database for all examples: each makes the table anew."""
    local = Local()
    yield local
    local.close()


@settings(max_examples=60, deadline=None)
@given(histories, st.booleans(), st.booleans())
def test_all_that_can_be_read_agrees_with_a_reference_table(opened, history, streams, expires):
    opened.create(KEYS, lsi=LOCAL, gsi=GLOBAL, view="KEYS_ONLY" if streams else None)
    if expires:  # by times long ago, which are taken for something else
        setting = {"AttributeName": "n", "Enabled": True}
        opened.call("UpdateTimeToLive", TableName="tab", TimeToLiveSpecification=setting)
    try:
        reference = ReferenceTable(KEYS, INDEXES)
        Writer(opened, reference).run(history)
        assert_agree(opened, reference)
    finally:
        opened.call("DeleteTable", TableName="tab")


@settings(max_examples=25, deadline=None)
@given(histories)
def test_counters_and_indexes_are_the_same_after_reopening(tmp_path_factory, history):
    local = Local(tmp_path_factory.mktemp("data"))
    local.create(KEYS, lsi=LOCAL, gsi=GLOBAL)
    reference = ReferenceTable(KEYS, INDEXES)
    Writer(local, reference).run(history)
    local.reopen()
    assert_counters(local, reference)
    for index in (None, *INDEXES):
        assert local.items(index=index) == reference.entries(index)
    local.close()
