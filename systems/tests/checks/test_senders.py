"""Senders against real receivers on loopback: an inbox, a web server, a service of Apprise."""

import asyncio
import email
import email.policy
import json
import ssl
from contextlib import asynccontextmanager

import pytest
import trustme
from aiosmtpd.smtp import SMTP, AuthResult

from hashrange import ManualClock
from hashrange_systems.shared.channels.apprise_sender import (
    SELF_HOSTED,
    VENDORS,
    Apprise,
    check_url,
    load_services,
)
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.email_sender import (
    Email,
    MailServer,
    MailServerInvalid,
    build_email,
    read_server,
)
from hashrange_systems.shared.channels.sender import DeliveryFailed, DeliveryRefused, Notification
from hashrange_systems.shared.channels.webhook_sender import Webhook
from hashrange_systems.shared.channels.webhook_signature import sign, verify
from hashrange_systems.shared.fetching.fetcher import Fetcher
from systems.tests.checks.check_items import NOON
from systems.tests.checks.notifications import KEY, NOTIFICATION, make_alert, make_channel, make_outbox, send_all
from systems.tests.shared.fetching.target import LOOPBACK, serving
from tests.conftest import ROOT, find_free_port

CLOCK = ManualClock(NOON.timestamp())
SECRET = "whsec-of-ann"


def give_words(subject="Hello", text="Hello\n", page="<p>Hello</p>", thread=None):
    return Notification(severity="info", subject=subject, text=text, html=page, data={}, thread=thread)


# ── e-mail ───────────────────────────────────────────────────────────────────────────────────────────────────────────
class Inbox:
    """A mail server's handler that keeps what it is sent, or says what a test tells it to."""

    def __init__(self, responses=()):
        self.responses = list(responses)
        self.mails = []
        self.recipients = []

    async def handle_RCPT(self, server, session, envelope, address, options):  # noqa: N802 - aiosmtpd's name
        if self.responses and self.responses[0].startswith("55"):
            return self.responses.pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):  # noqa: N802 - same
        if self.responses:
            return self.responses.pop(0)
        self.mails.append(email.message_from_bytes(envelope.content, policy=email.policy.default))
        self.recipients += envelope.rcpt_tos
        return "250 OK"


