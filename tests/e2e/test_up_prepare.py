"""`hashrange up` lets a system prepare its data before anything is served: an old directory is moved."""

import signal
import subprocess
import time

import pytest

import hashrange
from hashrange import LocalKeys
from tests.conftest import find_free_port
from tests.e2e.key_shop import FormerKey, FormerUsers, User, Users
from tests.e2e.test_up import COMMAND, SAMPLE, SOON, UpProcess, run_up

COUNT = 1200
TOKENS = sorted(f"t{number}" for number in range(COUNT))
APP = ("--app", "key_shop")


@pytest.fixture
def old(tmp_path):
    """A folder with the data directory of the last release."""
    with hashrange.open(tmp_path / "data") as database:
        fill(database, tmp_path)
    return tmp_path


def fill(database, folder):
    hashrange.create_tables(database, Users)
    items = [FormerKey(name="ann", number=number, token=f"t{number}") for number in range(COUNT)]
    db = FormerUsers.open(database, keys=LocalKeys(folder / "keys.json"))
    db.batch([User(name="ann"), *items]).run()


def start(folder, *options, **environment):
    return UpProcess(folder, *APP, *options, environment={"SHOP_FILES": str(folder), **environment})


def begin(folder, **environment):
    """Return a process that is preparing the data."""
    (folder / "reported").unlink(missing_ok=True)
    process = subprocess.Popen(
        [*COMMAND, "up", *APP, "--port", "0", "--web-port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**SAMPLE, "SHOP_FILES": str(folder), **environment},
    )
    deadline = time.monotonic() + SOON
    while not (folder / "reported").exists():
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def check(folder):
    """Start it, and compare what the system has found with what was there."""
    upped = start(folder)
    try:
        assert upped.get("/shop/") == TOKENS
        return upped.shown
    finally:
        upped.stop()


def test_an_old_directory_is_moved_with_progress_before_the_system_is_started(old):
    shown = check(old)
    assert f"shop: keys: {COUNT + 1:,} of {COUNT + 1:,} items\n" in shown
    assert shown.index("shop: keys") < shown.index("endpoint")
    assert "shop: keys" not in check(old)


def test_nobody_reaches_the_endpoint_while_the_data_is_prepared(old):
    port = find_free_port()
    upped = start(old, "--port", str(port), SHOP_PORT=str(port))
    upped.stop()
    assert upped.endpoint == f"http://127.0.0.1:{port}"
    assert not (old / "reachable").exists()


def test_a_new_directory_has_nothing_to_move(tmp_path):
    upped = start(tmp_path)
    assert upped.get("/shop/") == []
    assert upped.stop() == 0


def test_killed_while_it_moves_the_next_start_completes_it(old):
    for _ in range(2):
        process = begin(old, SHOP_PAUSE="60")
        process.kill()
        process.communicate()
    check(old)


def test_a_signal_ends_it_between_two_reports_and_the_next_start_completes_it(old):
    process = begin(old, SHOP_PAUSE="0.5")
    process.send_signal(signal.SIGTERM)
    shown, _ = process.communicate(timeout=SOON)
    assert process.returncode == 0
    assert "endpoint" not in shown
    check(old)


def test_of_two_processes_that_are_started_at_once_one_moves_and_the_other_says_why_not(old):
    process = begin(old, SHOP_PAUSE="0.5")
    second = run_up(*APP, "--port", "0", "--web-port", "0", environment={**SAMPLE, "SHOP_FILES": str(old)}, cwd=old)
    assert second.returncode == 2
    assert "is in use by process" in second.stderr
    process.kill()
    process.communicate()
    check(old)


def test_a_system_that_cannot_prepare_its_data_is_not_started(old):
    environment = {**SAMPLE, "SHOP_FILES": str(old), "SHOP_FAILS": "1"}
    outcome = run_up(*APP, "--port", "0", "--web-port", "0", environment=environment, cwd=old)
    assert outcome.returncode == 2
    assert "The system shop cannot prepare its data: RuntimeError: out of stock. --only names" in outcome.stderr
    check(old)


def test_what_cannot_be_moved_is_named_with_what_to_do(old):
    (old / "keys.json").unlink()
    environment = {**SAMPLE, "SHOP_FILES": str(old)}
    outcome = run_up(*APP, "--port", "0", "--web-port", "0", environment=environment, cwd=old)
    assert outcome.returncode == 2
    said = outcome.stderr.replace("\n", " ")
    assert "The migration 'keys of the shop' cannot be completed: 1,200 could not be converted. The first:" in said
    assert "hashrange migrate move key_shop:former_keys --target URL --keys keys.json --leave-failed" in said
    assert "The system shop needs that before anything is started" in said


def test_where_others_may_write_the_steps_are_asked_for_and_then_it_starts(tmp_path):
    served = UpProcess(tmp_path, "--memory", "--only", "stock")
    try:
        with hashrange.connect(served.endpoint) as database:
            fill(database, tmp_path)
        environment = {**SAMPLE, "SHOP_FILES": str(tmp_path)}
        target = ("--target", served.endpoint)
        refused = run_up(*APP, *target, "--web-port", "0", environment=environment, cwd=tmp_path)
        assert refused.returncode == 2
        said = refused.stderr.replace("\n", " ")
        assert "must be moved before this program starts" in said
        assert "hashrange migrate switch key_shop:former_keys --target URL --keys keys.json; then start" in said
        steps = ("key_shop:former_keys", *target, "--keys", "keys.json")
        assert run_up("move", *steps, command="migrate", cwd=tmp_path).returncode == 0
        upped = start(tmp_path, *target)
        assert upped.get("/shop/") == TOKENS
        upped.stop()
    finally:
        served.kill()
