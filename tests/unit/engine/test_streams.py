"""Streams: which changes they show, in which form, from where on, and for how long."""

import pytest

from hashrange.engine.stream import streams
from tests.conformance.wire import item

DAY = 24 * 3600
VIEWS = {
    "KEYS_ONLY": [],
    "NEW_IMAGE": ["NewImage"],
    "OLD_IMAGE": ["OldImage"],
    "NEW_AND_OLD_IMAGES": ["NewImage", "OldImage"],
}


@pytest.fixture
def streamed(local):
    local.create(view="NEW_AND_OLD_IMAGES")
    return local


def names(records):
    return [record["eventName"] for record in records]


def keys(records):
    return [record["dynamodb"]["Keys"]["pk"]["S"] for record in records]


@pytest.mark.parametrize("view", VIEWS)
def test_a_modification_shows_the_images_of_its_view_type(local, view):
    local.create("pk:S / sk:N", view=view)
    local.put(pk="a", sk=1, x="old")
    local.set({"pk": "a", "sk": 1}, x="new")
    change = local.records()[1]["dynamodb"]
    assert change["Keys"] == item(pk="a", sk=1)
    assert change["StreamViewType"] == view
    shown = {"NewImage": item(pk="a", sk=1, x="new"), "OldImage": item(pk="a", sk=1, x="old")}
    assert {name: image for name, image in change.items() if "Image" in name} == {
        name: shown[name] for name in VIEWS[view]
    }


def test_the_first_put_inserts_the_second_modifies_and_a_delete_removes(streamed):
    streamed.put(pk="a", x=1)
    streamed.put(pk="a", x=2)
    streamed.delete(pk="a")
    records = streamed.records()
    assert names(records) == ["INSERT", "MODIFY", "REMOVE"]
    assert "OldImage" not in records[0]["dynamodb"]
    assert "NewImage" not in records[2]["dynamodb"]


def test_an_update_of_no_item_inserts(streamed):
    streamed.set({"pk": "a"}, x=1)
    assert names(streamed.records()) == ["INSERT"]


def test_an_item_of_its_key_alone_has_images(streamed):
    streamed.put(pk="a")
    streamed.delete(pk="a")
    first, last = (record["dynamodb"] for record in streamed.records())
    assert (first["NewImage"], last["OldImage"]) == (item(pk="a"), item(pk="a"))


def test_a_record_has_the_form_that_clients_rely_on(streamed):
    streamed.clock.advance(12.7)
    streamed.put(pk="a", x="12345")
    (record,) = streamed.records()
    change = record.pop("dynamodb")
    assert len(record.pop("eventID")) == 32
    assert record == {
        "eventName": "INSERT",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": streamed.engine.settings.region,
    }
    assert change["ApproximateCreationDateTime"] == 1_800_000_012
    assert change["SizeBytes"] == len("pk" + "a") + len("pk" + "a" + "x" + "12345")
    assert change["SequenceNumber"].isdigit()
    assert 21 <= len(change["SequenceNumber"]) <= 40
    assert 28 <= len(streamed.shard(streamed.stream_arn)["ShardId"]) <= 65


def test_sequence_numbers_rise_and_event_ids_differ(streamed):
    streamed.put_many(50)
    records = streamed.records()
    numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
    assert numbers == sorted(set(numbers))
    assert len({record["eventID"] for record in records}) == 50
    assert records == streamed.records(), "reading again gives the same records"


def write_the_same_item(local):
    local.put(pk="a", n=5, tags={"x", "y"}, x="same")


def write_it_in_another_order(local):
    local.call("PutItem", TableName="tab", Item=item(x="same", tags={"SS": ["y", "x"]}, n={"N": "5.0"}, pk="a"))


def update_to_equal_values(local):
    local.set({"pk": "a"}, n=5, x="same")


def delete_what_is_not_there(local):
    local.delete(pk="b")


def remove_an_attribute_that_is_not_there(local):
    local.call("UpdateItem", TableName="tab", Key=item(pk="a"), UpdateExpression="REMOVE nothing")


def delete_from_a_set_that_is_not_there(local):
    values = {":s": {"SS": ["q"]}}
    update = {"UpdateExpression": "DELETE nothing :s", "ExpressionAttributeValues": values}
    local.call("UpdateItem", TableName="tab", Key=item(pk="a"), **update)


def write_the_same_in_a_batch(local):
    local.call("BatchWriteItem", RequestItems={"tab": [{"DeleteRequest": {"Key": item(pk="b")}}]})


def delete_nothing_in_a_transaction(local):
    local.call("TransactWriteItems", TransactItems=[{"Delete": {"TableName": "tab", "Key": item(pk="b")}}])


@pytest.mark.parametrize(
    "write",
    [
        write_the_same_item,
        write_it_in_another_order,
        update_to_equal_values,
        delete_what_is_not_there,
        remove_an_attribute_that_is_not_there,
        delete_from_a_set_that_is_not_there,
        write_the_same_in_a_batch,
        delete_nothing_in_a_transaction,
    ],
)
def test_what_changes_nothing_leaves_no_record(streamed, write):
    write_the_same_item(streamed)
    before = streamed.records()
    write(streamed)
    assert streamed.records() == before


