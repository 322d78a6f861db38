"""An owner may be any text: nobody reaches what belongs to another, whatever the two are called."""

from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashrange import Conflict, Taken, ValueInvalid
from hashrange_systems.shared.accounts.logins import explain_taken
from hashrange_systems.shared.accounts.owner_name import MAX_BYTES, fold_login, is_login, is_owner
from hashrange_systems.shared.accounts.schema import Accounts, ApiKey, Login
from hashrange_systems.shared.errors import (
    AccountSuspended,
    ApiKeyInvalid,
    InvalidInput,
    LimitReached,
    LoginTaken,
    ResourceMissing,
)
from systems.tests.shared.accounts.sample_system import PASSWORD, Active, do

HOSTILE = [
    "ann", "ann#KEY", "ann#", "#", "##", "OWNER#ann", "ann/CREDENTIALS", "KEY#x", "ann\0", "ann\n", " ann", "ann ",
    "ANN", "é", "e\u0301", "shop.example", "ann@example.com", "ann@example.com#CHANNEL#1", "{owner}", "🦆", "-",
    "a" * MAX_BYTES,
]  # fmt: skip


def test_hostile_owners_have_their_own_items_and_nobody_elses(sample):
    async def act():
        keys, cookies, channels = {}, {}, {}
        for number, owner in enumerate(HOSTILE):
            keys[owner] = await sample.add(owner, login=f"login-{number}", password=PASSWORD)
            cookies[owner] = (await sample.sign_in.with_password(f"login-{number}", PASSWORD)).cookie
            channels[owner] = await sample.channels.add(owner, "EMAIL", f"a{number}@example.com")
        for number, owner in enumerate(HOSTILE):
            assert (await sample.keys.authenticate(keys[owner].text)).user == Active(owner=owner)
            assert (await sample.sign_in.find(cookies[owner])).owner == owner
            assert [key.key_id for key in await sample.keys.list_by_owner(owner)] == [keys[owner].key.key_id]
            assert [each.channel_id for each in await sample.channels.list_by_owner(owner)] == [
                channels[owner].channel_id
            ]
            assert list(await sample.logins.list_by_owner(owner)) == [f"login-{number}"]
            assert [message.owner for message in await sample.messages.page_by_owner(owner, 9)] == [owner]
            assert len(await sample.accounts.under_owner(owner)) == 3

    do(act())


def test_the_ids_of_another_are_missing(sample):
    async def act():
        for owner in ("ann", "ann#", "eve"):
            await sample.add(owner)
        key = (await sample.keys.list_by_owner("ann"))[0].key_id
        channel = (await sample.channels.add("ann", "EMAIL", "a@example.com")).channel_id
        ids = [key, channel, f"#{key}", f"KEY#{key}", "", "x" * 600, "\0", "\ud800"]
        acts = (sample.keys.revoke, sample.channels.find, sample.channels.remove, sample.channels.ask_again)
        for owner, each, act_on in product(("eve", "ann#", "", "x" * 600, "\ud800"), ids, acts):
            with pytest.raises(ResourceMissing):
                await act_on(owner, each)
        for owner in ("eve", "ann#", "", "x" * 600, "\ud800"):
            assert [found for found in await sample.keys.list_by_owner(owner) if found.key_id == key] == []
            assert list(await sample.channels.list_by_owner(owner)) == []
        assert (await sample.channels.find("ann", channel)).channel_id == channel

    do(act())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60), st.text(max_size=60))
def test_no_two_owners_share_a_key(one, other):
    from hashrange import dump_item

    def keys(owner):
        moment = "2026-01-15T12:00:00Z"
        item = ApiKey(owner=owner, key_id="1", name="k", digest="0" * 64, created_at=moment)
        return dump_item(item)["pk"]["S"]

    if is_owner(one) and is_owner(other):
        assert (keys(one) == keys(other)) == (one == other)


