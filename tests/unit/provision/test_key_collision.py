"""Two items of the source that become one item of the target are noticed before one replaces the other."""

from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import hashrange
from hashrange import Item, Key, Patterns, PlanError, Query, Table
from hashrange.cli.app import app
from hashrange.provision import Migration, create_tables
from tests.unit.provision.test_migration import Interrupted, OldOrder, OldOrders, put

table = Table("days", "pk", "sk", deletion_protection=False)


class Day(Item, table=table, pk="CUSTOMER#{customer}", sk="DAY#{day}"):
    customer: Key[str]
    day: Key[str]
    number: str


class Days(Patterns, Protocol):
    def of_customer(self, customer: str) -> Query[Day]: ...


migration = Migration("days", source=OldOrders, target=Days)


@migration.convert(OldOrder)
def convert(old: OldOrder) -> Day:
    return Day(customer=old.customer, day=old.day, number=old.id)


@pytest.fixture
def source(database):
    create_tables(database, OldOrders)
    for number, customer in enumerate(["ann", "ben", "cleo"]):
        put(database, number, customer=customer)
    return database


def test_a_copy_stops_with_both_source_keys(source):
    put(source, 7, customer="ben")
    run = migration.open(source)
    with pytest.raises(PlanError) as caught:
        run.copy()
    assert "old-orders (id 1)" in str(caught.value)
    assert "old-orders (id 7)" in str(caught.value)
    assert "both become days (pk CUSTOMER#ben, sk DAY#2026-01-01)" in str(caught.value)
    assert run.phase == "copying"
    put(source, 7, customer="dora")
    assert (run.copy().items, run.phase) == (4, "following")
    run.follow()
    run.verify(repair=True, allow_loss=True)
    run.switch()


class InterceptedTransport:
    """A transport whose responses a function may change."""

    def __init__(self, database, intercept):
        self.database, self.intercept = database, intercept
        self.clock = getattr(database, "clock", None)

    def call(self, operation, request, *read):
        response = self.database.call(operation, request, *read)
        self.intercept(operation, request, response)
        return response


def test_a_copy_that_goes_on_knows_what_the_earlier_one_copied(database):
    create_tables(database, OldOrders)
    for number in range(501):  # two pages: the first is recorded, then the process is killed
        put(database, number, customer=str(number))
    order = [raw["id"]["S"] for raw in database.call("Scan", {"TableName": "old-orders"})["Items"]]
    put(database, order[-1], customer=order[0])

    def kill(operation, request, _response):
        if (
            operation == "PutItem"
            and request["TableName"] == "hashrange-jobs"
            and "copy" in request["Item"]["job"]["S"]
        ):
            raise Interrupted

    with pytest.raises(Interrupted):
        migration.open(InterceptedTransport(database, kill)).copy(segments=1)
    run = migration.open(database)
    with pytest.raises(PlanError, match=rf"\(id {order[0]}\) and old-orders \(id {order[-1]}\) both become"):
        run.copy(segments=1)
    put(database, order[-1], customer="other")
    assert run.copy(segments=1).items == 501
    run.follow()
    run.verify(repair=True, allow_loss=True)
    run.switch()


def test_an_item_that_is_gone_meanwhile_is_no_collision(source):
    gone = {"id": {"S": "gone"}, "customer": {"S": "ann"}, "day": {"S": "2026-01-01"}, "lines": {"L": []}}

    def add_gone(operation, request, response):
        if operation == "Scan" and request["TableName"] == "old-orders":
            response["Items"].append(gone)

    report = migration.open(InterceptedTransport(source, add_gone)).copy()
    assert report.outcomes["OldOrder", "Day"] > 3


# ── while following ──────────────────────────────────────────────────────────────────────────────────────────────────
def remove(database, number):
    database.call("DeleteItem", {"TableName": "old-orders", "Key": {"id": {"S": str(number)}}})


def days_of(database):
    """Return which order each day of a customer is from."""
    raws = database.call("Scan", {"TableName": "days"})["Items"]
    return {(raw["pk"]["S"].removeprefix("CUSTOMER#"), raw["sk"]["S"][-2:]): raw["number"]["S"] for raw in raws}


