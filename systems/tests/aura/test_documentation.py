"""What docs/systems/aura.md says about settings, commands, access patterns and costs: compared with the code.

When a plan changes, `python -m systems.tests.aura.test_documentation` prints the rows of its page anew.
"""

from pathlib import Path
from typing import Any

import typer

from hashrange_systems.aura.cli import app
from hashrange_systems.aura.schema import Aura
from hashrange_systems.aura.settings import Settings
from hashrange_systems.aura.work_schema import Work
from systems.tests.access_cost import describe_plan, read_rows

TABLES = (
    "DYNAMODB_TABLE_NAME",
    "AURA_CHECKPOINT_TABLE",
    "AURA_WORK_TABLE",
    "AURA_ACCOUNTS_TABLE",
)  # which name the tables
DOCS = Path(__file__).parents[3] / "docs" / "systems" / "aura.md"


def test_every_access_pattern_is_listed_with_what_it_costs():
    assert read_rows(DOCS, "Access patterns of the original's table") == [
        describe_plan(plan) for plan in Aura.plans.values()
    ]
    assert read_rows(DOCS, "Access patterns of the working table") == [
        describe_plan(plan) for plan in Work.plans.values()
    ]


def test_no_pattern_but_the_list_of_all_shops_scans():
    plans = [*Aura.plans.values(), *Work.plans.values()]
    assert [plan.name for plan in plans if plan.verb == "Scan"] == ["shops"]


def test_every_setting_is_listed_with_its_default_and_meaning():
    rows = read_rows(DOCS, "Configuration")
    assert rows[: -len(TABLES)] == [each.row for each in Settings.list_variables()]
    assert tuple(row.split("`")[1] for row in rows[-len(TABLES) :]) == TABLES


def test_every_command_is_in_the_documentation_and_every_option_has_a_help_text():
    text = DOCS.read_text("utf-8")
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"`{name}`" in text or f"`{name} " in text, name
        assert command.help or name == "member"
        for option in command.params:
            assert getattr(option, "help", None), f"{name} {option.name}"


if __name__ == "__main__":
    for declared in (Aura, Work):
        print("\n".join(describe_plan(plan) for plan in declared.plans.values()), "\n")  # noqa: T201
