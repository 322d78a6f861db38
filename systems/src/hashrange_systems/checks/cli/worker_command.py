"""`hashrange checks worker`: runs checks and sends alerts; several workers can share a database."""

from __future__ import annotations

from hashrange_systems.checks.cli.target import open_application
from hashrange_systems.shared.cli.database_target import Data, DatabaseTarget, Target
from hashrange_systems.shared.cli.worker_runner import LogLevel, run_worker, work_until_stopped

HELP = """Run the checks that are due and send the alerts that wait, until Ctrl-C.

[bold]Examples[/bold]

\b
  hashrange checks worker --target http://127.0.0.1:8000    help a running hashrange up
  CHECKS_WORKERS=300 hashrange checks worker --target aws   300 checks at the same time

Any number may work on one database: no check is run twice, and when one is killed the others take over.
Which addresses may be checked is stored in the database: hashrange checks policy. A worker that cannot decrypt what
the database holds does not start: give it the file keys.json of the others, with CHECKS_KEYS."""


def worker(data: Data = None, database: Target = None, log_level: LogLevel = "info") -> None:
    """Run checks and send alerts."""
    run_worker(DatabaseTarget(data, database), log_level, _work)


async def _work(target: DatabaseTarget) -> None:
    async with open_application(target, works=True) as application:
        at_once = application.worker.settings.at_once
        await work_until_stopped(application.work(), f"working, {at_once} checks at a time")
