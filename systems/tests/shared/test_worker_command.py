"""The `worker` commands of all systems, as processes: what they log, and a database without tables."""

import asyncio
import os
import signal
import sys

import pytest

import hashrange
from hashrange_systems.aura.application import PATTERNS
from hashrange_systems.aura.schema import Aura
from hashrange_systems.shared.cli.worker_runner import work_until_stopped

SYSTEMS = ("aura", "checks", "kelifax")


async def start_worker(system, url):
    """Start the worker of a system on an endpoint."""
    code = f"from hashrange_systems.{system}.cli import app; app()"
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, "worker", "--endpoint", url,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=os.environ | {"COLUMNS": "300"},
    )  # fmt: skip


@pytest.mark.parametrize("database", ["wire"], indirect=True)
@pytest.mark.parametrize("system", SYSTEMS)
def test_without_its_tables_a_worker_says_what_to_do_and_exits_with_2(database, server_url, system):
    async def run():
        process = await start_worker(system, server_url)
        _, errors = await process.communicate()
        return process.returncode, errors.decode()

    code, errors = asyncio.run(run())
    assert code == 2, errors
    assert f"are not there: hashrange up --target {server_url} makes them." in errors


@pytest.mark.parametrize("database", ["wire"], indirect=True)
def test_a_worker_logs_what_it_does_and_ends_at_sigterm(database, server_url):
    hashrange.create_tables(database, *PATTERNS)
    shop = {"pk": "SHOP#shop.invalid", "sk": "META#", "domain": "shop.invalid", "shop_country": "COUNTRY#DE",
            "gsi2_pk": "COUNTRY#DE", "gsi2_sk": "NEVER#", "gsi3_pk": "COUNTRY#DE", "gsi3_sk": "NEVER#"}  # fmt: skip
    item = {name: {"S": value} for name, value in shop.items()}
    database.call("PutItem", {"TableName": "aura-historia-data", "Item": item})

    async def run():
        await Aura.open(database).add_countries({"DE"})
        process = await start_worker("aura", server_url)
        line = b""
        while b"crawling" not in line:
            line = await process.stderr.readline()
            assert line, "it ended"
        process.send_signal(signal.SIGTERM)
        await process.communicate()
        return process.returncode, line.decode()

    code, line = asyncio.run(run())
    assert code == 0
    assert line.endswith("info crawling shop=shop.invalid\n")


def test_work_has_ended_when_ctrl_c_came_while_the_command_was_starting():
    ended = []

    async def work():
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            ended.append("work")

    async def start():
        asyncio.current_task().cancel()
        await work_until_stopped(work(), "working")

    async def run():
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(start())
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())
