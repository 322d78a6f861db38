"""Files that are removed or replaced under an open database, and processes that are forked from it."""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hashrange.core.errors import CorruptFile, DirectoryInUse, ForkedProcess, InternalServerError, LogIncomplete
from hashrange.engine import store as store_module
from hashrange.engine.data_directory import LOCK_FILE, LOG_FILE, MAIN_FILE
from hashrange.engine.engine import open_engine
from hashrange.engine.log_end import LOG_HEADER
from hashrange.operations import OPERATIONS
from hashrange.server.runner import serve_in_background
from tests.conformance.wire import item
from tests.unit.engine.local import Local
from tests.unit.engine.test_backup_moment import TABLE
from tests.unit.engine.test_damage import WireCaller

ROOT = Path(__file__).parents[3]


def remove_file(directory):
    (directory / MAIN_FILE).unlink()


def remove_log(directory):
    (directory / LOG_FILE).unlink()


def remove_lock(directory):
    (directory / LOCK_FILE).unlink()  # another process could own the directory too


def replace_file(directory):
    shutil.copy(directory / MAIN_FILE, directory / "other")
    (directory / "other").replace(directory / MAIN_FILE)


def remove_directory(directory):
    shutil.rmtree(directory)


def move_directory(directory):
    directory.rename(directory.with_name("moved"))


LOSSES = [remove_file, remove_log, remove_lock, replace_file, remove_directory, move_directory]


@pytest.mark.parametrize("lose", LOSSES)
def test_a_loss_is_noticed_within_a_second_and_nothing_acknowledged_is_lost(tmp_path, lose):
    local = Local(tmp_path / "data")
    local.create()
    acknowledged = {f"k{number}" for number in range(30)}
    local.put_many(30)
    lose(local.directory)
    started, refusal = time.monotonic(), ""
    while not refusal and time.monotonic() - started < 5:
        try:
            key = f"late{len(acknowledged)}"
            local.put(pk=key)
            acknowledged.add(key)
        except InternalServerError as failure:
            refusal = str(failure)
    assert time.monotonic() - started < 1
    assert "was removed or replaced while it was open. Writes are refused." in refusal
    assert local.refusal("PutItem", TableName="tab", Item=item(pk="more")).endswith(refusal)
    assert {found["pk"]["S"] for found in local.items()} == acknowledged  # reading goes on
    local.close()
    recovered = Path(refusal.rpartition("open ")[2].rstrip("."))
    local = Local(recovered)
    assert {found["pk"]["S"] for found in local.items()} == acknowledged
    local.close()


def empty_log(directory):
    os.truncate(directory / LOG_FILE, 0)


def cut_log(directory):
    os.truncate(directory / LOG_FILE, (directory / LOG_FILE).stat().st_size - 1)


def cut_log_to_its_header(directory):
    os.truncate(directory / LOG_FILE, LOG_HEADER)


def cut_file(directory):
    os.truncate(directory / MAIN_FILE, (directory / MAIN_FILE).stat().st_size - 60)


def wait_for_refusal(local):
    for number in range(3):
        with contextlib.suppress(InternalServerError):
            local.put(pk=f"late{number}")  # lets the log grow again
    time.sleep(0.6)
    return local.refusal("PutItem", TableName="tab", Item=item(pk="more"))


@pytest.mark.parametrize("cut", [empty_log, cut_log, cut_log_to_its_header, cut_file])
def test_a_file_that_is_cut_off_is_noticed_and_not_destroyed(tmp_path, cut):
    local = Local(tmp_path / "data")
    local.create()
    local.put_many(30)
    local.close()
    local.reopen()
    local.put_many(30)
    time.sleep(0.6)
    local.put(pk="k0")
    cut(local.directory)
    if cut is cut_log:  # noticed before it grows again
        time.sleep(0.6)
    refusal = wait_for_refusal(local)
    assert "was cut off while it was open. Writes are refused." in refusal
    left = (local.directory / MAIN_FILE).read_bytes()
    local.close()
    assert (local.directory / MAIN_FILE).read_bytes() == left
    with pytest.raises(CorruptFile):
        Local(local.directory)
    if cut is cut_file:
        return
    recovered = Local(Path(refusal.rpartition("open ")[2].rstrip(".")))
    assert {f"k{number}" for number in range(30)} <= {found["pk"]["S"] for found in recovered.items()}
    recovered.close()


