"""The outbox: each alert is sent once, by one of many senders, later when it has to be, and never lost."""

import asyncio
import subprocess
import sys
from datetime import timedelta

import pytest

import hashrange
from hashrange import ManualClock, ProvisionedThroughputExceededException
from hashrange_systems.checks.schema import Checks, Sent, Undeliverable
from hashrange_systems.checks.service.alert_outbox import make_key
from hashrange_systems.shared.channels import delivery as module
from hashrange_systems.shared.channels.delivery import GIVE_UP_AFTER, LEASE, MAX_ATTEMPTS, PAUSES
from hashrange_systems.shared.channels.sender import DeliveryFailed, DeliveryRefused
from systems.tests.checks.check_items import NOON
from systems.tests.checks.notifications import (
    RecordingSender,
    make_alert,
    make_channel,
    make_outbox,
    send_all,
    send_now,
    waiting,
)
from systems.tests.checks.run_scenario import ThrottledTransport

DAY = timedelta(days=1)


def only(db):
    (alert,) = db.alerts("c1").run()
    return alert


def test_an_alert_that_is_due_is_sent_and_leaves_the_outbox(db, clock):
    db.batch([make_channel(), make_alert()]).run()
    sender = RecordingSender()
    assert send_now(make_outbox(db, clock, EMAIL=sender)) == {"sent": 1}
    assert [notification.subject for notification in sender.letters] == ["DOWN: Shop"]
    assert (type(only(db)), only(db).sent_at, only(db).attempts) == (Sent, NOON, 1)
    assert send_now(make_outbox(db, clock, EMAIL=sender)) == {}
    assert len(sender.keys) == 1


def test_an_alert_is_not_sent_before_its_time(db, clock):
    db.batch([make_channel(), make_alert(send_at=NOON + timedelta(milliseconds=1))]).run()
    assert send_now(make_outbox(db, clock, EMAIL=RecordingSender())) == {}
    clock.advance(0.001)
    assert send_now(make_outbox(db, clock, EMAIL=RecordingSender())) == {"sent": 1}


def test_of_eight_senders_at_once_each_alert_is_sent_by_one(db, clock):
    alerts = [make_alert(number, checkid=f"c{number}") for number in range(40)]
    db.batch([make_channel(), *alerts]).run()
    sender = RecordingSender()

    async def send_at_once():
        return await asyncio.gather(*(send_all(make_outbox(db, clock, EMAIL=sender)) for _ in range(8)))

    tallies = asyncio.run(send_at_once())
    assert sum(counts.get("sent", 0) for counts in tallies) == 40
    assert sorted(sender.keys) == sorted(make_key(alert) for alert in alerts)


def test_a_shard_is_sent_to_its_end_however_many_wait(db, clock):
    db.batch([make_channel(), *(make_alert(number) for number in range(40))]).run()
    sender = RecordingSender()
    assert send_now(make_outbox(db, clock, EMAIL=sender)) == {"sent": 40}
    assert len(set(sender.keys)) == 40


def test_what_cannot_be_sent_now_is_sent_later_with_the_same_key(db, clock):
    db.batch([make_channel(), make_alert()]).run()
    sender = RecordingSender(DeliveryFailed("connection refused"), DeliveryFailed("connection refused"))
    outbox = make_outbox(db, clock, EMAIL=sender)
    assert send_now(outbox) == {"put off": 1}
    assert (only(db).last_error, only(db).send_at) == ("connection refused", NOON + timedelta(seconds=15))
    assert send_now(outbox) == {}
    clock.advance(15)
    assert send_now(outbox) == {"put off": 1}
    assert only(db).send_at == NOON + timedelta(seconds=45)
    clock.advance(30)
    assert send_now(outbox) == {"sent": 1}
    assert (only(db).attempts, sender.keys) == (3, [make_key(make_alert())])


def test_a_receiver_that_wants_to_be_left_alone_is(db, clock):
    db.batch([make_channel(), make_alert()]).run()
    send_now(make_outbox(db, clock, EMAIL=RecordingSender(DeliveryFailed("busy", wait_s=600))))
    assert only(db).send_at == NOON + timedelta(seconds=600)


