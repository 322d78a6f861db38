"""Nothing acknowledged is lost: kill -9 under load, a second process, a full disk, a damaged file."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import apsw
import orjson
import pytest

from hashrange.core.errors import (
    CorruptFile,
    DirectoryInUse,
    DiskFull,
    InternalServerError,
    NewerFormat,
    ReadOnlyDirectory,
)
from hashrange.engine.engine import Engine, open_engine
from hashrange.engine.recovery import table_copy
from hashrange.operations import OPERATIONS
from tests.e2e.served import Served

SCHEMA = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=key/20260101/eu-west-2/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date;x-amz-target, Signature=00"
)


def open_at(directory) -> Engine:
    return open_engine(Path(directory), OPERATIONS)


class Server(Served):
    """A `hashrange serve` process on a directory."""

    def __init__(self, directory, *options):
        super().__init__("--data", str(directory), *options, errors=Path(directory) / "errors.log")

    def connect(self):
        return contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=200))


def send(connection, operation, request):
    headers = {
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": AUTHORIZATION,
        "X-Amz-Date": "20260101T000000Z",
    }
    connection.request("POST", "/", orjson.dumps(request), headers)
    response = connection.getresponse()
    return response.status, orjson.loads(response.read())


@pytest.fixture
def server(tmp_path):
    started = []

    def start(*options, directory=tmp_path):
        started.append(Server(directory, *options))
        return started[-1]

    yield start
    for each in started:
        each.stop(signal.SIGKILL)


class Writer(threading.Thread):
    """Writes as fast as it can and notes what was acknowledged, until the server is gone."""

    def __init__(self, server, number):
        super().__init__(daemon=True)
        self.server = server
        self.number = number
        self.single = []
        self.pairs = []

    def run(self):
        with contextlib.suppress(OSError, http.client.HTTPException), self.server.connect() as connection:
            for count in range(100_000):
                name = f"{self.number}-{count}"
                put = {"TableName": "things", "Item": {"pk": {"S": name}, "body": {"S": name * 20}}}
                if send(connection, "PutItem", put)[0] == 200:
                    self.single.append(name)
                sides = [{"Put": {"TableName": "things", "Item": {"pk": {"S": f"{name}-{s}"}}}} for s in "ab"]
                if send(connection, "TransactWriteItems", {"TransactItems": sides})[0] == 200:
                    self.pairs.append(name)


def present(engine, name):
    return "Item" in orjson.loads(engine.call("GetItem", {"TableName": "things", "Key": {"pk": {"S": name}}}))


@pytest.mark.parametrize("options", [(), ("--fsync",)], ids=["default", "fsync"])
def test_every_acknowledged_write_survives_kill_9_and_no_transaction_is_half_there(server, tmp_path, options):
    running = server(*options)
    with running.connect() as connection:
        assert send(connection, "CreateTable", SCHEMA)[0] == 200
    writers = [Writer(running, number) for number in range(8)]
    for writer in writers:
        writer.start()
    time.sleep(1.0)
    deadline = time.monotonic() + 60
    while sum(len(writer.single) for writer in writers) <= 50 and time.monotonic() < deadline:
        time.sleep(0.1)  # a busy machine
    running.stop(signal.SIGKILL)
    for writer in writers:
        writer.join(200)
    engine = open_at(tmp_path)
    acknowledged = [name for writer in writers for name in writer.single]
    pairs = [name for writer in writers for name in writer.pairs]
    assert len(acknowledged) > 50
    assert [name for name in acknowledged if not present(engine, name)] == []
    assert [name for name in pairs if not present(engine, f"{name}-a")] == []
    halves = [
        name
        for writer in writers
        for name in (f"{writer.number}-{count}" for count in range(len(writer.pairs) + 2))
        if present(engine, f"{name}-a") != present(engine, f"{name}-b")
    ]
    assert halves == []
    counted = orjson.loads(engine.call("DescribeTable", {"TableName": "things"}))["Table"]["ItemCount"]
    rows = engine.store.execute("SELECT count(*) FROM t1").fetchone()[0]
    assert counted == rows
    engine.close()


def test_a_second_process_is_told_who_has_the_directory(server, tmp_path):
    running = server()
    with pytest.raises(DirectoryInUse, match=f"process {running.process.pid} "):
        open_at(tmp_path)


def test_a_second_server_exits_with_that_message(server, tmp_path):
    server()
    command = [sys.executable, "-m", "hashrange.cli", "serve", "--port", "0", "--shared", "--data", str(tmp_path)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert second.returncode != 0
    assert "in use by process" in " ".join((second.stdout + second.stderr).split())
    assert "Traceback" not in second.stderr


def test_a_clean_stop_keeps_everything(server, tmp_path):
    running = server()
    with running.connect() as connection:
        send(connection, "CreateTable", SCHEMA)
        send(connection, "PutItem", {"TableName": "things", "Item": {"pk": {"S": "kept"}}})
    running.stop(signal.SIGTERM)
    assert running.process.returncode == 0
    engine = open_at(tmp_path)
    assert present(engine, "kept")
    engine.close()


def test_a_running_server_survives_that_the_record_of_its_log_is_cut_off(server, tmp_path):
    running = server()
    with running.connect() as connection:
        send(connection, "CreateTable", SCHEMA)
        for number in range(20):  # without a pause: the server looks at its files every half second
            os.truncate(tmp_path / "hashrange.end", 0)
            put = {"TableName": "things", "Item": {"pk": {"S": f"k{number}"}}}
            assert send(connection, "PutItem", put)[0] == 200
    assert running.stop(signal.SIGTERM) == 0
    engine = open_at(tmp_path)
    assert all(present(engine, f"k{number}") for number in range(20))
    engine.close()


def test_data_of_a_newer_format_is_refused(tmp_path):
    open_at(tmp_path).close()
    connection = apsw.Connection(str(tmp_path / "hashrange.db"))
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(NewerFormat, match="format 99"):
        open_at(tmp_path)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "hashrange.db").write_bytes(b"this is not a database, but it is long enough to be looked at" * 20)
    with pytest.raises(CorruptFile, match="not a hashrange database"):
        open_at(tmp_path)


def test_somebody_elses_database_is_refused(tmp_path):
    connection = apsw.Connection(str(tmp_path / "hashrange.db"))
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with pytest.raises(CorruptFile, match="not one of hashrange's"):
        open_at(tmp_path)


def test_a_damaged_definition_is_refused(tmp_path):
    engine = open_at(tmp_path)
    engine.call("CreateTable", dict(SCHEMA))
    engine.close()
    connection = apsw.Connection(str(tmp_path / "hashrange.db"))
    connection.execute("UPDATE catalog SET definition = x'7b22'")
    connection.close()
    with pytest.raises(CorruptFile, match=r"definition in .* is damaged"):
        open_at(tmp_path)


def test_a_directory_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises((ReadOnlyDirectory, Exception), match="cannot be used as a data directory"):
        open_at(tmp_path / "file" / "data")


def fill(engine):
    """Put items until the disk is full; return the names that were acknowledged."""
    kept = []
    while len(kept) < 100_000:
        name = f"i{len(kept)}"
        try:
            engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": name}, "x": {"S": "x" * 5000}}})
        except InternalServerError as error:
            refusal = str(error)
            break
        kept.append(name)
    assert "is full" in refusal
    return kept


def test_a_full_disk_refuses_the_write_and_loses_nothing(tmp_path):
    engine = open_at(tmp_path)
    engine.call("CreateTable", dict(SCHEMA))
    engine.store.execute("PRAGMA max_page_count=300")
    kept = fill(engine)
    assert kept
    assert all(present(engine, name) for name in kept)
    engine.store.execute("PRAGMA max_page_count=100000")
    engine.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": "again"}}})
    counted = orjson.loads(engine.call("DescribeTable", {"TableName": "things"}))["Table"]["ItemCount"]
    assert counted == len(kept) + 1
    engine.close()


@contextlib.contextmanager
def small_disk(path, size):
    """A file system of that size at the path, as long as the block lasts."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], check=False)
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount a file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def test_a_really_full_file_system_refuses_the_write_and_loses_nothing(tmp_path):
    with small_disk(tmp_path, "3m"):
        engine = open_at(tmp_path / "data")
        engine.call("CreateTable", dict(SCHEMA))
        kept = fill(engine)
        assert all(present(engine, name) for name in kept)
        engine.close()
        engine = open_at(tmp_path / "data")
        assert all(present(engine, name) for name in kept)
        engine.close()


