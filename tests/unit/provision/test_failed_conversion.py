"""A conversion that fails for some items: they are listed with their keys and the reason, and the others are copied."""

from typing import Protocol

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange import Get, Item, Key, Patterns, PlanError, Table
from hashrange.cli.app import app
from hashrange.provision import Dropped, Migration, create_tables

old = Table("conversion-old", "id", stream="NEW_AND_OLD_IMAGES", deletion_protection=False)
new = Table("conversion-new", "pk", deletion_protection=False)
other = Table("conversion-other", "pk", deletion_protection=False)


class Reading(Item, table=old, id="R#{number:02d}"):
    number: Key[int]
    value: int = 0


class Readings(Patterns, Protocol):
    def reading(self, number: int) -> Get[Reading]: ...


class Measurement(Item, table=new, pk="M#{number:03d}"):
    number: Key[int]
    value: int = 0
    note: str = ""


class Stray(Item, table=other, pk="S#{number:02d}"):
    number: Key[int]


class Measurements(Patterns, Protocol):
    def measurement(self, number: int) -> Get[Measurement]: ...


def make(function):
    declared = Migration("measurements", source=Readings, target=Measurements)
    declared.convert(Reading)(function)
    return declared


def convert_by_number(reading: Reading) -> object:
    """Fail for the item 3, in a way that its value chooses."""
    if reading.number != 3:
        return Measurement(number=reading.number)
    return FAILURES[reading.value](reading)


def yield_and_fail(reading):
    yield Measurement(number=reading.number)
    raise RuntimeError("half way")


FAILURES = [
    lambda reading: {}["missing"],
    lambda reading: Measurement(number=reading.number, value="many"),
    lambda reading: None,
    yield_and_fail,
    lambda reading: "text",
    lambda reading: 7,
    lambda reading: Stray(number=reading.number),
    lambda reading: Measurement(number=reading.number, note="x" * 410_000),
    lambda reading: Measurement(number=None),
]
REASONS = [
    "convert_by_number raised KeyError: 'missing' (test_failed_conversion.py, line ",
    "raised ValidationError: Measurement.value: Input should be a valid integer",
    "convert_by_number returned None: return an item, several, or Dropped with a reason",
    "raised RuntimeError: half way (test_failed_conversion.py, line ",
    "returned str, which is not an item",
    "returned int, which is not an item",
    "Stray is stored in no table of the target",
    "Measurement takes 410,0",
    "Measurement.number",
]
failing = make(convert_by_number)


def fill(database, way):
    create_tables(database, Readings)
    Readings.open(database).batch(
        [Reading(number=number, value=way if number == 3 else 0) for number in range(6)]
    ).run()


@pytest.mark.parametrize("way", range(len(FAILURES)))
def test_the_item_is_listed_with_its_key_and_the_reason_and_the_others_are_copied(database, way):
    fill(database, way)
    run = failing.open(database)
    for report in (run.preview(), run.copy()):
        assert (report.items, report.failed) == (6, 1)
        [failure] = report.failures
        assert failure.startswith("conversion-old (id R#03): ")
        assert REASONS[way] in failure
    assert database.call("Scan", {"TableName": "conversion-new", "Select": "COUNT"})["Count"] == 5
    with pytest.raises(PlanError, match="1 could not be converted"):
        run.switch()


def test_an_item_that_is_mended_in_the_source_is_followed(database):
    fill(database, 0)
    run = failing.open(database)
    run.copy()
    mended = make(lambda reading: Measurement(number=reading.number) if reading.number != 3 or reading.value else {}[1])
    Readings.open(database).put(Reading(number=3, value=5)).run()
    followed = mended.open(database)
    followed.follow()
    assert Measurements.open(database).measurement(3).run() == Measurement(number=3)
    followed.switch()


def test_after_the_function_is_mended_a_repair_writes_what_failed(database):
    fill(database, 0)
    failing.open(database).copy()
    run = make(lambda reading: Measurement(number=reading.number)).open(database)
    assert run.verify(repair=True).missing == 1
    run.switch()


def test_a_migration_without_a_function_is_refused(database):
    create_tables(database, Readings)
    empty = Migration("empty", source=Readings, target=Measurements)
    with pytest.raises(PlanError, match="'empty' converts nothing: write a function for each class"):
        empty.open(database)


def test_the_command_lists_the_items_and_exits_with_1(tmp_path):
    with hashrange.open(tmp_path) as database:
        fill(database, 0)
    for step in ("preview", "copy"):
        shown = CliRunner().invoke(app, ["migrate", step, f"{__name__}:failing", "--target", str(tmp_path)])
        assert shown.exit_code == 1
        assert "conversion-old (id R#03): convert_by_number raised KeyError" in shown.output
        assert "1 item could not be converted" in shown.output


def test_an_interruption_is_no_failure_of_an_item(database):
    fill(database, 0)

    def interrupt(reading: Reading) -> Dropped:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(interrupt).open(database).preview()
