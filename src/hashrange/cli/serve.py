"""`hashrange serve`: the DynamoDB protocol on a port. What is slow to import waits until the options are checked."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hashrange.cli.credentials import choose_credentials

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine
    from hashrange.engine.faults.faults import Faults
    from hashrange.server.auth import Authenticate
    from hashrange.server.server import Server
    from hashrange.server.settings import Settings

CANNOT_START = 2
LOGS = Literal["debug", "info", "warning", "error"]
HELP = """Serve the DynamoDB protocol, so that any AWS SDK or tool can use it.

[bold]Examples[/bold]

\b
  hashrange serve                           in memory, on 127.0.0.1:8000
  hashrange serve --data ./data             on disk: survives kill -9
  hashrange serve --data ./data --fsync     ... and power loss
  hashrange serve --port 0                  any free port; it is printed
  hashrange serve --credentials-file .env   only for who signs with those keys
  hashrange serve --faults faults.txt       calls go wrong on purpose, to test retries

[bold]Using it[/bold]

\b
  aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000
  boto3.client("dynamodb", endpoint_url="http://127.0.0.1:8000")
  curl http://127.0.0.1:8000/metrics        counters for Prometheus

Every option can come from the environment: HASHRANGE_PORT for --port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What is served, and to whom."""

    data: Path | None
    fsync: bool
    region: str
    credentials: tuple[str, str] | None
    unsigned: bool
    faults: Faults | None

    @property
    def access(self) -> str:
        """Who is let in, in words."""
        if self.credentials:
            return f"only signed by {self.credentials[0]}"
        return "unsigned requests too" if self.unsigned else "any credentials"


def option(name: str, text: str, **more: Any) -> Any:
    """Declare an option that may come from the environment too."""
    return typer.Option(
        f"--{name}", envvar=f"HASHRANGE_{name.upper().replace('-', '_')}", show_envvar=False, help=text, **more
    )


def serve(  # noqa: PLR0913, PLR0917 each option is a parameter
    host: Annotated[str, option("host", "Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("port", "Port to listen on; 0: any free one.", min=0, max=65535)] = 8000,
    data: Annotated[Path | None, option("data", "Directory for the data; made if need be.")] = None,
    memory: Annotated[bool, option("memory", "Keep everything in memory (the default).")] = False,
    fsync: Annotated[bool, option("fsync", "Let acknowledged writes survive power loss.")] = False,
    region: Annotated[str, option("region", "Region named in ARNs, for a new directory (eu-west-2).")] = "",
    access_key: Annotated[str | None, option("access-key", "Verify signatures: the key id to accept.")] = None,
    secret_key: Annotated[str | None, option("secret-key", "The secret that belongs to it.")] = None,
    credentials_file: Annotated[
        Path | None,
        option("credentials-file", "Both from a file: AWS_ACCESS_KEY_ID=... and AWS_SECRET_ACCESS_KEY=... lines."),
    ] = None,
    unsigned: Annotated[bool, option("unsigned", "Accept requests without a signature too.")] = False,
    faults: Annotated[str | None, option("faults", "Let calls go wrong on purpose: a file, or faults as text.")] = None,
    max_connections: Annotated[int, option("max-connections", "Connections open at the same time.", min=1)] = 4096,
    spin: Annotated[int, option("spin", "Microseconds to poll for the next request before sleeping.", min=0)] = 100,
    log_level: Annotated[LOGS, option("log-level", "debug logs every request.")] = "info",
    log_format: Annotated[Literal["text", "json"], option("log-format", "How log lines look.")] = "text",
) -> None:
    """Serve the DynamoDB protocol, so that any AWS SDK or tool can use it."""
    if memory and data:
        raise typer.BadParameter("--data keeps everything and --memory nothing: choose one")
    if fsync and not data:
        raise typer.BadParameter("--fsync needs a directory to write to: --data DIR")
    credentials = choose_credentials(access_key, secret_key, credentials_file)
    if credentials and unsigned:
        raise typer.BadParameter("--unsigned lets everybody in, credentials do not: choose one")

    from hashrange.server import log
    from hashrange.server.settings import Settings

    log.configure(log_level, as_json=log_format == "json")
    choices = Choices(
        data=data,
        fsync=fsync,
        region=region,
        credentials=credentials,
        unsigned=unsigned,
        faults=None if faults is None else read_faults(faults),
    )
    run(choices, Settings(host=host, port=port, max_connections=max_connections, spin=spin / 1e6))


def read_faults(given: str) -> Faults:
    """Return the faults in a text that begins like one, else those in the file of that name."""
    from hashrange.engine.faults.faults import VERBS, Faults

    try:
        is_text = given.strip().partition(" ")[0] in VERBS
        faults = Faults.read(given if is_text else Path(given).read_text("utf-8"))
    except OSError as problem:
        known = ", ".join(VERBS)
        raise typer.BadParameter(
            f"--faults {given!r}: no file ({problem.strerror}), and begins with none of {known}"
        ) from problem
    except ValueError as problem:
        raise typer.BadParameter(f"--faults: {problem}") from problem
    if not list(faults):
        raise typer.BadParameter(f"--faults: there is no fault in {given!r}")
    return faults


def run(choices: Choices, settings: Settings) -> None:
    """Serve until a signal comes."""
    from hashrange.server.run import serve as serve_until_signal

    engine = open_data(choices)
    try:
        serve_until_signal(
            engine, settings, choose_check(choices, engine), announce=lambda server: welcome(server, choices)
        )
    except OSError as error:
        raise refuse(explain(error, settings)) from error
    finally:
        engine.close()


def open_data(choices: Choices) -> Engine:
    """Open what is to be served."""
    from hashrange.core.errors import StorageError
    from hashrange.engine.engine import Settings, open_engine
    from hashrange.operations import OPERATIONS

    settings = Settings(region=choices.region)
    try:
        return open_engine(choices.data, OPERATIONS, fsync=choices.fsync, settings=settings, faults=choices.faults)
    except StorageError as error:
        raise refuse(str(error)) from error


def choose_check(choices: Choices, engine: Engine) -> Authenticate:
    """Return what decides who is let in."""
    from hashrange.server.auth import check_form, check_form_if_signed

    if choices.credentials:
        from hashrange.server.signature import Verifier

        return Verifier(dict([choices.credentials]), engine.clock)
    return check_form_if_signed if choices.unsigned else check_form


def welcome(server: Server, choices: Choices) -> None:
    """Tell where the server is and how to use it."""
    from hashrange import __version__

    region = server.region
    if not (server.is_private or choices.credentials):
        typer.echo(
            f"warning: whoever can reach {server.url} can read and change the data. --access-key and --secret-key "
            "(or --credentials-file) let in only who knows them.",
            err=True,
        )
    if choices.faults is not None:
        typer.echo(f"warning: calls go wrong on purpose (--faults): {choices.faults}", err=True)
    kept = choices.data.resolve() if choices.data else "in memory, gone when this ends (--data DIR keeps it)"
    typer.echo(
        f"hashrange {__version__}: DynamoDB on this machine\n\n"
        f"  endpoint  {server.url}\n"
        f"  data      {kept}\n"
        f"  access    {choices.access}\n\n"
        f"  try it    AWS_ACCESS_KEY_ID=local AWS_SECRET_ACCESS_KEY=local AWS_DEFAULT_REGION={region} \\\n"
        f"            aws dynamodb list-tables --endpoint-url {server.url}\n"
        f"  stop it   Ctrl-C\n"
    )


def explain(error: OSError, settings: Settings) -> str:
    """Say why the address cannot be had, and what to do."""
    host, port = settings.host, settings.port
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is taken by another program. Stop that one, or choose another port: "
            f"hashrange serve --port {port % 65535 + 1} (or --port 0 for any free one)."
        )
    if error.errno == errno.EACCES:
        return f"Port {port} is not for ordinary users. Choose one above 1023: hashrange serve --port 8000."
    return f"Cannot listen on {host}:{port}: {error.strerror or error}. Is {host} an address of this machine?"


def refuse(text: str) -> typer.Exit:
    """Say why the server cannot start."""
    typer.echo(f"error: {text}", err=True)
    return typer.Exit(CANNOT_START)
