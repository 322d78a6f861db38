import pytest

from tests.conformance.refusal import invalid
from tests.conformance.stream import Stream, streaming
from tests.conformance.wire import item


@pytest.fixture
def streamed(make_table):
    return make_table(**streaming())


@pytest.fixture
def stream(streamed, streams):
    return Stream(streams, streamed)


def test_a_put_an_overwriting_put_and_a_delete_are_three_records(streamed, stream):
    streamed.put(pk="a", n=1)
    streamed.put(pk="a", n=2)
    streamed.delete_item(Key=item(pk="a"))
    records = stream.records(3)
    assert [record["eventName"] for record in records] == ["INSERT", "MODIFY", "REMOVE"]
    changes = [record["dynamodb"] for record in records]
    assert [change.get("OldImage") for change in changes] == [None, item(pk="a", n=1), item(pk="a", n=2)]
    assert [change.get("NewImage") for change in changes] == [item(pk="a", n=1), item(pk="a", n=2), None]
    assert all(change["Keys"] == item(pk="a") for change in changes)


def test_a_record_says_what_it_is(streamed, stream):
    streamed.put(pk="a", x="12345")
    (record,) = stream.records(1)
    assert (record["eventVersion"], record["eventSource"]) == ("1.1", "aws:dynamodb")
    assert len(record["eventID"]) == 32
    change = record["dynamodb"]
    assert change["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert change["SizeBytes"] == 3 + 9
    assert change["ApproximateCreationDateTime"].microsecond == 0
    assert "userIdentity" not in record


@pytest.mark.parametrize(
    ("view", "images"), [("KEYS_ONLY", []), ("NEW_IMAGE", ["NewImage"]), ("OLD_IMAGE", ["OldImage"])]
)
def test_images_are_shown_by_view_type(make_table, streams, view, images):
    table = make_table(**streaming(view))
    table.put(pk="a", n=1)
    table.put(pk="a", n=2)
    change = Stream(streams, table).records(2)[1]["dynamodb"]
    assert [name for name in change if name.endswith("Image")] == images


def test_a_write_that_changes_nothing_leaves_no_record(streamed, stream):
    streamed.put(pk="a", n=1)
    streamed.put(pk="a", n=1)
    streamed.delete_item(Key=item(pk="never"))
    streamed.put(pk="b")
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in stream.records(2)] == ["a", "b"]


def test_there_is_always_a_list_and_a_way_on(stream, streams):
    page = streams.get_records(ShardIterator=stream.iterator())
    assert page["Records"] == []
    assert page["NextShardIterator"]


@pytest.mark.parametrize("limit", [0, 1001])
def test_a_page_has_one_to_a_thousand_records(stream, streams, limit):
    with invalid(containing="at 'limit' failed to satisfy constraint"):
        streams.get_records(ShardIterator=stream.iterator(), Limit=limit)


def test_what_is_no_iterator_is_refused(streams):
    with invalid():
        streams.get_records(ShardIterator="x" * 60)
