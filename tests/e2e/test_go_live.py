"""A schema change while a program writes, by the commands of a user over HTTP: no acknowledged write is lost.

The same with 100,000 items, processes and kills is `python -m scripts.go_live`.
"""

import json
import threading

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange.cli.app import app
from hashrange.server.runner import serve_in_background
from hashrange.server.settings import ServerSettings
from scripts.go_live import oracle
from scripts.go_live.writer import Writer

ITEMS = 120
MIGRATION = "scripts.go_live.third:ten_digits"


class RunningWriter:
    """A writer in a thread, which makes a bounded number of writes for each version."""

    def __init__(self, database, log):
        self.writer, self.wanted, self.error = Writer(database, log, ITEMS), threading.Event(), None
        self.thread = None

    def start(self, version):
        """End the earlier version, and write with another."""
        self.stop()
        self.wanted.set()
        self.writer.use(version)
        self.thread = threading.Thread(target=self._write)
        self.thread.start()

    def stop(self):
        """Wait for the last write."""
        self.wanted.clear()
        if self.thread is not None:
            self.thread.join()
            self.thread = None
        if self.error is not None:
            raise self.error

    def _write(self):
        try:
            for _ in range(2_000):
                self.writer.write()
                if not self.wanted.is_set():
                    return
        except Exception as error:  # noqa: BLE001 - it is raised in the thread of the test
            self.error = error


@pytest.fixture
def url(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")
    with hashrange.open() as opened, serve_in_background(opened.engine, ServerSettings(port=0)) as server:
        yield server.url


def test_every_acknowledged_write_is_in_the_new_table_with_its_index_keys(url, tmp_path):
    def run(*arguments):
        done = CliRunner().invoke(app, [*map(str, arguments), "--target", url])
        assert done.exit_code == 0, done.output
        return done.output

    file, log = tmp_path / "parcels.jsonl", tmp_path / "acknowledged.jsonl"
    file.write_text("".join(json.dumps({"Item": item}) + "\n" for item in oracle.first_items(ITEMS)))
    run("apply", "scripts.go_live.first")
    assert f"{ITEMS} items imported" in run("data", "import", "parcels", file, "--schema", "scripts.go_live.first")
    with hashrange.connect(url) as database:
        running = RunningWriter(database, log)
        try:
            running.start("first")
            assert "create index ByCustomer" in run("apply", "scripts.go_live.second")
            running.start("second")
            run("backfill", "scripts.go_live.second")
            run("drift", "scripts.go_live.second")
            run("migrate", "preview", MIGRATION)
            run("migrate", "copy", MIGRATION)
            run("migrate", "follow", MIGRATION, "--once")
            running.stop()
            assert "is switched" in run("migrate", "switch", MIGRATION)
            running.start("third")
            run("migrate", "finish", MIGRATION)
        finally:
            running.stop()
        expected, writes = oracle.expect(ITEMS, log)
        assert oracle.compare(database, expected) == []
        assert set(writes) == {"first", "second", "third"}
