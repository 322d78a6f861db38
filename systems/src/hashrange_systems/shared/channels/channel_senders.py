"""The senders of a system by the type of a channel, as the outbox looks them up."""

from __future__ import annotations

from hashrange import Clock
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.email_sender import Email, MailServer
from hashrange_systems.shared.channels.sender import Sender
from hashrange_systems.shared.channels.webhook_sender import Webhook
from hashrange_systems.shared.fetching.fetcher import Fetcher


def make_senders(fetcher: Fetcher, clock: Clock, mail: MailServer | None, mailbox: Mailbox | None) -> dict[str, Sender]:
    """Return the senders of webhooks and e-mails; in the demo, e-mails stay in the mailbox.

    Without a mail server or a mailbox there is no sender of e-mails.
    """
    senders: dict[str, Sender] = {"WEBHOOK": Webhook(fetcher, clock)}
    if mailbox is not None:
        senders["EMAIL"] = mailbox
    elif mail is not None:
        senders["EMAIL"] = Email(mail, clock)
    return senders
