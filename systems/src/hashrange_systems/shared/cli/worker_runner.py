"""What the `worker` commands of the systems share: the log level, and running until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Annotated, Any, Literal

import typer

from hashrange_systems.shared.cli.database_target import DatabaseTarget

PACKAGE = "hashrange_systems"
LogLevel = Annotated[Literal["debug", "info", "warning", "error"], typer.Option("--log-level", help="How much to log.")]


def run_worker(
    target: DatabaseTarget, log_level: str, run: Callable[[DatabaseTarget], Coroutine[Any, Any, None]]
) -> None:
    """Run a worker on its database, whose tables must exist; an error ends the command with one sentence."""
    from hashrange import configure_logging

    configure_logging(log_level, packages=[PACKAGE])
    with target.exit_on_error():
        asyncio.run(run(replace(target, must_exist=True)))
    typer.echo("stopped")


async def work_until_stopped(work: Coroutine[Any, Any, None], what: str) -> None:
    """Do the work until it ends, or Ctrl-C or SIGTERM cancels it."""
    task = asyncio.create_task(work)
    for sign in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(sign, task.cancel)
    typer.echo(f"{what}; Ctrl-C stops it")
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
