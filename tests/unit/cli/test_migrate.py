"""`hashrange migrate`: the steps of a migration, from the preview to its end."""

from typing import Protocol

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange import Get, Item, Key, Patterns, Table
from hashrange.cli.app import app
from hashrange.provision import Migration
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


@pytest.mark.parametrize("step", ["copy", "switch", "finish"])
def test_a_complete_step_is_not_repeated_and_exits_with_0(data, step):
    for each in ("copy", "switch", "finish"):
        first = run(each, MIGRATION, "--target", data)
        assert first.exit_code == 0
        if each == step:
            again = run(each, MIGRATION, "--target", data)
            assert (again.exit_code, again.output) == (0, first.output.splitlines(keepends=True)[-1])
            return


notes = Table("migrate-notes", "pk", stream="NEW_AND_OLD_IMAGES", deletion_protection=False)
same_notes = Table("migrate-notes", "pk", stream="NEW_AND_OLD_IMAGES", deletion_protection=False)


class ShortNote(Item, table=notes, pk="N#{number:01d}"):
    number: Key[int]
    title: str
    lines: int = 0


class ShortNotes(Patterns, Protocol):
    def note(self, number: int) -> Get[ShortNote]: ...


class LongNote(Item, table=same_notes, pk="NOTE#{number:06d}"):
    number: Key[int]
    title: str
    length: int = 0


class LongNotes(Patterns, Protocol):
    def note(self, number: int) -> Get[LongNote]: ...


longer = Migration("longer keys", source=ShortNotes, target=LongNotes)


@longer.convert(ShortNote)
def lengthen(note: ShortNote) -> LongNote:
    return LongNote(number=note.number, title=note.title.strip(), length=len(note.title))


def test_a_preview_shows_the_keys_before_and_after_and_the_fields_that_differ(tmp_path):
    with hashrange.open(tmp_path) as database:
        hashrange.create_tables(database, ShortNotes)
        items = [{"pk": "N#7", "title": "tea"}, {"pk": "N#8", "title": " cup "}]
        for item in items:
            database.put_item(TableName="migrate-notes", Item={name: {"S": value} for name, value in item.items()})
    shown = run("preview", f"{__name__}:longer", "--target", tmp_path).output
    assert "      migrate-notes (pk N#7) -> migrate-notes (pk NOTE#000007)\n" in shown
    assert "          title: ' cup ' -> 'cup'\n        - lines: 0\n        + length: 5\n" in shown
    assert "number" not in shown
    assert "'tea'" not in shown


def test_a_preview_shows_each_of_several_items_with_its_key(data):
    shown = run("preview", MIGRATION, "--target", data).output
    assert "old-orders (id 0): OldOrder(id='0', customer='ann'" in shown
    assert "product='a'), orders (pk CUSTOMER#ann, sk LINE#0#000)" in shown
    assert "old-orders (id 1): OldOrder(id='1', customer='test'" in shown


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
