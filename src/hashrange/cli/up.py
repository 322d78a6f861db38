"""`hashrange up`: the endpoint, the systems' pages and their workers in one process, on one data directory."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashrange.cli.command import (
    ALLOW_HOST_HELP,
    CORS_HELP,
    FSYNC_HELP,
    LogLevel,
    check_hosts,
    check_origins,
    option,
    read_credentials,
)
from hashrange.cli.progress_display import PreparationDisplay
from hashrange.client.target import is_remote
from hashrange.hosting.port import WEB_PORT
from hashrange.server.settings import HOST, PORT

if TYPE_CHECKING:
    from hashrange.hosting.run import HostingOptions, StartReport

DATA = Path("data")
TARGET_HELP = "Use this database instead of our own: a URL, aws, or aws:PROFILE/REGION."
APP_HELP = "Host this module, with Patterns classes or with a SYSTEM, instead of the installed systems. Repeatable."
HELP = """Run everything: the DynamoDB endpoint, the systems' pages and their workers.

[bold]Examples[/bold]

\b
  hashrange up                         all installed systems: endpoint :8000, pages :8002, ./data
  hashrange up --demo                  ... with demo data
  hashrange up --memory                ... and keep nothing
  hashrange up --only checks           one of the installed systems
  hashrange up --app myapp.schema      your own schema alone: its tables and the endpoint
  hashrange up --app myapp.schema --only checks     ... with an installed system; --all: with all of them
  hashrange up --target aws            on DynamoDB at AWS, or at a URL
  hashrange up --no-endpoint           no DynamoDB endpoint: only the systems use the data
  hashrange up --port 0 --web-port 0   any free ports; they are printed

Every option can come from the environment: HASHRANGE_WEB_PORT for --web-port."""


def up(  # noqa: PLR0913, PLR0917 each option is a parameter
    context: typer.Context,
    host: Annotated[str, option("host", "Address to listen on.")] = HOST,
    port: Annotated[int, option("port", "Port of the DynamoDB endpoint; 0: any free one.", min=0, max=65535)] = PORT,
    web_port: Annotated[int, option("web-port", "Port of the pages; 0: any free one.", min=0, max=65535)] = WEB_PORT,
    data: Annotated[Path | None, option("data", "Directory for the data; created if missing (./data).")] = None,
    memory: Annotated[bool, option("memory", "Keep everything in memory.")] = False,
    fsync: Annotated[bool, option("fsync", FSYNC_HELP)] = False,
    target: Annotated[str | None, option("target", TARGET_HELP, "endpoint", metavar="URL|aws")] = None,
    no_endpoint: Annotated[
        bool, option("no-endpoint", "Serve no DynamoDB endpoint: only the systems use the data.")
    ] = False,
    credentials_file: Annotated[
        Path | None,
        option("credentials-file", "Accept only requests to the endpoint that are signed with the keys in this file."),
    ] = None,
    app: Annotated[list[str] | None, option("app", APP_HELP, metavar="MODULE")] = None,
    only: Annotated[str, option("only", "Host only these installed systems: a,b.", metavar="NAMES")] = "",
    all_systems: Annotated[bool, option("all", "Beside --app, host all installed systems too.")] = False,
    cors: Annotated[list[str] | None, option("cors", CORS_HELP, metavar="ORIGIN")] = None,
    allow_host: Annotated[list[str] | None, option("allow-host", ALLOW_HOST_HELP, metavar="NAME")] = None,
    demo: Annotated[bool, option("demo", "Write demo data.")] = False,
    log_level: Annotated[LogLevel, option("log-level", "debug logs every request.")] = "info",
) -> None:
    """Run everything: the DynamoDB endpoint, the systems' pages and their workers."""
    _check_memory(memory, data, fsync)
    chosen = _choose_systems(only, all_systems)
    if target is not None:
        _check_target(context, target)
    elif no_endpoint and credentials_file:
        raise typer.BadParameter("--credentials-file is for the endpoint, and --no-endpoint serves none: choose one")
    elif port and port == web_port and not no_endpoint:
        raise typer.BadParameter(f"--port and --web-port are both {port}: the endpoint and the pages need one each")

    origins, hosts = check_origins(cors), check_hosts(allow_host)

    from hashrange.server.log_format import configure_logging

    configure_logging(log_level)
    host_systems(
        chosen,
        app or [],
        all_systems=all_systems,
        host=host,
        port=port,
        web_port=web_port,
        data=None if memory else (data or DATA).absolute(),
        fsync=fsync,
        target=target,
        serve=not no_endpoint,
        credentials=read_credentials(credentials_file) if credentials_file else None,
        cors=origins,
        allow_hosts=hosts,
        demo=demo,
    )


