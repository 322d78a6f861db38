"""Teams: who was invited, and nobody else, acts in the space of another, as far as the role goes and until removed."""

from dataclasses import dataclass

import pytest

from hashrange_systems.shared.accounts.erasure import erase_owner, export_owner
from hashrange_systems.shared.accounts.password_reset import RESET
from hashrange_systems.shared.accounts.sign_up import SIGN_UP
from hashrange_systems.shared.accounts.sign_up_policy import CLOSED
from hashrange_systems.shared.accounts.team_role import ROLES, ensure_role
from hashrange_systems.shared.accounts.teams import INVITE, MAX_MEMBERS
from hashrange_systems.shared.errors import (
    AccountSuspended,
    InvalidInput,
    LimitReached,
    ResourceMissing,
    RoleMissing,
    SignInRequired,
    StateConflict,
    TokenInvalid,
)
from hashrange_systems.shared.signed_token import TokenSigner
from systems.tests.shared.accounts.killing import interrupt_everywhere
from systems.tests.shared.accounts.sample_system import PASSWORD, SECRET, SampleSystem, do, make_system, race, winners

WEEK = 7 * 86_400
BOB = "bob@example.com"


@dataclass
class Actor:
    """Who acts in a space."""

    owner: str
    member: str
    role: str = "owner"


ANN = Actor("ann", "ann")


async def invite(sample, address=BOB, role="editor", by=ANN):
    """Invite somebody; return the token of the link."""
    await sample.teams.invite(by, address, role)
    return await sample.read_link(address)


async def make_team(sample, role="editor"):
    """Ann's team with Bob; return the cookie of Bob, who acts in it."""
    await sample.add()
    await sample.add("bob", password=PASSWORD)
    await sample.teams.accept(await invite(sample, role=role), "bob")
    cookie = (await sample.sign_in.with_password(BOB, PASSWORD)).cookie
    await sample.teams.switch(cookie, "ann")
    return cookie


async def see(sample, cookie):
    found = await sample.sign_in.find(cookie)
    return found and (found.owner, found.member, found.role)


def test_who_was_invited_becomes_a_member_and_acts_in_the_space_with_the_role(sample):
    async def act():
        await sample.add()
        await sample.add("bob", password=PASSWORD)
        token = await invite(sample)
        mail = await sample.read_mail(BOB)
        assert "ann@example.com invites you" in mail.text
        assert token not in str(sample.stored())
        assert (await sample.teams.read(token)).team_role == "editor"
        assert list(await sample.teams.list_members(ANN)) == [], "opening the link alone does nothing"
        await sample.teams.accept(token, "bob")
        cookie = (await sample.sign_in.with_password(BOB, PASSWORD)).cookie
        assert await see(sample, cookie) == ("bob", "bob", "owner"), "a session begins in the own space"
        await sample.teams.switch(cookie, "ann")
        assert await see(sample, cookie) == ("ann", "bob", "editor")
        await sample.teams.switch(cookie, "bob")
        assert await see(sample, cookie) == ("bob", "bob", "owner")
        assert [(each.space, each.team_role) for each in await sample.teams.list_teams("bob")] == [("ann", "editor")]
        assert [(each.member, each.address) for each in await sample.teams.list_members(ANN)] == [("bob", BOB)]
        assert list(await sample.teams.list_invitations(ANN)) == []

    do(act())


def test_a_person_without_an_account_makes_one_with_the_invitation_although_sign_up_is_closed(database, clock):
    sample = make_system(database, clock, sign_up=CLOSED)

    async def act():
        await sample.add()
        token = await invite(sample, "new@example.com", "reader")
        with pytest.raises(InvalidInput):
            await sample.teams.accept_as_new(token, "short")
        owner = await sample.teams.accept_as_new(token, PASSWORD)
        cookie = (await sample.sign_in.with_password("new@example.com", PASSWORD)).cookie
        await sample.teams.switch(cookie, "ann")
        assert await see(sample, cookie) == ("ann", owner, "reader")
        for again in (sample.teams.accept_as_new(token, PASSWORD), sample.teams.accept(token, owner)):
            with pytest.raises(TokenInvalid):
                await again

    do(act())


