"""A backup is of the moment of CreateBackup, whatever is written around it, and wherever it is killed."""

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import orjson
import pytest

from hashrange.engine import sqlite_file
from hashrange.engine.engine import open_engine
from hashrange.engine.recovery import table_copy
from hashrange.operations import OPERATIONS
from hashrange.server.runner import serve_in_background
from tests.conformance.wire import item
from tests.unit.engine.local import Local, sort_items
from tests.unit.engine.test_damage import HEADERS, WireCaller

ROOT = Path(__file__).parents[3]
TABLE = {
    "TableName": "tab",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
SEEDS = range(12)
KEYS = 60


def write_randomly(local, chosen, model, count):
    """Write, update and delete some items, also in groups; keep the model in step."""
    for _ in range(count):
        key, action = f"k{chosen.randrange(KEYS)}", chosen.randrange(4)
        if action == 0:
            local.call("DeleteItem", TableName="tab", Key=item(pk=key))
            model.pop(key, None)
        else:
            value = item(pk=key, n=chosen.randrange(10**6), text="x" * chosen.randrange(300))
            local.call("PutItem", TableName="tab", Item=value)
            model[key] = value


def run_program(directory, seed):
    """Write, back up, write on while the copy stalls, and be killed at a random point; print what is acknowledged."""
    chosen, model = random.Random(seed), {}
    table_copy.SMALL = 10
    local = Local(Path(directory))
    local.create(**({"view": "NEW_IMAGE"} if chosen.random() < 0.3 else {}), recovery=chosen.random() < 0.3)
    while len(model) <= 20:
        write_randomly(local, chosen, model, 20)
    gate, step = threading.Event(), chosen.choice(["take_snapshot", "select", "finish", "publish"])
    original, calls = getattr(sqlite_file.CopyFile, step), []

    def stall(copy, *arguments):
        calls.append(step)
        gate.wait(10)
        if chosen.random() < 0.7:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(copy, *arguments)

    if step not in ("take_snapshot", "publish"):  # those are called by the thread that answers
        setattr(sqlite_file.CopyFile, step, stall)
    backups = []
    for _ in range(chosen.randrange(1, 3)):
        details = local.call("CreateBackup", TableName="tab", BackupName="copy")["BackupDetails"]
        backups.append((details["BackupArn"], dict(model)))
        print(orjson.dumps(backups).decode(), flush=True)  # noqa: T201 - the test reads it
        write_randomly(local, chosen, model, chosen.randrange(60))
    gate.set()
    write_randomly(local, chosen, model, chosen.randrange(60))
    if chosen.random() < 0.5:
        local.engine.copies.wait()
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("seed", SEEDS)
def test_after_a_kill_every_acknowledged_backup_has_exactly_its_moment(tmp_path, seed, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    program = (
        f"from tests.unit.engine.test_backup_moment import run_program; run_program({str(tmp_path / 'data')!r}, {seed})"
    )
    process = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False, timeout=200)
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()
    backups = orjson.loads(process.stdout.splitlines()[-1])
    local = Local(tmp_path / "data")
    local.engine.finish_jobs()
    for number, (arn, model) in enumerate(backups):
        assert_is_moment(local, arn, model, f"back{number}")
    listed = local.call("ListBackups")["BackupSummaries"]
    assert [each["BackupStatus"] for each in listed] == ["AVAILABLE"] * len(backups)
    local.close()


def assert_is_moment(local, arn, model, name):
    local.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName=name)
    local.engine.finish_jobs()
    assert local.items(name) == sort_items(model.values())
    source = local.call("DescribeBackup", BackupArn=arn)["BackupDescription"]["SourceTableDetails"]
    assert source["ItemCount"] == len(model)
    assert source["TableSizeBytes"] == local.describe(name)["TableSizeBytes"]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_while_a_backup_is_copied_is_not_part_of_it(tmp_path, seed, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    chosen, model, gate = random.Random(seed), {}, threading.Event()
    select = sqlite_file.CopyFile.select
    monkeypatch.setattr(sqlite_file.CopyFile, "select", lambda *arguments: gate.wait(20) and select(*arguments))
    local = Local(tmp_path / "data")
    local.create()
    while len(model) <= 20:
        write_randomly(local, chosen, model, 20)
    arn = local.call("CreateBackup", TableName="tab", BackupName="copy")["BackupDetails"]["BackupArn"]
    moment = dict(model)
    write_randomly(local, chosen, model, 50)
    if chosen.random() < 0.3:
        local.call("DeleteTable", TableName="tab")
    gate.set()
    local.engine.finish_jobs()
    assert_is_moment(local, arn, moment, "back")
    local.close()


def test_writes_of_the_same_commit_are_part_of_it_when_they_came_before(tmp_path, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    local = Local(tmp_path / "data")
    local.create()
    local.put_many(30)
    engine = local.engine
    engine.begin()
    engine.perform(OPERATIONS["PutItem"], {"TableName": "tab", "Item": item(pk="before")})
    answer = engine.perform(OPERATIONS["CreateBackup"], {"TableName": "tab", "BackupName": "copy"})
    engine.perform(OPERATIONS["PutItem"], {"TableName": "tab", "Item": item(pk="after")})
    engine.end()
    engine.finish_jobs()
    model = {found["pk"]["S"]: found for found in local.items() if found["pk"]["S"] != "after"}
    assert_is_moment(local, orjson.loads(answer)["BackupDetails"]["BackupArn"], model, "back")
    local.close()


def test_a_put_sent_before_it_on_the_same_connection_is_part_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    engine = open_engine(tmp_path / "data", OPERATIONS)
    with serve_in_background(engine) as server:
        call = WireCaller(server.url)
        call("CreateTable", TABLE)
        for number in range(40):
            call("PutItem", {"TableName": "tab", "Item": item(pk=f"k{number}")})
        send_together(
            call.connection.sock,
            ("PutItem", {"TableName": "tab", "Item": item(pk="before")}),
            ("CreateBackup", {"TableName": "tab", "BackupName": "copy"}),
            ("PutItem", {"TableName": "tab", "Item": item(pk="after")}),
        )
        call.close()
        engine.finish_jobs()
        call = WireCaller(server.url)
        (summary,) = call("ListBackups", {})["BackupSummaries"]
        call("RestoreTableFromBackup", {"BackupArn": summary["BackupArn"], "TargetTableName": "back"})
        engine.finish_jobs()
        found = {each["pk"]["S"] for each in call("Scan", {"TableName": "back"})["Items"]}
        described = call("DescribeBackup", {"BackupArn": summary["BackupArn"]})["BackupDescription"]
        call.close()
    engine.close()
    assert found == {*(f"k{number}" for number in range(40)), "before"}
    assert described["SourceTableDetails"]["ItemCount"] == 41


def send_together(socket, *requests):
    """Send some requests without waiting for responses, and read until all have been answered."""
    sent = b""
    for name, request in requests:
        body = orjson.dumps(request)
        headers = {**HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{name}", "Host": "127.0.0.1"}
        lines = [f"{key}: {value}" for key, value in headers.items()]
        head = "\r\n".join(["POST / HTTP/1.1", *lines, f"Content-Length: {len(body)}", "", ""])
        sent += head.encode() + body
    socket.sendall(sent)
    received = b""
    while received.count(b"HTTP/1.1 200") < len(requests):
        received += socket.recv(65536)
