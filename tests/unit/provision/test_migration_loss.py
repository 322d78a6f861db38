"""Migrations lose nothing that a program has written, to the source or to the target, unless they are told to."""

import shlex
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import hashrange
from hashrange import Get, Item, Key, Patterns, PlanError, Table, Update
from hashrange.cli.app import app
from hashrange.provision import Migration, create_tables
from tests.unit.provision.test_key_collision import InterceptedTransport

NAME = f"{__name__}:migration"
old = Table("loss-old", "id", stream="NEW_AND_OLD_IMAGES", deletion_protection=False)
new = Table("loss-new", "pk", deletion_protection=False)
beside = Table("loss-old", "id", stream="NEW_AND_OLD_IMAGES", deletion_protection=False)


class OldOrder(Item, table=old, id="O#{number}"):
    number: Key[str]
    note: str = ""


class OldGuest(Item, table=old, id="GUEST#{email}"):
    email: Key[str]


class Old(Patterns, Protocol):
    def order(self, number: str) -> Get[OldOrder]: ...
    def guest(self, email: str) -> Get[OldGuest]: ...
    def annotate(self, number: str, note: str) -> Update[OldOrder]: ...


class Order(Item, table=new, pk="ORDER#{number}"):
    number: Key[str]
    note: str = ""


class Guest(Item, table=new, pk="GUEST#{email}"):
    email: Key[str]


class New(Patterns, Protocol):
    def order(self, number: str) -> Get[Order]: ...
    def guest(self, email: str) -> Get[Guest]: ...
    def annotate(self, number: str, note: str) -> Update[Order]: ...


class BesideOrder(Item, table=beside, id="ORDER#{number}"):
    number: Key[str]


class BesideGuest(Item, table=beside, id="GUEST#{email}"):
    email: Key[str]


class Beside(Patterns, Protocol):
    def order(self, number: str) -> Get[BesideOrder]: ...
    def guest(self, email: str) -> Get[BesideGuest]: ...


migration = Migration("loss", source=Old, target=New)
in_place = Migration("in place", source=Old, target=Beside)


@migration.convert(OldOrder)
def convert(order: OldOrder) -> Order:
    return Order(number=order.number, note=order.note)


@in_place.convert(OldOrder)
def convert_in_place(order: OldOrder) -> BesideOrder | BesideGuest:
    return BesideOrder(number=order.number)


@pytest.fixture
def source(database):
    create_tables(database, Old, New)
    Old.open(database).batch([OldOrder(number="1"), OldOrder(number="2")]).run()
    return database


def test_items_of_classes_that_are_not_converted_are_left_alone(source):
    db = New.open(source)
    db.create(Guest(email="ann")).run()
    run = migration.open(source)
    run.copy()
    assert run.verify(repair=True, allow_loss=True)
    assert db.guest("ann").run() == Guest(email="ann")
    run.switch()


def test_items_of_the_source_are_no_surplus_of_the_same_table(source):
    Old.open(source).create(OldGuest(email="ann")).run()
    run = in_place.open(source)
    assert run.copy().not_converted >= 1
    assert run.verify(repair=True, allow_loss=True)
    assert Beside.open(source).guest("ann").run() == BesideGuest(email="ann")
    Beside.open(source).create(BesideOrder(number="surplus")).run()
    assert run.verify().keys["surplus"] == ["loss-old (id ORDER#surplus)"]


def test_a_class_that_is_returned_without_an_annotation_is_compared_too(source):
    bare = Migration("bare", source=Old, target=New)
    bare.convert(OldOrder)(lambda order: Order(number=order.number))
    run = bare.open(source)
    run.copy()
    New.open(source).batch([Order(number="3"), Guest(email="ann")]).run()
    assert run.verify().keys["surplus"] == ["loss-new (pk ORDER#3)"]


def test_writes_to_the_target_before_the_switch_are_named_and_kept(source):
    run = migration.open(source)
    run.copy()
    db = New.open(source)
    db.create(Order(number="3")).run()
    db.annotate("1", "paid").run()
    for _ in range(2):
        with pytest.raises(PlanError) as caught:
            run.switch()
        assert "1 differing: loss-new (pk ORDER#1); 1 surplus: loss-new (pk ORDER#3)" in str(caught.value)
        run.verify(repair=True)
    run.switch(keep_differences=True)
    assert run.phase == "switched"
    assert (db.order("3").run(), db.order("1").run().note) == (Order(number="3"), "paid")


