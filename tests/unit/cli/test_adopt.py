"""`hashrange adopt`: a table becomes a module that `explain`, `plan` and Python accept; what it says of bad input."""

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange.cli.app import app
from hashrange.client.target import open_target
from hashrange.server.runner import serve_in_background
from hashrange.server.settings import ServerSettings
from tests.unit.provision.adopted_tables import make_aura, make_kelifax


@pytest.fixture(params=["directory", "endpoint"])
def target(request, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    if request.param == "directory":
        yield "data"
        return
    with hashrange.open() as opened, serve_in_background(opened.engine, ServerSettings(port=0)) as server:
        yield server.url


def run(*arguments):
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize("make", [make_aura, make_kelifax])
def test_the_module_can_be_explained_and_its_plan_is_empty(target, make, tmp_path):
    with open_target(target) as database:
        [table] = make(database)
    adopted = run("adopt", table, "--target", target)
    assert adopted.exit_code == 0
    module = f"adopted_{make.__name__}_{id(tmp_path)}"
    (tmp_path / f"{module}.py").write_text(adopted.stdout)
    explained = run("explain", module)
    assert explained.exit_code == 0
    assert "<- table" in explained.output
    assert "nothing to do" in run("plan", module, "--target", target).output


def test_bad_input_is_one_sentence(target):
    missing = run("adopt", "nothing", "--target", target)
    assert missing.exit_code == 2
    assert "There is no table nothing." in missing.output
    assert run("adopt", "nothing", "--target", "no-such-directory").exit_code == 2
    assert run("adopt", "nothing", "--target", target, "--sample", "0").exit_code == 2
