"""The commands about teams: an operator acts as the account whose space it is."""

import json

import pytest
from typer.testing import CliRunner

from hashrange_systems.shared.application.application_type import ApplicationType
from hashrange_systems.shared.cli.system_commands import make_cli
from hashrange_systems.shared.cli.team_commands import SpaceFounder, add_team_commands
from systems.tests.shared.accounts.sample_pages import Application, Settings
from systems.tests.shared.accounts.sample_system import People, PeopleAccounts

APPLICATION = ApplicationType(Application, Settings, (People, PeopleAccounts))
app = make_cli("people", "People.", "  hashrange people team list ann", lambda: APPLICATION)
add_team_commands(app)


@app.command()
def prepare(runner) -> None:
    """Add two people, one of whom is a member of the other's team."""

    async def act(services):
        teams = services.accounts.teams
        for name in ("ann", "bob"):
            await services.add(name)
        invitation = await teams.invite(SpaceFounder("ann"), "bob@example.com", "editor")
        await services.outbox.send_all()
        words = [invitation.space, invitation.invitation_id, invitation.address]
        link = teams.links.make("account: invitation", "", words, 60_000)
        await teams.accept(link.partition("=")[2], "bob")

    runner.run(act)


@pytest.fixture
def call(tmp_path):
    def call(*words, code=0):
        outcome = CliRunner().invoke(app, [*words, "--data", str(tmp_path / "data")])
        assert outcome.exit_code == code, outcome.output
        return outcome.output

    call("prepare")
    return call


def test_a_team_is_listed_and_changed(call):
    assert "bob@example.com" in call("team", "list", "ann@example.com")
    assert "invited" in call("team", "invite", "ann", "carl@example.com", "reader")
    assert "changed" in call("team", "role", "ann", "bob@example.com", "owner")
    found = json.loads(call("team", "list", "ann", "--json"))
    assert [(each["member"], each["address"], each["role"]) for each in found] == [
        ("bob", "bob@example.com", "owner"), (None, "carl@example.com", "reader"),
    ]  # fmt: skip
    assert "removed" in call("team", "remove", "ann", "bob")
    assert "There are no members." in call("team", "list", "bob")


def test_what_cannot_be_is_named(call):
    assert "There is no such user." in call("team", "list", "nobody", code=1)
    assert "role must be one of owner, editor, reader" in call("team", "role", "ann", "bob", "king", code=1)
    assert "stays its owner" in call("team", "remove", "ann", "ann", code=1)
    assert "There is no such member." in call("team", "remove", "bob", "ann", code=1)
    assert "must be an e-mail address" in call("team", "invite", "ann", "roof", code=1)
