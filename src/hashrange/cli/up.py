"""`hashrange up`: the endpoint, the systems' pages and their workers in one process, on one data directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange.cli.command import LogLevel, fail, option
from hashrange.hosting.discover import PACKAGE

if TYPE_CHECKING:
    from hashrange.hosting.run import Choices, Report

DATA = Path("data")
HELP = """Run everything: the DynamoDB endpoint, the systems' pages and their workers.

[bold]Examples[/bold]

\b
  hashrange up                         endpoint :8000, pages :8002, ./data
  hashrange up --demo                  ... with demo data
  hashrange up --memory                keep nothing
  hashrange up --only checks           one of the systems
  hashrange up --endpoint aws          on DynamoDB at AWS, or at a URL
  hashrange up --port 0 --web-port 0   any free ports; they are printed

Every option can come from the environment: HASHRANGE_WEB_PORT for --web-port."""


def up(  # noqa: PLR0913, PLR0917 each option is a parameter
    context: typer.Context,
    host: Annotated[str, option("host", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("port", "Port of the DynamoDB endpoint; 0: any free one.", min=0, max=65535)] = 8000,
    web_port: Annotated[int, option("web-port", "Port of the pages; 0: any free one.", min=0, max=65535)] = 8002,
    data: Annotated[Path | None, option("data", "Directory for the data; made if need be (./data).")] = None,
    memory: Annotated[bool, option("memory", "Keep everything in memory.")] = False,
    fsync: Annotated[bool, option("fsync", "Let acknowledged writes survive power loss.")] = False,
    endpoint: Annotated[
        str | None, option("endpoint", "Use this DynamoDB instead of one here: a URL, or aws.", metavar="URL|aws")
    ] = None,
    only: Annotated[str, option("only", "Run only these systems: names, with commas.", metavar="NAMES")] = "",
    demo: Annotated[bool, option("demo", "Fill in demo data.")] = False,
    systems: Annotated[str, option("systems", "Package whose subpackages are the systems.")] = PACKAGE,
    log_level: Annotated[LogLevel, option("log-level", "debug logs every request.")] = "info",
) -> None:
    """Run everything: the DynamoDB endpoint, the systems' pages and their workers."""
    if memory and data:
        raise typer.BadParameter("--data keeps everything and --memory nothing: choose one")
    if memory and fsync:
        raise typer.BadParameter("--fsync needs a directory to write to, and --memory has none: choose one")
    if endpoint is not None:
        _check_endpoint(context, endpoint)
    elif port and port == web_port:
        raise typer.BadParameter(f"--port and --web-port are both {port}: the endpoint and the pages need one each")

    from hashrange.core.errors import HashrangeError
    from hashrange.server.log_format import configure_logging

    configure_logging(log_level)
    try:
        host_systems(
            systems,
            {name.strip() for name in only.split(",") if name.strip()},
            host=host,
            port=port,
            web_port=web_port,
            data=None if memory else (data or DATA).absolute(),
            fsync=fsync,
            endpoint=endpoint,
            demo=demo,
        )
    except HashrangeError as error:
        raise fail(str(error)) from error


def _check_endpoint(context: typer.Context, endpoint: str) -> None:
    if endpoint != "aws" and not endpoint.startswith(("http://", "https://")):
        raise typer.BadParameter(f"--endpoint {endpoint} is neither a URL, such as http://127.0.0.1:8000, nor aws")
    for name in ("port", "memory", "fsync"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"--{name} is for a DynamoDB of our own, --endpoint names another: choose one")


def host_systems(package: str, only: set[str], **choices: object) -> None:
    """Find the systems and host them until a signal comes."""
    from hashrange.hosting.discover import find_systems, load_module

    hosting = load_module("hashrange.hosting.run")
    chosen: Choices = hosting.Choices(systems=find_systems(package, only), **choices)
    hosting.run(chosen, announce=welcome)


def welcome(report: Report) -> None:
    """Tell where everything is and how to use it."""
    place = report.place
    if report.is_open:
        typer.echo(
            f"warning: whoever can reach {place.endpoint} can read and change the data. To let in only who knows a "
            "secret, run hashrange serve --credentials-file FILE, and hashrange up --endpoint URL beside it.",
            err=True,
        )
    rows = list(list_places(report))
    width = max(len(name) for name, _ in rows)
    typer.echo(f"{write_title(len(report.hosted))}\n")
    for name, text in rows:
        typer.echo(f"  {name:<{width}}  {text}".rstrip())
    typer.echo("")


def write_title(count: int) -> str:
    """Return the first line, for so many systems."""
    from hashrange import __version__

    return f"hashrange {__version__}: DynamoDB and {count} {'system' if count == 1 else 'systems'}"


def list_places(report: Report) -> Iterator[tuple[str, str]]:
    """Yield what is where, each with its name."""
    place = report.place
    yield "endpoint", place.endpoint
    yield "web", place.web
    for each in report.hosted:
        yield each.system.name, f"{place.web}/{each.system.name}  {each.system.title}"
    yield "data" if place.is_local else "files", place.data
    if report.created:
        yield "created", f"tables {', '.join(report.created)}"
    yield "", ""
    local = f"AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local AWS_DEFAULT_REGION={place.region} "
    yield "try it", f"{local if place.is_local else ''}aws dynamodb list-tables --endpoint-url {place.endpoint}"
    yield "stop it", "Ctrl-C"
