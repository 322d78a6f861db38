"""The smallest system: its application from a host, its health, its commands and its worker."""

import asyncio
from importlib import import_module

import pytest
from typer.testing import CliRunner

import hashrange
from hashrange_systems.shared.application.runtime import Runtime
from hashrange_systems.shared.application.settings import InvalidSetting
from systems.tests.hosting import make_host
from systems.tests.shared.sample_system import APPLICATION, SYSTEM, Settings, Stock, app
from tests.e2e.pages import find_blocks, read

URL = "http://127.0.0.1:8002/stock"


@pytest.fixture
def opened(clock):
    with hashrange.open(clock=clock) as database:
        hashrange.create_tables(database, Stock)
        yield database


def open_runtime(database, clock, directory=None, **options):
    return Runtime.open(make_host(database, clock, directory, base_url=URL, **options), Settings)


def start(database, clock, **environment):
    return SYSTEM.start(make_host(database, clock, base_url=URL, **environment))


# ── the runtime ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_public_url_is_the_setting_or_what_the_host_says(opened, clock):
    assert open_runtime(opened, clock).base_url == URL
    runtime = open_runtime(opened, clock, STOCK_URL="https://shop.example/stock", own_ports={8002})
    assert (runtime.base_url, runtime.location.own_origins[0]) == ("https://shop.example/stock",) * 2
    assert "http://localhost:8002" in runtime.location.own_origins


def test_the_secret_is_the_setting_that_of_the_directory_or_a_new_one(opened, clock, tmp_path):
    assert open_runtime(opened, clock, STOCK_SECRET="0123456789abcdef").secret == b"0123456789abcdef"
    stored = open_runtime(opened, clock, tmp_path).secret
    assert stored == open_runtime(opened, clock, tmp_path).secret == (tmp_path / "secret").read_bytes()
    assert open_runtime(opened, clock).secret != open_runtime(opened, clock).secret


def test_patterns_have_the_keys_and_the_secret_of_the_system(opened, clock, tmp_path):
    application = APPLICATION.open(make_host(opened, clock, tmp_path, base_url=URL))
    assert application.db.session.secret == application.runtime.secret
    asyncio.run(application.fill())
    again = APPLICATION.open(make_host(opened, clock, tmp_path, base_url=URL))
    assert again.db.shelf("a").run().owner == "ann"
    assert (tmp_path / "keys.json").exists()


def test_mails_of_the_demo_stay_in_its_mailbox(opened, clock):
    assert open_runtime(opened, clock).mailbox is None
    assert open_runtime(opened, clock, demo=True).mailbox is not None


def test_what_was_opened_is_closed_last_first_and_once(opened, clock):
    application = APPLICATION.open(make_host(opened, clock, base_url=URL))

    async def close_twice():
        await application.runtime.close()
        await application.runtime.close()

    asyncio.run(close_twice())
    assert application.closed == ["last", "first"]


def test_an_invalid_environment_is_refused_when_the_system_starts(opened, clock):
    with pytest.raises(InvalidSetting, match="STOCK_SHELVES"):
        start(opened, clock, STOCK_SHELVES="none")


# ── as a host runs it ────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_running_system_works_reports_its_health_and_closes(opened, clock):
    async def act():
        running = start(opened, clock)
        assert (await running.report_health())["status"] == "interrupted"
        task = asyncio.create_task(running.work())
        async with asyncio.timeout(30):
            while not (await running.report_health())["healthy"]:  # noqa: ASYNC110 - it is in the database
                await asyncio.sleep(0.01)
        assert await running.report_health() == {"healthy": True, "status": "ok", "workers": 1, "lateMs": 0}
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await running.report_health())["status"] == "interrupted"
        await running.fill_demo()
        await running.close()
        return running.application.closed

    assert asyncio.run(act()) == ["last", "first"]


def test_the_example_of_the_documentation_is_a_system_with_commands(opened, clock, tmp_path, monkeypatch):
    example, commands, *_ = find_blocks(read("systems/shared.md"), "python")
    (tmp_path / "stock_example.py").write_text(f"{example}\n\n{commands}")
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module("stock_example")

    async def act():
        running = module.SYSTEM.start(make_host(opened, clock, base_url=URL, STOCK_SHELVES="9"))
        await running.application.loops.run_once()
        found = await running.application.db.shelf("first")
        await running.close()
        return found.count

    assert asyncio.run(act()) == 9
    data = str(tmp_path / "data")
    with hashrange.open(data) as database:
        hashrange.create_tables(database, module.Stock)
        module.Stock.open(database).put(module.Shelf(name="first", count=3)).run()
    assert CliRunner().invoke(module.app, ["count", "--data", data]).output == "3\n"


# ── commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def call(*arguments):
    return CliRunner().invoke(app, arguments)


def test_a_command_runs_an_action_on_the_database_that_its_options_name(tmp_path):
    data = ("--data", str(tmp_path / "data"))
    assert call("fill", *data).output == "filled as a command: True\n"
    assert call("count", *data).output == "7\n"
    assert call("count", "--target", str(tmp_path / "data"), "a").output == "7\n"
    refused = call("count", "b", *data)
    assert refused.exit_code == 2
    assert refused.output.startswith("error: ")


def test_a_command_without_a_runner_needs_no_database(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("hello", "ann").output == "hello ann\n"
    assert "--target" not in call("hello", "--help").output


def test_the_help_shows_the_arguments_and_the_options_of_the_database_with_their_texts():
    shown = call("count", "--help").output
    assert all(text in shown for text in ("Which one.", "--target", "--data", "The database:"))
    assert "hashrange stock count a" in call("--help").output


def test_a_killed_worker_is_forgotten_and_an_unknown_one_is_answered_with_the_known_ones(tmp_path):
    data = ("--data", str(tmp_path / "data"))

    async def write(database):
        application = APPLICATION.open(make_host(database, hashrange.SystemClock(), base_url=URL))
        await application.loops.presence.write()
        return application.loops.presence.worker_id

    with hashrange.open(tmp_path / "data") as database:
        hashrange.create_tables(database, Stock)
        worker = asyncio.run(write(database))
    unknown = call("forget-worker", "nobody", *data)
    assert unknown.exit_code == 1
    assert worker in unknown.output
    assert call("forget-worker", worker, *data).output == f"forgotten  {worker}\n"
    assert "Known: none" in call("forget-worker", worker, *data).output
