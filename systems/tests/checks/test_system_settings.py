"""The variables that configure the system: what they say, and what is refused in words."""

import re
import shlex
from pathlib import Path

import pytest

from hashrange_systems.checks.settings import Settings
from hashrange_systems.shared.application.settings import InvalidSetting
from hashrange_systems.shared.secret_file import SecretFileInvalid, load_or_create_secret

DOCS = Path(__file__).parents[3] / "docs" / "systems" / "checks.md"


def test_without_variables_everything_is_as_usual():
    assert Settings.read({}) == Settings()
    assert Settings.read({"CHECKS_URL": " ", "CHECKS_WORKERS": "", "PATH": "/bin"}) == Settings()


def test_each_variable_is_read():
    settings = Settings.read(
        {
            "CHECKS_URL": "https://status.example/checks/",
            "CHECKS_SMTP_URL": "smtps://ann:pass%40word@mail.example",
            "CHECKS_ALLOW": "10.0.0.0/8, wiki.internal:8080",
            "CHECKS_WORKERS": "7",
            "CHECKS_SECRET": "0123456789abcdef",
            "CHECKS_KEYS": "/etc/keys.json",
            "CHECKS_APPRISE_HOSTS": "push.example,chat.example",
            "CHECKS_ADMIN_TOKEN": "fedcba9876543210",
            "CHECKS_DEMO_PORT": "0",
            "EBAY_CLIENT_ID": "app",
            "EBAY_CLIENT_SECRET": "cert",
        }
    )
    assert settings.url == "https://status.example/checks"
    assert (settings.mail.host, settings.mail.port, settings.mail.password) == ("mail.example", 465, "pass@word")
    assert settings.mail.sender == "checks@status.example"
    assert settings.allow == ("10.0.0.0/8", "wiki.internal:8080")
    assert (settings.workers, settings.works, settings.demo_port) == (7, True, 0)
    assert settings.secret == b"0123456789abcdef"
    assert settings.keys == Path("/etc/keys.json")
    assert settings.apprise_hosts == ("push.example", "chat.example")
    assert settings.admin_token == "fedcba9876543210"
    assert (settings.ebay.client_id, settings.ebay.client_secret) == ("app", "cert")


def test_no_workers_means_no_work_here():
    assert not Settings.read({"CHECKS_WORKERS": "0"}).works


def test_secrets_are_not_shown():
    settings = Settings.read(
        {
            "CHECKS_SECRET": "a-long-secret-text",
            "CHECKS_ADMIN_TOKEN": "a-long-token-text",
            "EBAY_CLIENT_ID": "app",
            "EBAY_CLIENT_SECRET": "cert-text",
            "CHECKS_SMTP_URL": "smtps://ann:password-text@mail.example",
            "CHECKS_SENDER": "checks@example.com",
        }
    )
    assert not re.search("secret-text|token-text|cert-text|password-text", repr(settings))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"CHECKS_URL": "status.example"}, "CHECKS_URL is 'status.example': it must be an address"),
        ({"CHECKS_URL": "http://[::1"}, "CHECKS_URL"),
        ({"CHECKS_URL": "https://a.example/?x=1"}, "CHECKS_URL"),
        ({"CHECKS_SMTP_URL": "smtp://mail.example"}, "needs CHECKS_SENDER"),
        ({"CHECKS_SMTP_URL": "mail.example", "CHECKS_SENDER": "a@b.example"}, "CHECKS_SMTP_URL cannot be used"),
        ({"CHECKS_SMTP_URL": "smtp://mail.example", "CHECKS_SENDER": "nobody"}, "CHECKS_SENDER is 'nobody'"),
        ({"CHECKS_ALLOW": "10.0.0.1/8"}, "CHECKS_ALLOW cannot be used"),
        ({"CHECKS_ALLOW": "127.0.0.1:99999"}, "CHECKS_ALLOW cannot be used"),
        ({"CHECKS_CA_FILE": "/nowhere/ca.pem"}, "CHECKS_CA_FILE is '/nowhere/ca.pem', where there is no file"),
        ({"CHECKS_WORKERS": "many"}, "CHECKS_WORKERS is 'many': it must be a whole number from 0 to 1000"),
        ({"CHECKS_WORKERS": "-1"}, "CHECKS_WORKERS"),
        ({"CHECKS_WORKERS": "1001"}, "CHECKS_WORKERS"),
        ({"CHECKS_WORKERS": "٣"}, "CHECKS_WORKERS"),
        ({"CHECKS_DEMO_PORT": "65536"}, "CHECKS_DEMO_PORT"),
        ({"CHECKS_SECRET": "short"}, "CHECKS_SECRET must have at least 16 characters"),
        ({"CHECKS_ADMIN_TOKEN": "short"}, "CHECKS_ADMIN_TOKEN must have at least 16 characters"),
        ({"EBAY_CLIENT_ID": "app"}, "belong together"),
    ],
)
def test_what_cannot_be_used_is_refused_in_words(given, said):
    with pytest.raises(InvalidSetting, match=re.escape(said)):
        Settings.read(given)


def test_a_refused_mail_server_does_not_give_its_password_away():
    with pytest.raises(InvalidSetting) as refused:
        Settings.read({"CHECKS_SMTP_URL": "smtp://ann:hush@mail.example", "CHECKS_SENDER": "a@b.example"})
    assert "hush" not in str(refused.value)


def test_every_variable_is_documented():
    rows = [line for line in DOCS.read_text("utf-8").splitlines() if line.startswith("| `")]
    for variable in Settings.list_variables():
        assert variable.row in rows


def test_a_secret_is_made_once_and_is_its_owners_alone(tmp_path):
    path = tmp_path / "secret"
    secret = load_or_create_secret(path)
    assert len(secret) == 32
    assert load_or_create_secret(path) == secret
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]


def test_a_secret_that_others_can_read_or_that_is_damaged_is_refused(tmp_path):
    path = tmp_path / "my secret"
    load_or_create_secret(path)
    path.chmod(0o644)
    with pytest.raises(SecretFileInvalid, match=f"chmod 600 {re.escape(shlex.quote(str(path)))}"):
        load_or_create_secret(path)
    path.chmod(0o600)
    path.write_bytes(b"short")
    with pytest.raises(SecretFileInvalid, match="damaged"):
        load_or_create_secret(path)
    with pytest.raises(SecretFileInvalid, match="cannot be used"):
        load_or_create_secret(tmp_path / "nowhere" / "secret")
