"""The commands of hashrange. Each is a module here that imports what it needs when it is called.

The commands of the systems are in their own packages; `cli.system_commands` attaches them.
"""

from __future__ import annotations

from typing import Annotated

import typer

from hashrange import __version__
from hashrange.cli import adopt as adopt_command
from hashrange.cli import backfill as backfill_command
from hashrange.cli import copy as copy_command
from hashrange.cli import data as data_command
from hashrange.cli import docs as docs_command
from hashrange.cli import explain as explain_command
from hashrange.cli import load as load_command
from hashrange.cli import migrate as migrate_command
from hashrange.cli import provision as provision_command
from hashrange.cli import serve as serve_command
from hashrange.cli import up as up_command
from hashrange.cli import verify as verify_command
from hashrange.cli.system_commands import SystemGroup

app = typer.Typer(
    cls=SystemGroup,
    help="DynamoDB systems in Python: designs that run, and the embedded, durable database to run them on.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(help=up_command.HELP)(up_command.up)
app.command(help=serve_command.HELP)(serve_command.serve)
app.command(help=load_command.HELP)(load_command.load)
app.command(help=copy_command.HELP)(copy_command.copy)
app.command(help=verify_command.HELP)(verify_command.verify)
app.command(help=explain_command.HELP)(explain_command.explain)
app.command(help=provision_command.PLAN_HELP)(provision_command.plan)
app.command(help=provision_command.APPLY_HELP)(provision_command.apply)
app.command(help=provision_command.DRIFT_HELP)(provision_command.drift)
app.command(help=adopt_command.HELP)(adopt_command.adopt)
app.command(help=backfill_command.HELP)(backfill_command.backfill)
app.command(help=migrate_command.HELP)(migrate_command.migrate)
app.add_typer(data_command.app, name="data")
app.command(help=docs_command.HELP, hidden=True)(docs_command.docs)  # for those who develop hashrange: `make docs`


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hashrange {__version__}")
        raise typer.Exit


@app.callback()
def hashrange(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """DynamoDB systems in Python: designs that run, and the embedded, durable database to run them on."""