def _check_memory(memory: bool, data: Path | None, fsync: bool) -> None:
    if memory and data:
        raise typer.BadParameter("--data keeps everything and --memory nothing: choose one")
    if memory and fsync:
        raise typer.BadParameter("--fsync needs a directory to write to, and --memory has none: choose one")


def _choose_systems(only: str, all_systems: bool) -> set[str]:
    """Return the names of --only."""
    if only and all_systems:
        raise typer.BadParameter("--only names some of the installed systems and --all means all of them: choose one")
    return {name.strip() for name in only.split(",") if name.strip()}


def _check_target(context: typer.Context, target: str) -> None:
    if not is_remote(target):
        raise typer.BadParameter(
            f"--target {target} is neither a URL, such as http://127.0.0.1:8000, nor aws. "
            f"To serve the database in that directory: --data {shlex.quote(target)}"
        )
    for name in ("port", "memory", "fsync", "no_endpoint", "credentials_file"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(
                f"--{name.replace('_', '-')} is for the DynamoDB of this process, --target names another: choose one"
            )


def host_systems(only: set[str], apps: list[str], *, all_systems: bool, **options: object) -> None:
    """Load the apps, and the installed systems unless there are only apps, and host them until a signal comes."""
    from hashrange.hosting.discovery import check_name, find_systems, load_module
    from hashrange.hosting.schema_module import AppInvalid, SchemaModule, load_app

    hosting = load_module("hashrange.hosting.run", "pip install 'hashrange[server]'")
    loaded = [load_app(name) for name in dict.fromkeys(apps)]
    schemas = [each for each in loaded if isinstance(each, SchemaModule)]
    given = [each for each in loaded if not isinstance(each, SchemaModule)]
    for each in given:
        check_name(each)
    installed = [] if apps and not only and not all_systems else find_systems(only, _warn)
    systems = [*installed, *given]
    if repeated := _find_repeated([each.name for each in systems]):
        raise AppInvalid(
            f"Two systems have the name {repeated}. Leave one out: --only names the installed ones to run."
        )
    chosen: HostingOptions = hosting.HostingOptions(systems=systems, schemas=schemas, **options)
    with PreparationDisplay() as display:

        def announce(report: StartReport) -> None:
            display.close()
            print_start(report)

        hosting.run(chosen, announce=announce, report=display.update)


def _warn(text: str) -> None:
    typer.echo(f"warning: {text}", err=True)


def _find_repeated(names: list[str]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None)


def print_start(report: StartReport) -> None:
    """Print where everything is and how to use it."""
    address = report.address
    if report.is_open:
        typer.echo(
            f"warning: everybody who can reach {address.endpoint} can read and change the data. "
            "--credentials-file FILE restricts access, --no-endpoint serves no endpoint.",
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
    from hashrange.hosting.host_pages import count_hosted

    return f"hashrange {__version__}: {count_hosted(report.hosted, report.schemas)}"


def list_rows(report: StartReport) -> Iterator[tuple[str, str]]:
    """Yield the lines that are printed at the start: a name and a text."""
    address = report.address
    yield "endpoint", address.endpoint or "none: only the systems use the data"
    if address.key_id:
        yield "access", f"requests signed by {address.key_id}"
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
    for change in report.changed:
        yield "changed", change
    yield "", ""
    if address.endpoint:
        key_id, secret = (address.key_id, "...") if address.key_id else ("local", "local")
        local = f"AWS_ACCESS_KEY_ID={key_id} AWS_SECRET_ACCESS_KEY={secret} AWS_DEFAULT_REGION={address.region} "
        yield "try it", f"{local if address.is_local else ''}aws dynamodb list-tables --endpoint-url {address.endpoint}"
    yield "stop it", "Ctrl-C"
