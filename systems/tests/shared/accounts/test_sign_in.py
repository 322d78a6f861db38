"""Signing in with a key or a password, and a second factor; sessions that the server stores and ends."""

import asyncio
from dataclasses import replace

import pyotp
import pytest

from hashrange_systems.shared.accounts import sign_in as module
from hashrange_systems.shared.accounts.lockout import Lockout
from hashrange_systems.shared.accounts.password import FREE_ATTEMPTS, verify_password
from hashrange_systems.shared.accounts.schema import Membership, StoredSession
from hashrange_systems.shared.accounts.server_session import hash_session, hash_text
from hashrange_systems.shared.accounts.sign_in import Admitted, CodeNeeded
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.errors import (
    AccountSuspended,
    ApiKeyInvalid,
    CodeInvalid,
    InvalidInput,
    SignInRefused,
    StateConflict,
    TokenInvalid,
)
from systems.tests.shared.accounts.sample_system import PASSWORD, SampleSystem, do, make_system, race, winners

HOUR, DAY = 3600, 86_400


async def find(sample, cookie):
    """The owner of a cookie, if its session is not over."""
    signed_in = await sample.sign_in.find(cookie)
    return signed_in and signed_in.owner


async def enter(sample, password=PASSWORD, name="ann@example.com"):
    admitted = await sample.sign_in.with_password(name, password)
    assert isinstance(admitted, Admitted)
    return admitted.cookie


