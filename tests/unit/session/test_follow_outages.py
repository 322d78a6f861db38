"""Following goes on when the database does not answer for a while, and ends with every other error."""

import threading
from itertools import repeat

import pytest

import hashrange
from hashrange.client.errors import CertificateRefused, ConnectionLost
from hashrange.core.errors import (
    AccessDeniedException,
    ProvisionedThroughputExceededException,
    ResourceNotFoundException,
)
from hashrange.session import outage
from tests.unit.session.conftest import InterceptingTransport
from tests.unit.session.parcels import Parcel, Parcels, checkpoints


@pytest.fixture
def database(clock):
    with hashrange.open(clock=clock) as opened:
        hashrange.create_tables(opened, Parcels, checkpoints)
        yield opened


@pytest.fixture
def db(database):
    return Parcels.open(database)


class Unsteady:
    """Fails so many calls of each operation, after they were executed, with these errors in turn."""

    def __init__(self, *errors):
        self.errors, self.left = errors, {}

    def __call__(self, operation, request, go):
        response = go(operation, request)
        left = self.left.setdefault(operation, list(self.errors))
        if left:
            raise left.pop(0)
        return response


@pytest.fixture
def unsteady(monkeypatch, database):
    """`unsteady(*errors)` opens the parcels on a transport that fails so."""
    monkeypatch.setattr(outage, "pauses", lambda: repeat(0.001))
    return lambda *errors: Parcels.open(InterceptingTransport(database, Unsteady(*errors)), clock=database.clock)


def test_following_outlasts_lost_responses_and_throttling_and_skips_nothing(db, unsteady, caplog):
    lost = ConnectionLost("lost")
    consumer, seen = (
        unsteady(lost, ProvisionedThroughputExceededException("slow"), lost).consumer("log", checkpoints),
        [],
    )

    @consumer.on(Parcel)
    def note(change):
        seen.append(change.after.city)
        if change.after.city == "Wels":
            consumer.stop()

    db.create(Parcel(number="1", city="Graz")).run()
    for city in ("Linz", "Wels"):
        db.move("1", city).run()
    assert consumer.follow(every=0.001).run() == len(seen)
    assert list(dict.fromkeys(seen)) == ["Graz", "Linz", "Wels"]
    messages = [record.message for record in caplog.records]
    begun = [text for text in messages if "consumer log tries again until the database answers: lost" in text]
    assert len(begun) == 1


@pytest.mark.parametrize(
    "error", [AccessDeniedException("no"), ResourceNotFoundException("no"), CertificateRefused("no")]
)
def test_other_errors_end_following(unsteady, error):
    consumer = unsteady(error).consumer("log", checkpoints)
    consumer.on(Parcel)(print)
    with pytest.raises(type(error)):
        consumer.follow().run()


def test_a_consumer_is_stopped_at_once_in_an_outage_and_between_passes(database, db, monkeypatch):
    monkeypatch.setattr(outage, "pauses", lambda: repeat(3600))
    failing = InterceptingTransport(database, Unsteady(*[ConnectionLost("lost")] * 1000))
    for bound in (Parcels.open(failing, clock=database.clock), db):
        consumer = bound.consumer("log", checkpoints)
        consumer.on(Parcel)(print)
        thread = threading.Thread(target=consumer.follow(every=3600).run)
        thread.start()
        consumer.stop()
        thread.join(60)
        assert not thread.is_alive()