def test_batches_transactions_and_statements_leave_records(streamed):
    streamed.call("BatchWriteItem", RequestItems={"tab": [{"PutRequest": {"Item": item(pk="batch")}}]})
    streamed.call("TransactWriteItems", TransactItems=[{"Put": {"TableName": "tab", "Item": item(pk="transaction")}}])
    streamed.call("ExecuteStatement", Statement="INSERT INTO \"tab\" VALUE {'pk': 'statement'}")
    assert keys(streamed.records()) == ["batch", "transaction", "statement"]


def test_a_cancelled_transaction_leaves_no_record(streamed):
    never = {"ConditionExpression": "attribute_exists(pk)"}
    puts = [
        {"Put": {"TableName": "tab", "Item": item(pk="a")}},
        {"Put": {"TableName": "tab", "Item": item(pk="b"), **never}},
    ]
    streamed.refusal("TransactWriteItems", TransactItems=puts)
    assert streamed.records() == []


# -- retention ---------------------------------------------------------------------------------------------------------


def test_records_are_shown_for_a_day(streamed):
    streamed.put(pk="a")
    streamed.clock.advance(DAY - 10)
    streamed.put(pk="b")
    assert keys(streamed.records()) == ["a", "b"]
    streamed.clock.advance(11)
    assert keys(streamed.records()) == ["b"]


@pytest.mark.parametrize("trims", [True, False])
def test_what_is_older_than_a_day_cannot_be_read_from(streamed, trims):
    streamed.put(pk="a")
    number = streamed.records()[0]["dynamodb"]["SequenceNumber"]
    streamed.put(pk="b")
    streamed.clock.advance(DAY - 60)
    iterator = streamed.iterator("AT_SEQUENCE_NUMBER", SequenceNumber=number)
    streamed.clock.advance(61)
    if trims:
        streamed.engine.finish_jobs()
    trimmed = "TrimmedDataAccessException: The data you are trying to access has been trimmed."
    assert streamed.refusal("GetRecords", ShardIterator=iterator) == trimmed
    arn = streamed.stream_arn
    request = {"StreamArn": arn, "ShardId": streamed.shard(arn)["ShardId"], "SequenceNumber": number}
    assert streamed.refusal("GetShardIterator", ShardIteratorType="AT_SEQUENCE_NUMBER", **request) == trimmed


def test_a_reader_who_has_read_all_misses_nothing_by_trimming(streamed):
    streamed.put(pk="a")
    streamed.clock.advance(DAY - 60)
    page = streamed.call("GetRecords", ShardIterator=streamed.iterator())
    streamed.clock.advance(61)
    streamed.engine.finish_jobs()
    assert streamed.records(page["NextShardIterator"]) == []
    start = streamed.shard(streamed.stream_arn)["SequenceNumberRange"]["StartingSequenceNumber"]
    assert streamed.records(streamed.iterator("AT_SEQUENCE_NUMBER", SequenceNumber=start)) == []
    assert streamed.records(streamed.iterator("LATEST")) == []


def test_the_log_is_emptied_after_a_day(streamed):
    streamed.put_many(3 * streams.ROWS_PER_TRIM + 1)
    streamed.clock.advance(DAY + 1)
    streamed.put(pk="new")
    streamed.engine.finish_jobs()
    assert streamed.engine.store.execute("SELECT count(*) FROM c1").fetchall() == [(1,)]


def test_recovery_keeps_the_log_longer_but_the_stream_shows_a_day(local):
    local.create(view="KEYS_ONLY", recovery=True)
    local.put(pk="a")
    local.clock.advance(DAY + 1)
    local.put(pk="b")
    local.engine.finish_jobs()
    assert keys(local.records()) == ["b"]
    assert local.engine.store.execute("SELECT count(*) FROM c1").fetchall() == [(2,)]


# -- streams that end --------------------------------------------------------------------------------------------------


def switch(local, view=None):
    specification = {"StreamEnabled": True, "StreamViewType": view} if view else {"StreamEnabled": False}
    local.call("UpdateTable", TableName="tab", StreamSpecification=specification)


def test_a_disabled_stream_is_closed_and_read_to_its_end(streamed):
    streamed.put(pk="a")
    arn = streamed.stream_arn
    switch(streamed)
    streamed.put(pk="b")
    description = streamed.call("DescribeStream", StreamArn=arn)["StreamDescription"]
    assert description["StreamStatus"] == "DISABLED"
    numbers = description["Shards"][0]["SequenceNumberRange"]
    assert int(numbers["StartingSequenceNumber"]) < int(numbers["EndingSequenceNumber"])
    page = streamed.call("GetRecords", ShardIterator=streamed.iterator(arn=arn))
    assert keys(page["Records"]) == ["a"]
    assert "NextShardIterator" not in page
    assert streamed.call("GetRecords", ShardIterator=streamed.iterator("LATEST", arn=arn)) == {"Records": []}