def test_pauses_grow_to_an_hour_and_are_spread():
    longest = [PAUSES.find_pause(attempts, lambda: 1.0) for attempts in (1, 2, 3, 8, 9, 90)]
    assert longest == [15, 30, 60, 1920, 3600, 3600]
    assert PAUSES.find_pause(1, lambda: 0.0) == 7.5


def test_an_alert_is_given_up_after_a_day_of_trying_and_kept(db, clock):
    db.batch([make_channel(), make_alert()]).run()
    outbox = make_outbox(db, clock, EMAIL=RecordingSender(*[DeliveryFailed("down")] * 200))
    while counts := send_now(outbox):
        if counts == {"given up": 1}:
            break
        clock.set(only(db).send_at.timestamp())
    assert (type(only(db)), only(db).last_error) == (Undeliverable, "down")
    assert clock.millis() == (NOON + GIVE_UP_AFTER).timestamp() * 1000
    assert 24 < only(db).attempts < 40
    assert waiting(db, 30 * DAY) == []


def test_an_alert_that_waited_while_nothing_ran_is_still_tried(db, clock):
    db.batch([make_channel(), make_alert()]).run()
    clock.advance(3 * 86_400)
    assert send_now(make_outbox(db, clock, EMAIL=RecordingSender())) == {"sent": 1}


@pytest.mark.parametrize(
    ("channel", "reason"),
    [
        (make_channel("other"), "the channel was removed"),
        (make_channel(verified_at=None), "the channel is not verified"),
    ],
)
def test_nothing_is_sent_to_a_channel_that_is_gone_or_not_verified(db, clock, channel, reason):
    db.batch([channel, make_alert()]).run()
    sender = RecordingSender()
    assert send_now(make_outbox(db, clock, EMAIL=sender)) == {"given up": 1}
    assert (only(db).last_error, sender.keys) == (reason, [])


def test_what_the_receiver_refuses_is_given_up_at_once(db, clock):
    db.batch([make_channel(), make_alert()]).run()
    assert send_now(make_outbox(db, clock, EMAIL=RecordingSender(DeliveryRefused("no such user")))) == {"given up": 1}
    assert type(only(db)) is Undeliverable


def test_an_alert_waits_for_a_sender_that_is_not_set_up(db, clock):
    db.batch([make_channel(), make_alert()]).run()
    assert send_now(make_outbox(db, clock)) == {"put off": 1}
    assert only(db).last_error == "sending by EMAIL is not set up"


def test_a_sender_with_a_bug_puts_off_its_own_alert_and_no_other(db, clock, caplog):
    db.batch([make_channel(), make_alert(1), make_alert(2)]).run()
    assert send_now(make_outbox(db, clock, EMAIL=RecordingSender(ZeroDivisionError("oops")))) == {
        "put off": 1,
        "sent": 1,
    }
    assert "ZeroDivisionError" in caplog.text


def test_a_sender_that_never_returns_is_not_waited_for(db, clock, monkeypatch):
    monkeypatch.setattr(module, "SEND_TIMEOUT_S", 0.01)
    db.batch([make_channel(), make_alert()]).run()
    assert send_now(make_outbox(db, clock, EMAIL=RecordingSender(meanwhile=asyncio.Event().wait))) == {"put off": 1}
    assert only(db).last_error == "not taken within 0.01 s"


def test_an_alert_that_is_deleted_while_it_waits_is_not_sent(db, clock):
    db.batch([make_channel(), make_alert()]).run()
    sender, outbox = RecordingSender(), make_outbox(db, clock)

    async def main():
        (seen,) = waiting(db)
        db.batch(delete=[only(db)]).run()
        return await outbox.attempt(seen)

    assert asyncio.run(main()).value == "missed"
    assert sender.keys == []


def test_an_alert_that_kills_whoever_sends_it_is_given_up_in_the_end(db, clock):
    db.batch([make_channel(), make_alert(attempts=MAX_ATTEMPTS)]).run()
    sender = RecordingSender()
    assert send_now(make_outbox(db, clock, EMAIL=sender)) == {"given up": 1}
    assert sender.keys == []


