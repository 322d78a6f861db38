"""What every system builds its application from: own origins, secrets and keys, senders."""

from hashrange import ManualClock
from hashrange_systems.shared.channels.channel_type import SenderParts
from hashrange_systems.shared.channels.demo_mailbox import Mailbox
from hashrange_systems.shared.channels.email_sender import Email, MailServer
from hashrange_systems.shared.channels.type_registry import close_senders, make_senders
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.own_address import list_own_origins
from hashrange_systems.shared.secret_file import find_keys, find_secret


def test_own_origins_are_the_public_url_and_every_port_on_each_name_of_this_machine():
    found = list_own_origins("https://example.com/checks", {8002, 8000})
    assert found[0] == "https://example.com/checks"
    assert set(found[1:]) == {
        f"http://{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]") for port in (8000, 8002)
    }


def test_a_configured_secret_is_preferred_to_that_of_the_directory(tmp_path):
    assert find_secret(b"configured", tmp_path) == b"configured"
    assert not (tmp_path / "secret").exists()
    assert find_secret(None, tmp_path) == (tmp_path / "secret").read_bytes()
    assert find_secret(None, None) is None


def test_keys_are_those_of_the_configured_file_else_of_the_directory(tmp_path):
    context = b"context"
    directory, configured = tmp_path / "directory", tmp_path / "configured.json"
    directory.mkdir()
    sealed = find_keys(configured, directory).seal(b"text", context)
    assert configured.exists()
    assert not (directory / "keys.json").exists()
    assert find_keys(configured, None).unseal(sealed, context) == b"text"
    find_keys(None, directory).seal(b"text", context)
    assert (directory / "keys.json").exists()
    assert find_keys(None, None).current


def test_there_is_a_sender_of_emails_only_with_a_mail_server_or_a_mailbox():
    clock = ManualClock(0)
    fetcher, mailbox = Fetcher(), Mailbox(clock)
    server = MailServer(host="mail.example.com", port=25, security="plain", sender="a@example.com")

    def make(**more):
        senders = make_senders(SenderParts(fetcher=fetcher, clock=clock, **more))
        close_senders(senders)
        return senders

    assert set(make()) == {"WEBHOOK", "APPRISE"}
    assert isinstance(make(mail=server)["EMAIL"], Email)
    assert make(mail=server, mailbox=mailbox)["EMAIL"] is mailbox
