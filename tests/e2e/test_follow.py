"""Consumers and migrations follow a server that is killed and started again: every change is handled."""

import signal
import subprocess
import sys
import threading

import pytest

import hashrange
from tests.e2e.meter_migration import NewMeters
from tests.e2e.served import CLEAN, Served
from tests.e2e.stream_worker import Meter, Meters, checkpoints


@pytest.fixture
def serve(tmp_path):
    """`serve(port)` starts a server on the same directory; the test's end stops it."""
    started = []

    def start(port=0):
        options = ["--data", str(tmp_path / "data"), "--port", str(port)]
        started.append(Served(*options, errors=tmp_path / f"errors{len(started)}"))
        return started[-1]

    yield start
    for served in started:
        served.kill()


def wait_until_in(seen, reading, arrived):
    while reading not in seen:  # what was handled last may be handled again
        assert arrived.acquire(timeout=60)


def test_a_consumer_follows_a_server_that_is_killed_and_started_again(serve, caplog):
    served = serve()
    with hashrange.connect(served.url) as database:
        hashrange.create_tables(database, Meters, checkpoints)
        db = Meters.open(database)
        consumer, arrived, seen = db.consumer("log", checkpoints), threading.Semaphore(0), []

        @consumer.on(Meter)
        def note(change):
            seen.append(change.after.reading)
            arrived.release()

        thread = threading.Thread(target=consumer.follow(every=0.01).run)
        thread.start()
        try:
            for reading in range(3):
                db.read("a", reading=reading).run()
                wait_until_in(seen, reading, arrived)
                served.kill()
                served = serve(served.port)
        finally:
            consumer.stop()
            thread.join(60)
        assert not thread.is_alive()
    assert list(dict.fromkeys(seen)) == [0, 1, 2]
    assert len([one for one in caplog.records if "tries again" in one.message]) <= 3


def test_migrate_follow_outlasts_a_server_that_is_killed_and_started_again(serve, tmp_path):
    served = serve()
    command = [sys.executable, "-m", "hashrange.cli", "migrate"]
    wanted = ["tests.e2e.meter_migration:renamed", "--target", served.url]
    with hashrange.connect(served.url) as database, (tmp_path / "follow.err").open("w+") as errors:
        hashrange.create_tables(database, Meters)
        db = Meters.open(database)
        db.read("a", reading=1).run()
        subprocess.run([*command, "copy", *wanted], env=CLEAN, check=True, capture_output=True)
        process = subprocess.Popen(
            [*command, "follow", *wanted], env=CLEAN, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            assert process.stdout.readline() == "0 changes applied\n"
            served.kill()
            while "tries again" not in (tmp_path / "follow.err").read_text():
                assert process.poll() is None
            served = serve(served.port)
            db.read("a", reading=2).run()
            assert process.stdout.readline() == "1 change applied\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        assert NewMeters.open(database).meter("a").required().run().reading == 2
    shown = (tmp_path / "follow.err").read_text()
    assert (shown.count("tries again"), shown.count("continues")) == (1, 1), shown
