"""`hashrange serve`: the DynamoDB protocol on a port. Slow imports happen after the options are checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hashrange.cli.command import LogLevel, fail, option

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.faults.faults import Faults
    from hashrange.server.authentication import Authenticate
    from hashrange.server.server import Server
    from hashrange.server.settings import ServerSettings

KEY_ID, SECRET = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
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
  boto3.client("dynamodb", endpoint_url="http://127.0.0.1:8000")
  curl http://127.0.0.1:8000/metrics        counters for Prometheus

Every option can be set by an environment variable: HASHRANGE_PORT for --port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """Which data is served, and which requests are accepted."""

    data: Path | None
    fsync: bool
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
    def example_credentials(self) -> str:
        """The variables for an example of a request that is accepted; never the secret itself."""
        key_id, secret = (self.credentials[0], "...") if self.credentials else ("local", "local")
        return f"{KEY_ID}={key_id} {SECRET}={secret}"


def serve(  # noqa: PLR0913, PLR0917 each option is a parameter
    host: Annotated[str, option("host", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("port", "Port to listen on; 0 for any free one.", min=0, max=65535)] = 8000,
    data: Annotated[Path | None, option("data", "Directory for the data; created if missing.")] = None,
    memory: Annotated[bool, option("memory", "Keep everything in memory (the default).")] = False,
    fsync: Annotated[bool, option("fsync", "Make acknowledged writes survive power loss.")] = False,
    region: Annotated[str, option("region", "Region named in ARNs, for a new directory (eu-west-2).")] = "",
    access_key: Annotated[str | None, option("access-key", "Verify signatures: the key id to accept.")] = None,
    secret_key: Annotated[str | None, option("secret-key", "The secret of that key id.")] = None,
    credentials_file: Annotated[
        Path | None,
        option("credentials-file", "Both from a file: AWS_ACCESS_KEY_ID=... and AWS_SECRET_ACCESS_KEY=... lines."),
    ] = None,
    unsigned: Annotated[bool, option("unsigned", "Accept requests without a signature too.")] = False,
    faults: Annotated[str | None, option("faults", "Inject faults: a file of them, or their text.")] = None,
    max_connections: Annotated[int, option("max-connections", "Connections open at the same time.", min=1)] = 4096,
    spin: Annotated[int, option("spin", "Microseconds to poll for the next request before sleeping.", min=0)] = 100,
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

    from hashrange.server.log_format import configure_logging
    from hashrange.server.settings import ServerSettings

    configure_logging(log_level, as_json=log_format == "json")
    options = ServeOptions(
        data=data,
        fsync=fsync,
        region=region,
        credentials=credentials,
        unsigned=unsigned,
        faults=None if faults is None else read_faults(faults),
    )
    run(options, ServerSettings(host=host, port=port, max_connections=max_connections, spin=spin / 1e6))


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
    from hashrange.hosting.port import PortRefused, explain_errors
    from hashrange.server.runner import serve as serve_until_signal

    engine = open_served_engine(options)
    authenticate = choose_authentication(options, engine)
    try:
        with explain_errors(settings.host, settings.port, "hashrange serve --port"):
            serve_until_signal(engine, settings, authenticate, announce=lambda server: print_summary(server, options))
    except PortRefused as error:
        raise fail(str(error)) from error
    finally:
        engine.close()


def open_served_engine(options: ServeOptions) -> Engine:
    """Open the engine to serve; exit when its directory cannot be opened."""
    from hashrange.core.errors import StorageError
    from hashrange.engine.context import EngineSettings
    from hashrange.engine.engine import open_engine
    from hashrange.operations import OPERATIONS

    settings = EngineSettings(region=options.region)
    try:
        return open_engine(options.data, OPERATIONS, fsync=options.fsync, settings=settings, faults=options.faults)
    except StorageError as error:
        raise fail(str(error)) from error


def choose_authentication(options: ServeOptions, engine: Engine) -> Authenticate:
    """Return the function that authenticates requests."""
    from hashrange.server.authentication import check_signature_format, check_signature_format_if_signed

    if options.credentials:
        from hashrange.server.sigv4 import SignatureVerifier

        return SignatureVerifier(dict([options.credentials]), engine.clock)
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


def read_credentials(file: Path) -> tuple[str, str]:
    """Read the key id and the secret from a file of NAME=value lines."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from error
    pairs = (line.strip().removeprefix("export ").partition("=") for line in lines)
    found = {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
    if not found.get(KEY_ID) or not found.get(SECRET):
        raise typer.BadParameter(f"{file} needs a line {KEY_ID}=... and a line {SECRET}=...")
    return found[KEY_ID], found[SECRET]
