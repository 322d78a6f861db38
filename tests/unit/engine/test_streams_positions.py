"""Where a stream is read from: the five kinds of iterators, pages, and what is refused."""

import pytest


@pytest.fixture
def streamed(local):
    local.create(view="NEW_AND_OLD_IMAGES")
    return local


def keys(records):
    return [record["dynamodb"]["Keys"]["pk"]["S"] for record in records]


def test_the_horizon_is_the_oldest_record_and_latest_is_after_the_newest(streamed):
    streamed.put(pk="a")
    oldest, latest = streamed.iterator("TRIM_HORIZON"), streamed.iterator("LATEST")
    streamed.put(pk="b")
    assert keys(streamed.records(oldest)) == ["a", "b"]
    assert keys(streamed.records(latest)) == ["b"]


def test_a_sequence_number_is_read_from_it_or_after_it(streamed):
    for key in "abc":
        streamed.put(pk=key)
    number = streamed.records()[1]["dynamodb"]["SequenceNumber"]
    assert keys(streamed.records(streamed.iterator("AT_SEQUENCE_NUMBER", SequenceNumber=number))) == ["b", "c"]
    assert keys(streamed.records(streamed.iterator("AFTER_SEQUENCE_NUMBER", SequenceNumber=number))) == ["c"]


def test_the_starting_number_of_a_shard_can_be_read_from(streamed):
    start = streamed.shard(streamed.stream_arn)["SequenceNumberRange"]["StartingSequenceNumber"]
    streamed.put(pk="a")
    assert keys(streamed.records(streamed.iterator("AT_SEQUENCE_NUMBER", SequenceNumber=start))) == ["a"]


def test_a_timestamp_is_read_from_the_first_record_at_or_after_it(streamed):
    for key in "abc":
        streamed.put(pk=key)
        streamed.clock.advance(10)
    for seconds, found in ((0, "abc"), (1_800_000_010, "bc"), (1_800_000_011, "c"), (1_800_000_030, "")):
        records = streamed.records(streamed.iterator("AT_TIMESTAMP", Timestamp=seconds))
        assert keys(records) == list(found), seconds


def test_a_timestamp_in_the_future_is_refused(streamed):
    arn = streamed.stream_arn
    request = {"StreamArn": arn, "ShardId": streamed.shard(arn)["ShardId"], "ShardIteratorType": "AT_TIMESTAMP"}
    assert "ValidationException" in streamed.refusal("GetShardIterator", **request, Timestamp=streamed.seconds + 1)


@pytest.mark.parametrize(
    ("kind", "members"),
    [
        ("AT_SEQUENCE_NUMBER", {}),
        ("AFTER_SEQUENCE_NUMBER", {}),
        ("AT_TIMESTAMP", {}),
        ("LATEST", {"SequenceNumber": "1" + "0" * 20}),
        ("TRIM_HORIZON", {"Timestamp": 1}),
        ("AT_SEQUENCE_NUMBER", {"SequenceNumber": "9" * 21}),
        ("AT_SEQUENCE_NUMBER", {"SequenceNumber": "1" + "9" * 20}),
        ("AT_SEQUENCE_NUMBER", {"SequenceNumber": "x" * 21}),
    ],
)
def test_an_iterator_needs_what_its_kind_says_and_nothing_else(streamed, kind, members):
    arn = streamed.stream_arn
    request = {"StreamArn": arn, "ShardId": streamed.shard(arn)["ShardId"], "ShardIteratorType": kind, **members}
    assert streamed.refusal("GetShardIterator", **request).startswith("ValidationException: One or more parameter")


def test_pages_follow_each_other_without_a_gap(streamed):
    streamed.put_many(10)
    iterator, found = streamed.iterator(), []
    for _ in range(5):
        page = streamed.call("GetRecords", ShardIterator=iterator, Limit=3)
        found += keys(page["Records"])
        iterator = page["NextShardIterator"]
    assert found == [f"k{number}" for number in range(10)]
    streamed.put(pk="later")
    assert keys(streamed.records(iterator)) == ["later"]


def test_a_page_ends_at_a_megabyte(streamed):
    for key in "abcd":
        streamed.put(pk=key, x="x" * 390_000)
    page = streamed.call("GetRecords", ShardIterator=streamed.iterator())
    assert keys(page["Records"]) == ["a", "b"]
    assert keys(streamed.records(page["NextShardIterator"])) == ["c", "d"]


def test_an_iterator_can_be_used_again_for_a_quarter_of_an_hour(streamed):
    iterator = streamed.iterator()
    streamed.put(pk="a")
    streamed.clock.advance(15 * 60)
    assert keys(streamed.records(iterator)) == keys(streamed.records(iterator)) == ["a"]
    streamed.clock.advance(1)
    assert streamed.refusal("GetRecords", ShardIterator=iterator) == (
        "ExpiredIteratorException: The provided iterator exceeds the maximum age allowed."
    )


@pytest.mark.parametrize("text", ["x", "x|1|", "|1|AAAA", "arn:x|1|AAAAAAAAAAAAAAAAAAAAAA==", "a|b|c|d"])
def test_what_is_no_iterator_is_refused(streamed, text):
    assert streamed.refusal("GetRecords", ShardIterator=text) == "ValidationException: Invalid ShardIterator"


def test_a_tampered_iterator_is_refused(streamed):
    iterator = streamed.iterator()
    assert streamed.refusal("GetRecords", ShardIterator=iterator[:-2]) == "ValidationException: Invalid ShardIterator"


def test_a_shard_of_another_stream_is_not_found(streamed):
    request = {"ShardId": "shardId-" + "0" * 20 + "-00000000", "ShardIteratorType": "LATEST"}
    response = streamed.refusal("GetShardIterator", StreamArn=streamed.stream_arn, **request)
    assert response.startswith("ResourceNotFoundException: Requested resource not found: Shard: ")
