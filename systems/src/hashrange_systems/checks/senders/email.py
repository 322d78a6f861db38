"""Sends messages as e-mail, in plain text and HTML, through the operator's mail server.

The Message-ID is the same however often a message is sent, so that mailboxes can drop what they have.
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
from hashrange_systems.checks.model.address import explain_email
from hashrange_systems.checks.model.message import Letter
from hashrange_systems.checks.model.outcome import shorten
from hashrange_systems.checks.model.phrase import clean
from hashrange_systems.checks.schema import Channel
from hashrange_systems.checks.senders.sender import ReceiverRefuses, Undelivered
from hashrange_systems.checks.service.moment import from_ms

TIMEOUT_S = 20.0
LONGEST_SUBJECT = 200
LONGEST_FAULT = 300

Security = Literal["plain", "starttls", "tls"]
SCHEMES: dict[str, tuple[Security, int]] = {
    "smtp": ("plain", 25),
    "smtp+starttls": ("starttls", 587),
    "smtps": ("tls", 465),
}


class MailServerInvalid(HashrangeError):
    """A mail server that is configured in a way that cannot work, or that would give a password away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """Where e-mails are handed in, and whom they are from; `ca_file` is trusted instead of the public authorities."""

    host: str
    port: int
    security: Security
    sender: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: Path | None = None

    @property
    def domain(self) -> str:
        """The domain that the messages are of."""
        return self.sender.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Email:
    """A sender to mailboxes."""

    server: MailServer
    clock: Clock

    async def send(self, channel: Channel, letter: Letter, key: str) -> None:
        """Hand it in at the mail server."""
        message = build_email(self.server, channel.target, letter, key, from_ms(self.clock.millis()))
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
        except (aiosmtplib.SMTPException, OSError) as fault:
            raise explain(fault) from fault


def read_server(url: str, sender: str, ca_file: Path | None = None) -> MailServer:
    """Read a mail server as an operator writes it: `smtp+starttls://user:password@mail.example:587`."""
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
    )


def read_address(text: str) -> Address:
    """Read one plain address; refuse what is none, or could be more than one."""
    local, _, domain = text.rpartition("@")
    try:
        if explain_email(text) is None:
            return Address(username=local, domain=idna.encode(domain, uts46=True).decode())
    except idna.IDNAError:
        pass
    raise ReceiverRefuses("that is no e-mail address that can be written to")


def build_email(server: MailServer, recipient: str, letter: Letter, key: str, at: datetime) -> EmailMessage:
    """Return the message as it is sent; nothing in it can add a header or a recipient."""
    to = read_address(recipient)
    message = EmailMessage(policy=SMTP if to.addr_spec.isascii() else SMTPUTF8)
    message["From"] = Address("hashrange checks", addr_spec=server.sender)
    message["To"] = to
    message["Subject"] = clean(letter.subject, LONGEST_SUBJECT)
    message["Date"] = at
    message["Message-ID"] = f"<{key}@{server.domain}>"
    if letter.thread:
        message["References"] = f"<{re.sub(r'[^A-Za-z0-9.-]', '-', letter.thread)}@{server.domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message.set_content(letter.text)
    message.add_alternative(letter.html, subtype="html")
    return message


@cache  # reading the authorities takes some ms
def make_context(server: MailServer) -> ssl.SSLContext | None:
    """Return the TLS settings, where TLS is spoken."""
    if server.security == "plain":
        return None
    return ssl.create_default_context(cafile=None if server.ca_file is None else str(server.ca_file))


def explain(fault: Exception) -> Undelivered:
    """Return what a failure means: only a refused recipient or message is final, all else may be ours to mend."""
    if isinstance(fault, aiosmtplib.SMTPRecipientsRefused):
        fault = fault.recipients[0]
    reason = shorten(f"the mail server says: {fault}", LONGEST_FAULT)
    final = isinstance(fault, aiosmtplib.SMTPRecipientRefused | aiosmtplib.SMTPDataError) and 500 <= fault.code < 600
    return ReceiverRefuses(reason) if final else Undelivered(reason)
