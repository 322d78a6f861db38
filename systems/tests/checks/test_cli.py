"""`hashrange checks ...`: what each command does, prints and answers with, on a directory and over the wire."""

import asyncio
import json

import pytest
import typer.main
from typer.testing import CliRunner

import hashrange
from hashrange import SystemClock
from hashrange_systems.checks.cli import app
from hashrange_systems.checks.cli.tables import format_delay
from hashrange_systems.checks.demo.demo_data import Demo
from hashrange_systems.checks.demo.demo_site import DemoSite
from hashrange_systems.checks.schema import Checks
from systems.tests.checks.check_items import TABLES

ANN = "ann@example.com"


def list_commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from list_commands(command, (*path, name))
        else:
            yield pytest.param((*path, name), command, id=" ".join((*path, name)))


COMMANDS = list(list_commands(typer.main.get_group(app)))


class Terminal:
    """Runs commands on one database."""

    def __init__(self, *where):
        self.where = where

    def run(self, *arguments, code=0, **environment):
        given = {"COLUMNS": "200", "CHECKS_ALLOW": "127.0.0.1"} | environment
        outcome = CliRunner().invoke(app, [*arguments, *self.where], env=given)
        assert outcome.exit_code == code, f"{outcome.output}{outcome.exception!r}"
        return outcome

    def read(self, *arguments, **more):
        """What a command prints as JSON."""
        return json.loads(self.run(*arguments, "--json", **more).stdout)

    def add(self, url="https://example.com/", *arguments):
        return self.read("add", url, "--user", ANN, *arguments)["checkid"]


