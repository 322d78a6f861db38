"""Secret fields are opened by a migration and sealed anew: for the other table, and with other keys if given."""

import shlex
from contextlib import suppress
from typing import Annotated, Protocol

import pytest
from pydantic import Field
from typer.testing import CliRunner

import hashrange
from hashrange import Get, Item, Key, LocalKeys, Patterns, PlanError, Query, Secret, Table, ValueInvalid
from hashrange.cli.app import app
from hashrange.core.errors import UnknownKey
from hashrange.provision import Dropped, Migration, create_tables
from tests.unit.provision.test_interrupted_job import Killed, KillingTransport

NAME = f"{__name__}:migration"
former_table = Table("secret-shops", "pk", stream="NEW_AND_OLD_IMAGES", deletion_protection=False)
table = Table("secret-accounts", "pk", "sk", deletion_protection=False)


class Shop(Item, table=former_table, pk="SHOP#{domain}"):
    domain: Key[str]
    token: Secret[Annotated[str, Field(max_length=20)]]
    plan: str = "free"


class Visitor(Item, table=former_table, pk="VISITOR#{email}"):
    """No class of the migration; its secret is sealed with keys that nobody has any more."""

    email: Key[str]
    note: Secret[str] | None = None


class Shops(Patterns, Protocol):
    def shop(self, domain: str) -> Get[Shop]: ...
    def visitor(self, email: str) -> Get[Visitor]: ...


class Account(Item, table=table, pk="OWNER#{owner}", sk="ACCOUNT"):
    owner: Key[str]
    credential: Secret[Annotated[str, Field(max_length=20)]]


class Accounts(Patterns, Protocol):
    def account(self, owner: str) -> Get[Account]: ...
    def of_owner(self, owner: str) -> Query[Account]: ...


migration = Migration("accounts of shops", source=Shops, target=Accounts)


@migration.convert(Shop)
def convert(shop: Shop) -> Account | Dropped:
    if shop.token == "none":
        return Dropped("no token")
    return Account(owner=shop.domain, credential=shop.token)


@pytest.fixture
def keys():
    return LocalKeys.generate()


@pytest.fixture
def source(database, keys):
    create_tables(database, Shops)
    fill(database, keys)
    return database


def fill(database, keys):
    db = Shops.open(database, keys=keys)
    db.batch([Shop(domain=f"s{number}", token=f"token {number}") for number in range(5)]).run()
    db.create(Shop(domain="none", token="none")).run()
    db.create(Visitor(email="a@b", note="tall")).run()


def check(database, old_keys, new_keys):
    """Compare what programs read from the target with what they read from the source."""
    old, new = Shops.open(database, keys=old_keys), Accounts.open(database, keys=new_keys)
    shops = [f"s{number}" for number in range(7)]
    expected = {name: found.token for name in shops if (found := old.shop(name).run())}
    stored = {name: found.credential for name in shops if (found := new.account(name).run())}
    assert stored == expected
    assert new.account("none").run() is None
    raws = database.call("Scan", {"TableName": "secret-accounts"})["Items"]
    assert all(raw["credential"]["S"].startswith("hr1:") for raw in raws)
    return expected


def test_a_migration_of_secrets_without_keys_is_refused_when_it_is_opened(source):
    with pytest.raises(
        PlanError, match=r"needs keys, because Shop\.token is a Secret.*keys=LocalKeys.*--keys keys.json"
    ):
        migration.open(source)
    with pytest.raises(PlanError, match=r"needs keys, because Shop\.token"):
        migration.open(source, new_keys=LocalKeys.generate())
    assert source.call("ListTables", {})["TableNames"] == ["secret-shops"]


def test_new_secrets_need_keys_too(database):
    class Plain(Item, table=Table("plain-shops", "pk", stream="NEW_AND_OLD_IMAGES"), pk="{domain}"):
        domain: Key[str]

    class PlainShops(Patterns, Protocol):
        def shop(self, domain: str) -> Get[Plain]: ...

    sealing = Migration("sealing", source=PlainShops, target=Accounts)

    @sealing.convert(Plain)
    def seal(plain: Plain) -> Account:
        return Account(owner=plain.domain, credential="new")

    with pytest.raises(PlanError, match=r"needs keys, because Account\.credential"):
        sealing.open(database)
    assert sealing.open(database, new_keys=LocalKeys.generate()).phase == "new"