def test_an_invitation_is_for_the_account_of_its_address_only(sample):
    async def act():
        await sample.add()
        for owner in ("bob", "eve"):
            await sample.add(owner)
        token = await invite(sample)
        for stranger in ("eve", "ann", "nobody", BOB):
            with pytest.raises(StateConflict, match=r"is for bob@example\.com"):
                await sample.teams.accept(token, stranger)
        with pytest.raises(TokenInvalid, match="has an account"):
            await sample.teams.accept_as_new(token, PASSWORD)
        assert list(await sample.teams.list_members(ANN)) == []
        await sample.teams.accept(token, "bob")

    do(act())


@pytest.mark.parametrize("end", ["used", "withdrawn", "week", "suspension of the space", "erasure of the space"])
def test_an_invitation_is_over_after_use_withdrawal_and_a_week(sample, end):
    async def act():
        await sample.add()
        await sample.add("bob")
        token = await invite(sample)
        (open_one,) = await sample.teams.list_invitations(ANN)
        match end:
            case "used":
                await sample.teams.accept(token, "bob")
                await sample.teams.remove(ANN, "bob")
            case "withdrawn":
                await sample.teams.withdraw(ANN, open_one.invitation_id)
                with pytest.raises(ResourceMissing):
                    await sample.teams.withdraw(ANN, open_one.invitation_id)
            case "week":
                sample.clock.advance(WEEK)
            case "suspension of the space":
                await sample.db.suspend("ann", "SUSPENDED")
            case "erasure of the space":
                await erase_owner(sample.accounts, "ann")
        with pytest.raises(TokenInvalid):
            await sample.teams.accept(token, "bob")
        assert await sample.accounts.membership("ann", "bob") is None

    do(act())


def test_a_withdrawn_invitation_is_not_sent_and_a_suspended_person_accepts_none(sample):
    async def act():
        await sample.add()
        await sample.add("bob")
        invitation = await sample.teams.invite(ANN, BOB, "owner")
        await sample.teams.withdraw(ANN, invitation.invitation_id)
        assert await sample.read_mail(BOB) is None
        token = await invite(sample)
        await sample.db.suspend("bob", "SUSPENDED")
        with pytest.raises(AccountSuspended):
            await sample.teams.accept(token, "bob")

    do(act())


def test_an_invitation_that_is_accepted_at_the_same_moment_makes_one_member(sample):
    async def prepare():
        await sample.add()
        await sample.add("bob")
        return await invite(sample)

    token = do(prepare())

    async def attempt(_number):
        return await SampleSystem(sample.database, sample.clock).teams.accept(token, "bob")

    assert len(winners(race(4, attempt))) == 1


def test_tokens_of_other_systems_purposes_and_spaces_are_refused(sample):
    async def act():
        await sample.add()
        await sample.add("bob")
        await sample.add("eve")
        invitation = await sample.teams.invite(ANN, BOB, "owner")
        soon, now = sample.clock.millis() + 1000, str(sample.clock.millis())
        words = [now, "ann", invitation.invitation_id, BOB]
        for signer, purpose, said in (
            (TokenSigner(SECRET, "other"), INVITE, words),
            (TokenSigner(SECRET, "sample"), SIGN_UP, words),
            (TokenSigner(SECRET, "sample"), RESET, words),
            (TokenSigner(SECRET, "sample"), INVITE, [now, "eve", invitation.invitation_id, BOB]),
            (TokenSigner(SECRET, "sample"), INVITE, [now, "ann", invitation.invitation_id, "eve@example.com"]),
        ):
            with pytest.raises(TokenInvalid):
                await sample.teams.accept(signer.sign(purpose, said, soon), "bob")

    do(act())


