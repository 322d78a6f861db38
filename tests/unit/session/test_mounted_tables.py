"""One declaration in several tables: each class that mounts it reads and writes its own, in every way there is."""

import os
import types
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange import (
    Conflict,
    DeclarationError,
    Get,
    Item,
    Key,
    LocalKeys,
    Missing,
    Patterns,
    Query,
    ReadPlan,
    ResourceNotFoundException,
    Scan,
    Table,
    Taken,
    Unreadable,
)
from hashrange.cli.app import app
from hashrange.hosting.schema_module import load_app
from hashrange.provision import apply, backfill, drift, plan
from hashrange.server.runner import serve_in_background
from hashrange.server.settings import ServerSettings
from tests.unit.session.accounts import Accounts, Login, Message, Sent, SignIn, Waiting, accounts

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
jobs = Table("shuttle-jobs", "pk", deletion_protection=False)
checkpoints = Table("checkpoints", "consumer", "shard", deletion_protection=False)


class Job(Item, table=jobs, pk="JOB#{number}"):
    number: Key[int]
    owner: str


class Shuttle(Patterns, Protocol):
    def job(self, number: int) -> Get[Job]: ...


class EachJob(Patterns, Protocol):
    def jobs(self) -> Scan[Job]: ...


class ShuttleAccounts(Accounts, Protocol, names={accounts: "${SHUTTLE_ACCOUNTS:-shuttle-accounts}"}):
    pass


class AuraAccounts(Accounts, Protocol, names={accounts: "aura-accounts"}):
    def owned_by(self, owner: str) -> Query[Login]: ...


@pytest.fixture(params=["embedded", "wire"])
def database(request):
    with hashrange.open() as opened:
        if request.param == "embedded":
            yield opened
            return
        with (
            serve_in_background(opened.engine, ServerSettings(port=0)) as server,
            hashrange.connect(server.url, access_key="local", secret_key="local", region="eu-west-2") as remote,
        ):
            yield remote


@pytest.fixture
def keys():
    return LocalKeys.generate()


@pytest.fixture
def shuttle(database, keys):
    hashrange.create_tables(database, ShuttleAccounts)
    return ShuttleAccounts.open(database, keys=keys, secret="s" * 16)


@pytest.fixture
def aura(database, keys):
    hashrange.create_tables(database, AuraAccounts)
    return AuraAccounts.open(database, keys=keys, secret="s" * 16)


def login(name="ann", owner="a", **more):
    return Login(name=name, owner=owner, created_at=NOON, **more)


def stored(database, table):
    return database.call("Scan", {"TableName": table})["Items"]


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_each_class_has_its_own_table(database):
    assert hashrange.create_tables(database, ShuttleAccounts, AuraAccounts, Shuttle) == [
        "shuttle-accounts",
        "aura-accounts",
        "shuttle-jobs",
    ]
    assert [table.name for table in Accounts.tables()] == ["accounts"]


def test_the_name_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("SHUTTLE_ACCOUNTS", "here")
    assert [table.physical_name for table in ShuttleAccounts.tables()] == ["here"]


def test_the_mounted_table_has_every_option_of_the_declared_one(database, shuttle):
    described = database.call("DescribeTable", {"TableName": "shuttle-accounts"})["Table"]
    assert {index["IndexName"] for index in described["GlobalSecondaryIndexes"]} == {"ByOwner", "ByState"}
    assert described["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert not plan(database, ShuttleAccounts)


def test_the_plans_of_calls_that_leave_parameters_out_are_of_the_mounted_table():
    plan = AuraAccounts.plan("logins_of")
    assert isinstance(plan, ReadPlan)
    assert {one.table for one in (plan, *plan.alternatives)} == {*AuraAccounts.tables()}


def test_plans_drift_and_steps_are_about_the_mounted_table(database, shuttle):
    request = {"TableName": "shuttle-accounts", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "ByState"}}]}
    database.call("UpdateTable", request)
    assert [found.table for found in drift(database, ShuttleAccounts)] == ["shuttle-accounts"]
    apply(database, plan(database, ShuttleAccounts))
    assert not drift(database, ShuttleAccounts)


def test_a_backfill_completes_the_items_of_the_mounted_table(database, shuttle, aura):
    raw = {"pk": {"S": "LOGIN#ann"}, "sk": {"S": "LOGIN"}, "name": {"S": "ann"}, "owner": {"S": "a"}}
    for table in ("shuttle-accounts", "aura-accounts"):
        item = {**raw, "created_at": {"S": "2026-01-15T12:00:00.000000+00:00"}}
        database.call("PutItem", {"TableName": table, "Item": item})
    (report,) = backfill(database, ShuttleAccounts)
    assert (report.table, report.repaired) == ("shuttle-accounts", 1)
    assert stored(database, "shuttle-accounts")[0]["visits"] == {"N": "0"}
    assert "visits" not in stored(database, "aura-accounts")[0]


