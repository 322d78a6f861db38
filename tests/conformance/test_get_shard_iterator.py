import pytest

from tests.conformance.refusal import invalid, refused
from tests.conformance.stream import Stream, streaming


@pytest.fixture
def stream(make_table, streams):
    return Stream(streams, make_table(**streaming()))


def first_number(stream):
    return stream.describe()["Shards"][0]["SequenceNumberRange"]["StartingSequenceNumber"]


@pytest.mark.parametrize("kind", ["TRIM_HORIZON", "LATEST"])
def test_the_ends_of_a_shard_need_no_number(stream, kind):
    assert stream.iterator(kind)


@pytest.mark.parametrize("kind", ["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"])
def test_a_position_by_number_needs_one(stream, kind):
    assert stream.iterator(kind, SequenceNumber=first_number(stream))
    with invalid():
        stream.iterator(kind)


@pytest.mark.parametrize("kind", ["TRIM_HORIZON", "LATEST"])
def test_the_ends_of_a_shard_take_no_number(stream, kind):
    with invalid():
        stream.iterator(kind, SequenceNumber=first_number(stream))


def test_a_kind_that_does_not_exist_is_refused(stream):
    with invalid(containing="at 'shardIteratorType' failed to satisfy constraint"):
        stream.iterator("SOMEWHERE")


def test_an_unknown_shard_is_not_found(stream):
    with refused("ResourceNotFoundException"):
        stream.iterator(shard="shardId-00000000000000000000-00000000")


def test_what_is_no_stream_arn_is_refused(stream, streams):
    with invalid("Invalid StreamArn"):
        streams.get_shard_iterator(StreamArn="x" * 60, ShardId=stream.shards()[0], ShardIteratorType="LATEST")