def test_a_log_that_is_emptied_just_before_the_end_is_not_moved_into_the_database(tmp_path):
    local = Local(tmp_path / "data")
    local.create()
    local.close()
    local.reopen()
    left = (local.directory / MAIN_FILE).read_bytes()
    local.put_many(30)
    empty_log(local.directory)
    local.put(pk="late")
    local.close()
    assert (local.directory / MAIN_FILE).read_bytes() == left
    with pytest.raises(LogIncomplete):
        Local(local.directory)


def test_a_log_that_starts_over_is_not_taken_for_one_that_was_cut_off(tmp_path):
    local = Local(tmp_path / "data")
    local.create()
    for _ in range(5):
        local.put_many(30)
        assert local.engine.store.describe_loss() is None
        local.engine.store.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        assert local.engine.store.describe_loss() is None
    local.engine.store.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert local.engine.store.describe_loss() is None
    local.put(pk="a")
    assert local.engine.store.describe_loss() is None
    local.close()


def test_a_loss_is_noticed_without_writes_and_said_over_the_wire(tmp_path, caplog):
    engine = open_engine(tmp_path / "data", OPERATIONS)
    with serve_in_background(engine) as server:
        call = WireCaller(server.url)
        call("CreateTable", TABLE)
        call("PutItem", {"TableName": "tab", "Item": item(pk="a")})
        remove_file(tmp_path / "data")
        deadline = time.monotonic() + 5
        while "was removed or replaced" not in caplog.text and time.monotonic() < deadline:
            time.sleep(0.01)
        assert time.monotonic() < deadline - 3  # half a second, but for a busy machine
        with pytest.raises(CorruptFile, match=r"500 .*was removed or replaced while it was open"):
            call("PutItem", {"TableName": "tab", "Item": item(pk="b")})
        assert call("GetItem", {"TableName": "tab", "Key": item(pk="a")})["Item"] == item(pk="a")
        call.close()
    engine.close()


def test_what_cannot_be_saved_is_said(tmp_path, monkeypatch):
    local = Local(tmp_path / "data")
    local.create()
    monkeypatch.setattr(store_module, "strftime", lambda _: "now")
    (local.directory / "recovered-now").write_text("in the way")
    remove_file(local.directory)
    time.sleep(0.6)  # until the next look
    local.engine.maintain()
    assert "can only be read (saving it failed" in local.refusal("PutItem", TableName="tab", Item=item(pk="a"))
    local.close()


def test_what_cannot_be_saved_leaves_no_empty_directory(tmp_path):
    local = Local(tmp_path / "data")
    local.create()
    local.put_many(100)
    remove_file(local.directory)
    time.sleep(0.6)  # until the next look
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, before[1]))  # as on a full disk
    try:
        local.engine.maintain()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "saving it failed" in local.refusal("PutItem", TableName="tab", Item=item(pk="a"))
    assert not list(local.directory.glob("recovered-*"))
    local.close()


@pytest.mark.parametrize("on_disk", [True, False], ids=["disk", "memory"])
def test_a_forked_process_cannot_use_the_database(tmp_path, on_disk):
    local = Local(tmp_path / "data" if on_disk else None)
    local.create()
    local.put(pk="a")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            local.call("GetItem", TableName="tab", Key=item(pk="a"))
        except ForkedProcess as failure:
            code = 0 if f"opened by process {os.getppid()}" in str(failure) else 2
        local.close()
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    local.put(pk="b")
    assert len(local.items()) == 2
    local.close()


FORK = """
import os, sys, time
from pathlib import Path
from tests.unit.engine.local import Local

local = Local(Path({directory!r}))
local.create()
local.put(pk="a")
if os.fork() == 0:
    sys.exit(0)  # closes what Python closes at the end
os.wait()
local.put(pk="b")
receiver, sender = os.pipe()
if os.fork() == 0:
    os.write(sender, b"forked")
    time.sleep({seconds})
    os._exit(0)
os.read(receiver, 6)
print("ready", flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_forked_process_harms_nothing_and_does_not_hold_the_directory(tmp_path):
    program = FORK.format(directory=str(tmp_path / "data"), seconds=20)
    process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.stdout.close()
    assert process.wait(100) == -signal.SIGKILL
    try:
        local = Local(tmp_path / "data")  # while the forked process lives
    except DirectoryInUse:
        pytest.fail("the forked process holds the directory")
    assert len(local.items()) == 2
    local.close()
