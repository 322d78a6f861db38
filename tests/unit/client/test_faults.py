"""Clients and injected faults: our own client over HTTP, sessions on it, boto3 and event loops on a database here."""

import asyncio
import time

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

import hashrange
from hashrange.core.errors import (
    InternalServerError,
    ProvisionedThroughputExceededException,
    Taken,
    TransactionCanceledException,
)
from hashrange.faults.faults import Faults
from hashrange.server.runner import serve_in_background
from tests.unit.client.misbehaving_server import NoPauseRemote
from tests.unit.session.library import Book, Library

TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
COUNT = {
    "TableName": "things",
    "Key": {"pk": {"S": "counter"}},
    "UpdateExpression": "ADD visits :one",
    "ExpressionAttributeValues": {":one": {"N": "1"}},
}
QUICK = Config(retries={"mode": "legacy", "max_attempts": 2})  # whose pauses are short


@pytest.fixture
def faults():
    return Faults()


@pytest.fixture
def database(faults):
    with hashrange.open(faults=faults) as opened:
        opened.call("CreateTable", TABLE)
        hashrange.create_tables(opened, Library)
        yield opened


@pytest.fixture
def pauses(database):
    """Our client over HTTP; it writes down how long it would have slept."""
    with serve_in_background(database.engine) as server, NoPauseRemote(server.url) as opened:
        yield opened


@pytest.fixture
def remote(pauses):
    return pauses.remote


def put(pk):
    return {"TableName": "things", "Item": {"pk": {"S": pk}}}


def read_visits(transport):
    return transport.call("GetItem", {"TableName": "things", "Key": COUNT["Key"]})["Item"]["visits"]


# -- our client over HTTP ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]
)
def test_a_throttled_call_is_sent_again(remote, pauses, faults, error):
    fault = faults.throttle("PutItem", error=error, times=2)
    remote.call("PutItem", put("a"))
    assert (fault.applied, fault.seen) == (2, 3)
    assert pauses.naps
    assert remote.call("Scan", {"TableName": "things"})["Count"] == 1


def test_a_call_that_is_throttled_for_ever_says_so_with_its_reasons(remote, faults):
    faults.throttle("PutItem")
    with pytest.raises(ProvisionedThroughputExceededException) as caught:
        remote.call("PutItem", put("a"))
    assert caught.value.members["ThrottlingReasons"][0]["reason"] == "TableWriteProvisionedThroughputExceeded"


@pytest.mark.parametrize("after", [False, True])
def test_an_internal_error_is_sent_again(remote, faults, after):
    fault = faults.fail("PutItem", after=after, times=2)
    remote.call("PutItem", put("a"))
    assert (fault.applied, fault.seen) == (2, 3)


def test_an_update_whose_answer_was_lost_is_done_twice(remote, faults):
    """Nothing can be done about it but a condition or a token: that is what the fault is there to show."""
    faults.fail("UpdateItem", after=True, times=1)
    remote.call("UpdateItem", COUNT)
    assert read_visits(remote) == {"N": "2"}


def test_a_transaction_whose_answer_was_lost_is_done_once(remote, faults):
    fault = faults.fail("TransactWriteItems", after=True, times=2)
    remote.call("TransactWriteItems", {"TransactItems": [{"Update": COUNT}]})
    assert (fault.applied, fault.seen) == (2, 3)
    assert read_visits(remote) == {"N": "1"}


def test_a_transaction_in_progress_is_sent_again(remote, faults):
    fault = faults.fail("TransactWriteItems", error="TransactionInProgressException", times=1)
    remote.call("TransactWriteItems", {"TransactItems": [{"Update": COUNT}]})
    assert (fault.seen, read_visits(remote)) == (2, {"N": "1"})


def test_a_conflict_of_transactions_is_typed_and_names_the_item(remote, faults):
    faults.conflict("TransactWriteItems", at=1, times=1)
    request = {"TransactItems": [{"Put": put("a")}, {"Update": COUNT}]}
    with pytest.raises(TransactionCanceledException) as caught:
        remote.call("TransactWriteItems", request)
    codes = [reason["Code"] for reason in caught.value.members["CancellationReasons"]]
    assert codes == ["None", "TransactionConflict"]
    assert remote.call("Scan", {"TableName": "things"})["Count"] == 0


def test_a_slow_answer_is_waited_for_as_long_as_the_timeout_says(database, faults):
    faults.delay("PutItem", seconds=4, times=1)
    with serve_in_background(database.engine) as server, NoPauseRemote(server.url, timeout=2) as pauses:
        pauses.remote.call("PutItem", put("a"))  # the first attempt timed out, the second did not
        assert len(pauses.naps) == 1


# -- sessions on it ----------------------------------------------------------------------------------------------------


def book(number):
    return Book(isbn=str(number), author="Woolf", title=f"Part {number}")