@pytest.mark.parametrize("has_new_keys", [False, True])
def test_secrets_are_copied_followed_verified_and_switched(source, keys, has_new_keys):
    new_keys = LocalKeys.generate() if has_new_keys else None
    run = migration.open(source, keys=keys, new_keys=new_keys)
    assert run.preview()
    assert (run.copy().written, run.verify().differing) == (5, 0)
    db = Shops.open(source, keys=keys)
    db.put(Shop(domain="s1", token="changed")).run()
    db.create(Shop(domain="s5", token="created")).run()
    db.put(Shop(domain="s2", token="none")).run()
    source.call("DeleteItem", {"TableName": "secret-shops", "Key": {"pk": {"S": "SHOP#s0"}}})
    assert not run.verify()
    run.follow()
    assert run.verify()
    run.switch()
    source.call("DeleteItem", {"TableName": "secret-shops", "Key": {"pk": {"S": "SHOP#s2"}}})
    assert check(source, keys, new_keys or keys) == {
        "s1": "changed",
        "s3": "token 3",
        "s4": "token 4",
        "s5": "created",
    }
    if new_keys is not None:
        with pytest.raises(UnknownKey):
            Accounts.open(source, keys=keys).account("s1").run()


def test_a_value_that_is_sealed_for_the_other_table_or_not_at_all_differs_and_can_be_repaired(source, keys):
    run = migration.open(source, keys=keys)
    run.copy()
    raws = source.call("Scan", {"TableName": "secret-shops"})["Items"]
    tokens = {raw["pk"]["S"]: raw["token"]["S"] for raw in raws if "token" in raw}
    for owner, stored in (("s1", tokens["SHOP#s1"]), ("s2", "token 2"), ("s3", "hr1:damaged")):
        item = {"pk": {"S": f"OWNER#{owner}"}, "sk": {"S": "ACCOUNT"}, "credential": {"S": stored}}
        source.call("PutItem", {"TableName": "secret-accounts", "Item": item})
    assert run.verify().differing == 3
    with pytest.raises(PlanError, match="3 differing"):
        run.switch()
    run.verify(repair=True, allow_loss=True)
    assert run.verify()
    check(source, keys, keys)


def test_items_that_the_keys_do_not_open_are_named_and_prevent_the_switch(source, keys):
    Shops.open(source, keys=LocalKeys.generate()).create(Shop(domain="lost", token="x")).run()
    run = migration.open(source, keys=keys)
    report = run.copy()
    assert (report.items, report.failed, report.written) == (6, 1, 5)
    assert "secret-shops (pk SHOP#lost): The value was sealed with key" in report.failures[0]
    with pytest.raises(PlanError, match="1 could not be converted"):
        run.switch()


def test_secrets_of_classes_that_are_not_converted_need_not_be_opened(source, keys):
    lost = LocalKeys.generate()
    Shops.open(source, keys=lost).create(Visitor(email="c@d", note="small")).run()
    run = migration.open(source, keys=keys)
    assert run.copy().not_converted == 2
    Shops.open(source, keys=lost).create(Visitor(email="e@f", note="blonde")).run()
    run.switch()
    assert run.phase == "switched"


def test_a_surplus_item_is_found_whatever_its_secret(source, keys):
    run = migration.open(source, keys=keys)
    run.copy()
    for owner, sealing in (("x", keys), ("y", LocalKeys.generate())):
        Accounts.open(source, keys=sealing).create(Account(owner=owner, credential="12345678901234567890")).run()
    assert run.verify().surplus >= 1
    assert "secret-accounts (pk OWNER#x, sk ACCOUNT)" in run.verify().differences


def test_neither_a_preview_nor_the_text_of_a_conversion_shows_a_secret(source, keys):
    report = migration.open(source, keys=keys).preview()
    (shown,) = [found for (_, outcome), found in report.examples.items() if outcome == "Account"]
    for text in (repr(shown), "\n".join(map(str, shown))):
        assert "token 1" not in text
        assert "OWNER#s1" in text or "SHOP#s1" in text