def test_a_program_that_still_writes_to_the_source_is_told_from_a_difference(source):
    migration.open(source).copy()
    old_db, written = Old.open(source), []

    def write(operation, request, _response):
        if operation == "Scan" and request["TableName"] == "loss-new" and not written:
            written.append(old_db.annotate("1", "late").run())

    run = migration.open(InterceptedTransport(source, write))
    with pytest.raises(PlanError, match="a program still writes to the source, 1 changes"):
        run.switch()
    run.switch()
    assert New.open(source).order("1").run().note == "late"


def test_after_the_switch_nothing_writes_to_the_target(source):
    run = migration.open(source)
    run.copy()
    run.switch()
    New.open(source).annotate("1", "new").run()
    Old.open(source).annotate("1", "old").run()
    for write in (run.follow, lambda: run.verify(repair=True, allow_loss=True)):
        with pytest.raises(PlanError, match="is switched"):
            write()
    assert run.verify().keys["differing"] == ["loss-new (pk ORDER#1)"]
    assert New.open(source).order("1").run().note == "new"


def test_a_repair_does_not_overwrite_what_is_written_meanwhile(source):
    run = migration.open(source)
    run.copy()
    key = {"pk": {"S": "ORDER#1"}}
    source.call("DeleteItem", {"TableName": "loss-new", "Key": key})

    def write(operation, request, _response):
        if operation == "BatchGetItem" and "loss-new" in request["RequestItems"]:
            source.call("PutItem", {"TableName": "loss-new", "Item": {**key, "note": {"S": "meanwhile"}}})

    migration.open(source, InterceptedTransport(source, write)).verify(repair=True)
    assert New.open(source).order("1").run().note == "meanwhile"


NUMBERS = st.sampled_from("12345")


@settings(max_examples=25, deadline=None)
@given(before=st.lists(NUMBERS, max_size=4), early=st.lists(NUMBERS, max_size=3), after=st.lists(NUMBERS, max_size=3))
def test_every_acknowledged_write_is_in_the_target_after_the_recipe(before, early, after):
    """Old programs write until they are stopped; new ones write after the switch, or, by mistake, before it."""
    with hashrange.open() as database:
        create_tables(database, Old)
        run, old_db = migration.open(database), Old.open(database)
        run.copy()
        for turn, number in enumerate(before):
            old_db.put(OldOrder(number=number, note=f"old {turn}")).run()
            run.follow()
        db = New.open(database)
        latest = {number: f"old {turn}" for turn, number in enumerate(before)}
        latest |= {number: f"early {number}" for number in early}
        db.batch([Order(number=number, note=latest[number]) for number in dict.fromkeys(early)]).run()
        try:
            run.switch()
        except PlanError:
            run.verify(repair=True)
            run.switch(keep_differences=True)
        for number in after:
            latest[number] = "after"
            db.put(Order(number=number, note="after")).run()
        assert {number: db.order(number).run().note for number in latest} == latest


def test_the_command_prints_the_keys_and_names_commands(tmp_path):
    data = tmp_path / "data"
    with hashrange.open(data) as database:
        create_tables(database, Old)
        Old.open(database).batch([OldOrder(number=str(number)) for number in range(3)]).run()
        migration.open(database).copy()
        New.open(database).batch([Order(number=f"new{number:02d}") for number in range(12)]).run()

    def run(step, *options):
        return CliRunner().invoke(app, ["migrate", step, NAME, "--target", str(data), *options])

    refused = run("switch")
    assert refused.exit_code == 2
    words = " ".join(refused.output.split())
    assert words.count("(pk ORDER#new") == 10
    command = f"hashrange migrate verify {NAME} --target {shlex.quote(str(data))} --repair --allow-loss"
    assert command in words.replace("- ", "-")
    assert "repair=True" not in words
    kept = run("verify", "--repair")
    assert (kept.exit_code, "--allow-loss overwrites and deletes them" in kept.output) == (1, True)
    with hashrange.open(data) as database:
        Old.open(database).annotate("1", "late").run()
    assert "before 1 change of the source had been followed" in run("verify").output
    assert "12 surplus ones deleted" in run("verify", "--repair", "--allow-loss").output
    assert "is switched." in run("switch").output
