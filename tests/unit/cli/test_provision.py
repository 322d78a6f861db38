"""`hashrange plan`, `apply` and `drift`: on a directory and over HTTP, and what they say about bad input."""

import re

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange.cli.app import app
from hashrange.cli.backfill import _format_repair
from hashrange.client.target import open_target
from hashrange.core.errors import StorageError
from hashrange.provision import Repair
from hashrange.server.runner import serve_in_background
from hashrange.server.settings import ServerSettings

SCHEMA = """
from typing import Protocol
from hashrange import Get, Gsi, Item, Patterns, Query, Table

table = Table("{name}", {keys}, indexes=[{indexes}], deletion_protection=False)

class Order(Item, table=table, {templates}):
    id: str
    user: str

class Orders(Patterns, Protocol):
    def order(self, id: str) -> Get[Order]: ...
"""


@pytest.fixture(params=["directory", "endpoint"])
def target(request, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    if request.param == "directory":
        yield "data"
        return
    with hashrange.open() as opened, serve_in_background(opened.engine, ServerSettings(port=0)) as server:
        yield server.url


@pytest.fixture
def declare(tmp_path, request):
    """Write a module that only this test imports; return its name."""
    counted = iter(range(100))

    def write(indexes="", keys='"id"', templates='id="{id}"', name="orders"):
        module = f"declared_{request.node.name.partition('[')[0]}_{next(counted)}_{id(tmp_path)}"
        text = SCHEMA.replace("{name}", name).replace("{keys}", keys).replace("{indexes}", indexes)
        (tmp_path / f"{module}.py").write_text(text.replace("{templates}", templates))
        return module

    return write


def run(*arguments, **options):
    return CliRunner().invoke(app, arguments, **options)


def test_a_plan_changes_nothing_and_apply_makes_the_tables_as_declared(target, declare):
    first = declare()
    assert "  + create table orders\n" in run("plan", first, "--target", target).output
    missing = run("drift", first, "--target", target)
    assert missing.exit_code == 1
    assert missing.output == "orders: table: missing: declared, but not in the database\n"
    assert "1 step applied" in run("apply", first, "--target", target).output
    same = run("drift", first, "--target", target)
    assert same.exit_code == 0
    assert "are as declared" in same.output
    second = declare('Gsi("ByUser", "user")')
    assert (
        "orders: index ByUser: missing: declared (user), projecting ALL, but not in the database"
        in run("drift", second, "--target", target).output
    )
    assert "create index ByUser" in run("apply", second, "--target", target).output
    assert "nothing to do" in run("plan", second, "--target", target).output


def test_what_is_lost_is_named_and_needs_two_options_without_a_terminal(target, declare):
    run("apply", declare('Gsi("ByUser", "user")'), "--target", target)
    bare = declare()
    shown = run("apply", bare, "--target", target)
    assert "loses the index (user), 0 entries" in shown.output
    assert "0 steps applied, 1 left: --allow-loss applies it" in shown.output
    refused = run("apply", bare, "--target", target, "--allow-loss")
    assert refused.exit_code == 2
    assert "add --yes" in refused.output
    assert "1 step applied" in run("apply", bare, "--target", target, "--allow-loss", "--yes").output


def test_a_table_with_other_keys_is_refused_with_the_reason(target, declare):
    run("apply", declare(), "--target", target)
    other = declare(keys='"number"', templates='number="{id}"')
    planned = run("plan", other, "--target", target)
    assert planned.exit_code == 2
    assert "error: The lines with an x cannot be changed" in planned.output
    refused = run("apply", other, "--target", target)
    assert refused.exit_code == 2
    assert "another declaration may own this one" in refused.output


@pytest.mark.parametrize(
    ("module", "place", "words"),
    [
        ("no_such_module", "data", "There is no module no_such_module"),
        ("hashrange.core.clock", "data", "declares no Patterns class"),
        ("checks", "nowhere", "There is no directory nowhere"),
        ("checks", "", "The target is empty. Give a directory"),
        ("checks", "file", "file is a file, not a data directory. Give a directory, a URL"),
        ("checks", "http://127.0.0.1:1", "Check the address, and that the server is running."),
        ("checks", "aws:no-such-profile/eu-west-1", "`aws configure list-profiles` lists them"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(module, place, words, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    shown = run("plan", module, "--target", place)
    assert shown.exit_code == 2
    assert shown.output.startswith("error: ")
    assert words in shown.output


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("aws", "There is no region: set AWS_REGION, "),
        ("aws", "--target aws:PROFILE/REGION or aws:/REGION with a command"),
        ("aws:/eu-west-1", "--target aws:PROFILE with a command"),
    ],
)
def test_what_aws_needs_is_named_as_a_command_takes_it(place, words, tmp_path, monkeypatch):
    for name in ("REGION", "DEFAULT_REGION", "PROFILE", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "ENDPOINT_URL"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("CONFIG_FILE", "SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(f"AWS_{name}", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    shown = run("plan", "checks", "--target", place)
    assert shown.exit_code == 2
    assert words in " ".join(shown.output.split())


def test_a_directory_that_a_server_has_open_is_refused(tmp_path):
    with hashrange.open(tmp_path):
        shown = run("plan", "checks", "--target", str(tmp_path))
    assert shown.exit_code == 2
    assert "in use" in shown.output


def test_backfill_completes_items_and_lists_what_it_cannot_read(target, declare):
    run("apply", declare(), "--target", target)
    schema = declare('Gsi("ByUser", "user_key")', templates='id="{id}", user_key="USER#{user}"')
    run("apply", schema, "--target", target)
    with open_target(target) as database:
        for number in range(3):
            user = {"user": {"S": "ann"}} if number else {}
            database.call("PutItem", {"TableName": "orders", "Item": {"id": {"S": str(number)}, **user}})
    shown = run("backfill", schema, "--target", target, "--dry-run")
    assert "  3 items read, 2 to complete\n  2 Order: user_key\n      id='" in shown.output
    assert "      id='1': user_key='USER#ann'\n" in shown.output
    shown = run("backfill", schema, "--target", target)
    assert shown.exit_code == 1
    assert "3 items read, 2 completed" in shown.output
    assert "1 item could not be completed" in shown.output
    assert "0 completed" in run("backfill", schema, "--target", target).output


def test_examples_of_a_backfill_show_numbers_without_quotes():
    repair = Repair("Order", {"id": {"S": "1"}, "n": {"N": "7"}}, {"version": {"N": "0"}}, (), {})
    assert _format_repair(repair) == "id='1', n=7: version=0"


def test_an_index_that_lacks_the_items_that_exist_names_the_next_command(target, declare):
    first = declare()
    assert run("apply", first, "--target", target).exit_code == 0
    computed = declare('Gsi("ByUser", "user_key"), Gsi("Plain", "user")', templates='id="{id}", user_key="U#{user}"')
    assert "backfill" not in run("plan", computed, "--target", target).output
    with open_target(target) as database:
        database.call("PutItem", {"TableName": "orders", "Item": {"id": {"S": "1"}, "user": {"S": "ann"}}})
    lacks = "lacks the items that exist until backfill is run"
    assert run("plan", computed, "--target", target).output.count(lacks) == 1
    applied = run("apply", computed, "--target", target).output
    assert applied.endswith(f"hashrange backfill {computed} --target {target}\n")
    assert "backfill" not in run("apply", computed, "--target", target).output


def test_tables_of_a_module_without_patterns_belong_to_its_plan(target, declare, tmp_path):
    module = declare()
    with (tmp_path / f"{module}.py").open("a") as file:
        file.write('checkpoints = Table("checkpoints", "consumer", "shard", deletion_protection=False)\n')
    assert "create table checkpoints" in run("apply", module, "--target", target).output
    assert run("drift", module, "--target", target).exit_code == 0


def test_a_directory_with_a_database_for_each_access_key_and_region_is_not_taken_for_an_empty_one(tmp_path):
    own = tmp_path / "data" / "databases" / "local" / "eu-west-2"
    with hashrange.open(own) as database:
        hashrange.create_tables(database, hashrange.Table("orders", "id"))
    explained = re.escape(f"Give one of them: {own}.")
    with pytest.raises(StorageError, match=explained), open_target(str(tmp_path / "data")):
        pass
    with open_target(str(own)) as opened:
        assert opened.call("ListTables", {})["TableNames"] == ["orders"]
    assert not (tmp_path / "data" / "hashrange.db").exists()


@pytest.mark.parametrize(
    "command", [["data", "export", "bad name!", "x.jsonl"], ["adopt", "bad name!"], ["adopt", "a"]]
)
def test_a_name_that_is_not_legal_is_refused_with_what_is_legal(command, target):
    refused = run(*command, "--target", target)
    assert refused.exit_code == 2
    assert "is not a legal name of a table: use 3 to 255 of a-z A-Z 0-9 _ . -" in refused.output


def test_apply_creates_a_data_directory_and_a_plan_does_not(declare, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = declare()
    planned = run("plan", module, "--target", "new/data")
    assert planned.exit_code == 2
    assert "`hashrange apply` creates it" in planned.output
    assert run("apply", "no_such_module", "--target", "new/data").exit_code == 2
    assert not (tmp_path / "new").exists()
    assert "1 step applied" in run("apply", module, "--target", "new/data").output
    assert run("drift", module, "--target", "new/data").exit_code == 0


def test_no_directory_is_created_for_a_table_whose_name_needs_a_variable(declare, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused = run("apply", declare(name="${NO_SUCH_VARIABLE}"), "--target", "data")
    assert refused.exit_code == 2
    assert "set it, or declare a default" in refused.output
    assert not (tmp_path / "data").exists()
