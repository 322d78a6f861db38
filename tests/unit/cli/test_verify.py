"""`hashrange verify` and `hashrange copy`: what they find, what they say, and their exit codes."""

import contextlib
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys

import apsw
import pytest
from typer.testing import CliRunner

from hashrange.cli.app import app
from hashrange.engine import sqlite_file
from hashrange.engine.data_directory import INDEX_FILE, LOG_FILE, MAIN_FILE
from hashrange.engine.engine import open_engine
from hashrange.engine.verification import verify_directory
from hashrange.operations import OPERATIONS
from tests.unit.engine.local import Local

WHOLE, DAMAGED, UNUSABLE = 0, 1, 2


def run(*arguments):
    outcome = CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "500"})
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    return outcome.exit_code, " ".join(outcome.output.split())


@pytest.fixture
def data(tmp_path):
    local = Local(tmp_path / "data")
    local.create(gsi={"byn": "n:N"})
    local.put_many(200, text="text " * 50)
    local.call("CreateBackup", TableName="tab", BackupName="first")
    local.close()
    return local.directory


def change(data, statement):
    """Change the file with checksums, as a mistake of hashrange would."""
    connection = sqlite_file.open_file(data / MAIN_FILE)
    connection.execute(statement)
    connection.close()


def test_a_whole_directory_has_no_damage(data):
    code, text = run("verify", data)
    assert code == WHOLE
    assert "1 table, 200 items, 1 backup. No damage found." in text


def test_damaged_pages_are_listed_with_the_tables_that_need_them(data):
    content = bytearray((data / MAIN_FILE).read_bytes())
    content[content.rindex(b"text text")] ^= 1
    (data / MAIN_FILE).write_bytes(content)
    code, text = run("verify", data)
    assert code == DAMAGED
    assert "1 (" in text
    assert "pages do not match their checksums" in text
    assert "Table tab cannot be read completely" in text
    assert "Restore the directory from a copy" in text


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE t1 SET item = x'7b22' WHERE id = (SELECT min(id) FROM t1)", "the item is not JSON"),
        ("UPDATE t1 SET k = x'ff' WHERE id = (SELECT min(id) FROM t1)", "the item does not have its key"),
        ("UPDATE t1 SET size = size + 1 WHERE id = (SELECT min(id) FROM t1)", "bytes instead of"),
        ("UPDATE t1 SET g0 = NULL WHERE id = (SELECT min(id) FROM t1)", "its key in the index byn"),
        ("DELETE FROM t1 WHERE id = (SELECT min(id) FROM t1)", "has 199 items, and should have 200"),
    ],
)
def test_rows_that_contradict_themselves_are_found(data, statement, found):
    change(data, statement)
    code, text = run("verify", data)
    assert code == DAMAGED
    assert found in text


