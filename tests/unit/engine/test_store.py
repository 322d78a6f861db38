"""The data directory: who owns it, what is refused, what SQLite's failures become, and that its log does not grow."""

import os
import time

import apsw
import pytest

from hashrange.core.errors import CorruptFile, DirectoryInUse, DiskFull, ReadOnlyDirectory, StorageError
from hashrange.engine import store as store_module
from hashrange.engine.data_directory import LOCK_FILE, MAIN_FILE
from hashrange.engine.engine import open_engine
from hashrange.engine.sqlite_file import translate
from hashrange.engine.store import APPLICATION_ID, FORMAT, Store
from hashrange.operations import OPERATIONS
from tests.conformance.wire import item
from tests.unit.engine.local import Local

WORDED = {
    apsw.FullError: DiskFull,
    apsw.ReadOnlyError: ReadOnlyDirectory,
    apsw.CantOpenError: ReadOnlyDirectory,
    apsw.NotADBError: CorruptFile,
    apsw.CorruptError: CorruptFile,
}


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.close()


# -- owning -----------------------------------------------------------------------------------------------------------


def test_the_file_says_whose_it_is_and_of_which_format(store):
    assert store.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert store.execute("PRAGMA user_version").fetchone() == (FORMAT,)


def test_a_directory_has_one_owner_who_is_named(store, tmp_path):
    with pytest.raises(DirectoryInUse, match=f"process {os.getpid()} "):
        Store(tmp_path)


def test_a_directory_is_free_after_closing(tmp_path):
    Store(tmp_path).close()
    Store(tmp_path).close()


def test_the_lock_file_of_a_dead_process_keeps_nobody_out(tmp_path):
    (tmp_path / LOCK_FILE).write_text("process 999999 (long gone)\n")
    Store(tmp_path).close()
    assert f"process {os.getpid()} " in (tmp_path / LOCK_FILE).read_text()


def test_a_refused_file_leaves_the_directory_free(tmp_path):
    (tmp_path / MAIN_FILE).write_bytes(b"not a database at all" * 100)
    for _ in range(2):
        with pytest.raises(CorruptFile):
            Store(tmp_path)
    (tmp_path / MAIN_FILE).unlink()
    Store(tmp_path).close()


def test_a_catalog_that_cannot_be_read_leaves_the_directory_free(tmp_path):
    local = Local(tmp_path)
    local.create()
    local.engine.store.execute("UPDATE catalog SET definition = 'not json'")
    local.close()
    for _ in range(2):
        with pytest.raises(CorruptFile, match="is damaged"):
            open_engine(tmp_path, OPERATIONS)
    connection = apsw.Connection(str(tmp_path / MAIN_FILE))
    connection.execute("DELETE FROM catalog")
    connection.close()
    open_engine(tmp_path, OPERATIONS).close()


def test_a_missing_directory_is_made(tmp_path):
    Store(tmp_path / "a" / "b").close()
    assert (tmp_path / "a" / "b" / MAIN_FILE).exists()


# -- failures ---------------------------------------------------------------------------------------------------------


def failures():
    classes = [found for found in vars(apsw).values() if isinstance(found, type) and issubclass(found, apsw.Error)]
    return sorted(set(classes), key=lambda found: found.__name__)


@pytest.mark.parametrize("cause", failures(), ids=lambda cause: cause.__name__)
def test_every_failure_of_sqlite_becomes_one_that_says_what_to_do(tmp_path, cause):
    error = translate(cause("told by SQLite"), tmp_path)
    assert type(error) is WORDED.get(cause, StorageError)
    assert str(tmp_path) in str(error)


def test_no_room_for_the_index_of_the_log_is_a_full_disk(tmp_path):
    failure = apsw.IOError("disk I/O error")
    failure.extendedresult = apsw.SQLITE_IOERR_SHMSIZE  # type: ignore[attr-defined]
    assert type(translate(failure, tmp_path)) is DiskFull


def test_rolling_back_without_a_transaction_is_harmless(store):
    store.rollback()
    store.begin()
    store.execute("INSERT INTO meta VALUES ('a', 1)")
    store.rollback()
    store.rollback()
    assert store.execute("SELECT count(*) FROM meta").fetchone() == (0,)


def test_a_reader_sees_what_is_committed_and_cannot_write(store):
    reader = store.reader()
    store.begin()
    store.execute("INSERT INTO meta VALUES ('a', 1)")
    assert reader.execute("SELECT count(*) FROM meta").fetchone() == (0,)
    store.commit()
    assert reader.execute("SELECT count(*) FROM meta").fetchone() == (1,)
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("DELETE FROM meta")
    reader.close()


# -- the write-ahead log ----------------------------------------------------------------------------------------------


def test_the_write_ahead_log_starts_over_although_writes_never_stop(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "CHECKPOINT_PAGES", 50)
    monkeypatch.setattr("hashrange.engine.sqlite_file.RESTART_PAGES", 200)
    local = Local(tmp_path)
    local.create()
    log = tmp_path / f"{MAIN_FILE}-wal"
    written = 0
    deadline = time.monotonic() + 300
    while written < 50 or written * 40_000 < 2 * log.stat().st_size:
        assert time.monotonic() < deadline, (written, log.stat().st_size)
        local.put(pk=f"k{written}", x="x" * 40_000)
        written += 1
    local.close()
    assert not log.exists()
    again = Local(tmp_path)
    assert again.describe()["ItemCount"] == written
    assert again.call("GetItem", TableName="tab", Key=item(pk="k0"))["Item"]["x"] == {"S": "x" * 40_000}
    again.close()