# ── items ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_two_mounted_classes_do_not_see_each_others_items(database, shuttle, aura):
    shuttle.create(login()).run()
    assert aura.login("ann").run() is None
    aura.create(login(owner="b")).run()
    assert [found.owner for found in shuttle.everything()] == ["a"]
    assert [found.owner for found in aura.everything()] == ["b"]
    assert len(stored(database, "shuttle-accounts")) == 1
    with pytest.raises(ResourceNotFoundException):
        Accounts.open(database).login("ann").run()


def test_every_kind_of_write_goes_to_the_mounted_table(database, shuttle):
    shuttle.create(login()).run()
    shuttle.put(login("ben")).run()
    shuttle.put(login("ben", "b")).when(shuttle.is_of("ben", "a")).run()
    shuttle.batch([login("cleo"), login("dora")], delete=[login("ann")]).run()
    shuttle.visit("ben", 7).run()
    shuttle.renew("d", "ben", NOON + timedelta(days=30_000)).run()
    shuttle.create(Message(number=1)).run()
    (waiting,) = shuttle.waiting()
    assert isinstance(waiting, Waiting)
    assert isinstance(shuttle.send(waiting).run(), Sent)
    names = sorted(raw["pk"]["S"] for raw in stored(database, "shuttle-accounts"))
    assert names == ["LOGIN#ben", "LOGIN#cleo", "LOGIN#dora", "MESSAGE#0001", "SIGNIN#d"]
    assert shuttle.login("ben").run() == login("ben", "b", visits=7)
    with pytest.raises(Taken):
        shuttle.create(login("ben")).run()
    with pytest.raises(Missing):
        shuttle.visit("nobody", 1).run()


def test_every_kind_of_read_reads_the_mounted_table(shuttle, aura):
    shuttle.batch([login("ann"), login("ben", "b")]).run()
    aura.batch([login("cleo"), login("dora", "b")]).run()
    assert [found.name for found in shuttle.logins_of("a")] == ["ann"]
    assert [found.name for found in shuttle.logins_of("a", NOON)] == ["ann"]
    assert [found.name for found in aura.logins_of("a", NOON)] == ["cleo"]
    assert [found.name for found in aura.visited("b", [0, 1])] == ["dora"]
    assert [found.name for found in aura.latest_of("a")] == ["cleo"]
    assert [found.name for found in aura.owned_by("b")] == ["dora"]
    assert [found and found.name for found in shuttle.fetch([shuttle.login("ann"), shuttle.login("cleo")]).run()] == [
        "ann",
        None,
    ]
    assert aura.snapshot(aura.login("ann"), aura.login("cleo")).run()[0] is None
    assert len(shuttle.everything().parallel(3).run()) == 2
    explored = aura.explore(Login).where("owner = 'b'")
    assert [found.name for found in explored.query()] == ["dora"]
    assert explored.cost().run().items == 2
    assert "aura-accounts" in str(aura.explore(Login).where("visits = 0").cost().run())


def test_one_fetch_and_one_transaction_may_use_several_mounted_classes(database, shuttle, aura):
    hashrange.create_tables(database, Shuttle)
    db = Shuttle.open(database)
    written = db.transact(db.create(Job(number=1, owner="a")), shuttle.create(login()), aura.create(login())).run()
    assert written == (Job(number=1, owner="a"), login(), login())
    db.transact(shuttle.visit("ann", 3), aura.visit("ann", 4)).run()
    assert [found.visits for found in db.fetch([shuttle.login("ann"), aura.login("ann")]).run()] == [3, 4]
    with pytest.raises(Conflict) as caught:
        db.transact(db.create(Job(number=2, owner="a")), shuttle.create(login())).run()
    assert caught.value.current == login(visits=3)
    assert db.job(2).run() is None


def test_a_secret_is_sealed_for_the_mounted_table(database, shuttle, aura):
    shuttle.create(login(token="secret")).run()
    shuttle.create(login("ben")).run()
    shuttle.give_token("ben", "other").run()
    assert {found.name: found.token for found in shuttle.everything()} == {"ann": "secret", "ben": "other"}
    raw = next(raw for raw in stored(database, "shuttle-accounts") if raw["pk"]["S"] == "LOGIN#ann")
    assert raw["token"]["S"].startswith("hr1:")
    database.call("PutItem", {"TableName": "aura-accounts", "Item": raw})
    with pytest.raises(hashrange.SealError):
        aura.login("ann").run()


