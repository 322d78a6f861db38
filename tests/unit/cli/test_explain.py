"""`hashrange explain`: the plans of a schema, its lint, and the errors about what does not exist."""

import pytest
from typer.testing import CliRunner

from hashrange.cli.app import app

AURA = "hashrange_systems.aura.schema"


def run(*arguments):
    return CliRunner().invoke(app, ["explain", *arguments])


def test_every_pattern_is_shown_with_the_lint():
    shown = run("hashrange_systems.shuttle.schema")
    assert shown.exit_code == 0
    assert "Shuttle  (InavorShuttle-dev-jobs" in shown.output
    assert "    key     status = 'QUEUED'" in shown.output
    assert "HR403 Operator.processing" in shown.output


def test_one_pattern_is_shown_alone():
    shown = run(AURA, "Aura.stuck_crawls")
    assert shown.output.count("Query Crawling") == 1
    assert "BETWEEN 'PROGRESS#' AND 'PROGRESS#{last_crawled_start}'" in shown.output
    assert "HR4" not in shown.output


def test_the_lint_alone_fails_when_there_is_any():
    shown = run(AURA, "--lint")
    assert shown.exit_code == 1
    assert "Query" not in shown.output
    assert "HR402 Aura." in shown.output
    assert run("hashrange_systems.aura.first", "--lint").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no.such.module"], "There is no module no.such.module, neither in "),
        (["../outside"], "'../outside' is not the name of a module."),
        (["hashrange.core.clock"], "declares no Patterns class"),
        ([AURA, "Nobody"], "declares no Patterns class Nobody: it has Aura"),
        ([AURA, "Aura.nothing"], "Aura has no pattern nothing: it has shop, url"),
    ],
)
def test_a_missing_module_class_or_pattern_is_reported(arguments, words):
    shown = run(*arguments)
    assert shown.exit_code == 2
    assert words in shown.output


def test_an_invalid_declaration_is_reported_with_its_code(tmp_path, monkeypatch):
    (tmp_path / "broken_schema.py").write_text(
        "from hashrange import Item, Table\nclass Shop(Item, table='shops'):\n    domain: str\n"
    )
    monkeypatch.chdir(tmp_path)
    shown = run("broken_schema")
    assert shown.exit_code == 2
    assert "HR110 Shop" in shown.output