@pytest.fixture(params=["one process", "a process for each step"])
def open_run(request, source):
    """Copy, and return a function that returns the migration: the same one, or one that knows nothing yet."""
    first = migration.open(source)
    first.copy()
    return lambda: first if request.param == "one process" else migration.open(source)


def test_a_collision_while_following_names_both_and_replaces_neither(source, open_run):
    put(source, 7, customer="ben")
    run = open_run()
    run.follow()
    assert days_of(source) == {("ann", "01"): "0", ("ben", "01"): "1", ("cleo", "01"): "2"}
    (collision,) = run.collisions
    assert {collision.first[1]["id"]["S"], collision.second[1]["id"]["S"]} == {"1", "7"}
    assert "both become days (pk CUSTOMER#ben, sk DAY#2026-01-01)" in str(collision)
    for refuse in (lambda: open_run().switch(), lambda: open_run().switch(keep_differences=True)):
        with pytest.raises(PlanError, match=r"cannot be switched: .*1 become what others become too: .*both become"):
            refuse()
    assert open_run().verify().collided == 1


def test_neither_changes_nor_repairs_replace_an_item_while_two_become_it(source, open_run):
    put(source, 7, customer="ben")
    open_run().follow()
    put(source, 1, customer="ben", lines=["changed"])
    put(source, 7, customer="ben", lines=["changed"])
    open_run().follow()
    report = open_run().verify(repair=True, allow_loss=True)
    assert (report.collided, report.differing, days_of(source)["ben", "01"]) == (1, 1, "1")


def test_a_repair_writes_none_of_two_items_that_become_the_same_one(source, open_run):
    put(source, 7, customer="dora")
    put(source, 8, customer="dora")
    open_run().follow()
    assert open_run().verify(repair=True).missing == 2
    assert ("dora", "01") not in days_of(source)


def test_following_after_a_copy_in_the_same_process_does_not_read_the_source_again(source):
    scans = []

    def count(operation, request, _response):
        if (operation, request.get("TableName")) == ("Scan", "old-orders"):
            scans.append(request)

    run = migration.open(InterceptedTransport(source, count))
    run.copy(segments=1)
    put(source, 7, customer="dora")
    run.follow()
    assert len(scans) == 1
    again = migration.open(InterceptedTransport(source, count))
    again.follow()
    assert len(scans) == 1
    put(source, 8, customer="dora")
    again.follow()
    again.follow()
    assert len(scans) > 1


def test_a_new_process_names_the_collisions_that_others_have_found(source):
    migration.open(source).copy()
    put(source, 7, customer="ben")
    migration.open(source).follow()
    run = migration.open(source)
    put(source, 8, customer="dora")
    run.follow()
    assert ["both become days (pk CUSTOMER#ben" in str(collision) for collision in run.collisions] == [True]


@pytest.mark.parametrize(
    ("mend", "days"),
    [
        (lambda source: put(source, 7, customer="dora"), {"ben": "1", "dora": "7"}),
        (lambda source: put(source, 1, customer="dora"), {"ben": "7", "dora": "1"}),
        (lambda source: remove(source, 7), {"ben": "1"}),
        (lambda source: remove(source, 1), {"ben": "7"}),
        (lambda source: (remove(source, 1), remove(source, 7)), {}),
    ],
)
def test_when_only_one_is_left_the_target_has_it(source, open_run, mend, days):
    put(source, 7, customer="ben")
    open_run().follow()
    mend(source)
    run = open_run()
    run.follow()
    assert run.collisions == []
    assert days_of(source) == {(name, "01"): number for name, number in {"ann": "0", "cleo": "2", **days}.items()}
    open_run().switch()


def test_of_three_that_collide_the_last_one_is_written(source, open_run):
    for number in (7, 8):
        put(source, number, customer="ben")
    open_run().follow()
    remove(source, 1)
    run = open_run()
    run.follow()
    assert len(run.collisions) == 1
    remove(source, 7)
    open_run().follow()
    assert days_of(source)["ben", "01"] == "8"
    open_run().switch()


