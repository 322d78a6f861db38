"""Commands without options: where there is no database, they say so and create none."""

import pytest
from typer.testing import CliRunner

from hashrange_systems.aura.cli import app as aura
from hashrange_systems.checks.cli import app as checks
from hashrange_systems.kelifax.cli import app as kelifax


@pytest.mark.parametrize(("app", "command"), [(kelifax, ["queue"]), (aura, ["list"]), (checks, ["policy", "show"])])
def test_a_command_in_an_empty_directory_names_the_options_and_creates_nothing(app, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HASHRANGE_TARGET", raising=False)
    monkeypatch.delenv("HASHRANGE_DATA", raising=False)
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert "--target names the database" in " ".join(result.output.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []
