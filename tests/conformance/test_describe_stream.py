import pytest

from tests.conformance.refusal import invalid, not_found
from tests.conformance.stream import Stream, streaming


@pytest.fixture
def stream(make_table, streams):
    return Stream(streams, make_table("pk:S / sk:N", **streaming("NEW_IMAGE")))


def test_a_stream_is_described(stream):
    described = stream.describe()
    table, label = stream.arn.rsplit("/stream/", 1)
    assert described["StreamArn"] == stream.arn
    assert described["StreamLabel"] == label
    assert described["StreamStatus"] in ("ENABLING", "ENABLED")
    assert described["StreamViewType"] == "NEW_IMAGE"
    assert described["TableName"] == table.rsplit("/", 1)[1]
    assert [element["AttributeName"] for element in described["KeySchema"]] == ["pk", "sk"]
    assert "CreationRequestDateTime" in described


def test_a_stream_has_a_shard_with_a_first_number(stream):
    (shard,) = stream.describe()["Shards"]
    assert 28 <= len(shard["ShardId"]) <= 65
    first = shard["SequenceNumberRange"]["StartingSequenceNumber"]
    assert first.isdigit()
    assert 21 <= len(first) <= 40
    assert "EndingSequenceNumber" not in shard["SequenceNumberRange"]


def test_shards_are_listed_after_a_given_one(stream):
    (shard,) = stream.shards()
    assert stream.describe(ExclusiveStartShardId=shard)["Shards"] == []
    assert stream.describe(ExclusiveStartShardId="z" * 40)["Shards"] == []


def test_a_shard_that_goes_on_has_no_children(stream):
    (shard,) = stream.shards()
    assert stream.describe(ShardFilter={"Type": "CHILD_SHARDS", "ShardId": shard})["Shards"] == []


@pytest.mark.parametrize("member", ["type", "shardId"])
def test_a_shard_filter_has_a_type_and_a_shard(stream, member):
    whole = {"type": {"Type": "CHILD_SHARDS"}, "shardId": {"ShardId": stream.shards()[0]}}
    given = {name: value for key, part in whole.items() if key != member for name, value in part.items()}
    text = f"Value null at 'shardFilter.{member}' failed to satisfy constraint: Member must not be null"
    with invalid(f"1 validation error detected: {text}"):
        stream.describe(ShardFilter=given)


def test_a_disabled_stream_is_described_with_its_last_number(make_table, streams):
    table = make_table(**streaming())
    stream = Stream(streams, table)
    table.update_table(StreamSpecification={"StreamEnabled": False})
    table.client.get_waiter("table_exists").wait(TableName=table.name)
    assert stream.describe()["StreamStatus"] in ("DISABLING", "DISABLED")


def test_an_unknown_stream_is_not_found(stream, streams):
    arn = stream.arn.rsplit("/", 1)[0] + "/2015-01-01T00:00:00.000"
    with not_found(f"Requested resource not found: Stream: {arn} not found"):
        streams.describe_stream(StreamArn=arn)


def test_what_is_no_stream_arn_is_refused(streams):
    with invalid("Invalid StreamArn"):
        streams.describe_stream(StreamArn="x" * 60)
