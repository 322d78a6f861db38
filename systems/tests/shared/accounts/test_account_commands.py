"""The commands about accounts: each names a user by address, name or id, and prints no secret but new ones, once."""

import json

import pytest
from typer.testing import CliRunner

from hashrange_systems.shared.application.application_type import ApplicationType
from hashrange_systems.shared.cli.account_commands import add_account_commands
from hashrange_systems.shared.cli.system_commands import make_cli
from systems.tests.shared.accounts.sample_pages import Application, Settings
from systems.tests.shared.accounts.sample_system import PASSWORD, People, PeopleAccounts

APPLICATION = ApplicationType(Application, Settings, (People, PeopleAccounts))
app = make_cli("people", "People.", "  hashrange people key add ann", lambda: APPLICATION)
commands = add_account_commands(app, "person")


@commands.user.command("add")
def add_person(runner, name: str) -> None:
    runner.run(lambda services: services.add(name, PASSWORD))


@pytest.fixture
def call(tmp_path):
    def call(*words, code=0, **more):
        given = ["--data", str(tmp_path / "data")]
        outcome = CliRunner().invoke(app, [*words, *given], **more)
        assert outcome.exit_code == code, outcome.output
        return outcome.output

    call("person", "add", "ann")
    return call


def test_a_key_is_added_listed_and_revoked(call):
    text = call("key", "add", "Ann@Example.com", "--name", "script", "--scope", "read").strip()
    assert text.startswith("hrc_")
    keys = json.loads(call("key", "list", "ann", "--json"))
    assert [(key["name"], key["scope"]) for key in keys] == [("first key", "write"), ("script", "read")]
    assert text not in call("key", "list", "ann")
    assert call("key", "revoke", "ann", keys[1]["keyId"]).startswith("revoked")
    assert "There is no such API key." in call("key", "revoke", "ann", keys[1]["keyId"], code=1)
    assert json.loads(call("key", "add", "ann", "--json"))["key"].startswith("hrc_")


def test_a_channel_is_added_listed_and_removed(call):
    assert "added" in call("channel", "add", "ann", "news@example.com")
    assert "secret  whsec_" in call("channel", "add", "ann", "https://hooks.example/x", "--type", "WEBHOOK")
    found = json.loads(call("channel", "list", "ann", "--json"))
    assert {each["target"] for each in found} == {"news@example.com", "https://hooks.example/x"}
    assert "whsec_" not in call("channel", "list", "ann")
    for each in found:
        call("channel", "remove", "ann", each["channelId"])
    assert "There are no channels." in call("channel", "list", "ann")
    assert "must be one of EMAIL, WEBHOOK, APPRISE" in call("channel", "add", "ann", "roof", "--type", "PIGEON", code=1)


def test_accounts_are_listed_exported_and_signed_out(call):
    (account,) = json.loads(call("person", "list", "--json"))
    assert (account["owner"], account["logins"], account["role"]) == ("ann", ["ann@example.com"], None)
    assert "ann@example.com" in call("person", "list")
    assert json.loads(call("person", "export", "ann"))["logins"] == ["ann@example.com"]
    assert "signed out" in call("person", "sign-out", "ann")
    assert "is off already" in call("person", "reset-two-factor", "ann")
    typed = "another good one\nanother good one\n"
    assert "changed" in call("person", "password", "ann", input=typed)
    assert "must have 12 to 200 characters" in call("person", "password", "ann", "--password", "short", code=1)


@pytest.mark.parametrize("name", ["nobody", "nobody@example.com", "", "x" * 600, "OWNER#ann", "ann#"])
def test_an_unknown_user_is_named_as_missing(call, name):
    for words in (("key", "list"), ("channel", "list"), ("person", "sign-out"), ("person", "export")):
        assert "There is no such user." in call(*words, name, code=1)


def test_a_new_directory_has_no_accounts(tmp_path):
    outcome = CliRunner().invoke(app, ["person", "list", "--data", str(tmp_path / "new")])
    assert "There are no accounts." in outcome.output
