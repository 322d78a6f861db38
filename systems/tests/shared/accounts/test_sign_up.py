"""Signing up by e-mail: only who has the mailbox gets an account, once, and no answer says who has one."""

import asyncio

import pytest

from hashrange import ManualClock
from hashrange_systems.shared.accounts.password_reset import RESET
from hashrange_systems.shared.accounts.schema import Accounts
from hashrange_systems.shared.accounts.sign_in import Admitted
from hashrange_systems.shared.accounts.sign_up import SIGN_UP, NewOwners
from hashrange_systems.shared.accounts.sign_up_policy import CLOSED, OPEN, SignUpPolicy, parse_sign_up
from hashrange_systems.shared.application.settings import InvalidSetting, SystemSettings, declare_sign_up
from hashrange_systems.shared.channels.message_budget import DayBudgetSpent
from hashrange_systems.shared.errors import InvalidInput, SignInRefused, SignUpClosed, TokenInvalid
from hashrange_systems.shared.signed_token import TokenSigner
from systems.tests.shared.accounts.killing import interrupt_everywhere
from systems.tests.shared.accounts.sample_system import (
    PASSWORD,
    SECRET,
    Active,
    SampleSystem,
    do,
    make_system,
    race,
    winners,
)

DAY = 86_400
ADDRESS, NETWORK = "ann@example.com", "203.0.113.9"


def test_who_opens_the_link_chooses_the_password_and_has_an_account(sample):
    async def act():
        await sample.sign_up.request(" Ann@Example.com", NETWORK)
        assert await sample.logins.find_owner(ADDRESS) is None
        token = await sample.read_link(ADDRESS)
        assert sample.sign_up.read(token) == ADDRESS
        assert await sample.logins.find_owner(ADDRESS) is None, "opening the link alone does nothing"
        assert token not in str(sample.stored())
        owner = await sample.sign_up.confirm(token, PASSWORD)
        assert await sample.db.person(owner) == Active(owner=owner)
        admitted = await sample.sign_in.with_password(ADDRESS, PASSWORD)
        assert isinstance(admitted, Admitted)
        assert (await sample.sign_in.find(admitted.cookie)).role == "owner"
        assert PASSWORD not in str(sample.stored())

    do(act())


def test_a_link_works_once_and_the_first_password_stays(sample):
    async def act():
        await sample.sign_up.request(ADDRESS, NETWORK)
        token = await sample.read_link(ADDRESS)
        await sample.sign_up.confirm(token, PASSWORD)
        people = len(sample.database.call("Scan", {"TableName": "people"})["Items"])
        with pytest.raises(TokenInvalid, match="has an account"):
            await sample.sign_up.confirm(token, "another good one")
        assert people == 1
        assert len(sample.database.call("Scan", {"TableName": "people"})["Items"]) == 1
        with pytest.raises(SignInRefused):
            await sample.sign_in.with_password(ADDRESS, "another good one")

    do(act())


def test_a_known_address_gets_a_mail_that_says_so_and_the_same_answer(sample):
    async def act():
        await sample.add()
        seen = {}
        for address in (ADDRESS, "new@example.com"):
            calls = []
            observed = SampleSystem(sample.database, sample.clock, hooks=[lambda event, to=calls: to.append(event)])
            seen[address] = await observed.sign_up.request(address, NETWORK), [each.operation for each in calls]
        assert seen[ADDRESS] == seen["new@example.com"], "an answer that takes longer says it, too"
        mail = await sample.read_mail(ADDRESS)
        assert "has one" in mail.text
        assert "url" not in mail.data
        assert (await sample.read_mail("new@example.com")).data["url"]

    do(act())


def test_a_mail_that_was_asked_for_before_the_account_was_made_says_that_there_is_one(sample):
    async def act():
        await sample.sign_up.request(ADDRESS, NETWORK)
        await sample.add()
        assert "has one" in (await sample.read_mail(ADDRESS)).text

    do(act())


