from tests.conformance.refusal import invalid
from tests.conformance.stream import Stream, streaming
from tests.conformance.table import new_name


def test_the_stream_of_a_table_is_listed(make_table, streams):
    table = make_table(**streaming())
    (listed,) = streams.list_streams(TableName=table.name)["Streams"]
    described = table.describe_table()["Table"]
    assert listed == {
        "StreamArn": described["LatestStreamArn"],
        "TableName": table.name,
        "StreamLabel": described["LatestStreamLabel"],
    }


def test_a_table_without_a_stream_has_none(table, streams):
    assert streams.list_streams(TableName=table.name)["Streams"] == []


def test_a_page_goes_on_after_the_last_stream_of_the_one_before(make_table, streams):
    name = new_name()
    tables = [make_table(name=f"{name}-{number}", **streaming("KEYS_ONLY")) for number in range(3)]
    made = {Stream(streams, table).arn for table in tables}
    found, start = [], {}
    while len(found) < 1000:
        page = streams.list_streams(Limit=2, **start)
        found += [stream["StreamArn"] for stream in page["Streams"]]
        assert len(page["Streams"]) <= 2
        if "LastEvaluatedStreamArn" not in page:
            break
        start = {"ExclusiveStartStreamArn": page["LastEvaluatedStreamArn"]}
        assert page["LastEvaluatedStreamArn"] == page["Streams"][-1]["StreamArn"]
    assert len(found) == len(set(found))
    assert made <= set(found)


def test_the_stream_of_a_deleted_table_stays_listed(make_table, streams):
    table = make_table(**streaming())
    arn = Stream(streams, table).arn
    table.delete_table()
    table.client.get_waiter("table_not_exists").wait(TableName=table.name)
    assert arn in [stream["StreamArn"] for stream in streams.list_streams(TableName=table.name)["Streams"]]


def test_a_start_must_be_the_arn_of_a_stream(table, streams):
    for start in ("x" * 40, table.describe_table()["Table"]["TableArn"]):
        with invalid("Invalid StreamArn"):
            streams.list_streams(ExclusiveStartStreamArn=start.ljust(40, "x"))