def test_an_item_that_takes_the_place_of_another_is_no_collision(source, open_run):
    put(source, 1, customer="dora")
    put(source, 2, customer="ben")
    remove(source, 0)
    put(source, 9, customer="ann")
    run = open_run()
    run.follow()
    assert (run.collisions, days_of(source)) == ([], {("dora", "01"): "1", ("ben", "01"): "2", ("ann", "01"): "9"})
    open_run().switch()


def test_one_that_cannot_be_converted_meanwhile_is_not_replaced(source):
    run = migration.open(source)
    run.copy()
    put(source, 8, customer="dora")
    run.follow()
    damaged = {"id": {"S": "1"}, "customer": {"S": "ben"}, "day": {"N": "7"}, "lines": {"L": []}}
    source.call("PutItem", {"TableName": "old-orders", "Item": damaged})
    put(source, 7, customer="ben")
    run.follow()
    assert days_of(source)["ben", "01"] == "1"
    with pytest.raises(PlanError, match="1 could not be converted"):
        run.switch()


NUMBERS, NAMES = st.integers(0, 4), st.sampled_from(["ann", "ben"])
STEPS = st.lists(st.one_of(st.tuples(NUMBERS, NAMES), st.tuples(NUMBERS, st.none()), st.just("follow")), max_size=25)


def check_days(now, held, former):
    """Compare what the target has with the source, and where orders collide with what it had."""
    for name in ("ann", "ben"):
        numbers = [str(number) for number, customer in now.items() if customer == name]
        expected = former.get(name) if len(numbers) > 1 else (numbers or [None])[0]
        assert held.get(name) == expected


@settings(max_examples=80, deadline=None)
@given(steps=STEPS, has_one_process=st.booleans())
def test_whatever_collides_and_when_the_target_has_what_one_item_becomes(steps, has_one_process):
    with hashrange.open() as database:
        create_tables(database, OldOrders)
        run = migration.open(database)
        run.copy()
        now, former = {}, {}
        for step in (*steps, "follow"):
            if step == "follow":
                run = run if has_one_process else migration.open(database)
                run.follow()
                held = {name: number for (name, _), number in days_of(database).items()}
                check_days(now, held, former)
                former = held
                continue
            number, customer = step
            if customer:
                put(database, number, customer=customer)
                now[number] = customer
            else:
                remove(database, number)
                now.pop(number, None)
        for number in [
            number for number in now if any(now[other] == now[number] for other in range(number) if other in now)
        ]:
            remove(database, number)
        migration.open(database).switch()


def test_the_command_names_collisions_and_exits_with_2(tmp_path):
    with hashrange.open(tmp_path) as database:
        create_tables(database, OldOrders)
        put(database, 1, customer="ann")
        migration.open(database).copy()
        put(database, 2, customer="ann")
    arguments = [f"{__name__}:migration", "--target", str(tmp_path)]
    followed = CliRunner().invoke(app, ["migrate", "follow", *arguments, "--once"])
    assert (followed.exit_code, followed.output.count("both become days (pk CUSTOMER#ann")) == (2, 1)
    switched = CliRunner().invoke(app, ["migrate", "switch", *arguments])
    assert switched.exit_code == 2
    assert "both become days (pk CUSTOMER#ann" in switched.output.replace("\n", " ")


def test_a_preview_and_a_verification_name_both_and_exit_with_2(tmp_path):
    with hashrange.open(tmp_path) as database:
        create_tables(database, OldOrders)
        put(database, 1, customer="ann")
        run = migration.open(database)
        run.copy()
        put(database, 2, customer="ann")
        run.follow()
        report = run.verify()
        assert (bool(report), report.collided) == (False, 1)
        with pytest.raises(PlanError, match="1 become what others become too"):
            run.switch()
    for step in ("preview", "verify"):
        name = f"{__name__}:migration"
        shown = CliRunner().invoke(app, ["migrate", step, name, "--target", str(tmp_path)])
        assert shown.exit_code == 2
        assert "old-orders (id 1) and old-orders (id 2) both become" in shown.output or (
            "old-orders (id 2) and old-orders (id 1) both become" in shown.output
        )
