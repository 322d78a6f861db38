"""`hashrange up`: the endpoint, the systems' pages and their workers in one process, on one data directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange.cli.command import LogLevel, fail, option

if TYPE_CHECKING:
    from hashrange.hosting.run import HostingOptions, StartReport

DATA = Path("data")
HELP = """Run everything: the DynamoDB endpoint, the systems' pages and their workers.

[bold]Examples[/bold]

\b
  hashrange up                         endpoint :8000, pages :8002, ./data
  hashrange up --demo                  ... with demo data
  hashrange up --app myapp.schema      ... and the tables of your own schema
  hashrange up --memory                keep nothing
  hashrange up --only stock            one of the installed systems
  hashrange up --endpoint aws          on DynamoDB at AWS, or at a URL
  hashrange up --port 0 --web-port 0   any free ports; they are printed

Every option can come from the environment: HASHRANGE_WEB_PORT for --web-port."""


def up(  # noqa: PLR0913, PLR0917 each option is a parameter
    context: typer.Context,
    host: Annotated[str, option("host", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("port", "Port of the DynamoDB endpoint; 0: any free one.", min=0, max=65535)] = 8000,
    web_port: Annotated[int, option("web-port", "Port of the pages; 0: any free one.", min=0, max=65535)] = 8002,
    data: Annotated[Path | None, option("data", "Directory for the data; created if missing (./data).")] = None,
    memory: Annotated[bool, option("memory", "Keep everything in memory.")] = False,
    fsync: Annotated[bool, option("fsync", "Let acknowledged writes survive power loss.")] = False,
    endpoint: Annotated[
        str | None, option("endpoint", "Use this DynamoDB instead of our own: a URL, or aws.", metavar="URL|aws")
    ] = None,
    app: Annotated[
        list[str] | None,
        option(
            "app", "Host this module too: one with Patterns classes, or with a SYSTEM. Repeatable.", metavar="MODULE"
        ),
    ] = None,
    only: Annotated[str, option("only", "Run only these installed systems: a,b.", metavar="NAMES")] = "",
    demo: Annotated[bool, option("demo", "Write demo data.")] = False,
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
            {name.strip() for name in only.split(",") if name.strip()},
            app or [],
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


def host_systems(only: set[str], apps: list[str], **options: object) -> None:
    """Load the installed systems and the apps, and host them until a signal comes."""
    from hashrange.hosting.discovery import check_name, find_systems, load_module
    from hashrange.hosting.schema_module import AppInvalid, SchemaModule, load_app

    hosting = load_module("hashrange.hosting.run", "pip install 'hashrange[server]'")
    loaded = [load_app(name) for name in dict.fromkeys(apps)]
    schemas = [each for each in loaded if isinstance(each, SchemaModule)]
    given = [each for each in loaded if not isinstance(each, SchemaModule)]
    for each in given:
        check_name(each)
    systems = [*find_systems(only, lambda text: typer.echo(f"warning: {text}", err=True)), *given]
    if repeated := _find_repeated([each.name for each in systems]):
        raise AppInvalid(
            f"Two systems have the name {repeated}. Leave one out: --only names the installed ones to run."
        )
    chosen: HostingOptions = hosting.HostingOptions(systems=systems, schemas=schemas, **options)
    hosting.run(chosen, announce=print_start)


def _find_repeated(names: list[str]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None)


def print_start(report: StartReport) -> None:
    """Print where everything is and how to use it."""
    address = report.address
    if report.is_open:
        typer.echo(
            f"warning: everybody who can reach {address.endpoint} can read and change the data. To restrict access, "
            "run hashrange serve --credentials-file FILE, and hashrange up --endpoint URL beside it.",
            err=True,
        )
    rows = list(list_rows(report))
    width = max(len(name) for name, _ in rows)
    typer.echo(f"{format_title(report)}\n")
    for name, text in rows:
        typer.echo(f"  {name:<{width}}  {text}".rstrip())
    typer.echo("")


def format_title(report: StartReport) -> str:
    """Return the first line: the version, and how much is hosted."""
    from hashrange import __version__

    parts = ["DynamoDB", _count(len(report.hosted), "system")]
    if report.schemas:
        parts.insert(1, _count(len(report.schemas), "schema"))
        return f"hashrange {__version__}: {', '.join(parts[:-1])} and {parts[-1]}"
    return f"hashrange {__version__}: {' and '.join(parts)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def list_rows(report: StartReport) -> Iterator[tuple[str, str]]:
    """Yield the lines that are printed at the start: a name and a text."""
    address = report.address
    yield "endpoint", address.endpoint
    yield "web", address.web
    for each in report.hosted:
        yield each.system.name, f"{address.web}/{each.system.name}  {each.system.title}"
    for schema in report.schemas:
        yield schema.name, f"schema with tables {', '.join(schema.tables)}"
    if not report.hosted and not report.schemas:
        yield "systems", "none installed; --app MODULE hosts a schema of your own"
    yield "data" if address.is_local else "files", address.data
    if report.created:
        yield "created", f"tables {', '.join(report.created)}"
    yield "", ""
    local = f"AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local AWS_DEFAULT_REGION={address.region} "
    yield "try it", f"{local if address.is_local else ''}aws dynamodb list-tables --endpoint-url {address.endpoint}"
    yield "stop it", "Ctrl-C"
