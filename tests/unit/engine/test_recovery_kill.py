"""kill -9 in the middle of a backup or a restore: after reopening it continues, and nothing is incomplete."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hashrange.engine.recovery import table_copy
from tests.unit.engine.local import Local

ROOT = Path(__file__).parents[3]
PREPARE = """
import os, signal, threading
from pathlib import Path
from hashrange.engine import sqlite_file
from hashrange.engine.recovery import table_copy
from tests.unit.engine.local import Local

answered = threading.Event()

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def die_once_answered(*_):
    answered.wait()
    die()

table_copy.SMALL, table_copy.ROWS_PER_PAGE = 10, 50
local = Local(Path({directory!r}))
local.create(recovery=True, gsi={{"byn": "n:N"}})
local.put_many(400)
local.clock.advance(400)
local.put_many(100, changed="yes")
"""
RESTORE = """
restore = {"SourceTableName": "tab", "TargetTableName": "back", "UseLatestRestorableTime": True}
local.call("RestoreTableToPointInTime", **restore)
answered.set()
"""
BACK_UP = """
local.call("CreateBackup", TableName="tab", BackupName="copy")
answered.set()
"""


BACK_UP_UNANSWERED = """
local.call("CreateBackup", TableName="tab", BackupName="copy")
"""
CHANGE = """
local.put_many(50, later="yes")
for number in range(60, 90):
    local.delete(pk=f"k{number}")