@asynccontextmanager
async def mailing(inbox, port=0, tls=None, **options):
    """Run a mail server; gives its port."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: SMTP(inbox, hostname="mail.example", enable_SMTPUTF8=True, loop=loop, **options),
        "127.0.0.1",
        port,
        ssl=tls,
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


def make_server(port, **more):
    given = {"host": "127.0.0.1", "port": port, "security": "plain", "sender": "checks@hashrange.example"}
    given["sender_name"] = "hashrange checks"
    return MailServer(**(given | more))


def deliver(inbox, channel=None, notification=NOTIFICATION, tls=None, server=None, **options):
    async def main():
        async with mailing(inbox, tls=tls, **options) as port:
            sender = Email(make_server(port, **(server or {})), CLOCK)
            await sender.send(channel or make_channel(), notification, KEY)

    asyncio.run(main())
    return inbox


def test_an_email_has_text_and_html_and_a_message_id_that_stays():
    inbox = deliver(Inbox())
    (mail,) = inbox.mails
    assert inbox.recipients == ["ann@example.com"]
    assert (mail["Subject"], mail["To"], mail["Message-ID"]) == (
        "DOWN: Shop",
        "ann@example.com",
        f"<{KEY}@hashrange.example>",
    )
    assert mail["From"] == "hashrange checks <checks@hashrange.example>"
    assert mail["Date"] == "Thu, 15 Jan 2026 12:00:00 +0000"
    assert (mail["References"], mail["Auto-Submitted"]) == ("<c1.1768478280000@hashrange.example>", "auto-generated")
    assert mail.get_body(["plain"]).get_content().replace("\r\n", "\n") == NOTIFICATION.text
    assert mail.get_body(["html"]).get_content().strip() == NOTIFICATION.html


def test_an_email_carries_any_language():
    notification = give_words("DOWN: Bücher 書店 🛒", "Bücher 書店 🛒\n.\n..dots\n" + "long " * 400, "<p>書店</p>")
    (mail,) = deliver(Inbox(), notification=notification).mails
    assert mail["Subject"] == notification.subject
    assert mail.get_body(["plain"]).get_content().replace("\r\n", "\n").rstrip() == notification.text.rstrip()


def test_an_address_in_any_language_is_written_to():
    inbox = deliver(Inbox(), make_channel(target="jörg@bücher.example"))
    assert inbox.recipients == ["jörg@xn--bcher-kva.example"]


@pytest.mark.parametrize(
    "target",
    [
        "ann@example.com\r\nBcc: all@example.com",
        "ann@example.com, bob@example.com",
        "ann@example.com>\r\nDATA",
        "<ann@example.com>",
        '"ann bob"@example.com',
        "ann@[127.0.0.1]",
        "ann@exa mple.com",
        "ann@example.com\x00",
        "ann",
        "",
    ],
)
def test_what_is_not_one_address_is_never_written_to(target):
    inbox = Inbox()
    with pytest.raises(DeliveryRefused):
        deliver(inbox, make_channel(target=target))
    assert inbox.mails == []


def test_no_text_adds_a_header_or_a_line_of_the_protocol():
    notification = give_words(
        "a\r\nBcc: all@example.com\r\n\r\nbody", "x\r\n.\r\nMAIL FROM:<a@b.example>\r\n", thread="a\r\nX: y"
    )
    (mail,) = deliver(Inbox(), notification=notification).mails
    assert mail["Subject"] == "a Bcc: all@example.com body"
    assert (mail["Bcc"], mail["X"]) == (None, None)
    assert "MAIL FROM" in mail.get_body(["plain"]).get_content()
    raw = build_email(make_server(25), "ann@example.com", notification, KEY, NOON).as_bytes().partition(b"\r\n\r\n")[0]
    assert b"\nBcc:" not in raw
    assert b"\nX:" not in raw


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ("550 no such user", DeliveryRefused),
        ("554 we do not like it", DeliveryRefused),
        ("451 try later", DeliveryFailed),
    ],
)
def test_only_what_the_mail_server_refuses_for_good_is_final(response, error):
    with pytest.raises(DeliveryFailed) as refusal:
        deliver(Inbox([response]))
    assert type(refusal.value) is error
    assert response.split(" ", 1)[1] in str(refusal.value)


def test_no_mail_server_is_a_reason_to_try_later():
    sender = Email(make_server(find_free_port()), CLOCK)
    with pytest.raises(DeliveryFailed) as error:
        asyncio.run(sender.send(make_channel(), NOTIFICATION, KEY))
    assert type(error.value) is DeliveryFailed


def test_alerts_wait_while_the_mail_server_is_down_and_arrive_when_it_is_up(db, clock):
    db.batch([make_channel(), make_alert()]).run()
    port = find_free_port()
    outbox = make_outbox(db, clock, EMAIL=Email(make_server(port), clock))
    inbox = Inbox()

    async def main():
        assert await send_all(outbox) == {"put off": 1}
        async with mailing(inbox, port):
            assert await send_all(outbox) == {}
            clock.advance(15)
            assert await send_all(outbox) == {"sent": 1}
            clock.advance(3600)
            assert await send_all(outbox) == {}

    asyncio.run(main())
    assert len(inbox.mails) == 1


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate authority, its file, and the mail server's TLS settings."""
    ca = trustme.CA()
    file = tmp_path_factory.mktemp("ca") / "ca.pem"
    ca.cert_pem.write_to_path(file)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    return file, context


def test_tls_from_the_first_byte_with_a_password(authority):
    file, context = authority
    tried = []

    def authenticate(server, session, envelope, mechanism, credentials):
        tried.append((credentials.login, credentials.password))
        return AuthResult(success=True)

    options = {"authenticator": authenticate, "auth_require_tls": False}
    server = {"security": "tls", "ca_file": file, "username": "ann", "password": "pw"}
    assert len(deliver(Inbox(), tls=context, server=server, **options).mails) == 1
    assert tried == [(b"ann", b"pw")]


def test_starttls_is_insisted_on(authority):
    file, context = authority
    server = {"security": "starttls", "ca_file": file}
    assert len(deliver(Inbox(), server=server, tls_context=context, require_starttls=True).mails) == 1
    inbox = Inbox()
    with pytest.raises(DeliveryFailed):
        deliver(inbox, server=server)  # a server that does not offer it
    assert inbox.mails == []


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(authority):
    inbox = Inbox()
    with pytest.raises(DeliveryFailed):
        deliver(inbox, tls=authority[1], server={"security": "tls"})
    assert inbox.mails == []


def test_a_mail_server_is_read_from_a_url():
    server = read_server("smtp+starttls://ann%40x:p%2Fw@mail.example", "checks@hashrange.example")
    assert (server.host, server.port, server.security) == ("mail.example", 587, "starttls")
    assert (server.username, server.password, server.domain) == ("ann@x", "p/w", "hashrange.example")
    assert "p/w" not in repr(server)
    assert read_server("smtps://mail.example", "a@b.example").port == 465


@pytest.mark.parametrize("url", ["mail.example", "http://mail.example", "smtp://", "smtp://h:99999", "smtp://a:b@h"])
def test_a_mail_server_that_cannot_work_or_is_not_safe_is_refused(url):
    with pytest.raises(MailServerInvalid):
        read_server(url, "checks@hashrange.example")


