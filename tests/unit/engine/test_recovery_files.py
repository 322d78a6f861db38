"""The files of backups: moved away, damaged, not written, not committed; no file is left without a backup."""

import contextlib
import threading
import time

import apsw
import pytest

from hashrange.core.errors import InternalServerError, StorageError
from hashrange.engine import sqlite_file
from hashrange.engine.recovery import table_copy
from hashrange.engine.sqlite_file import CopyFile
from hashrange.engine.store import Store
from hashrange.operations import OPERATIONS
from tests.conformance.wire import item
from tests.unit.engine.backup import back_up, listed, restore
from tests.unit.engine.local import Local


def test_a_backup_whose_file_was_taken_away_is_not_there_until_the_file_is_back(on_disk, caplog):
    on_disk.create()
    on_disk.put(pk="a")
    first, arn = back_up(on_disk), back_up(on_disk)
    file = on_disk.directory / "backups" / f"{arn.rpartition('/')[2]}.db"
    file.rename(on_disk.directory / "elsewhere")
    gone = f"BackupNotFoundException: Backup not found: {arn} (its file {file.name} is missing in backups)"
    assert on_disk.refusal("DescribeBackup", BackupArn=arn) == gone
    assert on_disk.refusal("DeleteBackup", BackupArn=arn) == gone
    assert on_disk.refusal("RestoreTableFromBackup", BackupArn=arn, TargetTableName="back") == gone
    assert listed(on_disk) == [first]
    on_disk.reopen()
    assert f"Backup {arn} is not there: its file {file.name} is missing in backups." in caplog.text
    assert listed(on_disk) == [first]
    (on_disk.directory / "elsewhere").rename(file)
    assert sorted(listed(on_disk)) == sorted([first, arn])
    restore(on_disk, arn)
    assert on_disk.items("back") == [item(pk="a")]


def test_a_file_of_no_backup_is_told_of_and_left_alone(on_disk, caplog):
    on_disk.create()
    back_up(on_disk)
    stranger = on_disk.directory / "backups" / "01800000000000-0123abcd.db"
    stranger.write_text("perhaps of another database")
    on_disk.reopen()
    assert "The file 01800000000000-0123abcd.db in backups belongs to no backup of this database" in caplog.text
    assert len(caplog.records) == 1
    assert stranger.exists()


def damage(local, start):
    """Overwrite a backup's file from a byte on; return its path."""
    (path,) = (local.directory / "backups").iterdir()
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xff" * (path.stat().st_size - start))
    return path


def test_a_damaged_backup_is_told_of_before_anything_is_made(on_disk):
    on_disk.create()
    on_disk.put_many(100)
    arn = back_up(on_disk)
    path = damage(on_disk, 0)
    response = on_disk.refusal("RestoreTableFromBackup", BackupArn=arn, TargetTableName="back")
    assert response.startswith(f"InternalServerError: Backup {arn} cannot be read. {path} is not a complete copy")
    assert on_disk.call("ListTables") == {"TableNames": ["tab"]}


def test_a_restore_that_meets_damage_on_its_way_leaves_no_table(on_disk, monkeypatch):
    monkeypatch.setattr(table_copy, "ROWS_PER_PAGE", 10)
    on_disk.create()
    on_disk.put_many(400, fill="x" * 500)
    arn = back_up(on_disk)
    damage(on_disk, 100_000)
    monkeypatch.setattr(table_copy, "SMALL", 10)
    restore(on_disk, arn)
    on_disk.engine.finish_jobs()
    assert on_disk.call("ListTables") == {"TableNames": ["tab"]}
    assert len(on_disk.items()) == 400


def test_a_restore_that_meets_damage_in_its_own_copy_leaves_nothing(on_disk, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    monkeypatch.setattr(table_copy, "ROWS_PER_PAGE", 10)
    on_disk.create(recovery=True)
    on_disk.put_many(400, fill="x" * 500)
    on_disk.clock.advance(400)
    members = {"SourceTableName": "tab", "TargetTableName": "back", "UseLatestRestorableTime": True}
    on_disk.call("RestoreTableToPointInTime", **members)
    on_disk.engine.copies.wait()
    damage(on_disk, 100_000)
    on_disk.engine.finish_jobs()
    assert on_disk.call("ListTables") == {"TableNames": ["tab"]}
    assert list((on_disk.directory / "backups").iterdir()) == []
    assert on_disk.engine.store.execute("SELECT name FROM sqlite_schema WHERE name GLOB 't[0-9]'").fetchall() == [
        ("t1",)
    ]


def test_a_backup_that_cannot_be_written_is_not_there(on_disk):
    on_disk.create()
    on_disk.put(pk="a")
    (on_disk.directory / "backups").write_text("a file where the folder should be")
    assert on_disk.refusal("CreateBackup", TableName="tab", BackupName="copy").startswith("InternalServerError")
    assert listed(on_disk) == []
    on_disk.put(pk="b")
    assert on_disk.items() == [item(pk="a"), item(pk="b")]


@pytest.mark.parametrize("small", [10_000, 10], ids=["at once", "on a thread"])
def test_a_backup_that_cannot_be_committed_leaves_no_file(on_disk, monkeypatch, small):
    monkeypatch.setattr(table_copy, "SMALL", small)
    on_disk.create()
    on_disk.put_many(100)
    on_disk.engine.store.connection.set_commit_hook(lambda: True)
    refusal = on_disk.refusal("CreateBackup", TableName="tab", BackupName="copy")
    on_disk.engine.store.connection.set_commit_hook(None)
    assert refusal.startswith("InternalServerError")
    on_disk.engine.finish_jobs()
    assert listed(on_disk) == []
    assert list((on_disk.directory / "backups").iterdir()) == []


def test_a_backup_undone_by_another_request_of_its_group_leaves_no_file(on_disk):
    on_disk.create()
    engine = on_disk.engine
    engine.begin()
    engine.perform(engine.operations["CreateBackup"], {"TableName": "tab", "BackupName": "copy"})
    pages = engine.store.execute("PRAGMA page_count").fetchone()[0]
    engine.store.execute(f"PRAGMA max_page_count={pages + 2}")
    with pytest.raises(InternalServerError, match="full"):
        engine.perform(engine.operations["PutItem"], {"TableName": "tab", "Item": item(pk="a", x="x" * 100_000)})
    with pytest.raises(StorageError):
        engine.end()
    assert listed(on_disk) == []
    assert list((on_disk.directory / "backups").iterdir()) == []


def test_a_backup_that_cannot_be_begun_leaves_no_file(on_disk, monkeypatch):
    on_disk.create()

    def fail(self):
        self._connection.execute("CREATE TABLE half (done)")
        raise apsw.FullError

    monkeypatch.setattr(sqlite_file.CopyFile, "_prepare", fail)
    assert on_disk.refusal("CreateBackup", TableName="tab", BackupName="copy").startswith("InternalServerError")
    assert listed(on_disk) == []
    assert list((on_disk.directory / "backups").iterdir()) == []


def test_a_large_backup_that_fails_on_its_way_is_not_there(on_disk, monkeypatch, caplog):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    on_disk.create()
    on_disk.put_many(100)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sqlite_file.CopyFile, "finish", fail)
    arn = back_up(on_disk)
    on_disk.engine.finish_jobs()
    assert listed(on_disk) == []
    assert list((on_disk.directory / "backups").iterdir()) == []
    assert f"Backup {arn} was given up." in caplog.text