@pytest.mark.parametrize("owner", ["", "x" * (MAX_BYTES + 1), "\ud800", "é" * 251])
def test_what_cannot_be_an_owner_is_refused_and_writes_nothing(sample, owner):
    assert not is_owner(owner)
    with pytest.raises((ValueInvalid, ValueError)):
        do(sample.add(owner, login="free"))
    assert sample.stored() == {}


# ── logins ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_login_belongs_to_one_owner_however_it_is_spelled(sample):
    async def act():
        await sample.add(login="Ann@Example.com")
        assert await sample.logins.find_owner(" ANN@example.COM") == "ann"
        assert await sample.logins.find_owner("") is None
        with pytest.raises(Taken) as taken:
            await sample.add("eve", login="ann@EXAMPLE.com")
        assert isinstance(explain_taken(taken.value), LoginTaken)
        assert await sample.db.person("eve") is None

    do(act())


def test_a_login_moves_and_is_free_again(sample):
    async def act():
        await sample.add(login="old@example.com")
        await sample.accounts.transact_all(sample.logins.move("old@example.com", "new@example.com", "ann")).unread()
        assert sample.logins.move("new@example.com", "NEW@example.com", "ann") == []
        assert list(await sample.logins.list_by_owner("ann")) == ["new@example.com"]
        await sample.add("bob", login="old@example.com")
        taken = sample.logins.move("new@example.com", "old@example.com", "ann")
        with pytest.raises(Taken):
            await sample.accounts.transact_all(taken).unread()
        foreign = sample.logins.move("new@example.com", "other@example.com", "bob")
        with pytest.raises(Conflict):
            await sample.accounts.transact_all(foreign).unread()
        assert await sample.logins.find_owner("new@example.com") == "ann"
        assert await sample.logins.find_owner("other@example.com") is None

    do(act())


@given(st.text(max_size=80))
def test_a_login_has_one_form(name):
    if is_login(name):
        folded = fold_login(name)
        assert fold_login(folded) == folded
        assert Login(name=name, owner="o", created_at="2026-01-15T12:00:00Z").name == folded


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_key_is_named_shown_once_and_its_use_is_noted_once_a_minute(sample):
    async def act():
        await sample.add()
        new = await sample.keys.add("ann", "  deploy script ")
        assert new.text not in str(sample.stored())
        for _ in range(3):
            sample.clock.advance(31)
            await sample.keys.authenticate(new.text)
        found = next(key for key in await sample.keys.list_by_owner("ann") if key.key_id == new.key.key_id)
        assert found.name == "deploy script"
        assert found.last_used_at.timestamp() * 1000 == sample.clock.millis()
        for name in ("", " ", "a\nb", "x" * 101):
            with pytest.raises(InvalidInput):
                await sample.keys.add("ann", name)
        with pytest.raises(InvalidInput):
            await sample.keys.add("ann", "name", scope="everything")

    do(act())


@pytest.mark.parametrize("text", ["", "hrc_", "hrc_x", "x", "hrc_" + "x" * 200, "hrc_\ud800"])
def test_what_is_no_key_is_refused(sample, text):
    with pytest.raises(ApiKeyInvalid):
        do(sample.keys.authenticate(text))


def test_a_suspended_owner_has_no_use_of_a_key_and_adds_none_and_keys_are_limited(sample):
    async def act():
        first = await sample.add()
        for number in range(19):
            await sample.keys.add("ann", f"key {number}")
        with pytest.raises(LimitReached):
            await sample.keys.add("ann", "one more")
        await sample.keys.revoke("ann", first.key.key_id)
        last = await sample.keys.add("ann", "last")
        await sample.db.suspend("ann", "SUSPENDED")
        with pytest.raises(AccountSuspended):
            await sample.keys.authenticate(last.text)
        await sample.keys.revoke("ann", last.key.key_id)
        with pytest.raises(ResourceMissing):
            await sample.keys.revoke("ann", last.key.key_id)
        with pytest.raises(AccountSuspended):
            await sample.keys.add("ann", "none")
        keys = await sample.keys.list_by_owner("ann")
        assert len(keys) == 19

    do(act())


def test_the_accounts_have_no_findings():
    assert [str(finding) for finding in Accounts.lint()] == []