def test_an_expired_item_of_the_mounted_table_is_hidden(shuttle):
    shuttle.put(SignIn(digest="d", user="ann", expires_at=NOON - timedelta(days=1000))).run()
    assert shuttle.sign_in("d").run() is None
    renewed = shuttle.renew("d", "ben", NOON + timedelta(days=30_000)).run()
    assert renewed.user == "ben"


def test_a_cursor_of_one_mounted_class_is_refused_by_another(shuttle, aura):
    for db in (shuttle, aura):
        db.batch([login(f"n{number}") for number in range(3)]).run()
    page = shuttle.logins_of("a").page(2).run()
    assert len(shuttle.logins_of("a").page(2, after=page.cursor).run().items) == 1
    with pytest.raises(hashrange.CursorInvalid, match="not from this list"):
        aura.logins_of("a").page(2, after=page.cursor).run()


def test_errors_name_the_mounted_table(database, shuttle):
    raw = {"pk": {"S": "LOGIN#ann"}, "sk": {"S": "LOGIN"}, "name": {"S": "ann"}, "owner": {"S": "a"}}
    database.call("PutItem", {"TableName": "shuttle-accounts", "Item": raw})
    with pytest.raises(Unreadable, match="in shuttle-accounts"):
        shuttle.login("ann").run()
    with pytest.raises(Unreadable, match="in shuttle-accounts"):
        list(shuttle.everything())


def test_errors_about_items_without_secrets_and_expiry_name_the_mounted_table(database):
    class AuraJobs(EachJob, Protocol, names={jobs: "aura-jobs"}):
        pass

    hashrange.create_tables(database, AuraJobs)
    database.call("PutItem", {"TableName": "aura-jobs", "Item": {"pk": {"S": "JOB#1"}}})
    with pytest.raises(Unreadable, match="in aura-jobs: "):
        AuraJobs.open(database).jobs().run()


# ── streams ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_consumer_reads_the_stream_of_the_mounted_table(database, shuttle, aura):
    hashrange.create_tables(database, checkpoints)
    seen = []
    consumer = shuttle.consumer("mails", checkpoints)
    consumer.on(Login)(seen.append)
    shuttle.create(login()).run()
    aura.create(login("ben")).run()
    consumer.run()
    assert [(change.table.name, change.after.name) for change in seen] == [
        ("${SHUTTLE_ACCOUNTS:-shuttle-accounts}", "ann")
    ]
    consumer.forget().run()
    assert consumer.run() == 1


def test_the_events_of_a_lambda_function_are_read_by_the_class_of_their_table(shuttle):
    record = {
        "eventName": "INSERT",
        "dynamodb": {
            "Keys": {"pk": {"S": "SIGNIN#d"}, "sk": {"S": "SIGNIN"}},
            "NewImage": {
                "pk": {"S": "SIGNIN#d"},
                "sk": {"S": "SIGNIN"},
                "digest": {"S": "d"},
                "user": {"S": "ann"},
                "expires_at": {"N": "4000000000"},
            },
            "SequenceNumber": "1",
        },
    }
    arn = "arn:aws:dynamodb:eu-west-2:123456789012:table/{}/stream/2026"
    own = {**record, "eventSourceARN": arn.format("shuttle-accounts")}
    other = {**record, "eventSourceARN": arn.format("aura-accounts")}
    (change,) = shuttle.changes({"Records": [own, other]})
    assert isinstance(change.after, SignIn)
    for table in (accounts, *ShuttleAccounts.tables()):
        (change,) = shuttle.changes({"Records": [record]}, table)
        assert change.table is ShuttleAccounts.tables()[0]


# ── classes ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_class_that_inherits_a_mounted_one_uses_the_same_table(database, shuttle):
    class Both(ShuttleAccounts, Shuttle, Protocol):
        def named(self, name: str) -> Query[Login]: ...

    assert {table.physical_name for table in Both.tables()} == {"shuttle-accounts", "shuttle-jobs"}
    assert hashrange.create_tables(database, ShuttleAccounts, Both) == ["shuttle-jobs"]
    db = Both.open(database, keys=shuttle.session.keys)
    db.transact(db.create(login()), db.create(Job(number=1, owner="a"))).run()
    assert shuttle.login("ann").run() == db.login("ann").run() == login()
    assert [found.name for found in db.named("ann")] == ["ann"]


