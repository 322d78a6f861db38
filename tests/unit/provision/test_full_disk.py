"""Long work on a disk that fills up says what it has written, and continues when there is space again."""

import resource
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange import HashrangeError, PlanError
from hashrange.cli.app import app
from hashrange.provision import copy_items, create_tables, export_items, import_items
from hashrange.server.runner import serve_in_background
from hashrange.server.settings import ServerSettings
from tests.unit.provision.test_migration import OldOrders, migration, put, scan

ITEMS = 1200
WRITTEN = r"^(?!.*Nothing was written).*is full\. The copy has written at least (500|1,\d00) items, which stay\."


@pytest.fixture
def source():
    with hashrange.open() as opened:
        create_tables(opened, OldOrders)
        for number in range(ITEMS):
            put(opened, number, lines=["x" * 200])
        yield opened


@pytest.fixture
def disk(tmp_path):
    with hashrange.open(tmp_path) as opened:
        yield opened


@contextmanager
def reached(opened, place):
    """Yield a transport to a database: itself, or over HTTP."""
    if place == "embedded":
        yield opened
        return
    with (
        serve_in_background(opened.engine, ServerSettings(port=0)) as server,
        hashrange.connect(server.url, access_key="local", secret_key="local", region="eu-west-2") as remote,
    ):
        yield remote


class FillingDisk:
    """A transport whose disk is full after so many batches."""

    def __init__(self, transport, opened, batches):
        self.transport, self.opened, self.left = transport, opened, batches
        self.clock = opened.clock

    def call(self, operation, request, *read):
        if operation == "BatchWriteItem":
            self.left -= 1
            if self.left == 0:
                fill(self.opened)
        return self.transport.call(operation, request, *read)

    async def call_async(self, operation, request, *read):
        return self.call(operation, request, *read)

    def close(self):
        pass


def fill(opened):
    store = opened.engine.store
    store.execute(f"PRAGMA max_page_count={store.execute('PRAGMA page_count').fetchone()[0]}")


def free(opened):
    opened.engine.store.execute("PRAGMA max_page_count=1000000")


@pytest.mark.parametrize("place", ["embedded", "wire"])
def test_a_copy_says_what_it_has_written_and_continues(source, disk, place):
    with reached(disk, place) as target:
        filling = FillingDisk(target, disk, batches=30)
        with pytest.raises(HashrangeError, match=WRITTEN):
            copy_items(source, "old-orders", filling, create=True, segments=1)
        free(disk)
        assert copy_items(source, "old-orders", target, segments=1) == ITEMS
        assert scan(target, "old-orders") == scan(source, "old-orders")


def test_the_copy_of_a_migration_says_what_it_has_written_and_continues(source, disk):
    with pytest.raises(HashrangeError, match=WRITTEN):
        migration.open(source, FillingDisk(disk, disk, batches=60)).copy(segments=1)
    free(disk)
    run = migration.open(source, disk)
    run.copy(segments=1)
    run.switch()


@contextmanager
def limited_files(size):
    """Let no file of this process grow beyond a size: writes fail as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", ["items.jsonl", "items.jsonl.gz", "items.csv", "items.parquet"])
@pytest.mark.parametrize("size", [1, 4_096])
def test_an_export_says_what_to_do_and_continues(source, tmp_path, name, size):
    path = tmp_path / name
    with (
        limited_files(size),
        pytest.raises(PlanError, match=r"File too large\. Free some space, then export again: it continues"),
    ):
        export_items(source, "old-orders", path)
    assert not path.exists()
    assert export_items(source, "old-orders", path) == ITEMS
    assert [file.name for file in tmp_path.iterdir()] == [name]
    with hashrange.open() as target:
        create_tables(target, OldOrders)
        import_items(target, "old-orders", [path])
        assert scan(target, "old-orders") == scan(source, "old-orders")


def test_an_import_that_does_not_fit_stores_nothing_and_says_what_to_do(source, tmp_path):
    export_items(source, "old-orders", tmp_path / "items.jsonl")
    data = tmp_path / "data"
    with hashrange.open(data) as database:
        create_tables(database, OldOrders)
    command = ["data", "import", "old-orders", str(tmp_path / "items.jsonl"), "--target", str(data)]
    with limited_files(200_000):
        refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2, refused.output
    words = " ".join(refused.output.split())
    assert "Nothing was written" in words
    assert "is full" in words or "check that it is not full" in words
    with hashrange.open(data) as database:
        assert scan(database, "old-orders") == []
    assert CliRunner().invoke(app, command).exit_code == 0
    with hashrange.open(data) as database:
        assert scan(database, "old-orders") == scan(source, "old-orders")