@pytest.mark.parametrize("end", ["removed", "left", "suspension of the space", "suspension", "erased space"])
def test_who_is_removed_is_out_at_once(sample, end):
    async def act():
        cookie = await make_team(sample)
        match end:
            case "removed":
                await sample.teams.remove(ANN, "bob")
            case "left":
                await sample.teams.leave("bob", "ann")
            case "suspension of the space":
                await sample.db.suspend("ann", "SUSPENDED")
            case "suspension":
                await sample.db.suspend("bob", "SUSPENDED")
            case "erased space":
                await erase_owner(sample.accounts, "ann")
        assert await see(sample, cookie) is None
        if end != "suspension":
            with pytest.raises(ResourceMissing):
                await sample.teams.switch(cookie, "ann")
            await sample.teams.switch(cookie, "bob")
            assert await see(sample, cookie) == ("bob", "bob", "owner")

    do(act())


def test_another_role_counts_from_the_next_request(sample):
    async def act():
        cookie = await make_team(sample)
        for role in ROLES:
            await sample.teams.change_role(ANN, "bob", role)
            assert await see(sample, cookie) == ("ann", "bob", role)
        for role in ("", "admin", "OWNER"):
            with pytest.raises(InvalidInput):
                await sample.teams.change_role(ANN, "bob", role)

    do(act())


def test_a_space_is_never_without_an_owner(sample):
    async def act():
        await make_team(sample, "owner")
        bob = Actor("ann", "bob", "owner")
        for attempt in (
            sample.teams.remove(bob, "ann"),
            sample.teams.change_role(bob, "ann", "reader"),
            sample.teams.remove(ANN, "ann"),
            sample.teams.leave("ann", "ann"),
        ):
            with pytest.raises(StateConflict, match="stays its owner"):
                await attempt
        assert await sample.accounts.membership("ann", "ann") is None
        await sample.teams.remove(bob, "bob")

    do(act())


@pytest.mark.parametrize("role", ["editor", "reader"])
def test_only_owners_change_the_team(sample, role):
    async def act():
        await make_team(sample, role)
        await sample.add("eve")
        bob = Actor("ann", "bob", role)
        invitation = await sample.teams.invite(ANN, "eve@example.com", "reader")
        before = str(sample.stored())
        for attempt in (
            sample.teams.invite(bob, "carl@example.com", "owner"),
            sample.teams.withdraw(bob, invitation.invitation_id),
            sample.teams.change_role(bob, "bob", "owner"),
            sample.teams.remove(bob, "bob"),
        ):
            with pytest.raises(RoleMissing, match="role owner"):
                await attempt
        assert str(sample.stored()) == before

    do(act())


def test_ids_of_another_space_are_missing_and_stay(sample):
    async def act():
        cookie = await make_team(sample)
        await sample.add("eve", password=PASSWORD)
        invitation = await sample.teams.invite(ANN, "carl@example.com", "reader")
        eve = Actor("eve", "eve")
        thief = (await sample.sign_in.with_password("eve@example.com", PASSWORD)).cookie
        before = {key: item for key, item in sample.stored().items() if "ann" in key[0]}
        ids = ["bob", invitation.invitation_id, "", "x" * 600, "\0", "\ud800"]
        for each in ids:
            for attempt in (
                sample.teams.withdraw(eve, each),
                sample.teams.change_role(eve, each, "owner"),
                sample.teams.remove(eve, each),
                sample.teams.leave("eve", each),
                sample.teams.switch(thief, each),
            ):
                with pytest.raises(ResourceMissing):
                    await attempt
        with pytest.raises(ResourceMissing):
            await sample.teams.switch(thief, "ann")
        for text in (None, "", "hrs_x", cookie[:-1], "x" * 5000):
            with pytest.raises(SignInRequired):
                await sample.teams.switch(text, "ann")
        assert {key: item for key, item in sample.stored().items() if "ann" in key[0]} == before
        assert await see(sample, thief) == ("eve", "eve", "owner")

    do(act())


def test_members_and_those_who_are_invited_are_not_invited_again_and_a_team_is_limited(sample):
    async def act():
        await make_team(sample)
        for address in (BOB, "ann@example.com", " BOB@example.com"):
            with pytest.raises(StateConflict, match="is a member"):
                await sample.teams.invite(ANN, address, "reader")
        for number in range(MAX_MEMBERS - 1):
            if number % 15 == 0:
                sample.clock.advance(86_400 if number else 0)
            await sample.teams.invite(ANN, f"a{number}@example.com", "reader")
        with pytest.raises(StateConflict, match="is invited"):
            await sample.teams.invite(ANN, "a1@example.com", "reader")
        with pytest.raises(LimitReached):
            await sample.teams.invite(ANN, "more@example.com", "reader")
        for address, role in (("nobody", "reader"), ("x@example.com", "admin"), ("x@straße.example", "reader")):
            with pytest.raises(InvalidInput):
                await sample.teams.invite(ANN, address, role)

    do(act())


