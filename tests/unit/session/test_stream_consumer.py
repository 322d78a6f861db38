"""Every change is handled at least once, in order per item: after restarts, failures, shard splits and trimming."""

import asyncio
import threading
from typing import Protocol

import pytest

import hashrange
from hashrange import (
    Conflict,
    DeclarationError,
    Get,
    HandlerFailed,
    Item,
    ManualClock,
    Patterns,
    StreamTrimmed,
    Table,
    ValueInvalid,
)
from hashrange.session import stream_consumer
from hashrange.session.steps import Pause
from tests.unit.session.conftest import InterceptingTransport
from tests.unit.session.parcels import Note, Paid, Parcel, Parcels, Unpaid, checkpoints, table

DAY = 24 * 3600


@pytest.fixture
def clock():
    return ManualClock(1_800_000_000)


@pytest.fixture
def database(clock):
    with hashrange.open(clock=clock) as opened:
        hashrange.create_tables(opened, Parcels, checkpoints)
        yield opened


@pytest.fixture
def db(database):
    return Parcels.open(database)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(stream_consumer, "backoff", lambda: iter([Pause(0)] * 12))


def log_cities(consumer):
    """Let the consumer note each city that a parcel comes to."""
    seen = []

    @consumer.on(Parcel)
    def note(change):
        seen.append(change.after.city if change.after else None)

    return seen


def send(db, *cities):
    db.create(Parcel(number="1", city=cities[0])).run()
    for city in cities[1:]:
        db.move("1", city).run()


# ── handlers ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_handler_gets_the_typed_items_before_and_after(db):
    consumer, seen = db.consumer("log", checkpoints), []
    consumer.on(Parcel)(lambda change: seen.append((change.event_name, change.before, change.after)))
    send(db, "Graz", "Linz")
    db.drop("1").run()
    graz, linz = (Unpaid(number="1", city=city) for city in ("Graz", "Linz"))
    assert consumer.run() == 3
    assert seen == [("INSERT", None, graz), ("MODIFY", graz, linz), ("REMOVE", linz, None)]


def test_a_handler_of_a_variant_sees_items_enter_and_leave_it_and_no_other_class(db):
    consumer, paid, notes = db.consumer("log", checkpoints), [], []
    consumer.on(Paid)(lambda change: paid.append((change.before, change.after)))
    consumer.on(Note)(lambda change: notes.append(change.after))
    unpaid = db.create(Unpaid(number="1", city="Graz")).run()
    bought = db.pay(unpaid).run()
    db.drop("1").run()
    db.create(Note(number="1", text="fragile")).run()
    consumer.run()
    assert paid == [(None, bought), (bought, None)]
    assert notes == [Note(number="1", text="fragile")]


def test_what_was_handled_is_not_handled_again_by_another_process(db, database):
    first, second = db.consumer("log", checkpoints), Parcels.open(database).consumer("log", checkpoints)
    seen, again = log_cities(first), log_cities(second)
    send(db, "Graz", "Linz")
    assert (first.run(), second.run()) == (2, 0)
    db.move("1", "Wels").run()
    assert (second.run(), first.run()) == (1, 0)
    assert (seen, again) == (["Graz", "Linz"], ["Wels"])


def test_consumers_of_different_names_handle_every_change_each(db):
    one, two = db.consumer("one", checkpoints), db.consumer("two", checkpoints)
    seen, also = log_cities(one), log_cities(two)
    send(db, "Graz")
    assert one.run() == two.run() == 1
    assert seen == also == ["Graz"]


def test_a_consumer_can_be_awaited_and_its_handlers_may_be_coroutines(db):
    consumer, seen = db.consumer("log", checkpoints), []

    @consumer.on(Parcel)
    async def note(change):
        await asyncio.sleep(0)
        seen.append(change.after)

    send(db, "Graz")
    with pytest.raises(ValueInvalid, match=r"note is a coroutine function: await the consumer"):
        consumer.run()

    async def main():
        return await consumer

    assert asyncio.run(main()) == 1
    assert len(seen) == 1


