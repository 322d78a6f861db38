"""E-mail addresses of members: a link first, and nothing else before it was used; a limited number of links a day."""

import asyncio
import re
import time
from datetime import UTC, datetime
from urllib.parse import unquote

import pytest

from hashrange import ManualClock
from hashrange_systems.aura.work_schema import NewChange
from hashrange_systems.shared.channels.message_budget import BY_A_USER, TO_AN_ADDRESS, DayBudgetSpent
from hashrange_systems.shared.errors import ResourceMissing, TokenInvalid

ADDRESS = "ann@example.com"
CHANGE = NewChange(
    at=datetime(2026, 1, 15, tzinfo=UTC), change_id="c1", domain="a.de", shop_country="DE", url="https://a.de/x",
    kind="PRICE", title="Vase", state="AVAILABLE", price_minor=125_000, currency="EUR",
)  # fmt: skip


@pytest.fixture
def clock():
    """A clock that starts this morning: a server has the real one, and removes messages that expired by it."""
    return ManualClock(int(time.time()) // 86_400 * 86_400)


async def add_address(services, address=ADDRESS):
    member = (await services.members.add("ann@example.com")).member
    return member.member_id, await services.accounts.channels.add(member.member_id, "EMAIL", address, "EVERYTHING")


async def tell(services, change=CHANGE):
    """Write the messages of a change and send what is due."""
    await services.work.create(change)
    await services.watches.notify_changes()
    await services.outbox.send_all()


def find_token(mail):
    return unquote(re.search(r"/confirm\?token=(\S+)", mail.notification.text)[1])


def test_nothing_but_the_link_is_sent_before_an_address_is_confirmed(services):
    async def run():
        member_id, channel = await add_address(services)
        await tell(services)
        (link,) = services.mailbox.mails(member_id)
        stored = await services.notices.list_messages(member_id)
        confirmed = await services.accounts.channels.confirm(find_token(link))
        again = await services.accounts.channels.confirm(find_token(link))
        await tell(services, CHANGE.model_copy(update={"change_id": "c2"}))
        return channel, link, stored, confirmed, again, services.mailbox.mails(member_id)

    channel, link, stored, confirmed, again, mails = asyncio.run(run())
    assert channel.confirmed_at is None
    assert (link.recipient, link.notification.subject) == (ADDRESS, "Confirm this address")
    assert not [message for message in stored if "token=" in str(message)], "who reads the table cannot confirm"
    assert confirmed.confirmed_at == again.confirmed_at is not None
    assert len(mails) == 2
    assert "1,250.00 EUR" in mails[0].notification.text


def test_a_message_that_waits_for_an_address_is_not_sent_when_the_address_is_not_confirmed(services):
    async def run():
        member_id, channel = await add_address(services)
        await services.notices.write_to([channel.model_copy(update={"confirmed_at": CHANGE.at})], CHANGE, "cheaper")
        await services.outbox.send_all()
        return services.mailbox.mails(member_id), await services.notices.list_messages(member_id)

    mails, messages = asyncio.run(run())
    assert [mail.notification.subject for mail in mails] == ["Confirm this address"]
    assert "the channel is not confirmed" in {message.last_error for message in messages}


def test_a_link_is_of_no_use_when_it_is_changed_expired_or_its_address_removed(services, clock):
    async def run():
        member_id, channel = await add_address(services)
        await services.outbox.send_all()
        token = find_token(services.mailbox.mails(member_id)[0])
        with pytest.raises(TokenInvalid):
            await services.accounts.channels.confirm(token[:-2] + "AA")
        clock.advance(3 * 86_400 + 1)
        with pytest.raises(TokenInvalid, match="expired"):
            await services.accounts.channels.confirm(token)
        await services.accounts.channels.ask_again(member_id, channel.channel_id)
        await services.outbox.send_all()
        fresh = find_token(services.mailbox.mails(member_id)[0])
        await services.accounts.channels.remove(member_id, channel.channel_id)
        with pytest.raises(TokenInvalid, match="removed"):
            await services.accounts.channels.confirm(fresh)

    asyncio.run(run())


def test_an_address_and_a_member_get_a_limited_number_of_links_a_day(services, clock):
    async def run():
        member_id, channel = await add_address(services)
        for _ in range(TO_AN_ADDRESS - 1):
            clock.advance(600)
            await services.accounts.channels.ask_again(member_id, channel.channel_id)
        clock.advance(600)
        with pytest.raises(DayBudgetSpent):
            await services.accounts.channels.ask_again(member_id, channel.channel_id)
        await services.accounts.channels.remove(member_id, channel.channel_id)
        other = (await services.members.add("bob@example.com")).member.member_id
        with pytest.raises(DayBudgetSpent):
            await services.accounts.channels.add(other, "EMAIL", "Ann+x@example.com")  # the same mailbox
        assert not await services.accounts.channels.list_by_owner(other), "nothing is stored that was refused"
        for number in range(BY_A_USER):
            added = await services.accounts.channels.add(other, "EMAIL", f"p{number}@example.com")
            await services.accounts.channels.remove(other, added.channel_id)
        with pytest.raises(DayBudgetSpent):
            await services.accounts.channels.add(other, "EMAIL", "last@example.com")
        clock.advance(86_400)
        await services.accounts.channels.add(other, "EMAIL", "last@example.com")

    asyncio.run(run())


def test_a_confirmed_address_and_one_of_another_member_are_not_asked_again(services):
    async def run():
        member_id, channel = await add_address(services)
        other = (await services.members.add("bob@example.com")).member.member_id
        with pytest.raises(ResourceMissing):
            await services.accounts.channels.ask_again(other, channel.channel_id)
        await services.outbox.send_all()
        await services.accounts.channels.confirm(find_token(services.mailbox.mails(member_id)[0]))
        with pytest.raises(ResourceMissing):
            await services.accounts.channels.ask_again(member_id, channel.channel_id)

    asyncio.run(run())
