"""plan, apply, drift, backfill, migrate, copy, export, import, diff and adopt against moto's DynamoDB.

moto is another implementation of the protocol: what works there as on hashrange's own server does not depend on it.
"""

import os
import subprocess
from typing import Protocol

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange import Get, Gsi, Item, Key, Patterns, Query, Table, Ttl
from hashrange.cli.app import app
from hashrange.provision import (
    Dropped,
    Migration,
    adopt,
    apply,
    backfill,
    copy_items,
    create_tables,
    diff_items,
    drift,
    export_items,
    import_items,
    plan,
)
from tests.conftest import require
from tests.e2e.clients.conftest import HERE, ROOT

PYTHON = ROOT / ".venv-clients" / "bin" / "python"
table = Table(
    "moto-orders",
    "pk",
    indexes=[Gsi("ByCustomer", "customer_key", "pk"), Gsi("ByPriority", "priority", "pk", project=["customer"])],
    stream="NEW_AND_OLD_IMAGES",
    ttl="expires",
    pitr=True,
    tags={"team": "shop"},
    deletion_protection=False,
)
new = Table("moto-new-orders", "pk", "sk", deletion_protection=False)
ITEMS = 120


class Order(Item, table=table, pk="ORDER#{number:04d}", customer_key="CUSTOMER#{customer}"):
    number: Key[int]
    customer: str
    priority: str = "low"
    expires: Ttl | None = None


class Orders(Patterns, Protocol):
    def order(self, number: int) -> Get[Order]: ...
    def of_customer(self, customer: str) -> Query[Order]: ...


class NewOrder(Item, table=new, pk="CUSTOMER#{customer}", sk="ORDER#{number:06d}"):
    customer: Key[str]
    number: Key[int]
    priority: str


class NewOrders(Patterns, Protocol):
    def of_customer(self, customer: str) -> Query[NewOrder]: ...


migration = Migration("moto orders", source=Orders, target=NewOrders)


@migration.convert(Order)
def convert(order: Order) -> NewOrder | Dropped:
    if order.customer == "nobody":
        return Dropped("no customer")
    return NewOrder(customer=order.customer, number=order.number, priority=order.priority)


@pytest.fixture(scope="module")
def url():
    """A moto that only these tests use."""
    require(PYTHON.exists(), "moto")
    environment = {"PATH": os.environ["PATH"], "AWS_EC2_METADATA_DISABLED": "true"}
    server = subprocess.Popen(
        [str(PYTHON), str(HERE / "moto_server.py")], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


@pytest.fixture
def moto(url):
    with hashrange.connect(url, access_key="local", secret_key="local", region="eu-west-2") as database:
        for name in database.call("ListTables", {})["TableNames"]:
            database.call("DeleteTable", {"TableName": name})
        yield database


def fill(database):
    """Create the first version of the table, with items of a program that knows no index."""
    create_tables(database, Table("moto-orders", "pk", deletion_protection=False))
    for number in range(ITEMS):
        item = {"pk": {"S": f"ORDER#{number:04d}"}, "customer": {"S": f"customer {number % 3}"}}
        database.call("PutItem", {"TableName": "moto-orders", "Item": item})


def test_a_table_is_changed_to_its_declaration_and_its_items_are_completed(moto):
    fill(moto)
    changes = plan(moto, Orders)
    assert [step.action for step in changes.steps if "index" in step.action] == [
        "create index ByCustomer (customer_key, pk), projecting ALL",
        "create index ByPriority (priority, pk), projecting customer",
    ]
    apply(moto, changes, allow_loss=True)
    assert not plan(moto, Orders)
    assert not drift(moto, Orders)
    [report] = backfill(moto, Orders, segments=30)
    assert (report.scanned, report.repaired, report.unreadable) == (ITEMS, ITEMS, 0)
    [again] = backfill(moto, Orders)
    assert (again.scanned, again.repaired) == (ITEMS, 0)
    db = Orders.open(moto)
    assert len(db.of_customer("customer 1").run()) == ITEMS // 3
    dropping = plan(moto, Table("moto-orders", "pk", deletion_protection=False))
    assert [step.action for step in dropping.steps if step.action.startswith("drop")]
    assert all(step.loses for step in dropping.steps if step.action.startswith("drop"))


def test_items_are_migrated_while_a_program_writes(moto):
    create_tables(moto, Orders)
    db = Orders.open(moto)
    db.batch([Order(number=number, customer=f"customer {number % 3}") for number in range(ITEMS)]).run()
    run = migration.open(moto)
    assert run.preview().outcomes["Order", "NewOrder"] == ITEMS
    assert run.copy().written == ITEMS
    db.put(Order(number=3, customer="ann", priority="high")).run()
    db.put(Order(number=4, customer="nobody")).run()
    moto.call("DeleteItem", {"TableName": "moto-orders", "Key": {"pk": {"S": "ORDER#0005"}}})
    run.follow()
    assert run.verify(), run.verify().differences
    run.switch()
    assert [order.number for order in NewOrders.open(moto).of_customer("ann").run()] == [3]
    assert moto.call("Scan", {"TableName": "moto-new-orders", "Select": "COUNT"})["Count"] == ITEMS - 2
    run.finish()


def test_items_are_copied_exported_imported_and_compared(moto, tmp_path):
    fill(moto)
    with hashrange.open() as here:
        assert copy_items(moto, "moto-orders", here, create=True) == ITEMS
        assert copy_items(here, "moto-orders", moto, "moto-copied", create=True, segments=30) == ITEMS
        assert export_items(moto, "moto-orders", tmp_path / "orders.csv") == ITEMS
        create_tables(moto, Table("moto-imported", "pk", deletion_protection=False))
        assert import_items(moto, "moto-imported", [tmp_path / "orders.csv"]).stored == ITEMS
        for name in ("moto-copied", "moto-imported"):
            assert not list(diff_items(here, "moto-orders", moto, name))


def test_a_table_is_adopted(moto, tmp_path):
    fill(moto)
    text = adopt(moto, "moto-orders")
    assert 'pk="ORDER#{order:04d}"' in text
    assert "customer: str" in text
    assert "cannot be read" not in text


def test_the_commands_work_with_its_address(url, moto, monkeypatch):
    fill(moto)
    for name, value in (("ACCESS_KEY_ID", "local"), ("SECRET_ACCESS_KEY", "local"), ("DEFAULT_REGION", "eu-west-2")):
        monkeypatch.setenv(f"AWS_{name}", value)

    def run(*arguments):
        outcome = CliRunner().invoke(app, [*arguments, "--target", url])
        assert outcome.exit_code == 0, outcome.output
        return outcome.output

    assert "+ create index ByCustomer" in run("plan", __name__)
    run("apply", __name__, "--allow-loss", "--yes")
    assert "are as declared" in run("drift", __name__)
    assert f"{ITEMS} completed" in run("backfill", __name__)
    assert f"{ITEMS} written" in run("migrate", "copy", f"{__name__}:migration")
    assert "is following." in run("migrate", "follow", f"{__name__}:migration", "--once")
    assert "is switched." in run("migrate", "switch", f"{__name__}:migration")
