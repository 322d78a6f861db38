"""What commands that run for long share: the log level, and running until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

import typer

from hashrange_systems.shared.cli.database_target import DatabaseTarget

T = TypeVar("T")

PACKAGE = "hashrange_systems"
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
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
    for sign in STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(sign, task.cancel)
    typer.echo(f"{what}; Ctrl-C stops it")
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:  # Ctrl-C while the command was still starting
        task.cancel()
        await asyncio.wait([task])
        raise
    if not task.cancelled():
        task.result()


async def exit_when_stopped(work: Coroutine[Any, Any, T], hint: str) -> T:
    """Return the result of the work; Ctrl-C or SIGTERM cancels it and, after its cleanup, ends the command.

    The exit code is the shell's for the signal (130, 143); `hint` says what becomes of the work.
    """
    task, loop = asyncio.create_task(work), asyncio.get_running_loop()
    received: list[signal.Signals] = []

    def stop(sign: signal.Signals) -> None:
        received.append(sign)
        task.cancel()

    for sign in STOP_SIGNALS:
        loop.add_signal_handler(sign, stop, sign)
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        typer.echo(f"stopped: {hint}", err=True)
        raise typer.Exit(128 + received[0]) from None
    finally:
        for sign in STOP_SIGNALS:
            loop.remove_signal_handler(sign)
