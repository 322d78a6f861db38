"""What `hashrange up` hosts besides the installed systems of this repository: plain schemas, and foreign packages."""

import html
import re
import subprocess
import sys

import pytest

import hashrange
from tests.e2e.test_up import HERE, SAMPLE, UpProcess, run_up

SCHEMA = """
from typing import Protocol
from hashrange import Get, Item, Patterns, Table

class Book(Item, table=Table("books", "pk"), pk="BOOK#{isbn}"):
    isbn: str

class Books(Patterns, Protocol):
    def book(self, isbn: str) -> Get[Book]: ...
"""
SYSTEM = """
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from hashrange import Host, System
from bookshop.schema import Books

class RunningBookshop:
    def __init__(self, host: Host) -> None:
        self.app = Starlette(routes=[Route("/", lambda request: PlainTextResponse("books are sold here"))])
    async def work(self): ...
    async def fill_demo(self): ...
    async def close(self): ...

SYSTEM = System(name="bookshop", title="Bookshop", summary="Sells books.", patterns=(Books,), start=RunningBookshop)
"""
COMMANDS = """
import typer
app = typer.Typer()

@app.command()
def order(title: str) -> None:
    typer.echo(f"ordered {title}")

@app.command()
def cancel() -> None: ...
"""


@pytest.fixture
def bookshop(tmp_path):
    """A package outside this repository that registers the system `bookshop`."""
    files = {
        "bookshop/__init__.py": '"""Books: sold and ordered."""\n',
        "bookshop/schema.py": SCHEMA,
        "bookshop/system.py": SYSTEM,
        "bookshop/cli.py": COMMANDS,
        "bookshop-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: bookshop\nVersion: 1.0\n",
        "bookshop-1.0.dist-info/entry_points.txt": "[hashrange.systems]\nbookshop = bookshop.system:SYSTEM\n",
    }
    folder = tmp_path / "site"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def up(tmp_path):
    started = []

    def start(*options, environment=None):
        started.append(UpProcess(tmp_path, *options, environment=environment))
        return started[-1]

    yield start
    for each in started:
        each.kill()


def list_tables(upped):
    with hashrange.connect(upped.endpoint) as remote:
        return remote.call("ListTables", {})["TableNames"]


def test_a_system_of_another_package_is_hosted_and_its_commands_appear(up, bookshop, tmp_path):
    path = {"PYTHONPATH": f"{bookshop}:{HERE}"}
    upped = up("--memory", environment=path)
    assert "DynamoDB and 2 systems\n" in upped.shown
    assert f"  bookshop  {upped.web}/bookshop  Bookshop\n" in upped.shown
    assert upped.get("/bookshop/") == "books are sold here"
    assert "Sells books." in upped.get("/")
    assert list_tables(upped) == ["books", "products"]
    assert upped.get("/health")["systems"].keys() == {"bookshop", "stock"}

    listed = run_up("--help", command="--help", environment=SAMPLE | path).stdout
    assert re.search(r"bookshop +Books: sold and ordered\. ", listed)
    assert run_up("order", "Emma", command="bookshop", environment=SAMPLE | path).stdout == "ordered Emma\n"


def test_a_package_that_does_not_import_leaves_the_other_commands_alone(bookshop):
    (bookshop / "bookshop" / "__init__.py").write_text("raise RuntimeError('out of stock')")
    path = {"PYTHONPATH": f"{bookshop}:{HERE}"}
    listed = run_up("--help", command="--help", environment=SAMPLE | path)
    assert listed.returncode == 0
    assert re.search(r"bookshop +\(cannot be imported: RuntimeError: out of stock\) ", listed.stdout)
    assert re.search(r"stock +Products: counted and listed\. ", listed.stdout)


def test_a_plain_schema_is_hosted_from_the_current_directory(up, tmp_path):
    (tmp_path / "myapp").mkdir()
    (tmp_path / "myapp" / "schema.py").write_text(SCHEMA)
    (tmp_path / "second.py").write_text(SCHEMA.replace('"books"', '"magazines"'))
    upped = up("--memory", "--all", "--app", "myapp.schema", "--app", "second")
    assert "DynamoDB, 2 schemas and 1 system\n" in upped.shown
    assert "  myapp.schema  schema with tables books\n" in upped.shown
    assert "  created       tables products, books, magazines\n" in upped.shown
    assert list_tables(upped) == ["books", "magazines", "products"]
    page = upped.get("/")
    assert "<code>myapp.schema</code>" in page
    assert "1 table: magazines" in page


