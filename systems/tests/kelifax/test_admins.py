"""Accounts of admins and moderators: who may change them, which one remains, and what a change ends."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

import hashrange
from hashrange_systems.kelifax.application import APPLICATION, PATTERNS
from hashrange_systems.kelifax.errors import NotPermitted
from hashrange_systems.shared.accounts.key_mark import KeysDiffer
from hashrange_systems.shared.errors import (
    ApplicationError,
    InvalidInput,
    ResourceMissing,
    SignInRefused,
    StateConflict,
)
from systems.tests.hosting import make_host
from systems.tests.kelifax.services import ANN, BOB, SITE, KelifaxServices

pytestmark = pytest.mark.usefixtures("quick_hashes")
PASSWORD = "correct horse battery"


def run(coroutine):
    return asyncio.run(coroutine)


async def sign_in(kelifax, name, password=PASSWORD):
    return (await kelifax.accounts.sign_in.with_password(name, password)).cookie


async def find_actor(kelifax, cookie):
    found = await kelifax.accounts.sign_in.find(cookie)
    return found and found.user


def test_an_admin_signs_in_by_name_with_the_role_and_nothing_is_stored_in_the_clear(services_anywhere):
    async def act(kelifax):
        await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        cookie = await sign_in(kelifax, " Ann ")
        assert await find_actor(kelifax, cookie) == ANN
        stored = str(kelifax.database.call("Scan", {"TableName": "kelifax-accounts"})["Items"])
        assert [secret for secret in (cookie, PASSWORD, "argon2") if secret in stored] == []
        await kelifax.accounts.sign_in.end(cookie)
        assert await find_actor(kelifax, cookie) is None

    run(act(services_anywhere))


def test_the_answer_for_a_name_that_no_account_can_have_is_that_for_a_wrong_password(kelifax):
    async def act():
        await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        texts = set()
        for name in ("ann", "nobody", "", "x" * 500, "ann\n", "LOGIN#ann"):
            with pytest.raises(SignInRefused) as refused:
                await sign_in(kelifax, name, "wrong password")
            texts.add(str(refused.value))
        assert len(texts) == 1

    run(act())


def test_another_password_or_role_ends_all_sessions(kelifax):
    async def act():
        await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        await kelifax.admins.add("bob", PASSWORD, "moderator", ANN)
        cookie = await sign_in(kelifax, "bob")
        await kelifax.admins.change_password("bob", "another good one", BOB)
        assert await find_actor(kelifax, cookie) is None
        with pytest.raises(SignInRefused):
            await sign_in(kelifax, "bob")
        cookie = await sign_in(kelifax, "bob", "another good one")
        await kelifax.admins.change_role("bob", "admin", ANN)
        assert await find_actor(kelifax, cookie) is None
        cookie = await sign_in(kelifax, "bob", "another good one")
        await kelifax.admins.change_role("bob", "moderator", ANN)
        assert await find_actor(kelifax, cookie) is None
        cookie = await sign_in(kelifax, "bob", "another good one")
        assert await find_actor(kelifax, cookie) == BOB
        await kelifax.admins.remove("bob", ANN)
        assert await find_actor(kelifax, cookie) is None
        with pytest.raises(SignInRefused):
            await sign_in(kelifax, "bob", "another good one")
        assert [each.owner for each in await kelifax.admins.list_all()] == ["ann"]
        await kelifax.admins.add("bob", "a third good one", "moderator", ANN)
        assert await find_actor(kelifax, cookie) is None

    run(act())


def test_only_admins_change_accounts_and_one_admin_remains(kelifax):
    async def act():
        await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        for attempt in (
            kelifax.admins.add("eve", PASSWORD, "admin", BOB),
            kelifax.admins.change_password("ann", PASSWORD, BOB),
            kelifax.admins.change_role("bob", "admin", BOB),
            kelifax.admins.remove("ann", BOB),
        ):
            with pytest.raises(NotPermitted):
                await attempt
        for attempt in (kelifax.admins.remove("ann", ANN), kelifax.admins.change_role("ann", "moderator", ANN)):
            with pytest.raises(StateConflict, match="must remain"):
                await attempt
        with pytest.raises(StateConflict):
            await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        for attempt in (
            kelifax.admins.change_password("nobody", PASSWORD, ANN),
            kelifax.admins.change_role("nobody", "admin", ANN),
            kelifax.admins.change_role("nobody", "moderator", ANN),
            kelifax.admins.remove("nobody", ANN),
        ):
            with pytest.raises(ResourceMissing):
                await attempt
        with pytest.raises(InvalidInput) as refused:
            await kelifax.admins.add("A B", "short", "king", ANN)
        assert [error.field for error in refused.value.errors] == ["name", "role", "password"]
        assert [each.owner for each in await kelifax.admins.list_all()] == ["ann"]

    run(act())


@pytest.mark.parametrize("action", ["remove", "demote"])
def test_of_two_admins_who_end_each_other_at_the_same_moment_one_remains(clock, action):
    """Each makes sure of the other in its own transaction."""
    for _ in range(10):
        with hashrange.open(clock=clock) as database:
            kelifax = KelifaxServices(database, clock)
            for name in ("ann", "bob"):
                run(kelifax.admins.add(name, PASSWORD, "admin", ANN))

            def end(name, admins=kelifax.admins):
                change = admins.remove(name, ANN) if action == "remove" else admins.change_role(name, "moderator", ANN)
                try:
                    run(change)
                except ApplicationError as error:
                    return error
                return None

            with ThreadPoolExecutor(2) as pool:
                outcomes = list(pool.map(end, ("ann", "bob")))
            assert len([each for each in outcomes if isinstance(each, StateConflict)]) == 1
            assert [each.role for each in run(kelifax.admins.list_all())].count("admin") == 1


def test_a_command_without_the_keys_of_the_server_stores_no_password(kelifax_database, clock, tmp_path):
    server = open_application(kelifax_database, clock, tmp_path)
    run(server.admins.add("ann", PASSWORD, "admin", ANN))
    command = open_application(kelifax_database, clock, None, is_command=True)
    for attempt in (
        command.admins.add("bob", PASSWORD, "admin", ANN),
        command.admins.change_password("ann", "another good one", ANN),
    ):
        with pytest.raises(KeysDiffer, match=r"set KELIFAX_KEYS to keys\.json"):
            run(attempt)
    assert run(find_actor(server, run(sign_in(server, "ann")))) == ANN


@pytest.mark.parametrize("is_command", [False, True])
def test_a_process_with_other_keys_does_not_start(kelifax_database, clock, tmp_path, is_command):
    open_application(kelifax_database, clock, tmp_path)
    (tmp_path / "other").mkdir()
    with pytest.raises(KeysDiffer, match="set KELIFAX_KEYS to it"):
        open_application(kelifax_database, clock, tmp_path / "other", is_command=is_command).verify_keys()


@pytest.fixture
def kelifax_database(clock):
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, *PATTERNS)
        yield database


def open_application(database, clock, directory, **more):
    return APPLICATION.open(make_host(database, clock, directory, base_url=SITE), **more)