@pytest.fixture(params=["embedded", "remote"])
def library(request, database):
    return Library.open(database if request.param == "embedded" else request.getfixturevalue("remote"))


def test_what_a_batch_leaves_undone_is_written_all_the_same(library, faults):
    fault = faults.unprocessed("BatchWriteItem", last=5, times=4)
    library.batch([book(number) for number in range(30)]).run()
    assert fault.applied == 4
    assert len(list(library.all_books())) == 30


def test_what_a_batch_leaves_unread_is_read_all_the_same(library, faults):
    library.batch([book(number) for number in range(30)]).run()
    fault = faults.unprocessed("BatchGetItem", last=7, times=3)
    found = library.fetch([library.book(str(number)) for number in range(30)]).run()
    assert fault.applied == 3
    assert [each.isbn for each in found] == [str(number) for number in range(30)]


def test_a_transaction_that_meets_another_one_is_tried_again(library, faults):
    fault = faults.conflict("TransactWriteItems", at=1, times=2)
    first, second = library.transact(library.create(book(1)), library.create(book(2))).run()
    assert (first.isbn, second.isbn) == ("1", "2")
    assert (fault.applied, fault.seen) == (2, 3)


def test_a_create_whose_answer_was_lost_meets_its_own_item(pauses, faults):
    library = Library.open(pauses.remote)
    faults.fail("PutItem", after=True, times=1)
    with pytest.raises(Taken) as conflict:
        library.create(book(1)).run()
    assert conflict.value.current == book(1)


# -- in this process ---------------------------------------------------------------------------------------------------


def test_a_call_here_is_not_sent_again_by_itself(database, faults):
    faults.throttle("PutItem", times=1)
    with pytest.raises(ProvisionedThroughputExceededException):
        database.put_item(**put("a"))
    faults.fail("PutItem", times=1)
    with pytest.raises(InternalServerError):
        database.put_item(**put("a"))
    assert database.put_item(**put("a")) == {}


def test_bytes_left_undone_come_back_in_wire_form(database, faults):
    faults.unprocessed(times=1)
    batch = [{"PutRequest": {"Item": {"pk": {"S": key}, "raw": {"B": b"\x00\x01"}}}} for key in "ab"]
    left = database.batch_write_item(RequestItems={"things": batch})["UnprocessedItems"]
    assert left == {"things": [{"PutRequest": {"Item": {"pk": {"S": "b"}, "raw": {"B": "AAE="}}}}]}


def test_boto3_tries_again_after_throttles_and_internal_errors(database, faults):
    client = database.client(QUICK)
    throttled = faults.throttle("PutItem", times=1)
    failed = faults.fail("PutItem", after=True, times=1)
    response = client.put_item(**put("a"))
    assert (throttled.applied, failed.applied) == (1, 1)
    assert response["ResponseMetadata"]["RetryAttempts"] == 2


def test_boto3_gives_up_in_the_end(database, faults):
    faults.throttle("GetItem")
    with pytest.raises(ClientError) as caught:
        database.client(QUICK).get_item(TableName="things", Key={"pk": {"S": "a"}})
    error = caught.value.response
    assert error["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert error["ThrottlingReasons"][0]["reason"] == "TableReadProvisionedThroughputExceeded"


def test_boto3s_batch_writer_sends_again_what_was_left(database, faults):
    fault = faults.unprocessed("BatchWriteItem", last=3, times=2)
    with database.resource().Table("things").batch_writer() as batch:
        for number in range(40):
            batch.put_item(Item={"pk": str(number)})
    assert fault.applied == 2
    assert database.scan(TableName="things", Select="COUNT")["Count"] == 40


def test_a_call_takes_longer(database, faults):
    faults.delay("GetItem", seconds=0.1)
    started = time.monotonic()
    database.get_item(TableName="things", Key={"pk": {"S": "a"}})
    assert time.monotonic() - started >= 0.1


def test_a_delay_on_an_event_loop_holds_up_nobody_else(database, faults):
    faults.delay("GetItem", seconds=1)
    get = ("GetItem", {"TableName": "things", "Key": {"pk": {"S": "a"}}})

    async def ask_together():
        slow = [asyncio.create_task(database.call_async(*get)) for _ in range(10)]
        await database.call_async("PutItem", put("a"))
        return await asyncio.gather(*slow)

    started = time.monotonic()
    assert asyncio.run(ask_together()) == [{"Item": {"pk": {"S": "a"}}}] * 10
    assert 1 <= time.monotonic() - started < 9


def test_a_delay_on_an_event_loop_can_be_timed_out(database, faults):
    faults.delay("PutItem", seconds=30)

    async def call_with_timeout():
        async with asyncio.timeout(0.05):
            await database.call_async("PutItem", put("a"))

    with pytest.raises(TimeoutError):
        asyncio.run(call_with_timeout())