def test_a_restore_begins_after_the_commit_that_names_its_copy(tmp_path, monkeypatch):
    """The thread that wrote the copy shares its commit with a thread that does background work."""
    monkeypatch.setattr(table_copy, "SMALL", 10)
    local = Local(tmp_path / "data")
    local.create(recovery=True)
    local.put_many(50)
    local.clock.advance(600)
    engine = local.engine
    engine._waiting.append(None)  # as if a thread waited, to which the commit is left
    local.engine.begin()
    arguments = {"SourceTableName": "tab", "TargetTableName": "back", "UseLatestRestorableTime": True}
    engine.perform(OPERATIONS["RestoreTableToPointInTime"], arguments)
    engine.end()
    deadline = time.monotonic() + 30
    while engine._group.done is None and time.monotonic() < deadline:
        time.sleep(0.01)
    engine._waiting.pop()
    engine.maintain()
    engine.finish_jobs()
    assert local.items("back") == local.items()
    local.close()


@contextlib.contextmanager
def no_room(monkeypatch, *methods):
    """Let these methods meet a full disk inside the block."""

    def fail(*_arguments, **_options):
        raise apsw.FullError

    with monkeypatch.context() as patched:
        for owner, name in methods:
            patched.setattr(owner, name, fail)
        yield


def test_a_copy_that_cannot_be_recorded_on_a_full_disk_is_begun_again(tmp_path, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    local = Local(tmp_path / "data")
    local.create(recovery=True)
    local.put_many(50)
    local.clock.advance(600)
    gate, select = threading.Event(), CopyFile.select
    monkeypatch.setattr(CopyFile, "select", lambda *arguments: gate.wait(30) and select(*arguments))
    arn = local.call("CreateBackup", TableName="tab", BackupName="copy")["BackupDetails"]["BackupArn"]
    members = {"SourceTableName": "tab", "TargetTableName": "back", "UseLatestRestorableTime": True}
    local.call("RestoreTableToPointInTime", **members)
    with no_room(monkeypatch, (Store, "commit")):
        gate.set()
        local.engine.copies.wait()
    details = local.call("DescribeBackup", BackupArn=arn)["BackupDescription"]["BackupDetails"]
    assert details["BackupStatus"] == "CREATING"
    local.engine.finish_jobs()
    local.engine.finish_jobs()
    described = local.call("DescribeBackup", BackupArn=arn)["BackupDescription"]
    assert described["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    assert local.items("back") == local.items()
    local.close()


def test_a_database_with_unfinished_copies_opens_on_a_full_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    local = Local(tmp_path / "data")
    local.create()
    local.put_many(50)
    gate = threading.Event()
    select = CopyFile.select
    monkeypatch.setattr(CopyFile, "select", lambda *arguments: gate.wait(1) and select(*arguments))
    arn = local.call("CreateBackup", TableName="tab", BackupName="copy")["BackupDetails"]["BackupArn"]
    with no_room(monkeypatch, (CopyFile, "_prepare")):
        local.reopen()
        assert len(local.items()) == 50
    gate.set()
    local.put(pk="later")
    local.engine.finish_jobs()
    local.engine.finish_jobs()
    described = local.call("DescribeBackup", BackupArn=arn)["BackupDescription"]
    assert described["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    assert described["SourceTableDetails"]["ItemCount"] == 50
    local.close()


def test_a_restore_on_a_full_disk_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(table_copy, "SMALL", 10)
    local = Local(tmp_path / "data")
    local.create(recovery=True)
    local.put_many(50)
    local.clock.advance(600)
    members = {"SourceTableName": "tab", "TargetTableName": "back", "UseLatestRestorableTime": True}
    with no_room(monkeypatch, (CopyFile, "_prepare")):
        refusal = local.refusal("RestoreTableToPointInTime", **members)
    assert "The copy could not be begun. The disk that holds" in refusal
    assert "is full" in refusal
    assert local.call("ListTables")["TableNames"] == ["tab"]
    local.close()