# ── webhook ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def post(script, path="/hook", policy=LOOPBACK, secret=SECRET, clock=CLOCK):
    async def main():
        async with serving(script) as port:
            channel = make_channel(channel_type="WEBHOOK", target=f"http://127.0.0.1:{port}{path}", secret=secret)
            await Webhook(Fetcher(policy), clock).send(channel, NOTIFICATION, KEY)

    asyncio.run(main())


class Receiver:
    """A web server that keeps the requests it gets."""

    def __init__(self, status=204, **headers):
        self.status, self.answer_headers = status, headers
        self.requests = []

    async def __call__(self, exchange):
        head = dict(line.split(": ", 1) for line in exchange.head.split("\r\n")[1:] if line)
        self.requests.append((head, await exchange.body()))
        await exchange.respond(status=self.status, **self.answer_headers)


def test_a_webhook_is_json_that_its_receiver_can_verify():
    receiver = Receiver()
    post(receiver)
    ((headers, body),) = receiver.requests
    assert json.loads(body) == {"id": KEY} | NOTIFICATION.data
    assert (headers["Hashrange-Delivery"], headers["Content-Type"]) == (KEY, "application/json")
    assert headers["Hashrange-Timestamp"] == str(int(NOON.timestamp()))
    assert verify(SECRET, headers, body, NOON.timestamp())


def test_a_second_attempt_has_the_same_body_and_id_and_a_new_signature():
    receiver, later = Receiver(), ManualClock(NOON.timestamp() + 900)
    post(receiver)
    post(receiver, clock=later)
    (first, body), (second, same_body) = receiver.requests
    assert (first["Hashrange-Delivery"], body) == (second["Hashrange-Delivery"], same_body)
    assert first["Hashrange-Signature"] != second["Hashrange-Signature"]
    assert verify(SECRET, second, same_body, later.millis() / 1000)


def test_a_signature_holds_for_its_body_secret_and_time_only():
    headers = {"hashrange-timestamp": "1000", "hashrange-signature": sign("s", 1000, b"{}")}
    assert verify("s", headers, b"{}", 1000)
    assert verify("s", headers, b"{}", 1300)
    assert not verify("s", headers, b"{}", 1301)
    assert not verify("s", headers, b"{}", 699)
    assert not verify("s", headers, b"{ }", 1000)
    assert not verify("t", headers, b"{}", 1000)
    assert not verify("s", headers | {"hashrange-timestamp": "1001"}, b"{}", 1000)


@pytest.mark.parametrize("timestamp", ["", "soon", "-1", "1e3", "٣", "9" * 30])
def test_a_request_without_a_readable_time_is_not_ours(timestamp):
    signature = sign("s", 1000, b"{}")
    assert not verify("s", {"Hashrange-Timestamp": timestamp, "Hashrange-Signature": signature}, b"{}", 1000)


def test_a_request_with_nonsense_for_a_signature_is_not_ours():
    assert not verify("s", {"Hashrange-Timestamp": "1000", "Hashrange-Signature": "v1=é"}, b"{}", 1000)
    assert not verify("s", {}, b"{}", 1000)


@pytest.mark.parametrize(("status", "error"), [(410, DeliveryRefused), (404, DeliveryFailed), (500, DeliveryFailed)])
def test_an_answer_that_is_not_2xx_does_not_take_the_message(status, error):
    with pytest.raises(DeliveryFailed, match=str(status)) as refused:
        post(Receiver(status))
    assert type(refused.value) is error


@pytest.mark.parametrize(("header", "wait"), [("120", 120), ("999999", 3600), ("Thu, 15 Jan 2026 12:00:00 GMT", None)])
def test_a_receiver_says_how_long_to_wait(header, wait):
    with pytest.raises(DeliveryFailed) as error:
        post(Receiver(429, retry_after=header))
    assert error.value.wait_s == wait


def test_a_redirect_is_not_followed():
    receiver = Receiver(307, location="/elsewhere")
    with pytest.raises(DeliveryFailed, match="307"):
        post(receiver)
    assert len(receiver.requests) == 1


def test_a_webhook_to_a_private_address_is_never_sent():
    receiver = Receiver()
    with pytest.raises(DeliveryRefused, match="loopback"):
        post(receiver, policy=None)
    assert receiver.requests == []


def test_a_receiver_that_hangs_up_is_tried_later():
    async def hang_up(exchange):
        exchange.reset()

    with pytest.raises(DeliveryFailed) as error:
        post(hang_up)
    assert type(error.value) is DeliveryFailed