@pytest.mark.parametrize("small", [10_000, 10], ids=["at once", "on a thread"])
def test_a_backup_on_a_full_disk_says_so(tmp_path, small, monkeypatch, caplog):
    monkeypatch.setattr(table_copy, "SMALL", small)
    with small_disk(tmp_path, "16m"):
        engine = open_at(tmp_path / "data")
        engine.call("CreateTable", dict(SCHEMA))
        for number in range(200):
            put = {"TableName": "things", "Item": {"pk": {"S": f"i{number}"}, "x": {"S": "x" * 5000}}}
            engine.call("PutItem", put)
        free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
        (tmp_path / "ballast").write_bytes(b"x" * (free - 200_000))
        try:
            engine.call("CreateBackup", {"TableName": "things", "BackupName": "copy"})
            said = ""
        except InternalServerError as error:
            said = str(error)
        engine.finish_jobs()
        assert "The copy could not be " in said + caplog.text
        assert "is full" in said + caplog.text
        assert orjson.loads(engine.call("ListBackups", {})) == {"BackupSummaries": []}
        (tmp_path / "ballast").unlink()
        engine.call("CreateBackup", {"TableName": "things", "BackupName": "copy"})
        engine.finish_jobs()
        (summary,) = orjson.loads(engine.call("ListBackups", {}))["BackupSummaries"]
        assert summary["BackupStatus"] == "AVAILABLE"
        engine.close()