def test_a_keyring_that_does_not_answer_stops_the_step_and_loses_nothing(source, keys):
    class SilentKeys:
        def seal(self, plain, context):
            raise hashrange.TransportError("KMS cannot be reached")

        def unseal(self, sealed, context):
            raise hashrange.TransportError("KMS cannot be reached")

    with pytest.raises(hashrange.TransportError):
        migration.open(source, keys=SilentKeys()).copy()
    run = migration.open(source, keys=keys)
    assert run.copy().written == 5
    Shops.open(source, keys=keys).put(Shop(domain="s1", token="changed")).run()
    with pytest.raises(hashrange.TransportError):
        migration.open(source, keys=SilentKeys()).follow()
    run.follow()
    assert check(source, keys, keys)["s1"] == "changed"


def advance(run):
    """Do what is next, to the end."""
    if run.phase in {"new", "copying"}:
        run.copy(segments=1)
    if run.phase == "following":
        run.switch()


def count_calls():
    with hashrange.open() as database:
        keys = LocalKeys.generate()
        create_tables(database, Shops)
        fill(database, keys)
        counting = KillingTransport(database, 10_000)
        advance(migration.open(counting, keys=keys))
        return 10_000 - counting.left


@pytest.mark.parametrize("kill_after", range(count_calls()))
def test_killed_at_any_call_every_secret_can_be_read_in_the_end(kill_after):
    keys, new_keys = LocalKeys.generate(), LocalKeys.generate()
    with hashrange.open() as database:
        create_tables(database, Shops)
        fill(database, keys)
        with suppress(Killed):
            advance(migration.open(KillingTransport(database, kill_after), keys=keys, new_keys=new_keys))
        Shops.open(database, keys=keys).put(Shop(domain="s1", token="meanwhile")).run()
        run = migration.open(database, keys=keys, new_keys=new_keys)
        was_switched = run.phase == "switched"
        advance(run)
        assert run.phase == "switched"
        if not was_switched:
            assert check(database, keys, new_keys)["s1"] == "meanwhile"


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────────
def run_step(step, *options):
    return CliRunner().invoke(app, ["migrate", step, NAME, *map(str, options)])


def test_the_command_takes_the_key_files(tmp_path):
    keys, new_keys = tmp_path / "keys.json", tmp_path / "new.json"
    LocalKeys(new_keys).rotate()
    with hashrange.open(tmp_path / "data") as database:
        create_tables(database, Shops)
        fill(database, LocalKeys(keys))
    target = ("--target", tmp_path / "data")
    refused = run_step("copy", *target)
    assert (refused.exit_code, "--keys keys.json with the command" in refused.output) == (2, True)
    absent = run_step("copy", *target, "--keys", tmp_path / "no.json")
    assert (absent.exit_code, "There is no key file" in absent.output) == (2, True)
    assert not (tmp_path / "no.json").exists()
    both = (*target, "--keys", keys, "--new-keys", new_keys)
    assert run_step("copy", *both).exit_code == 0
    assert "is switched" in run_step("switch", *both).output
    with hashrange.open(tmp_path / "data") as database:
        check(database, LocalKeys(keys), LocalKeys(new_keys))


def test_a_step_that_is_advised_repeats_the_key_files(tmp_path):
    keys = tmp_path / "keys.json"
    with hashrange.open(tmp_path / "data") as database:
        create_tables(database, Shops)
        fill(database, LocalKeys(keys))
    options = ("--target", tmp_path / "data", "--keys", keys)
    run_step("copy", *options)
    with hashrange.open(tmp_path / "data") as database:
        Accounts.open(database, keys=LocalKeys(keys)).create(Account(owner="x", credential="y")).run()
    refused = run_step("switch", *options)
    assert f"--keys {shlex.quote(str(keys))}" in refused.output.replace("\n", "")


def test_a_session_without_keys_still_says_so(source):
    with pytest.raises(ValueInvalid, match="open it with keys="):
        Shops.open(source).shop("s1").run()
