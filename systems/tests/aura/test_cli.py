"""The commands on a database in a directory: what they print, and their exit codes."""

import json
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange import LocalKeys
from hashrange_systems.aura.application import PATTERNS
from hashrange_systems.aura.cli import app
from hashrange_systems.aura.first import FirstAura
from hashrange_systems.aura.web.change_feed import write_changes_csv, write_json, write_rss
from hashrange_systems.aura.work_schema import NewChange, Work
from systems.tests.aura.former_release import ANN, BOB, WORK_TABLE, load_former
from systems.tests.aura.plain import put_item


@pytest.fixture
def command(tmp_path):
    """Run a command; returns its exit code and what it printed, as JSON where that was asked for."""

    def run(*arguments, code=0, data=True):
        where = ["--data", str(tmp_path / "data")] if data else []
        result = CliRunner().invoke(app, [*arguments, *where], catch_exceptions=False)
        assert result.exit_code == code, result.output
        return json.loads(result.stdout) if "--json" in arguments else result.output

    return run


def test_shops_are_added_imported_listed_changed_and_removed(command, tmp_path):
    (added,) = command("add", "https://www.antik.de/shop", "--country", "de", "--name", "Antik", "--json")
    assert (added["domain"], added["country"], added["crawl"]) == ("antik.de", "DE", "never")
    assert "antik.de is registered already" in command("add", "antik.de", code=1)
    assert "not an ISO 3166 code" in command("add", "b.de", "--country", "Germany", code=1)
    shops = tmp_path / "shops.csv"
    shops.write_text("domain,country\nantik.fr,FR\nhttp://,DE\n")
    report = command("import", str(shops), "--json", code=1)
    assert (report["added"], [row[0] for row in report["refused"]]) == (["antik.fr"], [3])
    assert [shop["domain"] for shop in command("list", "--json")] == ["antik.de", "antik.fr"]
    assert command("show", "antik.de", "--json")["related"] == [{"domain": "antik.fr", "same": None}]
    assert "price_selector=.preis" in command("set", "antik.de", "--price-selector", ".preis", "--stop")
    assert "stop" not in command("set", "antik.de", "--go")
    (moved,) = command("move", "antik.de", "--country", "AT", "--json")
    assert moved["country"] == "AT"
    assert command("between", "2026-01-01", "2026-01-31", "--json") == []
    assert command("stuck", "--json") == {"stuck": [], "released": []}
    assert "Nothing changed" in command("changes")
    assert command("changes", "--json") == []
    assert command("changes", "--format", "csv").startswith("\ufeffat,kind,domain")
    assert "<rss" in command("changes", "--format", "rss")
    assert "removed" in command("remove", "antik.de", "--yes")
    assert "no such shop" in command("show", "antik.de", code=1)


def test_changes_are_written_as_the_feeds_of_the_pages_write_them(command, tmp_path):
    command("add", "a.de")
    change = NewChange(
        at=datetime.now(UTC), change_id="c1", domain="a.de", shop_country="DE", url="https://a.de/x", kind="PRICE",
        title="Vase", state="AVAILABLE", price_minor=125_000, currency="EUR", old_price_minor=130_000,
    )  # fmt: skip
    with hashrange.open(tmp_path / "data") as database:
        Work.open(database, keys=LocalKeys.generate()).create(change).run()
    assert command("changes", "--json") == [write_json(change)]
    assert command("changes", "--format", "csv").splitlines() == write_changes_csv([change]).decode().splitlines()
    assert command("changes", "--format", "rss") == write_rss([change], "http://127.0.0.1:8002/aura")


def test_a_crawl_of_an_address_that_may_not_be_requested_fails_with_the_reason(command):
    command("add", "http://127.0.0.1:9/")
    failed = command("crawl", "127.0.0.1:9", "--json", code=1)
    assert "may not be requested" in failed["lastCrawlError"]
    assert failed["crawlAttempts"] == 1
    assert "has not been crawled" in command("scrape", "127.0.0.1:9", code=1)


def test_a_page_that_may_not_be_requested_is_not_explained(command):
    assert "may not be requested" in command("explain", "http://10.0.0.1/vase", code=1, data=False)
    assert "may not be requested" in command("try", "10.0.0.1", code=1, data=False)
    assert "may not be requested" in command("explain", "http://10.0.0.1/vase", code=1)


