"""`hashrange serve`: the DynamoDB protocol on a port. Slow imports happen after the options are checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hashrange.cli.command import (
    ALLOW_HOST_HELP,
    CORS_HELP,
    FSYNC_HELP,
    KEY_ID,
    SECRET,
    LogLevel,
    check_hosts,
    check_origins,
    fail,
    option,
    read_credentials,
)
from hashrange.engine.arn import DEFAULT_REGION
from hashrange.server.settings import HOST, MAX_CONNECTIONS, PORT, SPIN_MICROSECONDS

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.faults.faults import Faults
    from hashrange.server.authentication import Authenticate
    from hashrange.server.separate_databases import SeparateDatabases
    from hashrange.server.server import Server
    from hashrange.server.settings import ServerSettings

SERVE_PORT = "hashrange serve --port"  # the option in error messages about the port
EXAMPLE_KEY = "local"  # also the access key whose database unsigned requests use
HELP = """Serve the DynamoDB protocol, so that any AWS SDK or tool can use it.

[bold]Examples[/bold]

\b
  hashrange serve                           in memory, on 127.0.0.1:8000
  hashrange serve --data ./data             on disk: survives kill -9
  hashrange serve --data ./data --fsync     ... and power loss
  hashrange serve --port 0                  any free port; it is printed
  hashrange serve --credentials-file .env   accept only requests signed with those keys
  hashrange serve --faults faults.txt       inject faults, to test retries

[bold]Using it[/bold]

\b
  aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000
  boto3.client("dynamodb", endpoint_url="http://127.0.0.1:8000", region_name="eu-west-2",
               aws_access_key_id="local", aws_secret_access_key="local")
  curl http://127.0.0.1:8000/metrics        counters for Prometheus

Every option can be set by an environment variable: HASHRANGE_PORT for --port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Which data is served, and which requests are accepted."""

    data: Path | None
    fsync: bool
    shared: bool
    region: str
    credentials: tuple[str, str] | None
    unsigned: bool
    faults: Faults | None

    @property
    def access(self) -> str:
        """Which requests are accepted, for the start-up summary."""
        if self.credentials:
            return f"requests signed by {self.credentials[0]}"
        return "unsigned requests too" if self.unsigned else "any credentials"

    @property
    def division(self) -> str:
        """Which requests use the same database, for the start-up summary."""
        return "one for all" if self.shared else "one for each access key and region (--shared: one for all)"

    @property
    def example_credentials(self) -> str:
        """The variables for an example of a request that is accepted; never the secret itself."""
        key_id, secret = (self.credentials[0], "...") if self.credentials else (EXAMPLE_KEY, "local")
        return f"{KEY_ID}={key_id} {SECRET}={secret}"


def serve(  # noqa: PLR0913, PLR0917 each option is a parameter
    host: Annotated[str, option("host", "Address to listen on.")] = HOST,
    port: Annotated[int, option("port", "Port to listen on; 0 for any free one.", min=0, max=65535)] = PORT,
    data: Annotated[Path | None, option("data", "Directory for the data; created if missing.")] = None,
    memory: Annotated[bool, option("memory", "Keep everything in memory (the default).")] = False,
    fsync: Annotated[bool, option("fsync", FSYNC_HELP)] = False,
    shared: Annotated[
        bool, option("shared", "One database for all, instead of one for each access key and region.")
    ] = False,
    region: Annotated[
        str, option("region", "Region of unsigned requests; with --shared, that in ARNs.", show_default=DEFAULT_REGION)
    ] = "",
    access_key: Annotated[str | None, option("access-key", "Verify signatures: the key id to accept.")] = None,
    secret_key: Annotated[str | None, option("secret-key", "The secret of that key id.")] = None,
    credentials_file: Annotated[
        Path | None,
        option("credentials-file", "Both from a file: AWS_ACCESS_KEY_ID=... and AWS_SECRET_ACCESS_KEY=... lines."),
    ] = None,
    unsigned: Annotated[bool, option("unsigned", "Accept requests without a signature too.")] = False,
    faults: Annotated[str | None, option("faults", "Inject faults: a file of them, or their text.")] = None,
    cors: Annotated[list[str] | None, option("cors", CORS_HELP, metavar="ORIGIN")] = None,
    allow_host: Annotated[list[str] | None, option("allow-host", ALLOW_HOST_HELP, metavar="NAME")] = None,
    max_connections: Annotated[
        int, option("max-connections", "Connections open at the same time.", min=1)
    ] = MAX_CONNECTIONS,
    spin: Annotated[
        int, option("spin", "Microseconds to poll for the next request before sleeping.", min=0)
    ] = SPIN_MICROSECONDS,
    log_level: Annotated[LogLevel, option("log-level", "debug logs every request.")] = "info",
    log_format: Annotated[Literal["text", "json"], option("log-format", "How log lines look.")] = "text",
) -> None:
    """Serve the DynamoDB protocol, so that any AWS SDK or tool can use it."""
    if memory and data:
        raise typer.BadParameter("--data and --memory exclude each other: choose one")
    if fsync and not data:
        raise typer.BadParameter("--fsync needs a directory to write to: --data DIR")
    credentials = choose_credentials(access_key, secret_key, credentials_file)
    if credentials and unsigned:
        raise typer.BadParameter("--unsigned and credentials exclude each other: choose one")

    origins, hosts = check_origins(cors), check_hosts(allow_host)

    from hashrange.server.log_format import configure_logging
    from hashrange.server.settings import ServerSettings

    configure_logging(log_level, as_json=log_format == "json")
    options = ServeOptions(
        data=data,
        fsync=fsync,
        shared=shared or (data is not None and is_shared_directory(data)),
        region=region,
        credentials=credentials,
        unsigned=unsigned,
        faults=None if faults is None else read_faults(faults),
    )
    settings = ServerSettings(
        host=host, port=port, cors=origins, allow_hosts=hosts, max_connections=max_connections, spin=spin / 1e6
    )
    run(options, settings)


def read_faults(given: str) -> Faults:
    """Return the faults in a text that begins with a fault's verb, else those in the file of that name."""
    from hashrange.faults.faults import VERBS, Faults

    try:
        is_text = given.strip().partition(" ")[0] in VERBS
        faults = Faults.read(given if is_text else Path(given).read_text("utf-8"))
    except OSError as error:
        known = ", ".join(VERBS)
        raise typer.BadParameter(
            f"--faults {given!r}: not a readable file ({error.strerror}), and does not begin with any of {known}"
        ) from error
    except ValueError as error:
        raise typer.BadParameter(f"--faults: {error}") from error
    if not list(faults):
        raise typer.BadParameter(f"--faults: no fault in {given!r}")
    return faults


