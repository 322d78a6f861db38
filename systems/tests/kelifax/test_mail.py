"""Mails as a mail server receives them: a confirmation from form to queue, and what strangers put into names."""

import asyncio
import email
import email.policy
import re
from contextlib import asynccontextmanager
from dataclasses import replace

from aiosmtpd.smtp import SMTP

from hashrange_systems.shared.channels.email_sender import Email, MailServer
from systems.tests.kelifax.services import make_form


class Inbox:
    """Keeps what a mail server is sent."""

    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):  # noqa: N802 - aiosmtpd's name
        self.mails.append(email.message_from_bytes(envelope.content, policy=email.policy.default))
        return "250 OK"


@asynccontextmanager
async def receive(kelifax):
    """Run a mail server that the outbox sends to; give the inbox, and what sends."""
    inbox, loop = Inbox(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(inbox, hostname="mail.example", loop=loop), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sender = Email(MailServer(host="127.0.0.1", port=port, security="plain", sender="dir@example.com"), kelifax.clock)
    outbox = replace(kelifax.outbox, senders={"EMAIL": sender})

    async def send():
        await outbox.send_all()
        return inbox.mails

    try:
        yield send
    finally:
        server.close()
        await server.wait_closed()


def find_link(mail):
    return re.findall(r"https://\S+", mail.get_body(["plain"]).get_content())[-1]


def test_the_link_of_a_real_mail_confirms_a_submission_with_a_hostile_name(kelifax):
    async def act():
        async with receive(kelifax) as send:
            name = "<img src=x onerror=alert(1)> & {reason}"
            await kelifax.submissions.submit(make_form(name), "c")
            (mail,) = await send()
            assert (mail["To"], mail["Bcc"]) == ("zoe@techcorp.com", None)
            assert mail["Subject"] == f"Confirm your submission of {name}"
            assert "<img" not in mail.get_body(["html"]).get_content()
            await kelifax.submissions.confirm(find_link(mail).rpartition("/")[2])
            assert [entry.resource_name for entry in (await kelifax.moderation.queue()).entries] == [name]

    asyncio.run(act())


def test_the_digest_can_be_ended_by_the_button_of_a_mail_program(kelifax):
    async def act():
        async with receive(kelifax) as send:
            await kelifax.digests.subscribe("lena@example.com", [], "c")
            (ask,) = await send()
            assert ask["List-Unsubscribe"] is None
            await kelifax.digests.confirm(find_link(ask).rpartition("/")[2])
            kelifax.clock.advance(60)
            await kelifax.list_resource()
            kelifax.clock.advance(8 * 86_400)
            await kelifax.digests.send_due()
            mail = next(mail for mail in await send() if mail["List-Unsubscribe"])
            assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
            await kelifax.digests.unsubscribe(mail["List-Unsubscribe"].strip("<>").rpartition("/")[2])
            assert await kelifax.db.subscription("lena@example.com") is None

    asyncio.run(act())
