"""`hashrange checks worker`: runs checks and sends alerts; several workers can share a database."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated, Literal

import typer

from hashrange_systems.checks.cli.target import open_application
from hashrange_systems.shared.cli.database_target import Data, DatabaseTarget, Endpoint

HELP = """Run the checks that are due and send the alerts that wait, until Ctrl-C.

[bold]Examples[/bold]

\b
  hashrange checks worker --endpoint http://127.0.0.1:8000    help a running hashrange up
  CHECKS_WORKERS=300 hashrange checks worker --endpoint aws   300 checks at the same time

Any number may work on one database: no check is run twice, and when one is killed the others take over.
Which addresses may be checked is stored in the database: hashrange checks policy. A worker that cannot decrypt what
the database holds does not start: give it the file keys.json of the others, with CHECKS_KEYS."""


def worker(
    data: Data = None,
    endpoint: Endpoint = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option("--log-level", help="How much to log.")
    ] = "info",
) -> None:
    """Run checks and send alerts."""
    from hashrange import configure_logging

    configure_logging(log_level)
    target = DatabaseTarget(data, endpoint)
    with target.exit_on_error():
        asyncio.run(_work(target))


async def _work(target: DatabaseTarget) -> None:
    with open_application(target, works=True) as application:
        task = asyncio.create_task(application.work())
        for sign in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(sign, task.cancel)
        typer.echo(f"working, {application.worker.settings.at_once} checks at a time; Ctrl-C stops it")
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()
    typer.echo("stopped")