def test_following_handles_changes_as_they_happen_until_it_is_stopped(db):
    consumer, arrived = db.consumer("log", checkpoints), threading.Semaphore(0)
    consumer.on(Parcel)(lambda change: arrived.release())
    thread = threading.Thread(target=consumer.follow(every=0.01).run)
    thread.start()
    send(db, "Graz")
    assert arrived.acquire(timeout=60)
    db.move("1", "Linz").run()
    assert arrived.acquire(timeout=60)
    consumer.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert consumer.run() == 0


def test_a_pass_ends_also_when_every_change_causes_another(db, clock):
    consumer, seen = db.consumer("log", checkpoints), []

    @consumer.on(Parcel)
    def move_on(change):
        assert len(seen) < 500, "the pass does not end"
        seen.append(change.after.city)
        clock.advance(0.1)
        db.move("1", f"city {len(seen)}").run()

    send(db, "Graz")
    assert consumer.run() == len(seen) < 40
    assert consumer.run() > 0, "the next pass continues"


def test_a_page_is_handled_together_and_one_by_one_if_that_fails(db):
    consumer, pages = db.consumer("log", checkpoints), []
    seen = log_cities(consumer)

    def note_page(changes):
        pages.append([change.after.city for change in changes])
        if "Wien" in pages[-1]:
            raise ValueError("no")

    consumer.on_page(note_page)
    send(db, "Graz", "Linz")
    assert (consumer.run(), pages, seen) == (2, [["Graz", "Linz"]], [])
    db.move("1", "Wien").run()
    assert (consumer.run(), pages[1:], seen) == (1, [["Wien"]], ["Wien"])
    assert consumer.run() == 0


def test_an_expired_iterator_is_replaced(db, clock):
    consumer = db.consumer("log", checkpoints)
    seen = log_cities(consumer)
    send(db, "Graz")
    consumer.run()
    clock.advance(3600)
    db.move("1", "Linz").run()
    assert consumer.run() == 1
    assert seen == ["Graz", "Linz"]


# ── failures ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_handler_that_fails_is_called_again_and_the_others_are_not(db):
    consumer, outcomes, calm = db.consumer("log", checkpoints), [OSError(), OSError(), None], []
    consumer.on(Parcel)(calm.append)

    @consumer.on(Parcel)
    def flaky(change):
        if outcome := outcomes.pop(0):
            raise outcome

    send(db, "Graz")
    assert consumer.run() == 1
    assert outcomes == []
    assert len(calm) == 1
    assert consumer.dead_letters().run() == []


def test_after_the_last_attempt_a_change_is_set_aside_and_the_next_is_handled(db):
    consumer, calls, broken = db.consumer("log", checkpoints, attempts=3), [], True

    @consumer.on(Parcel)
    def picky(change):
        calls.append(change.after.city)
        if broken and change.after.city == "Linz":
            raise ValueError("no such city")

    send(db, "Graz", "Linz", "Wels")
    assert consumer.run() == 3
    assert calls == ["Graz", "Linz", "Linz", "Linz", "Wels"]
    (letter,) = consumer.dead_letters().run()
    assert (letter.error, letter.attempts) == ("ValueError('no such city')", 3)
    assert letter.handler.endswith("picky")
    assert letter.record["dynamodb"]["NewImage"]["city"] == {"S": "Linz"}
    assert consumer.run() == 0
    assert consumer.redrive().run() == 0
    broken = False
    assert consumer.redrive().run() == 1
    assert calls[-1] == "Linz"
    assert consumer.dead_letters().run() == []


def test_after_the_last_attempt_a_consumer_may_stop_and_begins_with_that_change(db):
    consumer = db.consumer("log", checkpoints, attempts=2, after_attempts="stop")
    calls, broken = [], True

    @consumer.on(Parcel)
    def picky(change):
        calls.append(change.after.city)
        if broken and change.after.city == "Linz":
            raise ValueError("no such city")

    send(db, "Graz", "Linz", "Wels")
    with pytest.raises(HandlerFailed, match="picky failed 2 times") as caught:
        consumer.run()
    assert caught.value.change.after.city == "Linz"
    assert isinstance(caught.value.__cause__, ValueError)
    broken = False
    assert consumer.run() == 2
    assert calls == ["Graz", "Linz", "Linz", "Linz", "Wels"]


