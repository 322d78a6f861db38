"""Everything of an owner is exported without secrets and erased; and what takes several requests is killed at each."""

import json

import pyotp
import pytest

import hashrange
from hashrange_systems.shared.accounts.erasure import erase_owner, export_owner
from hashrange_systems.shared.accounts.key_mark import KeysDiffer, verify_keys
from hashrange_systems.shared.accounts.schema import Membership
from hashrange_systems.shared.channels.messages import NewMessage
from hashrange_systems.shared.epoch import from_ms
from systems.tests.shared.accounts.killing import interrupt_everywhere
from systems.tests.shared.accounts.sample_system import (
    PASSWORD,
    PeopleAccounts,
    do,
)

QUX, BOB = "qux#1", "bob"


async def fill(sample):
    """Two owners with everything that can belong to one; return the secrets of the first."""
    secrets = {}
    for owner in (QUX, BOB):
        key = await sample.add(owner, login=f"{owner[:3]}@example.com", password=PASSWORD, role="moderator")
        admitted = await sample.sign_in.with_key(key.text)
        factor = await sample.factors.begin(owner)
        codes = await sample.factors.confirm(owner, pyotp.TOTP(factor.secret).at(sample.clock.millis() // 1000))
        hook = await sample.channels.add(owner, "WEBHOOK", f"https://hooks.example/{owner[:3]}")
        await sample.channels.add(owner, "EMAIL", f"{owner[:3]}@example.com")
        await sample.messages.send(NewMessage(about="item", topic="news", cause=owner, content={"text": "x"}), hook)
        secrets[owner] = [key.text, admitted.cookie, factor.secret, *codes, hook.secret, PASSWORD, "argon2"]
    at = from_ms(sample.clock.millis())
    await sample.accounts.create(Membership(space=BOB, member=QUX, team_role="editor", created_at=at))
    await sample.accounts.create(Membership(space=QUX, member=BOB, team_role="reader", created_at=at))
    return secrets[QUX]


def mention(stored, owner):
    """The items that name an owner, or hold something of theirs."""
    words = (owner, f"{owner[:3]}@", f"example/{owner[:3]}")  # none can occur in what is encrypted
    return {key: item for key, item in stored.items() if any(word in f"{key} {item}" for word in words)}


def test_an_export_has_everything_of_one_owner_and_no_secret(sample):
    async def act():
        secrets = await fill(sample)
        exported = await export_owner(sample.accounts, QUX)
        text = json.dumps(exported)
        assert [secret for secret in secrets if secret in text] == []
        assert "bob@example.com" not in text
        assert exported["logins"] == ["qux@example.com"]
        assert exported["account"]["role"] == "moderator"
        assert [key["name"] for key in exported["keys"]] == ["first key"]
        assert {channel["shown"] for channel in exported["channels"]} == {
            "https://hooks.example/qux", "qux@example.com",
        }  # fmt: skip
        assert len(exported["sessions"]) == 1
        assert len(exported["messages"]) == 3
        assert exported["teams"] == [BOB]
        assert exported["members"] == [{"member": BOB, "role": "reader"}]
        assert exported["secondFactor"]["confirmed_at"]

    do(act())


def test_an_erasure_leaves_nothing_of_the_owner_and_everything_of_the_others(sample):
    async def act():
        await fill(sample)
        before = {key: item for key, item in sample.stored().items() if key not in mention(sample.stored(), QUX)}
        await erase_owner(sample.accounts, QUX)
        assert mention(sample.stored(), QUX) == {}
        assert {key: item for key, item in sample.stored().items() if key in before} == before
        assert await sample.logins.find_owner("bob@example.com") == BOB
        await erase_owner(sample.accounts, QUX)
        await erase_owner(sample.accounts, "nobody")

    do(act())


# ── kills ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_erasure_that_is_killed_anywhere_is_completed_by_the_next():
    async def erase(sample):
        await erase_owner(sample.accounts, QUX)

    async def check(sample):
        assert mention(sample.stored(), QUX) == {}

    assert interrupt_everywhere(fill, erase, check) >= 6


def test_a_key_whose_revocation_is_killed_is_whole_or_gone():
    async def prepare(sample):
        sample.key = await sample.add()
        sample.cookie = (await sample.sign_in.with_key(sample.key.text)).cookie

    async def revoke(sample):
        await sample.keys.revoke("ann", sample.key.key.key_id)

    async def check(sample):
        assert await sample.sign_in.find(sample.cookie) is None
        assert not [key for key in sample.stored() if "KEY#" in key[0] + key[1]]

    assert interrupt_everywhere(prepare, revoke, check) >= 1


def test_a_channel_whose_addition_is_killed_is_asked_to_confirm_if_it_exists():
    async def prepare(sample):
        await sample.add()

    async def add(sample):
        await sample.channels.add("ann", "EMAIL", "ann@example.com")

    async def check(sample):
        channels = await sample.channels.list_by_owner("ann")
        asked = {message.channel_id for message in await sample.messages.list_about("ann")}
        assert {channel.channel_id for channel in channels} == asked

    assert interrupt_everywhere(prepare, add, check) >= 2


@pytest.mark.parametrize("case", ["password", "own password", "role", "end all"])
def test_what_ends_sessions_ends_them_wherever_it_is_killed(case):
    async def prepare(sample):
        await sample.add(password=PASSWORD)
        sample.cookie = (await sample.sign_in.with_password("ann@example.com", PASSWORD)).cookie

    async def act(sample):
        match case:
            case "password":
                await sample.credentials.set_password("ann", "another good one")
            case "own password":
                await sample.credentials.change_password("ann", PASSWORD, "another good one")
            case "role":
                await sample.credentials.change_role("ann", "admin")
            case "end all":
                await sample.sign_in.end_all("ann")

    async def check(sample):
        assert await sample.sign_in.find(sample.cookie) is None

    assert interrupt_everywhere(prepare, act, check) >= 1


def test_a_sign_in_that_is_killed_locks_nobody_out():
    async def prepare(sample):
        await sample.add(password=PASSWORD)

    async def act(sample):
        sample.cookie = (await sample.sign_in.with_password("ann@example.com", PASSWORD)).cookie

    async def check(sample):
        assert (await sample.sign_in.find(sample.cookie)).owner == "ann"

    assert interrupt_everywhere(prepare, act, check) >= 2


def test_a_message_is_sent_once_more_if_the_outbox_is_killed_after_sending_and_with_the_same_key():
    async def prepare(sample):
        await sample.add()
        channel = await sample.channels.add("ann", "EMAIL", "ann@example.com")
        await sample.accounts.confirm_channel("ann", channel.channel_id, from_ms(sample.clock.millis()))
        await sample.messages.delete_about("ann")
        await sample.messages.send(NewMessage(about="item", topic="news", cause="1", content={"text": "x"}), channel)

    async def send(sample):
        sample.clock.advance(121)  # a lease may be left
        await sample.outbox.send_all()

    async def check(sample):  # the mailbox drops the second of a key
        assert [mail.notification.text for mail in sample.mailbox.mails("ann")] == ["news x"], (
            "the mailbox drops a key twice"
        )
        (message,) = await sample.messages.list_about("item")
        assert type(message).__name__ == "Sent"

    assert interrupt_everywhere(prepare, send, check) >= 2


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_process_with_other_keys_does_not_start(sample):
    verify_keys(sample.accounts, sample.clock, "SAMPLE_KEYS", kept=False)
    assert sample.stored() == {}, "keys in memory leave no mark"
    for _ in range(2):
        verify_keys(sample.accounts, sample.clock, "SAMPLE_KEYS", kept=True)
    others = PeopleAccounts.open(
        sample.database, clock=sample.clock, keys=hashrange.LocalKeys.generate(), secret=b"s" * 32
    )
    with pytest.raises(KeysDiffer, match="set SAMPLE_KEYS to it"):
        verify_keys(others, sample.clock, "SAMPLE_KEYS", kept=True)
