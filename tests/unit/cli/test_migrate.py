"""`hashrange migrate`: the steps of a migration, from the preview to its end."""

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange.cli.app import app
from tests.unit.provision.test_migration import OldOrders, put

MIGRATION = "tests.unit.provision.test_migration:migration"


def run(*arguments):
    return CliRunner().invoke(app, ["migrate", *map(str, arguments)])


@pytest.fixture
def data(tmp_path):
    with hashrange.open(tmp_path / "data") as database:
        hashrange.create_tables(database, OldOrders)
        for number in range(3):
            put(database, number, customer=("ann", "test")[number % 2])
    return tmp_path / "data"


def test_a_migration_is_previewed_copied_followed_switched_and_finished(data):
    shown = run("preview", MIGRATION, "--target", data).output
    assert "2 OldOrder -> Order, Line" in shown
    assert "-> Line(customer='ann', number='0', position=0, product='a')" in shown
    assert "is new." in shown
    copied = run("copy", MIGRATION, "--target", data)
    assert "3 items read, 4 written" in copied.output
    assert "is following." in copied.output
    with hashrange.open(data) as database:
        put(database, 9)
    assert run("verify", MIGRATION, "--target", data).exit_code == 1
    assert "changes applied" in run("follow", MIGRATION, "--target", data, "--once").output
    assert "the target is the converted source" in run("verify", MIGRATION, "--target", data).output
    assert "is switched." in run("switch", MIGRATION, "--target", data).output
    assert "is finished." in run("finish", MIGRATION, "--target", data).output
    assert "is finished." in run("status", MIGRATION, "--target", data).output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["switch", MIGRATION], "is new: run copy first"),
        (["copy", "tests.unit.provision.test_migration"], "has: tests.unit.provision.test_migration:migration"),
        (["copy", "no_such_module:migration"], "There is no module no_such_module"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(data, arguments, words):
    shown = run(*arguments, "--target", data)
    assert shown.exit_code == 2
    assert words in shown.output