def test_a_damaged_backup_is_found(data):
    (backup,) = (data / "backups").glob("*.db")
    content = bytearray(backup.read_bytes())
    content[len(content) // 2] ^= 16
    backup.write_bytes(content)
    code, text = run("verify", data)
    assert code == DAMAGED
    assert f"pages of backups/{backup.name} do not match their checksums" in text
    backup.unlink()
    assert f"its file backups/{backup.name} is missing" in run("verify", data)[1]


def test_a_removed_log_is_found_and_its_loss_can_be_accepted(tmp_path):
    local = Local(tmp_path / "data")
    local.create()
    (tmp_path / "left").mkdir()
    for path in local.directory.iterdir():
        if path.name not in (LOG_FILE, INDEX_FILE):
            (tmp_path / "left" / path.name).write_bytes(path.read_bytes())
    local.close()
    code, text = run("verify", tmp_path / "left")
    assert code == DAMAGED
    assert "acknowledged writes" in text
    assert run("verify", tmp_path / "left", "--accept-loss")[0] == WHOLE
    assert run("verify", tmp_path / "left")[0] == WHOLE


def test_a_directory_without_checksums_is_said_to_have_none(tmp_path, monkeypatch):
    for module in ("sqlite_file", "store"):
        monkeypatch.setattr(f"hashrange.engine.{module}.has_checksums", lambda: False)
    local = Local(tmp_path / "data")
    local.create()
    local.put_many(30)
    local.close()
    monkeypatch.undo()
    code, text = run("verify", local.directory)
    assert code == WHOLE
    assert "The pages have no checksums" in text
    assert run("copy", local.directory, tmp_path / "copy")[0] == WHOLE
    code, text = run("verify", tmp_path / "copy")
    assert code == WHOLE
    assert text.endswith("30 items, 0 backups. No damage found.")


def test_a_directory_in_use_or_of_something_else_is_not_verified(data, tmp_path):
    local = Local(data)
    assert run("verify", data)[0] == UNUSABLE
    assert "in use by" in run("verify", data)[1]
    local.close()
    code, text = run("verify", tmp_path)
    assert code == UNUSABLE
    assert "there is no hashrange.db in it" in text


def test_a_copy_of_a_directory_in_use_has_everything(data, tmp_path):
    local = Local(data)
    local.put(pk="late")
    assert run("copy", data, tmp_path / "copy")[0] == WHOLE
    local.put(pk="later")
    local.close()
    code, text = run("verify", tmp_path / "copy")
    assert code == WHOLE
    assert "201 items, 1 backup." in text
    engine = open_engine(tmp_path / "copy", OPERATIONS)
    assert engine.store.execute("PRAGMA user_version").fetchone() == (3,)
    engine.close()


def test_the_databases_of_access_keys_and_regions_are_verified_and_copied(tmp_path):
    for region in ("eu-west-2", "us-east-1"):
        local = Local(tmp_path / "data" / "databases" / "key" / region)
        local.create()
        local.put_many(30)
        local.close()
    code, text = run("verify", tmp_path / "data")
    assert code == WHOLE
    assert text.count("30 items, 0 backups. No damage found.") == 2
    assert run("copy", tmp_path / "data", tmp_path / "copy")[0] == WHOLE
    damaged = tmp_path / "copy" / "databases" / "key" / "us-east-1" / MAIN_FILE
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\1")
    code, text = run("verify", tmp_path / "copy")
    assert code == DAMAGED
    assert text.count("No damage found.") == 1


def test_a_copy_never_overwrites(data, tmp_path):
    code, text = run("copy", data, data)
    assert code == UNUSABLE
    assert "is not empty" in text
    assert run("copy", tmp_path / "nowhere", tmp_path / "copy")[0] == UNUSABLE


def test_pages_that_another_program_wrote_are_found(data):
    """A plain SQLite writes no checksums; the documentation warns of it."""
    connection = apsw.Connection(str(data / MAIN_FILE), vfs="unix")
    connection.execute("UPDATE counts SET bytes = bytes + 1")
    connection.close()
    assert run("verify", data)[0] == DAMAGED


def test_a_full_disk_is_said_without_a_traceback(tmp_path):
    local = Local(tmp_path / "data")
    local.create()
    local.put_many(100, text="text " * 50)
    shutil.copytree(local.directory, tmp_path / "left", ignore=shutil.ignore_patterns(INDEX_FILE))  # as after a kill
    local.close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = (tmp_path / "left" / LOG_FILE).stat().st_size  # the index of the log fits, the database file does not grow
    resource.setrlimit(resource.RLIMIT_FSIZE, (max(size // 4, 32768), before[1]))
    try:
        code, text = run("verify", tmp_path / "left", "--quiet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert code == UNUSABLE
    assert "The disk that holds" in text or "The database in" in text  # SQLite sees a file that cannot grow


def test_a_database_file_that_is_lost_is_found(data):
    (data / MAIN_FILE).unlink()
    code, text = run("verify", data)
    assert code == DAMAGED
    assert "hashrange.db is missing, but hashrange.end beside it shows that there was a database" in text


def watch(*arguments):
    """Return what a command shows on a terminal of its own."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    program = [sys.executable, "-m", "hashrange", *map(str, arguments)]
    with subprocess.Popen(program, stdin=child, stdout=child, stderr=child, env=environment) as process:
        os.close(child)
        shown = b""
        with contextlib.suppress(OSError):  # the terminal is closed
            while content := os.read(parent, 65536):
                shown += content
    os.close(parent)
    return process.returncode, shown.decode()


def test_progress_is_shown_on_a_terminal_unless_it_is_not_wanted(data):
    code, shown = watch("verify", data)
    assert code == WHOLE
    for phase, count in (("Pages", r"\d+/\d+"), ("Items", "200/200"), ("Backups", "1/1")):
        assert re.search(rf"{phase}\S* .*━.*{count}", shown), phase
    code, shown = watch("verify", data, "--quiet")
    assert code == WHOLE
    assert "━" not in shown
    assert "No damage found." in shown


def test_progress_goes_up_to_everything_there_is(data):
    reported = {}
    verify_directory(data, lambda phase, done, total: reported.setdefault(phase, []).append((done, total)))
    assert list(reported) == ["pages", "items", "backups"]
    for steps in reported.values():
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1] > 0
