"""Channels are confirmed by a link that only their address gets; messages are written once and sent by the outbox."""

import asyncio
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from hashrange_systems.shared.channels.channel_type import ANY_TARGET, TargetRules
from hashrange_systems.shared.channels.channels import CONFIRM, MAX_CHANNELS, find_address
from hashrange_systems.shared.channels.delivery import DeliveryOutcome
from hashrange_systems.shared.channels.message_budget import DayBudgetSpent
from hashrange_systems.shared.channels.messages import MailAddress, NewMessage
from hashrange_systems.shared.channels.sender import DeliveryFailed, DeliveryRefused
from hashrange_systems.shared.channels.type_registry import EMAIL
from hashrange_systems.shared.errors import (
    AccountSuspended,
    InvalidInput,
    LimitReached,
    ResourceMissing,
    TokenInvalid,
    TooSoon,
)
from hashrange_systems.shared.signed_token import TokenSigner
from systems.tests.shared.accounts.sample_system import SECRET, SampleSystem, do, make_system

DAY = 86_400
ADDRESS = "Ann@Example.com"


def news(number=1, **more):
    given = {"about": "item", "topic": "news", "cause": f"cause {number}", "content": {"text": f"text {number}"}}
    return NewMessage(**(given | more))


def read_token(mail):
    """The token of the link in a mail."""
    (link,) = [word for word in mail.notification.text.split() if word.startswith("https://sample.example/confirm")]
    return parse_qs(urlsplit(link).query)["token"][0]


async def confirm(sample, channel):
    """Send what is due, and open the link that a channel got."""
    await sample.outbox.send_all()
    mail = next(mail for mail in sample.mailbox.mails(channel.owner) if mail.recipient == channel.shown)
    return await sample.channels.confirm(read_token(mail))


async def count_states(sample, owner="ann"):
    page = await sample.messages.page_by_owner(owner, 50)
    return [(message.topic, type(message).__name__) for message in page]


def test_nothing_but_the_link_is_sent_to_a_channel_that_is_not_confirmed(sample):
    async def act():
        await sample.add()
        channel = await sample.channels.add("ann", "EMAIL", ADDRESS)
        assert channel.confirmed_at is None
        await sample.messages.send(news(), channel)
        assert await sample.channels.list_usable("ann") == []
        await sample.outbox.send_all()
        assert [mail.notification.subject for mail in sample.mailbox.mails("ann")] == ["Confirm this address"]
        confirmed = await sample.channels.confirm(read_token(sample.mailbox.mails("ann")[0]))
        assert confirmed.confirmed_at is not None
        await sample.messages.send(news(2), confirmed)
        await sample.outbox.send_all()
        assert sample.mailbox.mails("ann")[0].notification.text == "news text 2"
        assert sorted(await count_states(sample)) == [
            (CONFIRM, "Sent"), ("news", "Sent"), ("news", "Undeliverable"),
        ]  # fmt: skip

    do(act())


def test_the_token_of_a_link_is_not_stored_and_is_for_one_channel(sample):
    async def act():
        await sample.add()
        await sample.add("bob")
        channels = [await sample.channels.add(owner, "EMAIL", ADDRESS) for owner in ("ann", "bob")]
        await sample.outbox.send_all()
        token = read_token(sample.mailbox.mails("ann")[0])
        assert token not in str(sample.stored())
        assert (await sample.channels.confirm(token)).channel_id == channels[0].channel_id
        assert (await sample.channels.confirm(token)).confirmed_at is not None, "opening the link again is no error"
        assert (await sample.channels.list_by_owner("bob"))[0].confirmed_at is None

    do(act())


def test_a_link_ends_after_three_days_and_with_its_channel(sample):
    async def act():
        await sample.add()
        removed = await sample.channels.add("ann", "EMAIL", "a@example.com")
        late = await sample.channels.add("ann", "EMAIL", "b@example.com")
        await sample.outbox.send_all()
        tokens = {mail.recipient: read_token(mail) for mail in sample.mailbox.mails("ann")}
        await sample.channels.remove("ann", removed.channel_id)
        for token in (tokens["a@example.com"], "", "x" * 5000, tokens["b@example.com"][:-2]):
            with pytest.raises(TokenInvalid):
                await sample.channels.confirm(token)
        words = ["ann", late.channel_id, "another address"]
        forged = TokenSigner(SECRET, "sample").sign(CONFIRM, words, sample.clock.millis() + 1000)
        with pytest.raises(TokenInvalid):
            await sample.channels.confirm(forged)
        sample.clock.advance(3 * DAY)
        with pytest.raises(TokenInvalid):
            await sample.channels.confirm(tokens["b@example.com"])

    do(act())