def test_an_erasure_leaves_no_invitation_and_an_export_has_them(sample):
    async def act():
        await make_team(sample)
        await sample.teams.invite(ANN, "carl@example.com", "reader")
        assert [each["address"] for each in (await export_owner(sample.accounts, "ann"))["invitations"]] == [
            "carl@example.com"
        ]
        await erase_owner(sample.accounts, "ann")
        assert not [key for key in sample.stored() if key[0] == "OWNER#ann"]
        assert "carl" not in str(sample.stored())

    do(act())


def test_roles_are_ordered():
    allowed = {
        (role, needed) for role in ROLES for needed in ROLES if not isinstance(try_role(role, needed), RoleMissing)
    }
    assert allowed == {
        ("owner", "owner"), ("owner", "editor"), ("owner", "reader"),
        ("editor", "editor"), ("editor", "reader"), ("reader", "reader"),
    }  # fmt: skip


def try_role(role, needed):
    try:
        ensure_role(role, needed)
    except RoleMissing as refused:
        return refused
    return None


@pytest.mark.parametrize("way", ["account", "new account"])
def test_an_acceptance_that_is_killed_anywhere_is_whole_or_can_be_repeated(way):
    async def prepare(sample):
        await sample.add()
        if way == "account":
            await sample.add("bob", password=PASSWORD)
        sample.token = await invite(sample)

    async def accept(sample):
        if way == "account":
            await sample.teams.accept(sample.token, "bob")
        else:
            await sample.teams.accept_as_new(sample.token, PASSWORD)

    async def check(sample):
        (member,) = await sample.teams.list_members(ANN)
        cookie = (await sample.sign_in.with_password(BOB, PASSWORD)).cookie
        await sample.teams.switch(cookie, "ann")
        assert await see(sample, cookie) == ("ann", member.member, "editor")
        assert list(await sample.teams.list_invitations(ANN)) == []

    assert interrupt_everywhere(prepare, accept, check) >= 1


def test_who_is_removed_takes_the_invitations_along_that_they_wrote_or_still_have(sample):
    async def act():
        await make_team(sample, role="owner")
        bob = Actor("ann", "bob")
        by_bob = await invite(sample, "carol@example.com", "owner", by=bob)
        await sample.teams.remove(ANN, "bob")
        assert list(await sample.teams.list_invitations(ANN)) == []
        with pytest.raises(TokenInvalid):
            await sample.teams.accept_as_new(by_bob, PASSWORD)
        with pytest.raises(RoleMissing):
            await sample.teams.invite(bob, "dave@example.com", "owner")

    do(act())


def test_a_second_invitation_of_a_member_who_is_removed_is_over(sample):
    async def act():
        await sample.add()
        await sample.add("bob")
        await sample.accounts.transact_all([sample.logins.claim("robert@example.com", "bob")])
        first, second = await invite(sample), await invite(sample, "robert@example.com")
        await sample.teams.accept(first, "bob")
        await sample.teams.remove(ANN, "bob")
        with pytest.raises(TokenInvalid):
            await sample.teams.accept(second, "bob")

    do(act())


def test_an_invitation_is_over_with_the_role_of_who_wrote_it(sample):
    async def act():
        await make_team(sample, role="owner")
        token = await invite(sample, "carol@example.com", "owner", by=Actor("ann", "bob"))
        await sample.accounts.set_team_role("ann", "bob", "reader")  # and the process ended before it went on
        with pytest.raises(TokenInvalid):
            await sample.teams.accept_as_new(token, PASSWORD)
        await sample.teams.change_role(ANN, "bob", "editor")
        assert list(await sample.teams.list_invitations(ANN)) == []

    do(act())