def lose_lease(db, clock, other):
    """What happens while somebody sends so slowly that the lease ends and another sender takes over."""

    async def meanwhile():
        clock.advance(LEASE.total_seconds())
        await send_all(make_outbox(db, clock, EMAIL=other))

    return meanwhile


def test_who_lost_the_lease_still_marks_what_was_sent(db, clock):
    db.batch([make_channel(), make_alert()]).run()
    slow = RecordingSender(meanwhile=lose_lease(db, clock, RecordingSender(DeliveryFailed("refused"))))
    assert send_now(make_outbox(db, clock, EMAIL=slow)) == {"sent": 1}
    assert (type(only(db)), waiting(db, DAY)) == (Sent, [])


@pytest.mark.parametrize("others", [[], [DeliveryFailed("busy")]])
def test_who_lost_the_lease_and_failed_puts_nothing_off(db, clock, others):
    class Failing(RecordingSender):
        async def send(self, channel, notification, key):
            await super().send(channel, notification, key)
            raise DeliveryFailed("reset")

    db.batch([make_channel(), make_alert()]).run()
    slow = Failing(meanwhile=lose_lease(db, clock, RecordingSender(*others)))
    assert send_now(make_outbox(db, clock, EMAIL=slow)) == {"missed": 1}
    assert only(db).last_error == ("busy" if others else None)


def test_a_throttled_database_has_nothing_sent_twice(database, db, clock):
    db.batch([make_channel(), make_alert()]).run()
    throttled = ThrottledTransport(database)
    sender = RecordingSender()

    async def throttle():
        throttled.throttle("UpdateItem", 3)

    sender.meanwhile = throttle
    outbox = make_outbox(Checks.open(throttled, clock=clock), clock, EMAIL=sender)
    object.__setattr__(outbox, "sleep", lambda seconds: asyncio.sleep(0))
    assert send_now(outbox) == {"sent": 1}
    assert (len(sender.keys), throttled.left["UpdateItem"]) == (1, 0)
    assert issubclass(ProvisionedThroughputExceededException, hashrange.ServiceError)


def test_a_clean_stop_ends_what_is_being_sent(db, clock):
    db.batch([make_channel(), make_alert()]).run()

    async def stop_while_sending():
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def meanwhile():
            begun.set()
            await go_on.wait()

        task = asyncio.create_task(send_all(make_outbox(db, clock, EMAIL=RecordingSender(meanwhile=meanwhile))))
        await begun.wait()
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stop_while_sending())
    assert type(only(db)) is Sent


KILLED = """
import asyncio, os, signal, sys
import hashrange
from hashrange import ManualClock
from hashrange_systems.checks.schema import Checks
from hashrange_systems.checks.service.alert_outbox import AlertOutbox
clock = ManualClock(float(sys.argv[2]))

class Deadly:
    async def send(self, channel, letter, key):
        print(key, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

db = Checks.open(hashrange.open(sys.argv[1], clock=clock), clock=clock)
outbox = AlertOutbox(db=db, clock=clock, senders={"EMAIL": Deadly()})

async def send_all():
    for shard in range(8):
        await outbox.send_due(str(shard))

asyncio.run(send_all())
"""


def test_a_sender_killed_between_sending_and_marking_loses_nothing_and_the_key_stays(tmp_path):
    clock = ManualClock(NOON.timestamp())
    with hashrange.open(tmp_path, clock=clock) as database:
        hashrange.create_tables(database, Checks)
        Checks.open(database, clock=clock).batch([make_channel(), make_alert()]).run()
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(NOON.timestamp())]
    killed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert killed.returncode == -9, killed.stderr
    with hashrange.open(tmp_path, clock=clock) as database:
        db, sender = Checks.open(database, clock=clock), RecordingSender()
        assert send_now(make_outbox(db, clock, EMAIL=sender)) == {}  # the lease of the dead is not over
        clock.advance(LEASE.total_seconds())
        assert send_now(make_outbox(db, clock, EMAIL=sender)) == {"sent": 1}
        assert (sender.keys, only(db).attempts) == ([killed.stdout.strip()], 2)
