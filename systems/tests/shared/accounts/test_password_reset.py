"""A new password by mail: the link works once, ends every session, leaves the second factor, and says nothing."""

import pyotp
import pytest

from hashrange_systems.shared.accounts.password_reset import RESET
from hashrange_systems.shared.accounts.sign_in import Admitted, CodeNeeded
from hashrange_systems.shared.accounts.sign_up import SIGN_UP
from hashrange_systems.shared.channels.message_budget import DayBudgetSpent
from hashrange_systems.shared.errors import AccountSuspended, InvalidInput, SignInRefused, TokenInvalid
from hashrange_systems.shared.signed_token import TokenSigner
from systems.tests.shared.accounts.killing import interrupt_everywhere
from systems.tests.shared.accounts.sample_system import PASSWORD, SECRET, SampleSystem, do, race, winners

HOUR = 3600
ADDRESS, NETWORK, NEW = "ann@example.com", "203.0.113.9", "another good one"


async def ask(sample, address=ADDRESS):
    """Ask for a link; return its token."""
    await sample.reset.request(address, NETWORK)
    return await sample.read_link(address)


def test_a_link_sets_the_password_once_and_ends_every_session(sample):
    async def act():
        key = await sample.add(password=PASSWORD)
        cookies = [(await sample.sign_in.with_key(key.text)).cookie]
        cookies.append((await sample.sign_in.with_password(ADDRESS, PASSWORD)).cookie)
        await sample.add("bob", password=PASSWORD)
        other = (await sample.sign_in.with_password("bob@example.com", PASSWORD)).cookie
        token = await ask(sample)
        assert token not in str(sample.stored())
        assert await sample.reset.read(token) == ADDRESS
        assert await sample.sign_in.find(cookies[0]), "opening the link alone does nothing"
        assert await sample.reset.confirm(token, NEW) == "ann"
        assert [await sample.sign_in.find(cookie) for cookie in cookies] == [None, None]
        assert (await sample.sign_in.find(other)).owner == "bob"
        assert isinstance(await sample.sign_in.with_password(ADDRESS, NEW), Admitted)
        with pytest.raises(SignInRefused):
            await sample.sign_in.with_password(ADDRESS, PASSWORD)
        for act in (sample.reset.confirm(token, "a third good one"), sample.reset.read(token)):
            with pytest.raises(TokenInvalid, match="was used"):
                await act

    do(act())