async def turn_on_second_factor(sample, owner="ann"):
    """Turn it on; return what makes codes, and the recovery codes."""
    totp = pyotp.TOTP((await sample.factors.begin(owner)).secret)
    codes = await sample.factors.confirm(owner, totp.at(sample.clock.millis() // 1000))
    sample.clock.advance(30)
    return totp, codes


def test_a_key_and_a_password_start_sessions_and_nothing_is_stored_in_the_clear(sample):
    async def act():
        key = await sample.add(password=PASSWORD)
        by_key = await sample.sign_in.with_key(key.text)
        by_password = await enter(sample, name=" Ann@EXAMPLE.com ")
        for cookie in (by_key.cookie, by_password):
            signed_in = await sample.sign_in.find(cookie)
            assert (signed_in.user.owner, signed_in.owner, signed_in.member) == ("ann", "ann", "ann")
            assert (signed_in.role, signed_in.is_demo) == ("owner", False)
        stored = str(sample.stored())
        assert not [secret for secret in (key.text, by_key.cookie, by_password, PASSWORD) if secret in stored]
        assert "argon2" not in stored

    do(act())


@pytest.mark.parametrize("cookie", [None, "", "hrs_", "hrs_x", "x" * 10_000, "hrs_\ud800", "hrs_" + "é" * 90])
def test_what_is_no_cookie_is_nobody(sample, cookie):
    assert do(find(sample, cookie)) is None
    do(sample.sign_in.end(cookie))


def test_a_session_ends_by_signing_out_after_half_a_day_without_use_and_after_a_week(sample):
    async def act():
        await sample.add(password=PASSWORD)
        ended, idle = await enter(sample), await enter(sample)
        await sample.sign_in.end(ended)
        assert await find(sample, ended) is None
        sample.clock.advance(13 * HOUR)
        assert await find(sample, idle) is None
        used = await enter(sample)
        for _ in range(20):
            sample.clock.advance(8 * HOUR)
            assert await find(sample, used) == "ann"
        sample.clock.advance(9 * HOUR)
        assert await find(sample, used) is None

    do(act())


@pytest.mark.parametrize("end", ["password", "own password", "role", "all", "suspension"])
def test_what_ends_all_sessions_ends_them_all_and_sign_ins_that_wait_for_a_code(sample, end):
    async def act():
        await sample.add(password=PASSWORD)
        await sample.add("bob", password=PASSWORD)
        cookies = [await enter(sample), await enter(sample)]
        totp, _ = await turn_on_second_factor(sample)
        waiting = await sample.sign_in.with_password("ann@example.com", PASSWORD)
        other = await enter(sample, name="bob@example.com")
        match end:
            case "password":
                await sample.credentials.set_password("ann", "another good one")
            case "own password":
                await sample.credentials.change_password("ann", PASSWORD, "another good one")
            case "role":
                await sample.credentials.change_role("ann", "moderator")
            case "all":
                await sample.sign_in.end_all("ann")
            case "suspension":
                await sample.db.suspend("ann", "SUSPENDED")
        assert [await find(sample, cookie) for cookie in cookies] == [None, None]
        assert await find(sample, other) == "bob"
        if end != "suspension":
            with pytest.raises(TokenInvalid):
                await sample.sign_in.with_code(waiting.token, totp.at(sample.clock.millis() // 1000))
        else:
            with pytest.raises(AccountSuspended):
                await sample.sign_in.with_password("ann@example.com", PASSWORD)

    do(act())


def test_a_revoked_key_ends_its_sessions_and_no_others(sample):
    async def act():
        first = await sample.add()
        second = await sample.keys.add("ann", "second key")
        cookies = [(await sample.sign_in.with_key(key.text)).cookie for key in (first, second)]
        await sample.keys.revoke("ann", first.key.key_id)
        assert [await find(sample, cookie) for cookie in cookies] == [None, "ann"]
        with pytest.raises(ApiKeyInvalid):
            await sample.sign_in.with_key(first.text)

    do(act())


def test_a_key_that_may_only_read_does_not_open_the_pages(sample):
    async def act():
        await sample.add()
        key = await sample.keys.add("ann", "reads", scope="read")
        assert (await sample.keys.authenticate(key.text)).key.scope == "read"
        with pytest.raises(ApiKeyInvalid):
            await sample.sign_in.with_key(key.text)

    do(act())


def test_a_second_factor_needs_a_code_that_counts_once(sample):
    async def act():
        key = await sample.add(password=PASSWORD)
        totp, codes = await turn_on_second_factor(sample)
        by_key, by_password = (
            await sample.sign_in.with_key(key.text),
            await sample.sign_in.with_password("ann@example.com", PASSWORD),
        )
        assert isinstance(by_key, CodeNeeded)
        assert isinstance(by_password, CodeNeeded)
        code = totp.at(sample.clock.millis() // 1000)
        with pytest.raises(CodeInvalid):
            await sample.sign_in.with_code(by_key.token, "000000")
        assert await find(sample, (await sample.sign_in.with_code(by_key.token, code)).cookie) == "ann"
        with pytest.raises(CodeInvalid):
            await sample.sign_in.with_code(by_password.token, code)
        assert await find(sample, (await sample.sign_in.with_code(by_password.token, codes[0])).cookie) == "ann"
        sample.clock.advance(301)
        with pytest.raises(TokenInvalid):
            await sample.sign_in.with_code(by_key.token, codes[1])

    do(act())


def test_a_key_that_is_revoked_before_the_code_starts_no_session(sample):
    async def act():
        key = await sample.add()
        _, codes = await turn_on_second_factor(sample)
        waiting = await sample.sign_in.with_key(key.text)
        await sample.keys.revoke("ann", key.key.key_id)
        with pytest.raises(TokenInvalid):
            await sample.sign_in.with_code(waiting.token, codes[0])

    do(act())


@pytest.mark.parametrize("kind", ["totp", "recovery"])
def test_of_the_same_code_at_the_same_moment_one_starts_a_session(sample, kind):
    async def prepare():
        await sample.add(password=PASSWORD)
        totp, codes = await turn_on_second_factor(sample)
        waiting = await sample.sign_in.with_password("ann@example.com", PASSWORD)
        return waiting.token, totp.at(sample.clock.millis() // 1000) if kind == "totp" else codes[0]

    token, code = do(prepare())
    assert len(winners(race(3, lambda _: sample.sign_in.with_code(token, code)))) == 1


# ── guessing ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_wrong_passwords_lock_the_name_and_a_right_one_does_not_open_it_meanwhile(sample):
    async def act():
        await sample.add(password=PASSWORD)
        for attempt in range(FREE_ATTEMPTS):
            with pytest.raises(SignInRefused) as refused:
                await enter(sample, "wrong password")
            assert (refused.value.wait_s > 0) == (attempt == FREE_ATTEMPTS - 1)
        with pytest.raises(SignInRefused):
            await enter(sample)
        sample.clock.advance(31)
        assert await enter(sample)
        with pytest.raises(SignInRefused) as refused:
            await enter(sample, "wrong password")
        assert refused.value.wait_s == 0, "the right password starts the count anew"

    do(act())


@pytest.mark.parametrize("name", ["nobody@example.com", "keyonly@example.com", "x" * 500, "", "ann\n@", "\ud800", "-"])
def test_the_answers_for_any_name_are_those_for_a_wrong_password(sample, name):
    async def act():
        await sample.add(password=PASSWORD)
        await sample.add("keyonly")
        answers = {"ann@example.com": [], name: []}
        for each, found in answers.items():
            for _ in range(FREE_ATTEMPTS + 2):
                with pytest.raises(SignInRefused) as refused:
                    await enter(sample, "wrong password", name=each)
                found.append((str(refused.value), refused.value.wait_s))
        assert answers["ann@example.com"] == answers[name]

    do(act())


def test_a_name_that_does_not_exist_costs_the_same_requests_and_one_verification(database, clock, monkeypatch):
    """Equal work is equal time: the requests are the same, in the same order."""
    calls, verified = [], []

    async def count(*given):
        verified.append(given)
        return await verify_password(*given)

    async def act(name):
        calls.clear()
        with pytest.raises(SignInRefused):
            await enter(sample, "wrong password", name=name)
        return list(calls)

    sample = make_system(database, clock, hooks=[lambda event: calls.append(event.operation)])
    monkeypatch.setattr(module, "verify_password", count)
    do(sample.add(password=PASSWORD))
    assert do(act("ann@example.com")) == do(act("nobody@example.com"))
    assert len(verified) == 2


def test_guesses_at_the_same_time_are_no_more_than_one_after_the_other(sample, monkeypatch):
    looked_at = []

    async def verify(stored, password):
        looked_at.append(password)
        return False

    async def act():
        await sample.add(password=PASSWORD)
        monkeypatch.setattr(module, "verify_password", verify)
        await asyncio.gather(*(enter(sample, f"guess {n}") for n in range(30)), return_exceptions=True)
        assert 0 < len(looked_at) <= FREE_ATTEMPTS

    do(act())


# ── clocks that jump ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_lock_and_a_session_of_a_clock_that_was_ahead_do_not_last(sample):
    async def act():
        await sample.add(password=PASSWORD)
        kept = await enter(sample)
        sample.clock.advance(365 * DAY)
        ahead = await enter(sample)
        for _ in range(FREE_ATTEMPTS):
            with pytest.raises(SignInRefused):
                await enter(sample, "wrong password")
        sample.clock.advance(-365 * DAY)
        assert await find(sample, ahead) is None
        assert await find(sample, kept) == "ann"
        assert await find(sample, await enter(sample)) == "ann"

    do(act())


def test_a_clock_that_is_set_back_by_a_minute_ends_nothing(sample):
    async def act():
        await sample.add(password=PASSWORD)
        cookie = await enter(sample)
        sample.clock.advance(-60)
        assert await find(sample, cookie) == "ann"

    do(act())


def test_codes_are_accepted_after_a_clock_that_was_ahead_is_set_right(sample):
    async def act():
        await sample.add(password=PASSWORD)
        totp, _ = await turn_on_second_factor(sample)
        sample.clock.advance(365 * DAY)
        await sample.factors.verify("ann", totp.at(sample.clock.millis() // 1000))
        sample.clock.advance(-365 * DAY)
        await sample.factors.verify("ann", totp.at(sample.clock.millis() // 1000))
        with pytest.raises(CodeInvalid):
            await sample.factors.verify("ann", totp.at(sample.clock.millis() // 1000))

    do(act())


# ── accounts that come back, and the spaces of others ────────────────────────────────────────────────────────────────
def test_a_session_of_an_account_that_was_deleted_does_not_come_back_with_another_of_its_name(sample):
    async def act():
        key = await sample.add(password=PASSWORD)
        cookie = await enter(sample)
        stored = await sample.sign_in.find(cookie)
        await sample.keys.revoke("ann", key.key.key_id)
        await sample.accounts.drop_credentials("ann")
        assert await find(sample, cookie) is None
        sample.clock.advance(1)
        await sample.accounts.transact_all([sample.credentials.write_new("ann")]).unread()
        assert stored.session.generation == 0
        assert await find(sample, cookie) is None

    do(act())


async def act_in(sample, cookie, space):
    """Have a session act in the space of another owner."""
    session = await sample.accounts.stored_session(hash_session(cookie)).required()
    await sample.accounts.put(StoredSession.model_validate(session.model_dump() | {"space": space}))


def test_a_session_acts_in_the_space_of_another_only_while_the_member_is_in_its_team(sample):
    async def act():
        await sample.add("ann", password=PASSWORD)
        await sample.add("team")
        cookie = await enter(sample)
        await act_in(sample, cookie, "team")
        assert await find(sample, cookie) is None
        created_at = from_ms(sample.clock.millis())
        member = Membership(space="team", member="ann", team_role="reader", created_at=created_at)
        await sample.accounts.create(member)
        found = await sample.sign_in.find(cookie)
        assert (found.user.owner, found.owner, found.member, found.role) == ("team", "team", "ann", "reader")
        await sample.db.suspend("ann", "SUSPENDED")
        assert await find(sample, cookie) is None

    do(act())


def test_the_demo_has_sessions_without_a_key_and_others_have_none(database, clock):
    async def act():
        demo = make_system(database, clock, demo=True)
        await demo.add()
        cookie = await demo.sign_in.start_demo("ann")
        found = await demo.sign_in.find(cookie)
        assert (found.owner, found.is_demo) == ("ann", True)
        assert await find(SampleSystem(database, clock), cookie) is None

    do(act())


def test_a_password_is_changed_by_who_knows_the_current_one(sample):
    async def act():
        await sample.add(password=PASSWORD)
        with pytest.raises(SignInRefused):
            await sample.credentials.change_password("ann", "wrong password", "another good one")
        with pytest.raises(InvalidInput):
            await sample.credentials.change_password("ann", PASSWORD, "short")
        assert await find(sample, await enter(sample)) == "ann"
        await sample.credentials.change_password("ann", PASSWORD, "another good one")
        with pytest.raises(SignInRefused):
            await enter(sample)
        assert await find(sample, await enter(sample, "another good one")) == "ann"

    do(act())


def test_accounts_are_listed_with_their_roles_oldest_first(sample):
    async def act():
        for owner, role in (("ann", "admin"), ("bob", None), ("zoe", "moderator")):
            await sample.add(owner, role=role)
            sample.clock.advance(1)
        await sample.credentials.change_role("bob", "moderator")
        found = [(each.owner, each.role) for each in await sample.credentials.list_accounts()]
        assert found == [("ann", "admin"), ("bob", "moderator"), ("zoe", "moderator")]

    do(act())


def test_who_knows_the_old_password_does_not_undo_a_new_one_at_the_same_moment(sample):
    class ResetMeanwhile(Lockout):
        async def forget(self, digest):
            await sample.reset.confirm(links[0], "what the owner chose")

    async def act():
        await sample.add(password=PASSWORD)
        await sample.reset.request("ann@example.com", "192.0.2.1")
        links.append(await sample.read_link("ann@example.com"))
        late = replace(sample.credentials, lockout=ResetMeanwhile(sample.accounts, sample.clock))
        with pytest.raises(StateConflict):
            await late.change_password("ann", PASSWORD, "what a thief chose")
        assert await enter(sample, "what the owner chose")

    links = []
    do(act())


def test_wrong_passwords_of_no_login_lock_no_account_page(sample):
    async def act():
        await sample.add(password=PASSWORD)
        owners = ("ann", hash_text("ann"))
        for name in [f"{space}current password of {owner}" for owner in owners for space in ("", " ")]:
            for _ in range(FREE_ATTEMPTS + 1):
                with pytest.raises(SignInRefused):
                    await sample.sign_in.with_password(name, "wrong password")
        await sample.credentials.change_password("ann", PASSWORD, "another good one")

    do(act())


def test_a_secret_that_was_begun_before_the_password_changed_or_long_ago_is_never_used(sample):
    async def act():
        await sample.add(password=PASSWORD)
        secrets = [(await sample.factors.begin("ann")).secret]
        assert (await sample.factors.begin("ann")).secret == secrets[0], "as for two tabs"
        await sample.credentials.change_password("ann", PASSWORD, "another good one")
        assert await sample.factors.find("ann") is None
        with pytest.raises(StateConflict):
            await sample.factors.confirm("ann", pyotp.TOTP(secrets[0]).at(sample.clock.millis() // 1000))
        sample.clock.advance(1)
        secrets.append((await sample.factors.begin("ann")).secret)
        sample.clock.advance(HOUR)
        assert await sample.factors.find("ann") is None
        secrets.append((await sample.factors.begin("ann")).secret)
        assert len(set(secrets)) == 3
        await sample.factors.confirm("ann", pyotp.TOTP(secrets[2]).at(sample.clock.millis() // 1000))
        with pytest.raises(StateConflict):
            await sample.factors.begin("ann")

    do(act())
