"""Accounts of admins: passwords, lockout, sessions, roles."""

import asyncio

import pytest

from hashrange_systems.kelifax.errors import NotPermitted
from hashrange_systems.shared.accounts.password import FREE_ATTEMPTS
from hashrange_systems.shared.errors import InvalidInput, ResourceMissing, SignInRefused, SignInRequired, StateConflict
from systems.tests.kelifax.services import ANN, BOB

pytestmark = pytest.mark.usefixtures("quick_hashes")
PASSWORD = "correct horse battery"
HOUR, DAY = 3600, 86_400


def run(coroutine):
    return asyncio.run(coroutine)


def test_a_session_lasts_while_it_is_used_and_ends_by_signing_out(services_anywhere):
    async def act(kelifax):
        await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        cookie = await kelifax.admins.sign_in(" Ann ", PASSWORD)
        for _ in range(3):
            kelifax.clock.advance(8 * HOUR)
            assert await kelifax.admins.authenticate(cookie) == ANN
        stored = kelifax.database.call("Scan", {"TableName": "kelifax-records"})["Items"]
        assert cookie not in str(stored)
        assert PASSWORD not in str(stored)
        await kelifax.admins.sign_out(cookie)
        for wrong in (cookie, None, "", "hrs_x", "x" * 10_000):
            with pytest.raises(SignInRequired):
                await kelifax.admins.authenticate(wrong)

    run(act(services_anywhere))


def test_a_session_ends_after_half_a_day_without_use_and_after_a_week(kelifax):
    async def act():
        await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        idle = await kelifax.admins.sign_in("ann", PASSWORD)
        kelifax.clock.advance(13 * HOUR)
        with pytest.raises(SignInRequired):
            await kelifax.admins.authenticate(idle)
        used = await kelifax.admins.sign_in("ann", PASSWORD)
        for _ in range(20):
            kelifax.clock.advance(8 * HOUR)
            await kelifax.admins.authenticate(used)
        kelifax.clock.advance(9 * HOUR)
        with pytest.raises(SignInRequired):
            await kelifax.admins.authenticate(used)

    run(act())


def test_wrong_passwords_lock_the_account_and_a_right_one_does_not_open_it_meanwhile(kelifax):
    async def act():
        await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        for attempt in range(FREE_ATTEMPTS):
            with pytest.raises(SignInRefused) as refused:
                await kelifax.admins.sign_in("ann", "wrong password")
            assert (refused.value.wait_s > 0) == (attempt == FREE_ATTEMPTS - 1)
        with pytest.raises(SignInRefused):
            await kelifax.admins.sign_in("ann", PASSWORD)
        kelifax.clock.advance(31)
        assert await kelifax.admins.sign_in("ann", PASSWORD)
        with pytest.raises(SignInRefused) as refused:
            await kelifax.admins.sign_in("ann", "wrong password")
        assert refused.value.wait_s == 0

    run(act())


def test_guesses_at_once_are_all_counted(kelifax):
    async def act():
        await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        await asyncio.gather(*(kelifax.admins.sign_in("ann", "guess") for _ in range(6)), return_exceptions=True)
        assert (await kelifax.db.sign_in_attempts("ann")).failures == 6

    run(act())


def test_the_answer_for_an_unknown_name_is_that_for_a_wrong_password(kelifax):
    async def act():
        await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        texts = set()
        for name in ("ann", "nobody", "", "x" * 500, "ann\n", "ADMIN#ann"):
            with pytest.raises(SignInRefused) as refused:
                await kelifax.admins.sign_in(name, "wrong password")
            texts.add(str(refused.value))
        assert len(texts) == 1

    run(act())


def test_a_name_without_an_account_is_locked_like_one_with(kelifax):
    async def act():
        await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        answers = {}
        for name in ("ann", "nobody"):
            answers[name] = []
            for _ in range(FREE_ATTEMPTS + 3):
                with pytest.raises(SignInRefused) as refused:
                    await kelifax.admins.sign_in(name, "wrong password")
                answers[name].append((str(refused.value), refused.value.wait_s))
        assert answers["ann"] == answers["nobody"]

    run(act())


def test_another_password_or_role_ends_all_sessions(kelifax):
    async def act():
        await kelifax.admins.add("ann", PASSWORD, "admin", ANN)
        await kelifax.admins.add("bob", PASSWORD, "moderator", ANN)
        cookie = await kelifax.admins.sign_in("bob", PASSWORD)
        await kelifax.admins.change_password("bob", "another good one", BOB)
        with pytest.raises(SignInRequired):
            await kelifax.admins.authenticate(cookie)
        with pytest.raises(SignInRefused):
            await kelifax.admins.sign_in("bob", PASSWORD)
        cookie = await kelifax.admins.sign_in("bob", "another good one")
        await kelifax.admins.change_role("bob", "admin", ANN)
        with pytest.raises(SignInRequired):
            await kelifax.admins.authenticate(cookie)
        cookie = await kelifax.admins.sign_in("bob", "another good one")
        await kelifax.admins.remove("bob", ANN)
        with pytest.raises(SignInRequired):
            await kelifax.admins.authenticate(cookie)

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
        with pytest.raises(ResourceMissing):
            await kelifax.admins.change_password("nobody", PASSWORD, ANN)
        with pytest.raises(InvalidInput) as refused:
            await kelifax.admins.add("A B", "short", "king", ANN)
        assert [error.field for error in refused.value.errors] == ["name", "role", "password"]

    run(act())