def test_two_links_of_one_address_at_the_same_moment_make_one_account(sample):
    async def ask():
        for network in ("203.0.113.1", "203.0.113.2"):
            await sample.sign_up.request(ADDRESS, network)
            sample.clock.advance(1)
        await sample.outbox.send_all()
        return [await sample.read_link(ADDRESS)] * 2

    tokens = do(ask())

    async def attempt(number):
        other = SampleSystem(sample.database, sample.clock)
        return await other.sign_up.confirm(tokens[number % 2], f"{PASSWORD} {number}")

    made = winners(race(4, attempt))
    assert len(made) == 1
    assert len(sample.database.call("Scan", {"TableName": "people"})["Items"]) == 1
    assert do(sample.logins.find_owner(ADDRESS)) == made[0]


def test_two_who_ask_for_one_address_at_the_same_moment_get_mails_to_that_address_alone(sample):
    async def act():
        others = [SampleSystem(sample.database, sample.clock) for _ in range(2)]
        await asyncio.gather(*(each.sign_up.request(ADDRESS, f"203.0.113.{n}") for n, each in enumerate(others)))
        await sample.outbox.send_all()
        assert {mail.recipient for mail in sample.mailbox.all()} == {ADDRESS}

    do(act())


def test_a_link_ends_after_a_day_and_one_of_a_clock_that_was_ahead_is_refused(sample):
    async def act():
        await sample.sign_up.request(ADDRESS, NETWORK)
        token = await sample.read_link(ADDRESS)
        ahead = SampleSystem(sample.database, ManualClock(sample.clock.millis() // 1000 + 400 * DAY))
        future = ahead.services.sign_up.links.make(SIGN_UP, "", [ADDRESS], DAY * 1000).partition("=")[2]
        with pytest.raises(TokenInvalid, match="not valid yet"):
            await sample.sign_up.confirm(future, PASSWORD)
        sample.clock.advance(DAY)
        with pytest.raises(TokenInvalid, match="expired"):
            await sample.sign_up.confirm(token, PASSWORD)
        assert await sample.logins.find_owner(ADDRESS) is None

    do(act())


def test_tokens_of_other_systems_and_purposes_are_refused(sample):
    async def act():
        soon, now = sample.clock.millis() + 1000, str(sample.clock.millis())
        for signer, purpose in (
            (TokenSigner(SECRET, "other"), SIGN_UP),
            (TokenSigner(SECRET, "sample"), RESET),
            (TokenSigner(SECRET, "sample"), "confirm channel"),
            (TokenSigner(b"another secret, as long as that", "sample"), SIGN_UP),
        ):
            with pytest.raises(TokenInvalid):
                await sample.sign_up.confirm(signer.sign(purpose, [now, ADDRESS], soon), PASSWORD)
        for text in ("", "x" * 5000, "\ud800"):
            with pytest.raises(TokenInvalid):
                await sample.sign_up.confirm(text, PASSWORD)
        assert sample.stored() == {}

    do(act())


def test_mails_are_limited_by_address_and_network_and_other_purposes_have_their_own_budget(sample):
    async def act():
        for spelling in ("a.nn@example.com", "ann+1@example.com", "ANN@example.com"):
            await sample.sign_up.request(spelling, NETWORK)
        with pytest.raises(DayBudgetSpent):
            await sample.sign_up.request(ADDRESS, "198.51.100.7")
        await sample.services.password_reset.request(ADDRESS, NETWORK)
        for number in range(47):
            await sample.sign_up.request(f"ann{number}@example.com", NETWORK)
        with pytest.raises(DayBudgetSpent):
            await sample.sign_up.request("bob@example.com", NETWORK)
        await sample.sign_up.request("bob@example.com", "198.51.100.7")
        assert ADDRESS not in str([key for key in sample.stored() if key[0].startswith("BUDGET")])

    do(act())


@pytest.mark.parametrize(
    "address",
    ["", "nobody", "ann@straße.example", "straße@example.com", "a@b", "x" * 300 + "@example.com", "\ud800@x.de"],
)
def test_what_is_no_address_or_may_be_the_mailbox_of_another_is_refused_and_nothing_is_written(sample, address):
    with pytest.raises(InvalidInput):
        do(sample.sign_up.request(address, NETWORK))
    assert sample.stored() == {}


def test_a_password_that_is_too_short_is_refused_and_the_link_goes_on(sample):
    async def act():
        await sample.sign_up.request(ADDRESS, NETWORK)
        token = await sample.read_link(ADDRESS)
        with pytest.raises(InvalidInput):
            await sample.sign_up.confirm(token, "short")
        assert await sample.sign_up.confirm(token, PASSWORD)

    do(act())


def test_sign_up_is_closed_or_for_domains_also_for_links_that_were_sent_before(database, clock):
    sample = make_system(database, clock, sign_up=parse_sign_up("example.com, BÜCHER.example"))

    async def act():
        for address in ("ann@example.com", "ann@EXAMPLE.com", "ann@xn--bcher-kva.example"):
            await sample.sign_up.request(address, NETWORK)
        for address in ("ann@sub.example.com", "ann@example.org", "ann@notexample.com"):
            with pytest.raises(SignUpClosed, match=r"an address of example\.com"):
                await sample.sign_up.request(address, NETWORK)
        link = sample.sign_up.links.make(SIGN_UP, "", ["eve@example.org"], DAY * 1000).partition("=")[2]
        closed = SampleSystem(database, clock, sign_up=CLOSED)
        mine = sample.sign_up.links.make(SIGN_UP, "", [ADDRESS], DAY * 1000).partition("=")[2]
        for system, token in ((sample, link), (closed, mine)):
            with pytest.raises(SignUpClosed):
                await system.sign_up.confirm(token, PASSWORD)
        with pytest.raises(SignUpClosed, match="Nobody"):
            await closed.sign_up.request(ADDRESS, NETWORK)

    do(act())


def test_a_system_that_offers_sign_up_says_how_an_owner_is_made(database, clock):
    class NoNewOwners:
        async def find_active(self, owner): ...
        def ensure_active(self, owner): ...

    assert not isinstance(NoNewOwners(), NewOwners)
    with pytest.raises(TypeError, match="write_new"):
        make_system(database, clock, owners=NoNewOwners())


@pytest.mark.parametrize("text", ["example", "example.com,", ",", "open, example.com", "@example.com", "a b.example"])
def test_a_policy_that_cannot_be_is_refused(text):
    with pytest.raises(ValueError, match="open, closed, or domains"):
        parse_sign_up(text)


def test_the_policy_is_one_setting():
    from dataclasses import dataclass
    from typing import ClassVar

    @dataclass(frozen=True, kw_only=True)
    class Settings(SystemSettings):
        system: ClassVar[str] = "people"
        sign_up: SignUpPolicy = declare_sign_up()

    assert Settings.read({}).sign_up == CLOSED
    assert Settings.read({"PEOPLE_SIGN_UP": "Open"}).sign_up == OPEN
    assert Settings.read({"PEOPLE_SIGN_UP": "example.com"}).sign_up.allows("ann@example.com")
    with pytest.raises(InvalidSetting, match=r"PEOPLE_SIGN_UP is 'everybody'"):
        Settings.read({"PEOPLE_SIGN_UP": "everybody"})


def test_a_sign_up_that_is_killed_anywhere_is_completed_by_the_next():
    async def prepare(sample):
        await sample.sign_up.request(ADDRESS, NETWORK)
        sample.token = await sample.read_link(ADDRESS)

    async def confirm(sample):
        await sample.sign_up.confirm(sample.token, PASSWORD)

    async def check(sample):
        admitted = await sample.sign_in.with_password(ADDRESS, PASSWORD)
        owner = (await sample.sign_in.find(admitted.cookie)).owner
        people = sample.database.call("Scan", {"TableName": "people"})["Items"]
        assert [item["pk"]["S"] for item in people] == [f"PERSON#{owner}"]

    assert interrupt_everywhere(prepare, confirm, check) >= 1


def test_the_accounts_still_have_no_findings():
    assert [str(finding) for finding in Accounts.lint()] == []
