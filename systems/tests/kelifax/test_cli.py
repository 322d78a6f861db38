"""`hashrange kelifax ...`: what each command does, prints and answers with."""

import json
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import typer.main
from typer.testing import CliRunner

import hashrange
from hashrange_systems.kelifax.cli import app
from systems.tests.kelifax.entries import EXAMPLE
from systems.tests.kelifax.services import make_form

pytestmark = pytest.mark.usefixtures("quick_hashes")


def list_commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from list_commands(command, (*path, name))
        else:
            yield pytest.param(command, id=" ".join((*path, name)))


class Terminal:
    """Runs commands on one directory."""

    def __init__(self, folder):
        self.folder = folder

    def run(self, *arguments, code=0, text=None, **environment):
        given = {"COLUMNS": "200"} | environment
        outcome = CliRunner().invoke(app, [*arguments, "--data", str(self.folder)], env=given, input=text)
        assert outcome.exit_code == code, f"{outcome.output}{outcome.exception!r}"
        return outcome

    def read(self, *arguments, **more):
        return json.loads(self.run(*arguments, "--json", **more).stdout)

    def submit(self, name):
        return self.read("submit", "-", text=json.dumps(make_form(name)))["resourceSlug"]


@pytest.fixture
def terminal(tmp_path):
    return Terminal(tmp_path / "data")


@pytest.mark.parametrize("command", list(list_commands(typer.main.get_group(app))))
def test_every_command_and_every_option_has_a_help_text(command):
    assert command.help
    for parameter in command.params:
        assert getattr(parameter, "help", None), parameter.name


def test_an_entry_goes_from_a_file_to_the_site_and_into_every_export(terminal):
    slug = terminal.submit("Pixel Kit")
    (waiting,) = terminal.read("queue")
    assert (waiting["resourceSlug"], waiting["submitterEmail"]) == (slug, "zoe@techcorp.com")
    assert terminal.read("approve", slug)[0]["actor"] == "operator"
    assert terminal.read("search", "vector icons")[0]["resourceSlug"] == slug
    assert terminal.read("search", "vector", "icons", "--limit", "1")[0]["resourceSlug"] == slug
    for kind in ("json", "csv", "md"):
        printed = terminal.run("export", "--format", kind).stdout
        assert "Pixel Kit" in printed
        assert not [word for word in ("techcorp", "Zoë", "Díaz") if word in printed]
    assert [step["verdict"] for step in terminal.read("show", slug)["decisions"]] == ["approved", "submitted"]
    assert terminal.read("analytics")["domains"][0]["domain"] == "techcorp.com"
    assert "techcorp" in terminal.run("person", "zoe@techcorp.com").stdout
    assert terminal.read("erase", "zoe@techcorp.com", "--yes")["resources"] == [slug]
    terminal.run("unpublish", slug, "--reason", "Sold to another company.")
    terminal.run("undo", slug)
    terminal.run("delete", slug, "--yes")
    assert terminal.read("queue") == terminal.read("search", "icons") == []


def test_what_is_refused_says_so_in_one_line_and_exits_with_one(terminal):
    slug = terminal.submit("Pixel Kit")
    for arguments, words in (
        (("approve", "none"), "no such resource"),
        (("reject", slug, "--reason", "x"), "reason"),
        (("undo", slug), "no decision"),
        (("delete", "none", "--yes"), "no such resource"),
        (("admin", "password", "nobody", "--password", "a good password"), "no such account"),
    ):
        outcome = terminal.run(*arguments, code=1)
        assert words in outcome.stderr
        assert len(outcome.stderr.splitlines()) == 1
    outcome = terminal.run("submit", "-", code=1, text=json.dumps(make_form("Pixel Kit")))
    assert "taken by Pixel Kit" in outcome.stderr
    assert "not JSON" in terminal.run("submit", "-", code=2, text="nonsense").stderr
    terminal.run("submit", "/no/such/file", code=2)


def test_forms_and_items_are_imported_each_on_its_own(terminal, tmp_path):
    file = tmp_path / "entries.jsonl"
    approved = {"resourceStatus": "approved", "approvedAt": "2025-10-26T10:00:00Z", "publicFeed": "approved"}
    rows = [
        make_form("Pixel Kit"),
        EXAMPLE | approved | {"pricing": ["free"]},
        EXAMPLE,
        {"resourceSlug": "URL#x"},
        make_form(category="cooking"),
        {"resourceSlug": "list", "tags": ["a"]},
        7,
        EXAMPLE | {"resourceSlug": "no-list", "pricing": "free"},
        EXAMPLE | {"resourceSlug": "no-words", "pricing": [7]},
        EXAMPLE | {"resourceSlug": "none", "resourceUrl": "https://none.example", "pricing": []},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    report = json.loads(terminal.run("import", str(file), "--json", code=1).stdout)
    assert (report["submitted"], report["stored"]) == (["pixel-kit"], ["amazing-dev-tool", "none"])
    assert set(report["refused"]) == {"3", "4", "5", "6", "7", "8", "9"}
    (found,) = terminal.read("search", "automation")
    assert (found["resourceSlug"], found["pricing"]) == ("amazing-dev-tool", ["free"])


def test_accounts_are_added_listed_changed_and_removed(terminal):
    terminal.run("admin", "add", "ann", "--role", "admin", KELIFAX_PASSWORD="a good password")
    terminal.run("admin", "add", "bob", text="another good one\nanother good one\n")
    assert [row["role"] for row in terminal.read("admin", "list")] == ["admin", "moderator"]
    terminal.run("admin", "password", "bob", "--password", "the third one ...")
    terminal.run("admin", "remove", "bob")
    assert "must remain" in terminal.run("admin", "remove", "ann", code=1).stderr
    assert "12 to 200" in terminal.run("admin", "add", "eve", "--password", "short", code=1).stderr


def test_adopting_is_tried_first_and_may_be_repeated(terminal):
    terminal.submit("Pixel Kit")
    for options in (("--dry-run",), (), ()):
        assert terminal.read("adopt", *options)["published"] == 0
    assert "1 resources" in terminal.run("adopt").stdout


def test_links_are_checked_through_the_guarded_fetcher(terminal, tmp_path):
    server = ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        file, url = tmp_path / "entry.jsonl", f"http://127.0.0.1:{server.server_port}/"
        approved = {"resourceStatus": "approved", "approvedAt": "2025-10-26T10:00:00Z", "resourceUrl": url}
        file.write_text(json.dumps(EXAMPLE | approved), "utf-8")
        terminal.run("import", str(file))
        (guarded,) = terminal.read("check-links", "amazing-dev-tool")
        assert (guarded["alive"], guarded["unpublished"]) == (False, False)
        (allowed,) = terminal.read("check-links", "amazing-dev-tool", KELIFAX_ALLOW="127.0.0.1")
        assert (allowed["alive"], allowed["text"]) == (True, "answered 200")
        assert "No link is due." in terminal.run("check-links").stdout
        assert "no such resource" in terminal.run("check-links", "none", code=1).stderr
    finally:
        server.shutdown()
        server.server_close()


def test_commands_work_over_the_wire(server_url):
    from hashrange_systems.kelifax.application import PATTERNS

    with hashrange.connect(server_url) as remote:
        hashrange.create_tables(remote, *PATTERNS)
        try:
            outcome = CliRunner().invoke(app, ["queue", "--json", "--endpoint", server_url])
            assert (outcome.exit_code, json.loads(outcome.stdout)) == (0, [])
        finally:
            for name in remote.call("ListTables", {})["TableNames"]:
                remote.call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
                remote.call("DeleteTable", {"TableName": name})