def test_the_link_is_sent_again_after_ten_minutes_and_three_times_a_day(sample):
    async def act():
        await sample.add()
        channel = await sample.channels.add("ann", "EMAIL", ADDRESS)
        with pytest.raises(TooSoon):
            await sample.channels.ask_again("ann", channel.channel_id)
        for _ in range(2):
            sample.clock.advance(600)
            await sample.channels.ask_again("ann", channel.channel_id)
        await sample.outbox.send_all()
        assert len(sample.mailbox.mails("ann")) == 3
        sample.clock.advance(600)
        with pytest.raises(DayBudgetSpent):
            await sample.channels.ask_again("ann", channel.channel_id)
        sample.clock.advance(DAY)
        await sample.channels.ask_again("ann", channel.channel_id)
        await confirm(sample, channel)
        sample.clock.advance(600)
        with pytest.raises(ResourceMissing):
            await sample.channels.ask_again("ann", channel.channel_id)

    do(act())


def test_an_address_gets_three_links_a_day_whoever_asks(sample):
    async def act():
        for number, spelling in enumerate(("a.nn@example.com", "ann+1@example.com", "ANN@example.com")):
            await sample.add(f"user{number}")
            await sample.channels.add(f"user{number}", "EMAIL", spelling)
        await sample.add("eve")
        with pytest.raises(DayBudgetSpent):
            await sample.channels.add("eve", "EMAIL", "ann@example.com")

    do(act())


def test_hidden_addresses_are_counted_by_the_whole_address_not_by_what_is_shown(sample):
    async def act():
        await sample.add()
        for number in range(5):
            await sample.channels.add("ann", "APPRISE", f"ntfys://ntfy.sh/topic-{number}")
        for _ in range(2):
            await sample.channels.add("ann", "APPRISE", "ntfys://ntfy.sh/topic-0")
        with pytest.raises(DayBudgetSpent):
            await sample.channels.add("ann", "APPRISE", "ntfys://ntfy.sh/topic-0")
        assert "topic-" not in str(sample.stored())

    do(act())


def test_a_trusted_type_is_confirmed_at_once_and_a_webhooks_secret_is_revealed_and_sealed(database, clock):
    async def act():
        sample = make_system(database, clock, trusted={"WEBHOOK"})
        await sample.add()
        channel = await sample.channels.add("ann", "WEBHOOK", "https://hooks.example/x", subscription="ALARMS")
        given = await sample.channels.add("ann", "WEBHOOK", "https://hooks.example/y", secret="mine, all mine")
        assert channel.confirmed_at is not None
        assert sample.channels.find_revealed(channel).startswith("whsec_")
        assert sample.channels.find_revealed(given) == "mine, all mine"
        assert sample.channels.find_revealed(await sample.channels.add("ann", "EMAIL", ADDRESS)) is None
        assert [each.channel_id for each in await sample.channels.list_subscribed("ALARMS")] == [channel.channel_id]
        assert {each.shown for each in await sample.channels.list_usable("ann")} == {channel.shown, given.shown}
        stored = str(sample.stored())
        assert channel.secret not in stored
        assert "all mine" not in stored

    do(act())


def test_a_suspended_owner_adds_and_asks_nothing_and_too_many_are_refused(sample):
    async def act():
        await sample.add()
        channel = await sample.channels.add("ann", "EMAIL", ADDRESS)
        for number in range(MAX_CHANNELS - 1):
            await sample.channels.add("ann", "EMAIL", f"a{number}@example.com")
            sample.clock.advance(DAY)
        with pytest.raises(LimitReached):
            await sample.channels.add("ann", "EMAIL", "more@example.com")
        await sample.channels.remove("ann", (await sample.channels.list_by_owner("ann"))[-1].channel_id)
        await sample.db.suspend("ann", "SUSPENDED")
        with pytest.raises(AccountSuspended):
            await sample.channels.add("ann", "EMAIL", "more@example.com")
        with pytest.raises(AccountSuspended):
            await sample.channels.ask_again("ann", channel.channel_id)

    do(act())


def test_targets_follow_the_rules_of_the_system(database, clock):
    async def act():
        sample = make_system(database, clock, rules=TargetRules(own_origins=("https://sample.example",)))
        await sample.add()
        for channel_type, target in (("WEBHOOK", "https://sample.example/x"), ("PIGEON", "roof"), ("EMAIL", "nobody")):
            with pytest.raises(InvalidInput):
                await sample.channels.add("ann", channel_type, target)
        assert await sample.channels.list_by_owner("ann") == []

    do(act())


def test_the_channel_of_an_address_is_found_however_it_is_capitalised(sample):
    async def act():
        await sample.add()
        channel = await sample.channels.add("ann", "EMAIL", ADDRESS)
        found = await sample.channels.list_by_owner("ann")
        assert find_address(found, "ann@EXAMPLE.com").channel_id == channel.channel_id
        assert find_address(found, "bob@example.com") is None

    do(act())


# ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────────
async def add_confirmed(sample):
    await sample.add()
    channel = await sample.channels.add("ann", "EMAIL", ADDRESS)
    return await confirm(sample, channel)


def test_a_message_is_written_once_for_its_cause_and_in_the_transaction_of_the_system(sample):
    async def act():
        channel = await add_confirmed(sample)
        for _ in range(3):
            await sample.messages.send(news(), channel)
        other = await sample.channels.add("ann", "EMAIL", "b@example.com")
        writes = sample.messages.write_each(news(2), await sample.accounts.usable_channels("ann"))
        assert other.confirmed_at is None
        await sample.accounts.transact_all([sample.owners.ensure_active("ann"), *writes]).unread()
        about = [message.content["text"] for message in await sample.messages.list_about("item")]
        assert sorted(about) == ["text 1", "text 2"]

    do(act())


def test_a_message_goes_to_an_address_without_an_account_and_leaves_no_owner(sample):
    async def act():
        target = EMAIL.parse("visitor@example.com", ANY_TARGET)
        new = news(about="visitor@example.com", kept=timedelta(days=30))
        await sample.messages.send(new, MailAddress(target))
        await sample.messages.send(new, MailAddress(target))
        await sample.outbox.send_all()
        assert [mail.recipient for mail in sample.mailbox.mails("")] == ["visitor@example.com"]
        await sample.messages.delete_about("visitor@example.com")
        assert not [key for key in sample.stored() if key[0].startswith("ABOUT#")]

    do(act())


def test_a_message_of_a_removed_channel_is_not_sent_and_a_missing_sender_is_tried_again(sample):
    async def act():
        channel = await add_confirmed(sample)
        await sample.messages.send(news(), channel)
        outbox = SampleSystem(sample.database, sample.clock).outbox
        object.__setattr__(outbox, "senders", {})
        counts = await outbox.send_all()
        assert counts == {DeliveryOutcome.POSTPONED: 1}
        await sample.channels.remove("ann", channel.channel_id)
        sample.clock.advance(3600)
        assert await sample.outbox.send_all() == {DeliveryOutcome.GIVEN_UP: 1}
        (message,) = await sample.messages.list_about("item")
        assert message.last_error == "the channel was removed"

    do(act())


def test_a_message_that_is_not_taken_is_tried_for_a_day_with_one_key_and_then_given_up(sample):
    keys = []

    class Refusing:
        async def send(self, destination, notification, key):
            keys.append(key)
            raise DeliveryFailed("busy")

    async def act():
        channel = await add_confirmed(sample)
        await sample.messages.send(news(), channel)
        outbox = SampleSystem(sample.database, sample.clock).outbox
        object.__setattr__(outbox, "senders", {"EMAIL": Refusing()})
        for _ in range(60):
            await outbox.send_all()
            sample.clock.advance(1800)
        (message,) = await sample.messages.list_about("item")
        assert type(message).__name__ == "Undeliverable"
        assert len(set(keys)) == 1
        assert 10 < len(keys) < 60

    do(act())


def test_a_refusal_is_final(sample):
    class Refusing:
        async def send(self, destination, notification, key):
            raise DeliveryRefused("no such mailbox")

    async def act():
        channel = await add_confirmed(sample)
        await sample.messages.send(news(), channel)
        outbox = SampleSystem(sample.database, sample.clock).outbox
        object.__setattr__(outbox, "senders", {"EMAIL": Refusing()})
        assert await outbox.send_all() == {DeliveryOutcome.GIVEN_UP: 1}

    do(act())


def test_two_outboxes_send_each_message_once(sample):
    async def act():
        channel = await add_confirmed(sample)
        for number in range(40):
            await sample.messages.send(news(number), channel)
        other = SampleSystem(sample.database, sample.clock)
        await asyncio.gather(sample.outbox.send_all(), other.outbox.send_all())
        texts = [mail.notification.text for each in (sample, other) for mail in each.mailbox.mails("ann")]
        assert sorted(text for text in texts if text.startswith("news")) == sorted(f"news text {n}" for n in range(40))

    do(act())


def test_messages_of_an_owner_are_paged_newest_first(sample):
    async def act():
        channel = await add_confirmed(sample)
        for number in range(5):
            sample.clock.advance(1)
            await sample.messages.send(news(number), channel)
        first = await sample.messages.page_by_owner("ann", 3)
        second = await sample.messages.page_by_owner("ann", 3, after=first.cursor)
        assert [message.content.get("text") for message in [*first, *second]] == [
            *(f"text {number}" for number in (4, 3, 2, 1, 0)), None,
        ]  # fmt: skip

    do(act())
