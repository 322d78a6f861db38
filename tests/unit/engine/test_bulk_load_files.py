"""Files read in this process or in several: the same rows, the same errors, and no process is left behind."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from hashrange.core.keys import rowid_of
from hashrange.engine import bulk_load, import_files
from hashrange.engine.import_files import BadLine, ImportFiles, LineChunk
from tests.conformance.wire import item
from tests.unit.engine.local import Local

ROOT = Path(__file__).parents[3]
TIMEOUT = 500
GLOBAL = {"by-n": "n:N"}


@pytest.fixture
def table(local):
    local.create("pk:S", gsi=GLOBAL)
    return local.engine.catalog.locate("tab")


@pytest.fixture(params=[1, 2])
def workers(request, monkeypatch):
    """One process or two, and chunks of a few lines."""
    monkeypatch.setattr(import_files, "CHUNK_BYTES", 500)
    return request.param


def numbered(many, start=0, shift=0):
    return [item(pk=f"k{number}", n=number + shift) for number in range(start, start + many)]


def write(path, found, end=b"\n"):
    path.write_bytes(end.join(map(orjson.dumps, found)) + end)
    return path


def make(table, path, workers):
    return list(bulk_load.read_files(table, ImportFiles([path]).read(lambda _: None), workers))


def test_a_row_has_the_rowid_of_its_key(table):
    key, _size, body, _index_key, rowid = bulk_load.make_row(table, numbered(1)[0])
    assert rowid == rowid_of(key)
    assert orjson.loads(body) == numbered(1)[0]


def test_several_processes_make_the_same_rows(table, tmp_path, workers):
    path = write(tmp_path / "items.jsonl", numbered(100))
    made = make(table, path, workers)
    alone = [bulk_load.read_chunk(table, chunk) for chunk in ImportFiles([path]).read(lambda _: None)]
    assert len(made) > 5
    assert made == alone


def test_few_chunks_are_not_worth_a_process(table, tmp_path, monkeypatch):
    monkeypatch.setattr(bulk_load, "_distribute_chunks", None)
    assert sum(each.count for each in make(table, write(tmp_path / "items.jsonl", numbered(100)), 4)) == 100


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\r\n  \n"])
def test_lines_may_end_as_they_like(table, tmp_path, end):
    path = write(tmp_path / "items.jsonl", numbered(10), end)
    (made,) = make(table, path, 1)
    path.write_bytes(path.read_bytes().rstrip())
    assert [made] == make(table, path, 1)
    assert made.count == 10


@pytest.mark.parametrize("bad", [b"not json", b'{"n": {"N": "1"}}', b'{"pk": {"S": "a"}, "n": {"S": "1"}}'])
def test_of_several_bad_lines_the_first_is_named(table, tmp_path, workers, bad):
    path = write(tmp_path / "items.jsonl", numbered(200))
    found = path.read_bytes().split(b"\n")
    for number in (61, 63, 90, 180):  # in several chunks, which are under way together
        found[number - 1] = bad
    path.write_bytes(b"\n".join(found))
    with pytest.raises(BadLine) as caught:
        make(table, path, workers)
    assert str(caught.value).startswith(f"{path}, line 61: ")


def test_a_bad_line_is_named_before_damage_that_comes_later(table, tmp_path, workers):
    path = write(tmp_path / "items.jsonl", [*numbered(50), {"no": {"S": "key"}}, *numbered(50)])
    with pytest.raises(BadLine, match=rf"{re.escape(str(path))}, line 51: .*Missing the key pk"):
        list(bulk_load.read_files(table, damaged(path), workers))


def test_damage_is_told_with_the_line_it_begins_after(table, tmp_path, workers):
    path = write(tmp_path / "items.jsonl", numbered(100))
    with pytest.raises(BadLine, match=rf"{re.escape(str(path))}, line 101: cannot be read: worn"):
        list(bulk_load.read_files(table, damaged(path), workers))


def damaged(path):
    """The chunks of a file whose end cannot be read."""
    yield from ImportFiles([path]).read(lambda _: None)
    yield LineChunk(path, before=100, problem="cannot be read: worn")


class ExitsWhenUnpickled:
    """Ends the process that it is sent to."""

    def __reduce__(self):
        return os._exit, (1,)


def test_a_worker_that_dies_is_told(table):
    with pytest.raises(bulk_load.WorkerLost, match="--workers 1"):
        list(bulk_load.read_files(table, iter([ExitsWhenUnpickled()] * 3), 2))


def test_files_are_loaded_by_several_processes(local, table, tmp_path, workers):
    path = write(tmp_path / "items.jsonl", [*numbered(200), *numbered(100, start=50, shift=1000)])
    seen = []
    found = bulk_load.load_files(local.engine, table, ImportFiles([path]), lambda *report: seen.append(report), workers)
    assert found == 300
    expected = [*numbered(50), *numbered(100, start=50, shift=1000), *numbered(50, start=150)]
    assert {each["pk"]["S"]: each for each in local.items()} == {each["pk"]["S"]: each for each in expected}
    assert len(local.items(index="by-n")) == local.describe()["GlobalSecondaryIndexes"][0]["ItemCount"] == 200
    assert list(dict.fromkeys(phase for phase, _, _ in seen)) == [
        bulk_load.READING,
        bulk_load.STORING,
        bulk_load.INDEXING,
    ]
    read = [done for phase, done, _ in seen if phase == bulk_load.READING]
    assert read == sorted(read)
    assert read[-1] == path.stat().st_size
    assert (bulk_load.STORING, 200, 300) in seen


STOPPED = """
import os, signal, sys
from pathlib import Path
from hashrange.engine import bulk_load, import_files
from hashrange.engine.import_files import ImportFiles
from tests.unit.engine.local import Local

def stop(phase, done, total):
    if done > total // 2:
        {stop}

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for jobs in the background
    import_files.CHUNK_BYTES = 500
    local = Local(Path(sys.argv[1]))
    bulk_load.load_files(local.engine, local.engine.catalog.locate("tab"), ImportFiles([Path(sys.argv[2])]), stop, 2)
"""


@pytest.mark.parametrize(
    ("stop", "code"),
    [("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL), ("os.killpg(0, signal.SIGINT)", -signal.SIGINT)],
    ids=["kill -9", "Ctrl-C"],
)
def test_the_workers_end_with_whoever_started_them_and_nothing_is_loaded(tmp_path, stop, code):
    local = Local(tmp_path / "data")
    local.create("pk:S", gsi=GLOBAL)
    local.close()
    program = tmp_path / "program.py"
    program.write_text(STOPPED.format(stop=stop))
    path = write(tmp_path / "items.jsonl", numbered(500))
    # What they say goes into a pipe, which ends only when the last of them does.
    outcome = subprocess.run(
        [sys.executable, program, local.directory, path],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        timeout=TIMEOUT,
        start_new_session=True,
    )
    assert outcome.returncode == code, outcome.stderr.decode()
    assert b"SpawnProcess" not in outcome.stderr
    local.reopen()
    assert local.items() == []
    assert {path.name for path in local.directory.iterdir()} <= {
        "hashrange.db", "hashrange.db-wal", "hashrange.db-shm", "hashrange.end", "hashrange.lock",
    }  # fmt: skip
    local.close()