def test_the_error_for_a_shop_of_the_demo_says_who_can_reach_it(command):
    for arguments in (["try", "antik-mueller.test"], ["explain", "https://www.antik-mueller.test/vase"]):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 1
        assert "only hashrange up --demo knows" in result.output.replace("\n", " ")
    assert "--demo" not in CliRunner().invoke(app, ["try", "other.test"]).output


def test_a_page_is_explained_with_the_selectors_of_its_shop(command, tmp_path, monkeypatch):
    monkeypatch.setenv("AURA_ALLOW", "127.0.0.1")
    page = b'<h1>Vase</h1><b class="mine">77,00 \xe2\x82\xac</b>'

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *line):
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        command("add", url)
        command("set", url, "--price-selector", ".mine")
        stored = command("explain", f"{url}vase", "--json")
        alone = command("explain", f"{url}vase", "--json", data=False)
        server.shutdown()
    assert (stored["facts"]["price_minor"], alone["facts"]["price_minor"]) == (7700, None)


def test_members_get_a_key_that_is_shown_once(command):
    assert command("member", "add", "ann@example.com", "--json")["key"]
    assert "already in use" in command("member", "add", "ANN@example.com", code=1)
    assert [each["email"] for each in command("member", "list", "--json")] == ["ann@example.com"]
    command("member", "operator", "ann@example.com")
    assert command("member", "list", "--json")[0]["operator"] is True
    command("member", "operator", "ann@example.com", "--revoke")
    assert command("member", "list", "--json")[0]["operator"] is False


def test_a_table_of_seed_001_is_moved_by_one_command(command, tmp_path, monkeypatch):
    monkeypatch.setenv("AURA_SOURCE_TABLE", "old")
    with hashrange.open(tmp_path / "data") as database:
        hashrange.create_tables(database, FirstAura)
        url = {"PK": "SHOP#a.de", "SK": "URL#https://a.de/x", "url": "https://a.de/x", "is_product": True}
        put_item(database, url, "old")
    assert "Url" in command("migrate", "--from", "old", "--preview")
    moved = command("migrate", "--from", "old", "--json")
    assert (moved["added"], moved["unreadable"], moved["repair"]["countries"]) == (1, 0, ["ZZ"])
    assert [shop["domain"] for shop in command("list", "--json")] == ["a.de"]
    assert "0 completed" in command("repair")
    assert "no table missing" in command("migrate", "--from", "missing", code=1)


def test_keys_and_channels_of_members_are_added_listed_and_removed(command):
    command("member", "add", "ann@example.com")
    command("key", "add", "ann@example.com", "--name", "script", "--scope", "read")
    keys = command("key", "list", "ann@example.com", "--json")
    assert [(key["name"], key["scope"]) for key in keys] == [("first key", "write"), ("script", "read")]
    command("key", "revoke", "ann@example.com", keys[0]["keyId"])
    command("channel", "add", "ann@example.com", "https://hooks.example.com/a", "--type", "WEBHOOK")
    (channel,) = command("channel", "list", "ann@example.com", "--json")
    assert channel["confirmedAt"] is not None
    command("channel", "remove", "ann@example.com", channel["channelId"])
    assert len(command("member", "export", "ann@example.com").splitlines()) > 5


def test_a_command_moves_what_the_last_release_left_and_names_what_it_cannot_move(command, tmp_path):
    directory = tmp_path / "data"
    (directory / "aura").mkdir(parents=True)
    keys = directory / "aura" / "keys.json"
    with hashrange.open(directory) as database:
        hashrange.create_tables(database, *PATTERNS)
        former = load_former(database)
        (email,) = [item for item in former["items"] if item["pk"] == {"S": f"EMAIL#{BOB}"}]
        put_item(database, {"pk": f"EMAIL#{BOB}", "sk": "EMAIL", "member_id": 1}, WORK_TABLE)
    assert "set AURA_KEYS" in command("member", "list", code=2)
    keys.write_text(json.dumps(former["keyring"]), "utf-8")
    keys.chmod(0o600)
    moved = command("move-accounts", code=1)
    assert "7 items moved" in moved, "its messages have expired since"
    assert f"EMAIL#{BOB}" in moved.replace("\n", "")
    assert len(command("key", "list", ANN, "--json")) == 2
    with hashrange.open(directory) as database:
        database.call("PutItem", {"TableName": WORK_TABLE, "Item": email})
    assert "1 items moved" in command("move-accounts")
    assert len(command("key", "list", BOB, "--json")) == 1
