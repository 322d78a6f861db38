"""Sends messages as e-mail, in plain text and HTML, through the operator's mail server.

Each attempt to send a message has the same Message-ID, so that mailboxes can drop duplicates.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from functools import cache
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import aiosmtplib
import idna

from hashrange import Clock, HashrangeError
from hashrange_systems.shared.channels.sender import DeliveryFailed, DeliveryRefused, Destination, Notification
from hashrange_systems.shared.email_address import explain_email
from hashrange_systems.shared.epoch import from_ms
from hashrange_systems.shared.text import clean, shorten

TIMEOUT_S = 20.0
MAX_SUBJECT_LENGTH = 200
MAX_ERROR_LENGTH = 300

Security = Literal["plain", "starttls", "tls"]
SCHEMES: dict[str, tuple[Security, int]] = {
    "smtp": ("plain", 25),
    "smtp+starttls": ("starttls", 587),
    "smtps": ("tls", 465),
}


class MailServerInvalid(HashrangeError):
    """A mail server configuration that cannot work, or that would expose a password."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """The SMTP server and the sender address; `ca_file` is trusted instead of the public authorities."""

    host: str
    port: int
    security: Security
    sender: str
    sender_name: str = "hashrange"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: Path | None = None

    @property
    def domain(self) -> str:
        """The domain of the sender."""
        return self.sender.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Email:
    """Sends notifications by e-mail."""

    server: MailServer
    clock: Clock

    async def send(self, destination: Destination, notification: Notification, key: str) -> None:
        """Send a notification through the mail server."""
        message = build_email(self.server, destination.target, notification, key, from_ms(self.clock.millis()))
        server = self.server
        try:
            await aiosmtplib.send(
                message,
                sender=server.sender,
                recipients=[str(message["To"])],
                hostname=server.host,
                port=server.port,
                username=server.username,
                password=server.password,
                local_hostname=server.domain,
                timeout=TIMEOUT_S,
                use_tls=server.security == "tls",
                start_tls=server.security == "starttls",
                tls_context=make_context(server),
            )
        except (aiosmtplib.SMTPException, OSError) as error:
            raise explain(error) from error


def read_server(url: str, sender: str, ca_file: Path | None = None, sender_name: str = "hashrange") -> MailServer:
    """Parse a mail server URL: `smtp+starttls://user:password@mail.example:587`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise MailServerInvalid(f"the mail server's address cannot be read: {error}") from error
    if parts.scheme not in SCHEMES or not parts.hostname:
        raise MailServerInvalid("the mail server must be given as smtp://, smtp+starttls:// or smtps:// and a host")
    security, usual_port = SCHEMES[parts.scheme]
    if parts.username and security == "plain":
        raise MailServerInvalid("a password must not be sent unencrypted: use smtp+starttls:// or smtps://")
    return MailServer(
        host=parts.hostname,
        port=port or usual_port,
        security=security,
        sender=read_address(sender).addr_spec,
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        ca_file=ca_file,
        sender_name=sender_name,
    )


def read_address(text: str) -> Address:
    """Parse one plain address; raise DeliveryRefused for anything else."""
    local, _, domain = text.rpartition("@")
    try:
        if explain_email(text) is None:
            return Address(username=local, domain=idna.encode(domain, uts46=True).decode())
    except idna.IDNAError:
        pass
    raise DeliveryRefused("that is not an e-mail address that can be written to")


def build_email(server: MailServer, recipient: str, notification: Notification, key: str, at: datetime) -> EmailMessage:
    """Return the e-mail; its content cannot add a header or a recipient."""
    to = read_address(recipient)
    message = EmailMessage(policy=SMTP if to.addr_spec.isascii() else SMTPUTF8)
    message["From"] = Address(server.sender_name, addr_spec=server.sender)
    message["To"] = to
    message["Subject"] = clean(notification.subject, MAX_SUBJECT_LENGTH)
    message["Date"] = at
    message["Message-ID"] = f"<{key}@{server.domain}>"
    if notification.thread:
        message["References"] = f"<{re.sub(r'[^A-Za-z0-9.-]', '-', notification.thread)}@{server.domain}>"
    if notification.unsubscribe_url:
        message["List-Unsubscribe"] = f"<{notification.unsubscribe_url}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message.set_content(notification.text)
    message.add_alternative(notification.html, subtype="html")
    return message


@cache  # loading the authorities takes some ms
def make_context(server: MailServer) -> ssl.SSLContext | None:
    """Return the TLS context; None for plain SMTP."""
    if server.security == "plain":
        return None
    return ssl.create_default_context(cafile=None if server.ca_file is None else str(server.ca_file))


def explain(error: Exception) -> DeliveryFailed:
    """Return the error for a failure: only a rejected recipient or message is permanent."""
    if isinstance(error, aiosmtplib.SMTPRecipientsRefused):
        error = error.recipients[0]
    reason = shorten(f"the mail server says: {error}", MAX_ERROR_LENGTH)
    final = isinstance(error, aiosmtplib.SMTPRecipientRefused | aiosmtplib.SMTPDataError) and 500 <= error.code < 600
    return DeliveryRefused(reason) if final else DeliveryFailed(reason)
