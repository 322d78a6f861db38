"""Every command and option explains itself."""

import subprocess
import sys

import click
import pytest
import typer.main
from typer.testing import CliRunner

from hashrange.cli.app import app

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OPTIONS = [
    pytest.param(command, option, id=f"{name} {option.name}")
    for name, command in COMMANDS.items()
    for option in command.params
]


def ask(*arguments):
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name):
    outcome = ask(name, "--help")
    assert outcome.exit_code == 0
    assert f"hashrange {name} " in outcome.output
    assert COMMANDS[name].help.partition("\n")[0] in outcome.output


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_every_option_is_explained(command, option):
    assert option.help, option.name
    assert option.help.endswith(".")
    assert all(len(text) > 1 for text in option.opts if isinstance(option, click.Option))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_shown(name):
    shown = ask(name, "--help").output
    for option in COMMANDS[name].params:
        assert max(option.opts, key=len) in shown or option.human_readable_name.lower() in shown.lower()


def test_all_commands_are_listed():
    shown = ask("--help").output
    assert " docs " not in shown  # for those who develop hashrange
    for name, command in COMMANDS.items():
        if command.hidden:
            continue
        assert name in shown
        assert command.help.partition("\n")[0][:60] in " ".join(shown.split())


def test_without_a_command_the_help_is_shown():
    assert ask().output.strip() == ask("--help").output.strip()


def test_an_unknown_command_is_refused_without_a_traceback():
    outcome = subprocess.run(
        [sys.executable, "-m", "hashrange.cli", "lode"], capture_output=True, text=True, check=False, timeout=500
    )
    assert outcome.returncode == 2
    assert "lode" in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["up", "--help"], ["load", "--help"], ["checks", "add", "--help"]])
def test_an_option_without_a_value_shows_no_type(arguments):
    shown = ask(*arguments).output
    assert "--help" in shown
    assert "<bool>" not in shown