@pytest.fixture(params=["embedded", "wire"])
def terminal(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if request.param == "embedded":
        yield Terminal("--data", str(tmp_path / "data"))
        return
    url = request.getfixturevalue("server_url")
    with hashrange.connect(url) as remote:
        hashrange.create_tables(remote, Checks)
        yield Terminal("--endpoint", url)
        for name in TABLES:
            remote.call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
            remote.call("DeleteTable", {"TableName": name})


@pytest.fixture
def ann(terminal):
    terminal.run("user", "add", ANN, "--tier", "PRO", "--verified")
    return terminal


@pytest.fixture
def visited():
    """A page on this machine: its address, while it is there."""
    with asyncio.Runner() as runner:
        site = DemoSite(SystemClock(), 0)
        runner.run(site.start())
        yield site, runner
        runner.run(site.close())


# -- the address policy


def test_the_address_policy_is_shown_and_changed(terminal):
    assert terminal.run("policy", "set", "10.0.0.0/8, wiki.internal:8080").stdout == "10.0.0.0/8\nwiki.internal:8080\n"
    assert terminal.read("policy", "show") == {"allow": ["10.0.0.0/8", "wiki.internal:8080"]}
    assert "cannot be used" in terminal.run("policy", "set", "10.0.0.1/8", code=1).stderr
    assert terminal.run("policy", "set", "").stdout == "public addresses only\n"
    assert terminal.read("policy", "show") == {"allow": []}


# -- users and keys


def test_a_user_is_added_with_a_key_that_is_shown(terminal):
    shown = terminal.run("user", "add", ANN).stdout
    assert ANN in shown
    assert "hrc_" in shown
    (user,) = terminal.read("user", "list")
    assert (user["email"], user["tier"], user["status"], user["checkLimit"]) == (ANN, "FREE", "ACTIVE", 5)
    assert "0/5" in terminal.run("user", "list").stdout


def test_an_address_is_one_users(ann):
    outcome = ann.run("user", "add", ANN.upper(), code=1)
    assert outcome.stderr == "error: This e-mail address is already in use.\n"


def test_what_is_no_address_is_refused_in_words(terminal):
    assert "must be an e-mail address" in terminal.run("user", "add", "ann", code=1).stderr


def test_an_unknown_tier_is_wrong_use(terminal):
    assert "BUSINESS" in terminal.run("user", "add", ANN, "--tier", "GOLD", code=2).stderr


def test_a_user_is_suspended_and_put_back(ann):
    checkid = ann.add()
    assert "SUSPENDED" in ann.run("user", "suspend", ANN).stdout
    assert ann.read("show", checkid)["nextRunAt"] is None
    assert ann.read("user", "resume", ANN)["status"] == "ACTIVE"
    assert ann.read("show", checkid)["nextRunAt"]


def test_a_suspended_user_gets_no_further_check(ann):
    ann.run("user", "suspend", ANN)
    assert "suspended" in ann.run("add", "https://example.com", "--user", ANN, code=1).stderr


def test_a_user_is_deleted_with_everything_when_that_is_meant(ann):
    ann.add()
    assert ann.run("user", "delete", ANN, code=1).stdout.startswith("Delete ann@example.com and all their checks?")
    assert ann.read("list")
    ann.run("user", "delete", ANN, "--yes")
    assert ann.read("user", "list") == []
    assert ann.read("list") == []
    assert "There are no users." in ann.run("user", "list").stdout


def test_keys_are_made_listed_and_revoked(ann):
    key = ann.run("key", "add", ANN, "--name", "deploy").stdout.strip()
    assert key.startswith("hrc_")
    keys = {each["name"]: each for each in ann.read("key", "list", ANN)}
    assert keys.keys() == {"first key", "deploy"}
    assert key not in json.dumps(keys)
    ann.run("key", "revoke", ANN, keys["deploy"]["keyId"])
    assert "deploy" not in ann.run("key", "list", ANN).stdout
    assert "no such API key" in ann.run("key", "revoke", ANN, "nope", code=1).stderr


# -- checks


def test_a_check_is_added_with_what_is_set(ann):
    given = ("--name", "Shop", "--every", "90s", "--set", "keyword=a=b", "--set", "retries=1")
    check = ann.read("add", "https://example.com/shop", "--user", ANN, *given)
    assert (check["url"], check["name"], check["delayMs"]) == ("https://example.com/shop", "Shop", 90_000)
    assert check["attributes"] == {"keyword": "a=b", "retries": 1}
    assert "1 m 30 s" in ann.run("list").stdout
    assert ann.read("list", "--user", ANN) == ann.read("list")


def test_an_ebay_check_needs_no_address(ann):
    given = ("--set", "query=leica m6", "--set", "threshold=150000")
    check = ann.read("add", "--type", "EBAY", "--user", ANN, *given)
    assert check["checkType"] == "EBAY"
    assert check["attributes"]["threshold"] == 150_000


def test_every_fault_of_a_check_is_told_at_once(ann):
    shown = ann.run("add", "ftp://x", "--user", ANN, "--every", "1s", "--set", "retries=99", code=1).stderr
    assert all(word in shown for word in ("url", "delayMs", "attributes.retries"))


@pytest.mark.parametrize("wrong", [("--every", "soon"), ("--set", "keyword"), ("--type", "GOPHER")])
def test_options_that_cannot_be_read_are_wrong_use(ann, wrong):
    ann.run("add", "https://example.com", "--user", ANN, *wrong, code=2)


def test_a_run_tells_what_it_found_and_ends_accordingly(ann, visited):
    site, runner = visited

    async def run_in_thread(*arguments, **more):
        return await asyncio.to_thread(ann.run, *arguments, **more)

    up, down = ann.add(f"{site.url}/shop"), ann.add(f"{site.url}/payments", "--set", "retries=0")
    assert runner.run(run_in_thread("run", up)).stdout.startswith("UP  ")
    shown = runner.run(run_in_thread("run", down, code=3)).stdout
    assert "answered 503" in shown
    assert "opened" in shown
    assert ann.read("show", down)["lastResult"]["httpStatus"] == 503
    history = ann.read("history", down)
    assert [run["verdict"] for run in history["runs"]] == ["DOWN"]
    assert [incident["endedAt"] for incident in history["incidents"]] == [None]
    assert "ongoing" in ann.run("history", down).stdout


def test_a_run_that_may_not_be_made_says_why(ann):
    shown = ann.run("run", ann.add("http://127.0.0.1:9/"), code=3, CHECKS_ALLOW="").stdout
    assert shown.startswith("UNKNOWN")
    assert shown.endswith("port 9 may not be requested\n")


def test_a_check_is_paused_resumed_and_deleted(ann):
    checkid = ann.add()
    assert ann.read("pause", checkid)["status"] == "PAUSED"
    assert "resume it first" in ann.run("run", checkid, code=1).stderr
    assert ann.read("resume", checkid)["status"] == "ACTIVE"
    ann.run("delete", checkid, code=1)
    assert ann.run("delete", checkid, "--yes").stdout == f"deleted  {checkid}\n"
    assert "There are no checks." in ann.run("list").stdout


@pytest.mark.parametrize("command", ["show", "run", "pause", "resume", "history"])
def test_what_is_not_there_is_said(terminal, command):
    assert terminal.run(command, "nope", code=1).stderr.endswith("error: There is no such check.\n")


# -- the past


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A directory with the demo data, as `hashrange up --demo` leaves it."""
    folder = tmp_path_factory.mktemp("demo")
    with hashrange.open(folder) as database:
        hashrange.create_tables(database, Checks)
        db = Checks.open(database, clock=SystemClock())
        site = {"site": "http://127.0.0.1:8003", "secure_site": "https://127.0.0.1:8004"}
        asyncio.run(Demo(db=db, clock=SystemClock(), **site).fill())
    return Terminal("--data", str(folder))


def test_a_check_is_shown_with_its_days(demo):
    shown = demo.run("show", "demo-shop").stdout
    assert "█" * 30 in shown
    assert "99.8" in shown
    assert 99.8 < demo.read("show", "demo-shop")["uptimePercent"] < 99.9


def test_the_list_shows_how_each_check_is(demo):
    shown = demo.run("list").stdout
    lines = {line.split()[0]: line for line in shown.splitlines() if line.startswith("demo-")}
    assert "DEGRADED" in lines["demo-blog"]
    assert "DOWN" in lines["demo-payments"]
    assert "PAUSED" in lines["demo-intranet"]


def test_the_history_goes_back_as_far_as_asked(demo):
    short, long = (demo.read("history", "demo-api", "--hours", hours)["runs"] for hours in ("1", "6"))
    assert 11 <= len(short) <= 13
    assert 71 <= len(long) <= 73
    assert "uptime " in demo.run("history", "demo-payments").stdout


def test_a_report_is_a_table_json_csv_or_pdf(demo, tmp_path):
    asked = ("report", "--user", "demo@example.com")
    assert "Payments" in demo.run(*asked).stdout
    assert len(demo.read(*asked)) == 7
    demo.run(*asked, "--csv", str(tmp_path / "report.csv"), "--pdf", str(tmp_path / "report.pdf"))
    assert b"Payments" in (tmp_path / "report.csv").read_bytes()
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")
    assert "cannot be written" in demo.run(*asked, "--csv", str(tmp_path / "no" / "x"), code=1).stderr
    assert "is not a month" in demo.run(*asked, "--month", "soon", code=2).stderr


# -- which database


def test_a_directory_in_use_leads_to_its_endpoint(tmp_path):
    with hashrange.open(tmp_path):
        outcome = Terminal("--data", str(tmp_path)).run("list", code=2)
    assert "is in use by " in outcome.stderr
    assert "--target URL, the endpoint that it printed" in outcome.stderr


def test_tables_that_are_not_there_are_explained(server_url):
    outcome = Terminal("--endpoint", server_url).run("user", "list", code=2)
    assert outcome.stderr == f"error: The tables are not there: hashrange up --target {server_url} makes them.\n"


def test_target_names_a_directory_a_url_or_aws_as_in_all_commands(tmp_path, server_url):
    added = Terminal("--data", str(tmp_path / "a")).run("user", "add", "ann@example.com")
    assert "ann@example.com" in added.stdout
    elsewhere = ("--target", str(tmp_path / "a"), "--data", str(tmp_path / "b"))
    assert "ann@example.com" in Terminal(*elsewhere).run("user", "list").stdout
    assert not (tmp_path / "b").exists()
    assert "The tables are not there" in Terminal("--target", server_url).run("list", code=2).stderr
    missing = Terminal("--target", str(tmp_path / "c")).run("list", code=2).stderr
    assert "nor a directory that" in missing.replace("\n", " ")
    assert not (tmp_path / "c").exists()


def test_what_is_no_endpoint_is_wrong_use():
    assert "neither a URL" in Terminal("--endpoint", "localhost").run("list", code=2).stderr


def test_an_endpoint_that_does_not_answer_is_said():
    assert "error: " in Terminal("--endpoint", "http://127.0.0.1:9").run("list", code=2).stderr


def test_a_setting_that_cannot_be_used_is_said(tmp_path):
    outcome = Terminal("--data", str(tmp_path)).run("list", code=2, CHECKS_WORKERS="many")
    assert outcome.stderr.startswith("error: CHECKS_WORKERS is 'many'")


# -- help


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_every_command_and_option_explains_itself(path, command):
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"}).stdout
    assert command.help.partition("\n")[0] in shown
    for parameter in command.params:
        assert getattr(parameter, "help", None), parameter.name
        assert parameter.help.endswith(".")
    assert {"data", "database"} <= {parameter.name for parameter in command.params}


def test_the_help_of_all_has_examples_and_exit_codes():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout
    assert "hashrange checks add https://example.com --user" in shown
    assert "3 the page that was run is not up" in shown


@pytest.mark.parametrize(
    ("millis", "words"), [(90_000, "1 m 30 s"), (86_400_000, "1 d"), (500, "500 ms"), (3_600_000, "1 h")]
)
def test_delays_are_written_in_their_largest_units(millis, words):
    assert format_delay(millis) == words