local.put(pk="new", later="yes")
"""
STALL = "sqlite_file.CopyFile.select = lambda *_: threading.Event().wait()"


def run_until_killed(directory, program):
    source = PREPARE.format(directory=str(directory)) + program
    process = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, check=False, timeout=500)
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()


@pytest.fixture
def reopened(tmp_path, monkeypatch):
    """Run a program until it is killed, then open its database."""
    monkeypatch.setattr(table_copy, "SMALL", 10)
    opened = []

    def reopen(*parts):
        run_until_killed(tmp_path / "data", "\n".join(textwrap.dedent(part) for part in parts))
        opened.append(Local(tmp_path / "data"))
        return opened[-1]

    yield reopen
    for local in opened:
        local.close()


def files(local):
    return sorted(path.name for path in (local.directory / "backups").iterdir())


def assert_restored(local):
    local.engine.finish_jobs()
    restored = local.items("back")
    assert len(restored) == 400
    assert not any("changed" in found for found in restored)
    assert local.items("back", "byn") == restored
    description = local.describe("back")
    assert (description["TableStatus"], description["ItemCount"]) == ("ACTIVE", 400)


def test_a_restore_killed_between_slices_goes_on(reopened):
    local = reopened(
        RESTORE,
        """
        local.engine.copies.wait()
        for _ in range(4):
            local.engine.maintain()
        die()
    """,
    )
    assert local.describe("back")["TableStatus"] == "CREATING"
    assert local.refusal("Scan", TableName="back").startswith("ResourceNotFoundException")
    assert_restored(local)
    assert files(local) == []


def test_a_restore_killed_inside_a_slice_goes_on(reopened):
    local = reopened(
        RESTORE,
        """
        from hashrange.engine import write
        local.engine.copies.wait()
        local.engine.maintain()
        apply, calls = write.apply, []
        def count(*arguments):
            calls.append(1)
            return die() if len(calls) == 20 else apply(*arguments)
        write.apply = count
        local.engine.maintain()
    """,
    )
    assert_restored(local)


@pytest.mark.parametrize("step", ["select", "finish"])
def test_a_restore_killed_while_its_source_is_copied_begins_anew(reopened, step):
    local = reopened(f"sqlite_file.CopyFile.{step} = die_once_answered", RESTORE, "local.engine.copies.wait()")
    assert_restored(local)
    assert files(local) == []


def test_a_restore_whose_source_is_gone_by_then_leaves_no_half_table(reopened):
    local = reopened(STALL, RESTORE, 'local.call("DeleteTable", TableName="tab")', "die()")
    local.engine.finish_jobs()
    assert local.call("ListTables") == {"TableNames": []}


@pytest.mark.parametrize("step", ["select", "finish"])
def test_a_backup_killed_while_it_is_written_is_made_anew(reopened, step):
    local = reopened(f"sqlite_file.CopyFile.{step} = die_once_answered", BACK_UP, "local.engine.copies.wait()")
    local.engine.finish_jobs()
    (summary,) = local.call("ListBackups")["BackupSummaries"]
    assert summary["BackupStatus"] == "AVAILABLE"
    assert len(files(local)) == 1
    local.call("RestoreTableFromBackup", BackupArn=summary["BackupArn"], TargetTableName="back")
    local.engine.finish_jobs()
    assert local.items("back") == local.items()


@pytest.mark.parametrize("recovery", [True, False], ids=["with recovery", "without"])
def test_a_backup_of_a_table_that_is_gone_by_then_is_complete(reopened, recovery):
    off = [] if recovery else ["local.switch_recovery(on=False)"]
    local = reopened(*off, STALL, BACK_UP, CHANGE, 'local.call("DeleteTable", TableName="tab")', "die()")
    local.engine.finish_jobs()
    (summary,) = local.call("ListBackups")["BackupSummaries"]
    assert summary["BackupStatus"] == "AVAILABLE"
    left = local.engine.store.execute("SELECT name FROM sqlite_schema WHERE name IN ('t1', 'c1')").fetchall()
    assert left == ([("t1",)] if recovery else [])  # with recovery the rows are its system backup
    assert_content(local, summary["BackupArn"])


@pytest.mark.parametrize("step", ["select", "finish"])
@pytest.mark.parametrize("recovery", [True, False], ids=["with recovery", "without"])
def test_a_backup_killed_while_it_is_written_is_of_its_moment(reopened, step, recovery):
    off = [] if recovery else ["local.switch_recovery(on=False)"]
    local = reopened(*off, "answered.clear()", f"sqlite_file.CopyFile.{step} = die_once_answered", BACK_UP_UNANSWERED,
                     CHANGE, "answered.set()", "local.engine.copies.wait()")  # fmt: skip
    local.engine.finish_jobs()
    (summary,) = local.call("ListBackups")["BackupSummaries"]
    assert summary["BackupStatus"] == "AVAILABLE"
    assert_content(local, summary["BackupArn"])
    local.clock.advance(3 * 86400)
    local.engine.finish_jobs()
    if not recovery:  # the log was for the backup alone
        local.put(pk="not logged")
        assert local.engine.store.execute("SELECT count(*) FROM c1").get == 0


def assert_content(local, arn):
    """The backup has what was there before CHANGE, and its description says so."""
    local.call("RestoreTableFromBackup", BackupArn=arn, TargetTableName="back")
    local.engine.finish_jobs()
    found = local.items("back")
    assert len(found) == 400
    assert sum("changed" in each for each in found) == 100
    assert not any("later" in each for each in found)
    source = local.call("DescribeBackup", BackupArn=arn)["BackupDescription"]["SourceTableDetails"]
    assert source["ItemCount"] == 400
    assert source["TableSizeBytes"] == local.describe("back")["TableSizeBytes"]


def test_a_backup_killed_before_its_answer_is_not_there(reopened):
    local = reopened("table_copy.SMALL = 10_000", "local.engine.store.commit = die", BACK_UP)
    assert local.call("ListBackups") == {"BackupSummaries": []}
    assert files(local) == []


@pytest.mark.parametrize("small", [10_000, 10], ids=["at once", "on a thread"])
def test_a_backup_killed_before_its_file_has_a_name_is_there(reopened, small):
    local = reopened(
        f"table_copy.SMALL = {small}", "sqlite_file.CopyFile.publish = die", BACK_UP, "local.engine.copies.wait()"
    )
    (summary,) = local.call("ListBackups")["BackupSummaries"]
    assert summary["BackupStatus"] == "AVAILABLE"
    assert files(local) == [f"{summary['BackupArn'].rpartition('/')[2]}.db"]
    local.call("RestoreTableFromBackup", BackupArn=summary["BackupArn"], TargetTableName="back")
    local.engine.finish_jobs()
    assert local.items("back") == local.items()


def test_a_restore_killed_before_its_copy_has_a_name_goes_on(reopened):
    local = reopened("sqlite_file.CopyFile.publish = die_once_answered", RESTORE, "local.engine.copies.wait()")
    assert_restored(local)
    assert files(local) == []