NO_DESCRIPTORS = """
import os, resource, sys
from pathlib import Path
from hashrange.core.errors import InternalServerError
from hashrange.engine.engine import open_engine
from hashrange.engine.recovery import table_copy
from hashrange.operations import OPERATIONS
from tests.e2e.test_durability import SCHEMA

table_copy.SMALL = {small}
engine = open_engine(Path({directory!r}), OPERATIONS)
engine.call("CreateTable", dict(SCHEMA))
for number in range(30):
    engine.call("PutItem", {{"TableName": "things", "Item": {{"pk": {{"S": str(number)}}}}}})
OPERATIONS["CreateBackup"], OPERATIONS["ListBackups"]  # imported
lowest = os.dup(0)
os.close(lowest)
resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
try:
    engine.call("CreateBackup", {{"TableName": "things", "BackupName": "copy"}})
except InternalServerError as error:
    print(error, engine.call("ListBackups", {{}}))
"""


@pytest.mark.parametrize("small", [10_000, 10], ids=["at once", "on a thread"])
def test_a_backup_without_descriptors_says_so(tmp_path, small):
    program = NO_DESCRIPTORS.format(directory=str(tmp_path / "data"), small=small)
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=False)
    assert "has no file descriptor left" in ended.stdout, ended.stderr
    assert "Raise the limit (ulimit -n)" in ended.stdout
    assert '{"BackupSummaries":[]}' in ended.stdout


@pytest.mark.parametrize("size", ["4k", "16k", "32k", "64k"])
def test_a_disk_too_small_to_begin_on_is_said_to_be_full(tmp_path, size):
    with small_disk(tmp_path, size), pytest.raises(DiskFull, match="is full"):
        open_at(tmp_path / "data")