def test_a_closed_stream_is_read_page_by_page_until_there_is_no_next(streamed):
    streamed.put_many(4)
    arn = streamed.stream_arn
    switch(streamed)
    page = streamed.call("GetRecords", ShardIterator=streamed.iterator(arn=arn), Limit=2)
    page = streamed.call("GetRecords", ShardIterator=page["NextShardIterator"], Limit=2)
    assert keys(page["Records"]) == ["k2", "k3"]
    assert "NextShardIterator" not in page


def test_every_enabling_makes_a_stream_of_its_own(streamed):
    first = streamed.stream_arn
    switch(streamed)
    switch(streamed, "KEYS_ONLY")
    second = streamed.stream_arn
    assert first != second
    streamed.put(pk="a")
    assert streamed.records(streamed.iterator(arn=first)) == []
    assert keys(streamed.records(streamed.iterator(arn=second))) == ["a"]
    listed = streamed.call("ListStreams", TableName="tab")["Streams"]
    assert [stream["StreamArn"] for stream in listed] == [first, second]


def test_the_stream_of_a_deleted_table_is_readable_for_a_day(streamed):
    streamed.put(pk="a")
    arn = streamed.stream_arn
    streamed.call("DeleteTable", TableName="tab")
    streamed.clock.advance(DAY - 1)
    streamed.engine.finish_jobs()
    assert streamed.call("ListStreams")["Streams"][0]["StreamArn"] == arn
    assert keys(streamed.records(streamed.iterator(arn=arn))) == ["a"]
    streamed.clock.advance(2)
    assert streamed.call("ListStreams") == {"Streams": []}
    assert streamed.refusal("DescribeStream", StreamArn=arn) == (
        f"ResourceNotFoundException: Requested resource not found: Stream: {arn} not found"
    )


def test_the_last_of_a_deleted_table_leaves_its_namesake_alone(streamed):
    first = streamed.stream_arn
    switch(streamed)
    streamed.clock.advance(60)
    switch(streamed, "NEW_IMAGE")
    streamed.call("DeleteTable", TableName="tab")
    streamed.create(view="NEW_AND_OLD_IMAGES")
    streamed.put(pk="kept")
    streamed.clock.advance(DAY - 30)
    streamed.engine.finish_jobs()  # forgets the first stream, keeps the second
    assert first not in [stream["StreamArn"] for stream in streamed.call("ListStreams")["Streams"]]
    streamed.clock.advance(DAY)
    streamed.engine.finish_jobs()
    streamed.engine.catalog.reload()
    assert streamed.items() == [item(pk="kept")]
    assert streamed.engine.store.execute("SELECT name FROM sqlite_schema WHERE name = 'c1'").fetchall() == []


def test_a_namesake_made_in_the_same_millisecond_has_another_stream(streamed):
    first = streamed.stream_arn
    streamed.call("DeleteTable", TableName="tab")
    streamed.create(view="KEYS_ONLY")
    assert streamed.stream_arn != first
    assert len(streamed.call("ListStreams")["Streams"]) == 2


def test_streams_go_on_after_a_restart(on_disk):
    on_disk.create(view="NEW_AND_OLD_IMAGES")
    on_disk.put(pk="a")
    iterator = on_disk.iterator("LATEST")
    on_disk.reopen()
    on_disk.put(pk="b")
    assert keys(on_disk.records(iterator)) == ["b"]
    assert keys(on_disk.records()) == ["a", "b"]


def test_numbers_rise_over_a_restart_with_a_clock_set_back(on_disk):
    on_disk.create(view="NEW_AND_OLD_IMAGES")
    on_disk.put(pk="a")
    on_disk.clock.advance(-3600)
    on_disk.reopen()
    on_disk.put(pk="b")
    assert keys(on_disk.records()) == ["a", "b"]
    first, second = (record["dynamodb"] for record in on_disk.records())
    assert first["SequenceNumber"] < second["SequenceNumber"]
    assert second["ApproximateCreationDateTime"] == first["ApproximateCreationDateTime"] - 3600  # as the clock had it


def test_numbers_rise_over_a_restart_with_a_clock_set_back_and_an_emptied_log(on_disk):
    on_disk.create(view="NEW_AND_OLD_IMAGES")
    on_disk.put(pk="a")
    on_disk.clock.advance(DAY + 1)
    on_disk.engine.finish_jobs()
    on_disk.clock.advance(-2 * DAY)
    on_disk.reopen()
    on_disk.put(pk="b")
    assert keys(on_disk.records()) == ["b"]


def test_the_streams_of_all_tables_are_listed_page_by_page(local):
    for name in ("tab", "abc", "xyz"):
        local.create(name=name, view="KEYS_ONLY")
    first = local.call("ListStreams", Limit=2)
    assert [stream["TableName"] for stream in first["Streams"]] == ["abc", "tab"]
    assert first["LastEvaluatedStreamArn"] == first["Streams"][1]["StreamArn"]
    rest = local.call("ListStreams", ExclusiveStartStreamArn=first["LastEvaluatedStreamArn"])
    assert [stream["TableName"] for stream in rest["Streams"]] == ["xyz"]
    assert "LastEvaluatedStreamArn" not in rest