def run(options: ServeOptions, settings: ServerSettings) -> None:
    """Serve until a signal arrives."""
    from hashrange.hosting.port import check_port, explain_errors
    from hashrange.server.runner import serve as serve_until_signal

    check_port(settings.host, settings.port, SERVE_PORT)
    served = open_served(options)
    authenticate = choose_authentication(options)
    try:
        with explain_errors(settings.host, settings.port, SERVE_PORT):
            serve_until_signal(served, settings, authenticate, announce=lambda server: print_summary(server, options))
    finally:
        served.close()


def is_shared_directory(data: Path) -> bool:
    """Return whether a directory has one database for all, as every directory had before version 0.3."""
    from hashrange.engine.data_directory import DATABASES, MAIN_FILE

    return (data / MAIN_FILE).exists() and not (data / DATABASES).exists()


def open_served(options: ServeOptions) -> Engine | SeparateDatabases:
    """Open what is served; exit when its directory cannot be opened."""
    from hashrange.core.errors import StorageError
    from hashrange.engine.context import EngineSettings
    from hashrange.engine.engine import open_engine
    from hashrange.operations import OPERATIONS
    from hashrange.server.separate_databases import SeparateDatabases

    def open_at(data: Path | None, region: str) -> Engine:
        settings = EngineSettings(region=region)
        return open_engine(data, OPERATIONS, fsync=options.fsync, settings=settings, faults=options.faults)

    try:
        if options.shared:
            return open_at(options.data, options.region)
        key = options.credentials[0] if options.credentials else EXAMPLE_KEY
        return SeparateDatabases(open_at, options.data, key, options.region or DEFAULT_REGION)
    except StorageError as error:
        raise fail(str(error)) from error


def choose_authentication(options: ServeOptions) -> Authenticate:
    """Return the function that authenticates requests."""
    from hashrange.server.authentication import check_signature_format, check_signature_format_if_signed

    if options.credentials:
        from hashrange.core.clock import SystemClock
        from hashrange.server.sigv4 import SignatureVerifier

        return SignatureVerifier(dict([options.credentials]), SystemClock())
    return check_signature_format_if_signed if options.unsigned else check_signature_format


def print_summary(server: Server, options: ServeOptions) -> None:
    """Print the address of the server and how to use it."""
    from hashrange import __version__

    region = server.region
    if not (server.is_private or options.credentials):
        typer.echo(
            f"warning: everybody who can reach {server.url} can read and change the data. "
            "--access-key and --secret-key (or --credentials-file) restrict access.",
            err=True,
        )
    if options.faults is not None:
        typer.echo(f"warning: faults are injected (--faults): {options.faults}", err=True)
    kept = options.data.resolve() if options.data else "in memory, lost on exit (--data DIR keeps it)"
    typer.echo(
        f"hashrange {__version__}: DynamoDB on this machine\n\n"
        f"  endpoint  {server.url}\n"
        f"  data      {kept}\n"
        f"  database  {options.division}\n"
        f"  access    {options.access}\n\n"
        f"  try it    {options.example_credentials} AWS_DEFAULT_REGION={region} \\\n"
        f"            aws dynamodb list-tables --endpoint-url {server.url}\n"
        f"  stop it   Ctrl-C\n"
    )


def choose_credentials(access_key: str | None, secret_key: str | None, file: Path | None) -> tuple[str, str] | None:
    """Return the key id and the secret that signatures are verified with, if any were given."""
    if bool(access_key) != bool(secret_key):
        raise typer.BadParameter("--access-key and --secret-key must be given together")
    if access_key and secret_key:
        return access_key, secret_key
    return read_credentials(file) if file else None
