"""Every change is handled at least once and in order, however often the process that handles it is killed."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import hashrange
from tests.e2e.served import CLEAN, Served
from tests.e2e.stream_worker import Meter, Meters, checkpoints

WORKER = Path(__file__).with_name("stream_worker.py")
LIVES = 4
TIMEOUT = 120.0


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log"
    path.touch()
    return path


@pytest.fixture
def live(log):
    """`live(where, until)` lets a worker live until a condition holds, then kills it with SIGKILL."""

    def spend(where, until):
        worker = subprocess.Popen([sys.executable, str(WORKER), where, str(log)], env=CLEAN, stderr=subprocess.PIPE)
        try:
            wait_for(lambda: until() or worker.poll() is not None)
            assert worker.poll() is None, worker.stderr.read().decode()
        finally:
            worker.kill()
            worker.wait()
            worker.stderr.close()

    return spend


def grows_by(log, lines):
    """Return the condition that a log has so many lines more than now."""
    start = log.read_bytes().count(b"\n")
    return lambda: log.read_bytes().count(b"\n") >= start + lines


def wait_for(condition):
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def handled(log, stored):
    """Return the last reading of each meter that was handled; there must be no gap before it."""
    reached = dict.fromkeys(stored, 0)
    for line in log.read_text().splitlines():
        name, reading = line.split()
        assert int(reading) <= reached[name] + 1
        reached[name] = max(reached[name], int(reading))
    return reached


@pytest.fixture
def server(tmp_path):
    started = Served("--data", str(tmp_path / "data"), errors=tmp_path / "errors.log")
    yield started
    started.kill()


def test_every_change_is_handled_over_http_although_the_consumer_is_killed(server, live, log):
    stored = dict.fromkeys("abc", 0)
    with hashrange.connect(server.url) as database:
        hashrange.create_tables(database, Meters, checkpoints)
        db = Meters.open(database)
        for life in range(LIVES):
            for name in list(stored) * 150:
                stored[name] += 1
                db.read(name, reading=stored[name]).run()
            live(server.url, until=grows_by(log, 40 * (life + 1)))
        live(server.url, until=lambda: handled(log, stored) == stored)


def test_every_change_is_handled_in_the_process_that_makes_it_although_it_is_killed(live, log, tmp_path):
    data = tmp_path / "data"
    for life in range(LIVES):
        live(str(data), until=grows_by(log, 30 + 17 * life))
    with hashrange.open(data) as database:
        db = Meters.open(database)
        consumer, rest = db.consumer("log", checkpoints), []
        consumer.on(Meter)(lambda change: rest.append(f"{change.after.name} {change.after.reading}\n"))
        consumer.run()
        stored = {name: db.meter(name).required().run().reading for name in "abc"}
    with log.open("a") as lines:
        lines.writelines(rest)
    assert handled(log, stored) == stored