@pytest.mark.parametrize(
    ("options", "summary", "tables"),
    [
        ((), "DynamoDB and 1 schema", ["books", "checkpoints"]),
        (("--only", "stock"), "DynamoDB, 1 schema and 1 system", ["books", "checkpoints", "products"]),
        (("--all",), "DynamoDB, 1 schema and 1 system", ["books", "checkpoints", "products"]),
    ],
)
def test_an_app_is_hosted_without_the_installed_systems_unless_they_are_asked_for(
    up, tmp_path, options, summary, tables
):
    (tmp_path / "myapp.py").write_text(f'{SCHEMA}\ncheckpoints = Table("checkpoints", "consumer", "shard")\n')
    upped = up("--memory", "--app", "myapp", *options)
    assert f"{summary}\n" in upped.shown
    assert f"{summary}, version" in upped.get("/")
    assert ("<h2>Systems</h2>" in upped.get("/")) == bool(options)
    assert list_tables(upped) == tables
    outcome = run_up("myapp", "--target", upped.endpoint, command="drift", cwd=tmp_path)
    assert outcome.stdout == f"The tables of myapp at {upped.endpoint} are as declared.\n"


def test_the_boto3_call_of_the_first_page_works_as_it_is(up, tmp_path):
    upped = up("--memory")
    code = html.unescape(re.search(r"<pre>(import boto3.*?)</pre>", upped.get("/"), re.DOTALL)[1])
    printed = subprocess.run(
        [sys.executable, "-c", code.replace("\nboto3.", "\nanswer = boto3.") + "\nprint(answer['TableNames'])"],
        capture_output=True, text=True, timeout=500, check=False, env={**SAMPLE, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert (printed.stdout, printed.stderr) == ("['products']\n", "")


def test_a_schema_that_has_changed_changes_its_tables_at_the_next_start_and_drops_nothing(up, tmp_path):
    (tmp_path / "myapp.py").write_text(SCHEMA)
    up("--data", str(tmp_path / "data"), "--app", "myapp").stop()
    indexed = SCHEMA.replace('Table("books", "pk")', 'Table("books", "pk", indexes=[Gsi("ByIsbn", "isbn")])')
    (tmp_path / "myapp.py").write_text(indexed.replace("import Get,", "import Get, Gsi,"))
    second = up("--data", str(tmp_path / "data"), "--app", "myapp")
    assert "  changed   books: create index ByIsbn (isbn), projecting ALL\n" in second.shown
    second.stop()
    (tmp_path / "myapp.py").write_text(SCHEMA)
    assert "  changed" not in up("--data", str(tmp_path / "data"), "--app", "myapp").shown


def test_a_system_that_is_not_installed_is_hosted_from_the_current_directory(up, bookshop, tmp_path):
    (bookshop / "bookshop").rename(tmp_path / "bookshop")
    upped = up("--memory", "--app", "bookshop.system")
    assert upped.get("/bookshop/") == "books are sold here"


def test_two_systems_of_one_name_are_refused(bookshop, tmp_path):
    path = {"PYTHONPATH": str(bookshop)}
    outcome = run_up("--memory", "--all", "--app", "bookshop.system", cwd=bookshop, environment=SAMPLE | path)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("error: Two systems have the name bookshop.")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "declares no Patterns class and no SYSTEM, so it has no tables: name another module."),
        ("import feathers", "does not import: it needs feathers, which is not installed."),
        ("x = y", "does not import: NameError: name 'y' is not defined (myapp.py, line 1)."),
    ],
)
def test_a_module_that_cannot_be_hosted_is_explained_in_one_line(text, message, tmp_path):
    (tmp_path / "myapp.py").write_text(text)
    outcome = run_up("--memory", "--app", "myapp", cwd=tmp_path)
    assert outcome.returncode == 2
    assert outcome.stderr == f"error: The module myapp {message}\n"
    assert outcome.stdout == ""


def test_a_system_that_cannot_be_imported_does_not_stop_the_others(up, bookshop):
    (bookshop / "bookshop" / "system.py").write_text("raise SystemExit('closed')")
    path = {"PYTHONPATH": f"{bookshop}:{HERE}"}
    upped = up("--memory", environment=path)
    assert "DynamoDB and 1 system\n" in upped.shown
    named = run_up("--memory", "--only", "bookshop", environment=SAMPLE | path)
    assert named.returncode == 2
    assert named.stderr == (
        "error: bookshop.system:SYSTEM, registered by bookshop as the system bookshop, "
        "cannot be imported: SystemExit: closed.\n"
    )


def test_a_system_that_cannot_be_started_is_named_in_one_sentence(bookshop, tmp_path):
    (bookshop / "bookshop").rename(tmp_path / "bookshop")
    broken = SYSTEM.replace("        self.app =", "        raise RuntimeError('closed')\n        self.app =")
    (tmp_path / "bookshop" / "system.py").write_text(broken)
    outcome = run_up("--memory", "--app", "bookshop.system", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("error: The system bookshop cannot be started: RuntimeError: closed. --only ")


def test_a_system_cannot_take_the_address_of_a_page_of_the_host(bookshop, tmp_path):
    (bookshop / "bookshop" / "system.py").write_text(SYSTEM.replace('name="bookshop"', 'name="health"'))
    (bookshop / "bookshop").rename(tmp_path / "bookshop")
    outcome = run_up("--memory", "--app", "bookshop.system", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr == "error: A system cannot be called health: /health is a page of the host.\n"
