"""`hashrange load` as its users call it: output, exit code, and what is in the table afterwards."""

import gzip

import orjson
import pytest
from typer.testing import CliRunner

from hashrange.cli.app import app
from hashrange.engine import bulk_load, import_files
from hashrange.engine.engine import open_engine
from hashrange.operations import OPERATIONS
from tests.conformance.table import define
from tests.conformance.wire import item

FAILED = 2


class Cli:
    """The command line on a data directory of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.data = folder / "data"

    def load(self, *arguments, table="tab", option="--target"):
        """Run `hashrange load`; return its exit code and all it said, in one line."""
        command = ["load", *map(str, arguments), "--table", table, option, str(self.data)]
        outcome = CliRunner().invoke(app, command, env={"COLUMNS": "500"})
        assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
        return outcome.exit_code, " ".join(outcome.output.split())

    def write(self, items, name="items.jsonl"):
        text = b"".join(orjson.dumps(each) + b"\n" for each in items)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    def call(self, operation, **request):
        engine = open_engine(self.data, OPERATIONS)
        try:
            return orjson.loads(engine.call(operation, request))
        finally:
            engine.close()

    def count(self):
        """How many items there are, by counting and by the counter, which agree."""
        counted = self.call("Scan", TableName="tab", Select="COUNT")["Count"]
        assert self.call("DescribeTable", TableName="tab")["Table"]["ItemCount"] == counted
        return counted


@pytest.fixture
def cli(tmp_path):
    made = Cli(tmp_path)
    made.call("CreateTable", **define("pk:S", name="tab"))
    return made


def numbered(many, start=0):
    return [item(pk=f"k{number}", n=number) for number in range(start, start + many)]


def test_items_are_loaded_and_counted(cli):
    assert cli.load(cli.write(numbered(1_500))) == (0, "1,500 items loaded into tab")
    assert cli.count() == 1_500
    assert cli.call("GetItem", TableName="tab", Key=item(pk="k7"))["Item"] == item(pk="k7", n=7)


def test_the_former_name_of_the_option_is_accepted(cli):
    assert cli.load(cli.write(numbered(3)), option="--data") == (0, "3 items loaded into tab")


def test_a_server_is_no_directory_to_load_into(cli):
    cli.data = "http://127.0.0.1:8000"
    code, said = cli.load(cli.write(numbered(1)))
    assert code == FAILED
    assert "hashrange data import writes to a server" in said


def test_several_files_and_an_export_are_loaded_in_one_go(cli):
    cli.write([{"Item": each} for each in numbered(10)], "export/data/part.json.gz")
    cli.write([{"ignored": True}], "export/manifest-summary.json")
    plain = cli.write(numbered(10, start=5))
    assert cli.load(cli.folder / "export", plain) == (0, "20 items loaded into tab")
    assert cli.count() == 15


def test_loading_into_a_table_with_items_replaces_and_adds(cli):
    cli.load(cli.write(numbered(10)))
    changed = [item(pk="k1", n=100), item(pk="new", n=1)]
    assert cli.load(cli.write(changed)) == (0, "2 items loaded into tab")
    assert cli.count() == 11
    assert cli.call("GetItem", TableName="tab", Key=item(pk="k1"))["Item"] == item(pk="k1", n=100)


def test_create_creates_the_table_first(cli):
    definition = cli.folder / "music.json"
    definition.write_bytes(orjson.dumps(define("pk:S", name="name of another", gsi={"by-n": "n:N"})))
    said = cli.load(cli.write(numbered(20)), "--create", definition, table="music")
    assert said == (0, "20 items loaded into music")
    described = cli.call("DescribeTable", TableName="music")["Table"]
    assert (described["ItemCount"], described["GlobalSecondaryIndexes"][0]["ItemCount"]) == (20, 20)


def test_a_table_that_was_created_for_a_load_is_deleted_when_nothing_is_loaded(cli):
    definition = cli.folder / "music.json"
    definition.write_bytes(orjson.dumps({**define("pk:S", name="music"), "DeletionProtectionEnabled": True}))
    bad, good = cli.write([*numbered(20), item(n=1)], "bad.jsonl"), cli.write(numbered(20), "good.jsonl")
    code, said = cli.load(bad, "--create", definition, table="music")
    assert (code, said.partition(":")[0]) == (FAILED, "error")
    assert "music" not in cli.call("ListTables")["TableNames"]
    assert cli.load(good, "--create", definition, table="music") == (0, "20 items loaded into music")


def test_create_of_an_existing_table_fails(cli):
    definition = cli.folder / "tab.json"
    definition.write_bytes(orjson.dumps(define("pk:S", name="tab")))
    code, said = cli.load(cli.write(numbered(1)), "--create", definition)
    assert (code, said) == (FAILED, "error: Table already exists: tab")


@pytest.mark.parametrize("text", [b"{", b"[]", b'"tab"'])
def test_an_invalid_table_definition_is_reported(cli, text):
    definition = cli.folder / "tab.json"
    definition.write_bytes(text)
    code, said = cli.load(cli.write(numbered(1)), "--create", definition, table="new")
    assert code == FAILED
    assert str(definition) in said


def test_an_invalid_line_is_reported_and_nothing_is_loaded_into_an_empty_table(cli):
    path = cli.write([*numbered(4), {"no": {"S": "key"}}, *numbered(4, start=4)])
    code, said = cli.load(path)
    assert code == FAILED
    assert said.startswith(f"error: {path}, line 5: One or more parameter values were invalid: Missing the key pk")
    assert said.endswith("(nothing was loaded)")
    assert cli.count() == 0


def test_an_invalid_line_is_reported_and_a_table_with_items_is_unchanged(cli):
    cli.load(cli.write(numbered(3)))
    path = cli.write(numbered(25), "more.jsonl")
    path.write_bytes(path.read_bytes() + b"not json\n")
    code, said = cli.load(path)
    assert code == FAILED
    assert said.startswith(f"error: {path}, line 26: not JSON: ")
    assert said.endswith("(nothing was loaded)")
    assert cli.count() == 3


def test_a_full_disk_is_reported_with_the_number_of_stored_items(cli, monkeypatch):
    monkeypatch.setattr(bulk_load, "BATCH", 10)
    put_all = bulk_load._put_all

    def put_on_a_full_disk(engine, n, rows):
        put_all(engine, n, rows)
        pages = engine.store.execute("PRAGMA page_count").fetchone()[0]
        engine.store.execute(f"PRAGMA max_page_count={pages + 1}")

    cli.load(cli.write(numbered(3)))
    monkeypatch.setattr(bulk_load, "_put_all", put_on_a_full_disk)
    path = cli.write([item(pk=f"new{number}", x="x" * 2_000) for number in range(30)])
    code, said = cli.load(path)
    assert code == FAILED
    assert "is full" in said
    assert said.endswith("(10 items were stored; loading again is safe)")
    assert cli.count() == 13
    monkeypatch.undo()
    assert cli.load(path) == (0, "30 items loaded into tab")
    assert cli.count() == 33


@pytest.mark.parametrize("name", ["items.jsonl", "items.jsonl.gz"])
@pytest.mark.parametrize("present", [0, 3])
def test_several_processes_load_the_same(cli, monkeypatch, name, present):
    monkeypatch.setattr(import_files, "CHUNK_BYTES", 2_000)
    cli.load(cli.write(numbered(present)))
    assert cli.load(cli.write(numbered(500), name), "--workers", "2") == (0, "500 items loaded into tab")
    assert cli.count() == 500


def test_an_invalid_line_is_reported_when_several_processes_read(cli, monkeypatch):
    monkeypatch.setattr(import_files, "CHUNK_BYTES", 2_000)
    path = cli.write([*numbered(300), {"no": {"S": "key"}}, *numbered(300)])
    code, said = cli.load(path, "--workers", "2")
    assert code == FAILED
    assert said.startswith(f"error: {path}, line 301: One or more parameter values were invalid: Missing the key pk")
    assert said.endswith("(nothing was loaded)")
    assert cli.count() == 0


def test_there_is_at_least_one_worker(cli):
    code, said = cli.load(cli.write(numbered(1)), "--workers", "0")
    assert code == FAILED
    assert "--workers" in said


def test_an_empty_file_loads_nothing(cli):
    assert cli.load(cli.write([])) == (0, "0 items loaded into tab")
    assert cli.count() == 0


def test_an_unknown_table_is_reported(cli):
    code, said = cli.load(cli.write(numbered(1)), table="nowhere")
    assert (code, said) == (FAILED, "error: Requested resource not found: Table: nowhere not found")


def test_a_directory_in_use_is_reported(cli):
    engine = open_engine(cli.data, OPERATIONS)
    try:
        code, said = cli.load(cli.write(numbered(1)))
    finally:
        engine.close()
    assert code == FAILED
    assert "is in use by process" in said
    assert "choose another directory" in said


def test_a_missing_file_is_reported(cli):
    code, said = cli.load(cli.folder / "missing.jsonl")
    assert code == FAILED
    assert "does not exist" in said


def test_a_directory_without_files_is_reported(cli):
    (cli.folder / "empty").mkdir()
    code, said = cli.load(cli.folder / "empty")
    assert code == FAILED
    assert "has no files to load" in said


def test_quiet_shows_no_progress(cli):
    assert cli.load(cli.write(numbered(3)), "--quiet") == (0, "3 items loaded into tab")
