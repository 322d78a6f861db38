"""The database file, or the record of the log's end, is lost: after a clean stop, after a kill, while it is open."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hashrange.core.errors import CorruptFile, LogIncomplete
from hashrange.engine.data_directory import END_FILE, INDEX_FILE, LOG_FILE, MAIN_FILE
from hashrange.engine.directory_copy import copy_directory
from hashrange.engine.verification import verify_directory
from tests.unit.engine.local import Local

ROOT = Path(__file__).parents[3]


@pytest.fixture
def local(tmp_path):
    """An open database with some items."""
    local = Local(tmp_path / "data")
    local.create()
    local.put_many(50)
    yield local
    local.close()


@pytest.fixture
def pristine(local):
    """A directory that was closed cleanly, and what is in it."""
    contents = local.items()
    local.close()
    return local.directory, contents


def remove(path):
    path.unlink()


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("lose", [remove, empty])
def test_a_lost_database_file_is_refused_although_it_was_closed_cleanly(pristine, tmp_path, lose):
    directory, contents = pristine
    shutil.copytree(directory, tmp_path / "kept")
    lose(directory / MAIN_FILE)
    state = "missing" if lose is remove else "empty"
    with pytest.raises(CorruptFile, match=rf"hashrange\.db is {state}, but hashrange\.end .* To begin with an empty"):
        Local(directory)
    (finding,) = verify_directory(directory, lambda *_: None).findings
    assert f"is {state}, but hashrange.end beside it shows that there was a database" in finding
    with pytest.raises(CorruptFile):
        copy_directory(directory, tmp_path / "copy")
    shutil.copy(tmp_path / "kept" / MAIN_FILE, directory / MAIN_FILE)  # one remedy
    local = Local(directory)
    assert local.items() == contents
    local.close()
    lose(directory / MAIN_FILE)
    (directory / END_FILE).unlink()  # the other one
    local = Local(directory)
    assert local.call("ListTables") == {"TableNames": []}
    local.close()


def test_a_start_that_was_killed_before_it_made_a_database_keeps_nobody_out(tmp_path):
    (tmp_path / END_FILE).write_bytes(bytes(4096))
    (tmp_path / MAIN_FILE).write_bytes(b"")
    Local(tmp_path).close()


RECORD_LOSSES = {
    "missing": remove,
    "damaged": lambda path: path.write_bytes(b"\x55" * 4096),
    "cut off": empty,
}


@pytest.mark.parametrize("lose", RECORD_LOSSES.values(), ids=RECORD_LOSSES)
def test_a_lost_record_of_the_end_is_logged_at_the_start_and_found_by_verify(local, tmp_path, caplog, lose):
    for name in ("started", "verified"):
        shutil.copytree(local.directory, tmp_path / name, ignore=shutil.ignore_patterns(INDEX_FILE))
        lose(tmp_path / name / END_FILE)
    Local(tmp_path / "started").close()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "whether the log lacks acknowledged writes could not be compared" in caplog.text
    (finding,) = verify_directory(tmp_path / "verified", lambda *_: None).findings
    assert "hashrange.end was " in finding
    assert verify_directory(tmp_path / "verified", lambda *_: None).findings == []  # it was written anew


def test_a_new_directory_and_a_copy_have_a_record_and_one_without_checksums_needs_none(tmp_path, caplog, monkeypatch):
    Local(tmp_path / "new").close()
    copy_directory(tmp_path / "new", tmp_path / "copy")
    Local(tmp_path / "copy").close()
    monkeypatch.setattr("hashrange.engine.store.has_checksums", lambda: False)
    monkeypatch.setattr("hashrange.engine.sqlite_file.has_checksums", lambda: False)
    Local(tmp_path / "old").close()
    (tmp_path / "old" / END_FILE).unlink()
    Local(tmp_path / "old").close()
    assert not caplog.records


def replace(path):
    path.with_name("other").write_bytes(bytes(4096))
    path.with_name("other").replace(path)


def cut_off(path):
    os.truncate(path, 0)


@pytest.mark.parametrize("lose", [remove, replace, cut_off])
def test_a_record_that_is_lost_under_an_open_database_is_noticed_and_written_anew(local, tmp_path, caplog, lose):
    lose(local.directory / END_FILE)
    time.sleep(0.6)  # until the next look
    local.engine.maintain()
    assert "hashrange.end was removed, replaced or cut off; it is written anew" in caplog.text
    local.put(pk="later")
    shutil.copytree(local.directory, tmp_path / "left", ignore=shutil.ignore_patterns(INDEX_FILE, LOG_FILE))
    with pytest.raises(LogIncomplete):
        Local(tmp_path / "left")


WRITES_AFTER_A_CUT = """
import os, sys
from pathlib import Path
from tests.unit.engine.local import Local

local = Local(Path(sys.argv[1]))
local.put(pk="first")  # looks at the files; the next look is half a second later
os.truncate(local.directory / "hashrange.end", 0)
local.put(pk="at once")
local.close()
"""


def test_a_record_that_is_cut_off_under_an_open_database_does_not_kill_the_process(local):
    local.close()
    subprocess.run([sys.executable, "-c", WRITES_AFTER_A_CUT, str(local.directory)], check=True, cwd=ROOT)
    reopened = Local(local.directory)
    assert {"pk": {"S": "at once"}} in reopened.items()
    reopened.close()