def test_an_item_that_does_not_fit_its_class_is_set_aside(db, database):
    consumer = db.consumer("log", checkpoints)
    seen = log_cities(consumer)
    database.put_item(TableName="parcels", Item={"pk": {"S": "PARCEL#9"}, "sk": {"S": "PARCEL"}})
    send(db, "Graz")
    consumer.run()
    assert seen == ["Graz"]
    (letter,) = consumer.dead_letters().run()
    assert "Unreadable" in letter.error


def test_a_large_change_is_set_aside_without_its_images(db):
    consumer = db.consumer("log", checkpoints, attempts=1)

    @consumer.on(Parcel)
    def fail(change):
        raise RuntimeError("x" * 300_000)

    send(db, "G" * 390_000, "L" * 390_000)
    consumer.run()
    letters = consumer.dead_letters().run()
    assert len(letters) == 2
    assert letters[0].record["dynamodb"]["Keys"] == {"pk": {"S": "PARCEL#1"}, "sk": {"S": "PARCEL"}}
    assert "NewImage" not in letters[0].record["dynamodb"]


def test_two_processes_of_one_name_do_not_move_the_checkpoint_past_each_other(db, database):
    first, second = db.consumer("log", checkpoints), Parcels.open(database).consumer("log", checkpoints)
    seen = log_cities(second)
    send(db, "Graz")

    @first.on(Parcel)
    def interrupted(change):
        if not seen:
            second.run()
            db.move("1", "Linz").run()
            second.run()

    with pytest.raises(Conflict, match="another process reads"):
        first.run()
    assert seen == ["Graz", "Linz"]


def test_of_two_processes_of_one_name_that_handle_the_same_records_one_gets_a_conflict(db, database):
    first, second = db.consumer("log", checkpoints), Parcels.open(database).consumer("log", checkpoints)
    seen = log_cities(second)
    send(db, "Graz", "Linz")
    first.on(Parcel)(lambda _change: second.run())
    with pytest.raises(Conflict, match="another process reads"):
        first.run()
    assert seen == ["Graz", "Linz"]
    assert (first.run(), second.run()) == (0, 0)


def test_a_checkpoint_whose_response_was_lost_is_no_conflict(db, database):
    def send_twice(operation, request, call):
        call(operation, request)
        return call(operation, request)

    consumer = Parcels.open(InterceptingTransport(database, send_twice)).consumer("log", checkpoints)
    seen = log_cities(consumer)
    send(db, "Graz", "Linz")
    assert (consumer.run(), seen) == (2, ["Graz", "Linz"])
    db.move("1", "Wien").run()
    assert (consumer.run(), seen) == (1, ["Graz", "Linz", "Wien"])


@pytest.mark.parametrize("given", [int, "Parcel", None])
def test_changes_of_something_that_is_no_class_of_items_cannot_be_handled(db, given):
    with pytest.raises(TypeError, match=r"on\(\) takes a class of items, whose changes are handled, not "):
        db.consumer("log", checkpoints).on(given)


# ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def restart_stream(database, clock):
    """Disable the stream and enable it again, as another one."""
    database.update_table(TableName="parcels", StreamSpecification={"StreamEnabled": False})
    clock.advance(5)
    again = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    database.update_table(TableName="parcels", StreamSpecification=again)


def test_a_stream_that_ended_is_read_to_its_end_before_the_next_one(db, database, clock):
    consumer = db.consumer("log", checkpoints)
    seen = log_cities(consumer)
    send(db, "Graz", "Linz")
    restart_stream(database, clock)
    db.move("1", "Wels").run()
    assert consumer.run() == 3
    assert seen == ["Graz", "Linz", "Wels"]
    db.move("1", "Enns").run()
    restart_stream(database, clock)
    db.move("1", "Steyr").run()
    assert consumer.run() == 2
    assert seen[3:] == ["Enns", "Steyr"]


def test_changes_that_were_trimmed_unread_are_a_typed_error(db, database, clock):
    consumer = db.consumer("log", checkpoints)
    seen = log_cities(consumer)
    send(db, "Graz")
    consumer.run()
    db.move("1", "Linz").run()
    clock.advance(DAY + 3600)
    db.move("1", "Wels").run()
    database.wait_until_idle()
    fresh = Parcels.open(database).consumer("log", checkpoints)
    also = log_cities(fresh)
    with pytest.raises(StreamTrimmed, match=r"may be lost.*forget\(\)") as caught:
        fresh.run()
    assert caught.value.sequence
    fresh.forget().run()
    assert fresh.run() == 1
    assert (seen, also) == (["Graz"], ["Wels"])