def test_the_second_factor_stays_and_a_sign_in_that_waits_for_a_code_is_over(sample):
    async def act():
        await sample.add(password=PASSWORD)
        totp = pyotp.TOTP((await sample.factors.begin("ann")).secret)
        await sample.factors.confirm("ann", totp.at(sample.clock.millis() // 1000))
        sample.clock.advance(30)
        waiting = await sample.sign_in.with_password(ADDRESS, PASSWORD)
        await sample.reset.confirm(await ask(sample), NEW)
        with pytest.raises(TokenInvalid):
            await sample.sign_in.with_code(waiting.token, totp.at(sample.clock.millis() // 1000))
        assert isinstance(await sample.sign_in.with_password(ADDRESS, NEW), CodeNeeded)

    do(act())


def test_of_two_links_one_is_used_whoever_is_first(sample):
    async def prepare():
        await sample.add(password=PASSWORD)
        first = await ask(sample)
        sample.clock.advance(1)
        return [first, await ask(sample)]

    tokens = do(prepare())

    async def attempt(number):
        return await SampleSystem(sample.database, sample.clock).reset.confirm(tokens[number % 2], f"{NEW} {number}")

    assert len(winners(race(4, attempt))) == 1


def test_the_request_is_the_same_for_a_known_and_an_unknown_address_and_only_a_known_one_gets_a_mail(sample):
    async def act():
        await sample.add(password=PASSWORD)
        seen = {}
        for address in (ADDRESS, "nobody@example.com"):
            calls = []
            observed = SampleSystem(sample.database, sample.clock, hooks=[lambda event, to=calls: to.append(event)])
            seen[address] = await observed.reset.request(address, NETWORK), [each.operation for each in calls]
        assert seen[ADDRESS] == seen["nobody@example.com"]
        await sample.outbox.send_all()
        assert [mail.recipient for mail in sample.mailbox.all()] == [ADDRESS]
        sample.clock.advance(HOUR)
        assert await sample.outbox.send_all() == {}
        assert not [key for key in sample.stored() if "nobody" in str(sample.stored()[key])]

    do(act())


def test_a_link_goes_only_to_the_mailbox_that_the_account_was_made_for(sample):
    async def act():
        await sample.add(login="ann@straße.example", password=PASSWORD)
        assert await sample.logins.find_owner("ann@strasse.example") == "ann"
        await sample.reset.request("ann@strasse.example", NETWORK)
        assert await sample.read_mail("ann@strasse.example") is None

    do(act())


@pytest.mark.parametrize("change", ["password", "login", "sessions", "hour", "suspension", "erasure"])
def test_a_link_ends_when_the_account_changes_and_after_an_hour(sample, change):
    async def act():
        await sample.add(password=PASSWORD)
        token = await ask(sample)
        expected = TokenInvalid
        match change:
            case "password":
                await sample.credentials.set_password("ann", "a third good one")
            case "login":
                writes = sample.logins.move(ADDRESS, "new@example.com", "ann")
                await sample.accounts.transact_all(writes).unread()
            case "sessions":
                await sample.sign_in.end_all("ann")
            case "hour":
                sample.clock.advance(HOUR)
            case "suspension":
                await sample.db.suspend("ann", "SUSPENDED")
                expected = AccountSuspended
            case "erasure":
                await sample.accounts.drop_credentials("ann")
        before = str(sample.stored())
        with pytest.raises(expected):
            await sample.reset.confirm(token, NEW)
        assert str(sample.stored()) == before

    do(act())


def test_a_suspended_account_gets_no_mail(sample):
    async def act():
        await sample.add(password=PASSWORD)
        await sample.db.suspend("ann", "SUSPENDED")
        await sample.reset.request(ADDRESS, NETWORK)
        assert await sample.read_mail(ADDRESS) is None

    do(act())


def test_who_was_locked_out_signs_in_with_the_new_password(sample):
    async def act():
        await sample.add(password=PASSWORD)
        for _ in range(8):
            with pytest.raises(SignInRefused):
                await sample.sign_in.with_password(ADDRESS, "wrong")
        await sample.reset.confirm(await ask(sample), NEW)
        assert isinstance(await sample.sign_in.with_password(ADDRESS, NEW), Admitted)

    do(act())


def test_an_account_without_a_password_gets_its_first_once(sample):
    async def act():
        await sample.accounts.transact_all(
            [*sample.owners.write_new("eve", "eve@example.com"), sample.logins.claim("eve@example.com", "eve")]
        ).unread()
        token = await ask(sample, "eve@example.com")
        await sample.reset.confirm(token, NEW)
        with pytest.raises(TokenInvalid):
            await sample.reset.confirm(token, "a third good one")
        assert isinstance(await sample.sign_in.with_password("eve@example.com", NEW), Admitted)

    do(act())


def test_tokens_of_other_systems_purposes_and_owners_are_refused(sample):
    async def act():
        await sample.add(password=PASSWORD)
        await sample.add("eve", password=PASSWORD)
        state = await sample.credentials.find_state("ann")
        soon, now = sample.clock.millis() + 1000, str(sample.clock.millis())
        words = [now, ADDRESS, "ann", str(state.generation), state.created_at.isoformat()]
        foreign = [now, "eve@example.com", *words[2:]]
        for signer, purpose, said in (
            (TokenSigner(SECRET, "other"), RESET, words),
            (TokenSigner(SECRET, "sample"), SIGN_UP, words),
            (TokenSigner(SECRET, "sample"), "second factor", words),
            (TokenSigner(SECRET, "sample"), RESET, foreign),
        ):
            with pytest.raises(TokenInvalid):
                await sample.reset.confirm(signer.sign(purpose, said, soon), NEW)
        assert isinstance(await sample.sign_in.with_password(ADDRESS, PASSWORD), Admitted)

    do(act())


def test_an_address_gets_three_mails_a_day_and_a_bad_password_leaves_the_link(sample):
    async def act():
        await sample.add(password=PASSWORD)
        for _ in range(3):
            sample.clock.advance(1)
            token = await ask(sample)
        with pytest.raises(DayBudgetSpent):
            await sample.reset.request(ADDRESS, "198.51.100.7")
        with pytest.raises(InvalidInput):
            await sample.reset.request("nobody", NETWORK)
        with pytest.raises(InvalidInput):
            await sample.reset.confirm(token, "short")
        assert await sample.reset.confirm(token, NEW) == "ann"

    do(act())


def test_a_reset_that_is_killed_anywhere_is_whole_or_can_be_repeated():
    async def prepare(sample):
        await sample.add(password=PASSWORD)
        sample.token = await ask(sample)
        sample.cookie = (await sample.sign_in.with_password(ADDRESS, PASSWORD)).cookie

    async def confirm(sample):
        await sample.reset.confirm(sample.token, NEW)

    async def check(sample):
        assert isinstance(await sample.sign_in.with_password(ADDRESS, NEW), Admitted)
        assert await sample.sign_in.find(sample.cookie) is None

    assert interrupt_everywhere(prepare, confirm, check) >= 2