# ── Apprise ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def hand_over(script, hosts=("127.0.0.1",), timeout_s=10.0):
    async def main():
        async with serving(script) as port:
            sender = Apprise(hosts, timeout_s)
            try:
                channel = make_channel(channel_type="APPRISE", target="json://…", secret=f"json://127.0.0.1:{port}/x")
                await sender.send(channel, NOTIFICATION, KEY)
            finally:
                sender.close()

    asyncio.run(main())


def test_apprise_hands_a_message_to_a_service():
    receiver = Receiver(200)
    hand_over(receiver)
    ((_, body),) = receiver.requests
    posted = json.loads(body)
    assert (posted["title"], posted["type"]) == ("DOWN: Shop", "failure")
    assert posted["message"].startswith("Shop is down since 2026-01-15 11:58:00 UTC.")


def test_a_service_that_does_not_take_it_is_tried_later():
    with pytest.raises(DeliveryFailed, match="json:// did not take the message"):
        hand_over(Receiver(500))


def test_a_service_that_does_not_answer_is_not_waited_for():
    async def stay_silent(exchange):
        await exchange.stay_silent()

    with pytest.raises(DeliveryFailed, match=r"within 0\.05 s"):
        hand_over(stay_silent, timeout_s=0.05)


def test_a_host_that_the_operator_does_not_name_is_not_connected_to():
    receiver = Receiver(200)
    with pytest.raises(DeliveryRefused, match="operator"):
        hand_over(receiver, hosts=())
    assert receiver.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "syslog://",
        "dbus://",
        "gnome://",
        "windows://",
        "macosx://",
        "mailto://a:b@example.com",
        "apprise://127.0.0.1/token",
        "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ",
        "rsyslog://127.0.0.1",
        "smpp://127.0.0.1",
        "irc://127.0.0.1",
        "json://127.0.0.1@evil.example/",
        "ntfy://127.0.0.1/topic",
        "gotify://[::1]/token",
        "JSON://127.0.0.1",
        "discord://1/2,json://127.0.0.1",
        "discord://1/2 json://127.0.0.1",
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/?template=/etc/passwd",
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/?rto=86400",
        "pover://user@token?url=http://127.0.0.1",
        "slack://",
        "://",
        "",
        "json://[",
    ],
)
def test_urls_that_reach_this_machine_or_any_host_or_file_are_refused(url):
    with pytest.raises(DeliveryRefused):
        Apprise().open(url)


def test_urls_of_vendors_and_of_the_public_ntfy_are_taken():
    services = Apprise()
    assert services.open("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#ops").service_name == "Slack"
    assert services.open("tgram://123456789:abcdefghijklmnopqrstuvwxyz123456789/-100?silent=yes")
    assert services.open("ntfys://ntfy.sh/my-topic?priority=high")


def test_the_vendors_services_take_no_host_and_the_others_do():
    load_services("hashrange checks")
    from apprise.manager_plugins import NotificationManager

    plugins = NotificationManager()
    assert {scheme for scheme in VENDORS if "host" in plugins[scheme].template_tokens} == set()
    assert {scheme for scheme in SELF_HOSTED if "host" not in plugins[scheme].template_tokens} == set()
    assert all(check_url(f"{scheme}://x") == scheme for scheme in VENDORS | SELF_HOSTED)


# ── mailbox ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_mailbox_keeps_the_last_mails_of_each_user_once():
    async def fill():
        for number in (1, 2, 2, 3, 4):
            await box.send(make_channel(), give_words(f"mail {number}"), f"key {number}")
        await box.send(make_channel(userid="u2"), give_words("not yours"), "key 5")

    box = Mailbox(CLOCK, most=4)
    asyncio.run(fill())
    assert [mail.notification.subject for mail in box.mails("u1")] == ["mail 4", "mail 3", "mail 2"]
    assert [mail.recipient for mail in box.mails("u2")] == ["ann@example.com"]
    assert box.find("u1", "key 3").at == CLOCK.millis()
    assert box.find("u1", "key 5") is None


# ── the documentation ────────────────────────────────────────────────────────────────────────────────────────────────
def test_receivers_that_do_as_the_documentation_says_take_what_is_ours_and_nothing_else():
    page = (ROOT / "docs" / "howto" / "receive-webhooks.md").read_text("utf-8")
    receiver, written = Receiver(), {}
    exec(page.split("```python\n")[1].split("```")[0], written)
    post(receiver)
    ((headers, body),) = receiver.requests
    now = NOON.timestamp()
    assert written["verify"](SECRET, headers, body, now)
    assert not written["verify"](SECRET, headers, body + b" ", now)
    assert not written["verify"]("other", headers, body, now)
    assert not written["verify"](SECRET, headers, body, now + 301)
    assert not written["verify"](SECRET, {}, body, now)
    example = json.loads(page.split("```json\n")[1].split("```")[0])
    assert example == {"id": example["id"]} | NOTIFICATION.data
