"""`hashrange data`: exports, imports, copies and compares, with exit codes for scripts."""

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange import Table
from hashrange.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, ["data", *map(str, arguments)])


@pytest.fixture
def directory(tmp_path):
    with hashrange.open(tmp_path / "data") as database:
        hashrange.create_tables(database, Table("orders", "id", deletion_protection=False))
        for number in range(3):
            database.put_item(TableName="orders", Item={"id": {"S": str(number)}, "price": {"N": "7"}})
    (tmp_path / "other").mkdir()
    return tmp_path


def test_items_go_to_a_file_and_to_another_directory_and_compare_equal(directory):
    data, other, file = directory / "data", directory / "other", directory / "orders.jsonl.gz"
    assert "3 items of orders exported" in run("export", "orders", file, "--target", data).output
    assert "3 items of orders copied" in run("copy", "orders", "--target", data, "--to", other, "--create").output
    same = run("diff", "orders", "--target", data, "--to", other)
    assert (same.exit_code, same.output.strip()) == (0, "The items are equal.")
    assert "3 items imported into orders, 0 lines refused" in run("import", "orders", file, "--target", other).output


def test_differences_are_listed_with_exit_code_1(directory):
    data, other = directory / "data", directory / "other"
    run("copy", "orders", "--target", data, "--to", other, "--create")
    with hashrange.open(data) as database:
        database.put_item(TableName="orders", Item={"id": {"S": "1"}, "price": {"N": "8"}})
        database.delete_item(TableName="orders", Key={"id": {"S": "2"}})
    found = run("diff", "orders", "--target", data, "--to", other)
    assert found.exit_code == 1
    assert "changed: id=1: price\n" in found.output
    assert "only in second: id=2\n" in found.output


def test_refused_lines_are_listed_and_nothing_is_imported_unless_asked_for(directory):
    (directory / "more.csv").write_text("id,price:N\n8,1\n9,many\n")
    refused = run("import", "orders", directory / "more.csv", "--target", directory / "data")
    assert refused.exit_code == 2
    assert "more.csv, line 3: " in refused.output
    assert "nothing was imported" in refused.output
    others = run("import", "orders", directory / "more.csv", "--target", directory / "data", "--skip-refused")
    assert others.exit_code == 1
    assert "1 item imported into orders, 1 line refused" in others.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["export", "nothing", "x.jsonl"], "There is no table nothing. There are: orders."),
        (["export", "orders", "x.doc"], "In which format is x.doc?"),
        (["copy", "orders", "--to", "nowhere"], "There is no directory nowhere"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(directory, monkeypatch, arguments, words):
    monkeypatch.chdir(directory)
    shown = run(*arguments, "--target", "data")
    assert shown.exit_code == 2
    assert words in shown.output
    assert shown.stdout == "", "nothing but the error, and that on stderr"


def test_a_copy_creates_the_directory_with_the_table_and_not_for_a_table_that_does_not_exist(directory):
    data, new = directory / "data", directory / "new"
    assert run("copy", "nothing", "--target", data, "--to", new, "--create").exit_code == 2
    assert not new.exists()
    assert "3 items of orders copied" in run("copy", "orders", "--target", data, "--to", new, "--create").output