def test_the_first_changes_of_a_stream_that_was_empty_are_not_lost_silently(db, database, clock):
    consumer = db.consumer("log", checkpoints)
    seen = log_cities(consumer)
    assert consumer.run() == 0
    send(db, "Graz")
    clock.advance(DAY + 3600)
    database.wait_until_idle()
    fresh = Parcels.open(database).consumer("log", checkpoints)
    log_cities(fresh)
    with pytest.raises(StreamTrimmed, match=r"\(none\) may be lost"):
        fresh.run()
    assert seen == []


def test_a_stream_that_ended_unread_and_is_gone_is_a_typed_error(db, database, clock):
    consumer = db.consumer("log", checkpoints)
    log_cities(consumer)
    send(db, "Graz")
    consumer.run()
    restart_stream(database, clock)
    clock.advance(2 * DAY)
    database.wait_until_idle()
    with pytest.raises(StreamTrimmed):
        consumer.run()


def test_a_quiet_stream_whose_records_were_trimmed_is_no_error(db, database, clock):
    send(db, "Graz")
    for _ in range(4):
        consumer = Parcels.open(database).consumer("log", checkpoints)
        seen = log_cities(consumer)
        consumer.run()
        clock.advance(DAY // 2)
        database.wait_until_idle()
    db.move("1", "Linz").run()
    assert consumer.run() == 1
    assert seen == ["Linz"]


# ── Lambda ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def lambda_event(database):
    arn = database.describe_table(TableName="parcels")["Table"]["LatestStreamArn"]
    shard = database.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"][0]["ShardId"]
    start = {"StreamArn": arn, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = database.call("GetShardIterator", start)["ShardIterator"]
    records = database.call("GetRecords", {"ShardIterator": iterator})["Records"]
    return {"Records": [{**record, "eventSourceARN": arn} for record in records]}


def test_a_lambda_function_reports_the_first_record_that_failed(db, database):
    consumer, calls = db.consumer("log", checkpoints), []

    @consumer.on(Parcel)
    def picky(change):
        calls.append(change.after.city)
        if change.after.city == "Linz":
            raise ValueError("no such city")

    send(db, "Graz", "Linz", "Wels")
    event = lambda_event(database)
    failed = event["Records"][1]["dynamodb"]["SequenceNumber"]
    assert consumer.lambda_handler(event, None) == {"batchItemFailures": [{"itemIdentifier": failed}]}
    assert calls == ["Graz", "Linz"]
    assert consumer.lambda_handler({"Records": event["Records"][2:]}) == {"batchItemFailures": []}
    other = [{**record, "eventSourceARN": "arn:aws:dynamodb:x:1:table/other/stream/1"} for record in event["Records"]]
    assert consumer.lambda_handler({"Records": other}) == {"batchItemFailures": []}


def test_a_lambda_function_awaits_coroutines(db, database):
    consumer, calls = db.consumer("log", checkpoints), []

    @consumer.on(Parcel)
    async def note(change):
        await asyncio.sleep(0)
        calls.append(change.after.city)

    send(db, "Graz", "Linz")
    assert consumer.lambda_handler(lambda_event(database)) == {"batchItemFailures": []}
    assert calls == ["Graz", "Linz"]


# ── declarations ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_cannot_be_consumed_is_refused(db):
    class Elsewhere(Item, table=Table("elsewhere", "pk"), pk="X#{number}"):
        number: str

    class Narrow(Item, table=Table("narrow", "pk", stream="KEYS_ONLY"), pk="X#{number}"):
        number: str

    class Narrows(Patterns, Protocol):
        def narrow(self, number: str) -> Get[Narrow]: ...

    with pytest.raises(DeclarationError, match="HR301"):
        db.consumer("log", checkpoints).on(Elsewhere)
    with pytest.raises(DeclarationError, match="HR302"):
        Narrows.open(db.session.transport).consumer("log", checkpoints).on(Narrow)
    with pytest.raises(DeclarationError, match=r"HR303.*no sort key"):
        db.consumer("log", Table("checkpoints", "consumer"))
    with pytest.raises(DeclarationError, match=r"HR303.*each checkpoint would be a change"):
        db.consumer("log", table)