def test_a_pattern_that_a_class_overrides_stays_so_in_the_classes_that_inherit_it():
    class Narrow(Accounts, Protocol):
        def everything(self) -> Scan[Login]: ...

    class Narrower(Narrow, Protocol):
        pass

    assert Narrower.plan("everything").label == "Narrow.everything"


class Notes(Patterns, Protocol, tenant="owner"):
    def job(self, number: int, owner: str) -> Get[Job]: ...


def test_a_mounted_class_keeps_the_tenant():
    class Mounted(Notes, Protocol, names={jobs: "aura-jobs"}):
        pass

    assert Mounted.tenant == "owner"
    with hashrange.open() as database:
        hashrange.create_tables(database, Mounted)
        db = Mounted.open(database)
        db.create(Job(number=1, owner="a")).run()
        assert db.job(1, "b").run() is None
        with pytest.raises(Conflict):
            db.put(Job(number=1, owner="b")).run()
    with pytest.raises(DeclarationError, match="HR209"):

        class Careless(Notes, Protocol, names={jobs: "other-jobs"}):
            def any_job(self, number: int) -> Get[Job]: ...


def test_the_same_name_is_the_same_table():
    class Again(Accounts, Protocol, names={accounts: "aura-accounts"}):
        pass

    class Unchanged(Accounts, Protocol, names={accounts: "accounts"}):
        pass

    assert Again.tables() == AuraAccounts.tables()
    assert Unchanged.tables() == [accounts]


def test_an_item_cannot_be_declared_later_neither_for_the_declared_nor_for_the_mounted_table():
    for table in (accounts, *AuraAccounts.tables()):
        with pytest.raises(DeclarationError, match="HR111"):

            class Late(Item, table=table, pk="LATE#{name}", sk="LATE"):
                name: Key[str]


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_explain_names_the_mounted_table():
    shown = CliRunner().invoke(app, ["explain", __name__, "AuraAccounts"])
    assert shown.exit_code == 0
    assert "AuraAccounts  (aura-accounts)" in shown.output
    assert "owned_by" in shown.output


def test_lint_finds_in_a_mounted_class_what_it_finds_in_the_declared_one():
    assert ShuttleAccounts.lint() == Accounts.lint()


def test_an_app_has_the_mounted_tables_and_not_those_that_it_imports_to_mount_them():
    assert load_app(__name__).tables == ["aura-accounts", "checkpoints", "shuttle-accounts", "shuttle-jobs"]
    assert os.environ.get("SHUTTLE_ACCOUNTS") is None


# ── mistakes ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def declare(names, *bases):
    return types.new_class("Declared", (*bases, Protocol), {"names": names})


@pytest.mark.parametrize(
    ("names", "bases", "message"),
    [
        (
            {jobs: "x-jobs"},
            (Accounts,),
            "HR168 .*shuttle-jobs, of which it inherits no pattern; name one of accounts",
        ),
        ({jobs: "x-jobs"}, (Patterns,), "HR168 .*inherit from the Patterns class whose patterns use it"),
        ({"accounts": "x-accounts"}, (Accounts,), "HR171 .*give the declared tables with their names"),
        ("x-accounts", (Accounts,), "HR171 .*give the declared tables with their names"),
        ("", (Accounts,), "HR171"),
        ({accounts: ""}, (Accounts,), "HR101 table ''"),
        ({accounts: "my accounts"}, (Accounts,), "HR101"),
        ({accounts: None}, (Accounts,), "HR162"),
        ({accounts: "shuttle-jobs"}, (Accounts, Shuttle), "HR170 .*two tables named shuttle-jobs"),
        ({accounts: "one", jobs: "${X:-one}"}, (Accounts, Shuttle), "HR170"),
        (None, (ShuttleAccounts, AuraAccounts), "HR169 .*shuttle-accounts.* and as aura-accounts"),
        (None, (ShuttleAccounts, Accounts), "HR169"),
        ({AuraAccounts.tables()[0]: "other"}, (AuraAccounts,), "HR168 .*name one of accounts"),
    ],
)
def test_a_mistake_is_refused_and_says_how_to_mend_it(names, bases, message):
    with pytest.raises(DeclarationError, match=message):
        declare(names, *bases)


def test_a_name_decides_between_two_inherited_ones():
    declared = declare({accounts: "third"}, ShuttleAccounts, AuraAccounts)
    assert [table.name for table in declared.tables()] == ["third"]
    assert declared.plan("owned_by").table.name == "third"
