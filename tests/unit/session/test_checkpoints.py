"""Checkpoints contain no empty text, which an old DynamoDB Local refuses, and those that contain one are still read."""

import orjson
import pytest

import hashrange
from hashrange import Conflict, ManualClock
from tests.unit.session.conftest import InterceptingTransport
from tests.unit.session.parcels import Parcel, Parcels, checkpoints


@pytest.fixture
def database():
    with hashrange.open(clock=ManualClock(1_800_000_000)) as opened:
        hashrange.create_tables(opened, Parcels, checkpoints)
        yield opened


def refuse_empty_texts(operation, request, call):
    assert b'{"S":""}' not in orjson.dumps(request), (operation, request)
    return call(operation, request)


def consume(transport, database):
    """Return a consumer, and the cities that it notes."""
    consumer, seen = Parcels.open(transport, clock=database.clock).consumer("log", checkpoints), []
    consumer.on(Parcel)(lambda change: seen.append(change.after.city))
    return consumer, seen


def stored(database):
    return database.call("Scan", {"TableName": "checkpoints"})["Items"]


def make_old(database):
    """Store the checkpoints as earlier versions did: with an empty sequence number before the first record."""
    for item in stored(database):
        database.call("PutItem", {"TableName": "checkpoints", "Item": item | {"sequence": {"S": ""}}})


@pytest.mark.parametrize("age", ["new", "old"])
def test_a_checkpoint_before_the_first_record_has_no_sequence_number(database, age):
    transport = InterceptingTransport(database, refuse_empty_texts)
    consumer, _ = consume(transport, database)
    assert (consumer.run(), [set(item) & {"sequence"} for item in stored(database)]) == (0, [set()])
    if age == "old":
        make_old(database)
    database.clock.advance(7200)  # the checkpoint of a quiet shard is written again
    consumer, seen = consume(transport, database)
    assert consumer.run() == 0
    Parcels.open(database).create(Parcel(number="1", city="Graz")).run()
    assert (consumer.run(), seen) == (1, ["Graz"])
    assert all(item["sequence"]["S"] for item in stored(database))


@pytest.mark.parametrize("age", ["new", "old"])
def test_two_processes_do_not_pass_each_other_before_the_first_record(database, age):
    consumer, _ = consume(database, database)
    consumer.run()
    if age == "old":
        make_old(database)
    Parcels.open(database).create(Parcel(number="1", city="Graz")).run()
    first, second = consume(database, database), consume(database, database)
    first[0].on(Parcel)(lambda _change: second[0].run() and move(database))
    with pytest.raises(Conflict, match="another process reads"):
        first[0].run()


def move(database):
    """Write another change, and let a third process handle it."""
    Parcels.open(database).move("1", "Linz").run()
    consume(database, database)[0].run()
