"""The built wheels, each extra in an environment that has nothing else: what works, and what is said to be missing."""

import re
import shlex
import subprocess
import tarfile

import pytest

import hashrange
from tests.conftest import ROOT, find_free_port, stop, wait_until_healthy
from tests.e2e.pages import find_blocks
from tests.packaging.environment import Environment, build

STORE_AND_READ = """
import hashrange
with hashrange.open("data") as database:
    key = {"AttributeName": "pk", "AttributeType": "S"}
    database.call("CreateTable", {
        "TableName": "things", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [key],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    })
    database.call("PutItem", {"TableName": "things", "Item": {"pk": {"S": "a"}}})
    print(database.call("GetItem", {"TableName": "things", "Key": {"pk": {"S": "a"}}})["Item"])
"""
DECLARE = """
import hashrange
from typing import Protocol
from hashrange import Get, Item, Patterns, Table

class Thing(Item, table=Table("things", "pk"), pk="THING#{name}"):
    name: str

class Things(Patterns, Protocol):
    def thing(self, name: str) -> Get[Thing]: ...

database = hashrange.open()
hashrange.create_tables(database, Things)
things = Things.open(database)
things.create(Thing(name="a")).run()
print(things.thing("a").run())
"""
TESTED = """
def test_something(hashrange_db, hashrange_clock, hashrange_faults):
    assert hashrange_db.call("ListTables", {}) == {"TableNames": []}
"""
EXPORT = (
    STORE_AND_READ
    + """
from pathlib import Path
from hashrange.provision import export_items
with hashrange.open("data") as database:
    assert export_items(database, "things", Path("things.parquet")) == 1
assert Path("things.parquet").read_bytes()[:4] == b"PAR1"
"""
)
IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module("hashrange_systems." + sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
"""
FEATURES = {
    "aws": "import hashrange; hashrange.connect(region='eu-west-2', access_key='a', secret_key='b')",
    "boto3": "import hashrange; hashrange.open().client().list_tables()",
    "encryption": "import hashrange; hashrange.LocalKeys.generate().seal(b'secret', b'context')",
    "parquet": EXPORT,
}
ALL_EXTRAS = "hashrange[aws,boto3,cli,encryption,parquet,server]"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture
def install(wheels, tmp_path):
    """`install("hashrange[cli]")` makes an environment that has this and nothing else."""
    return lambda requirement, *also: Environment(tmp_path / "environment", wheels, requirement, *also)


def test_the_source_distributions_contain_their_readme(wheels):
    for archive in next(iter(wheels.values())).parent.glob("*.tar.gz"):
        with tarfile.open(archive) as source:
            assert f"{archive.name.removesuffix('.tar.gz')}/README.md" in source.getnames()


def test_the_bare_library_is_a_database_and_runs_declarations(install):
    environment = install("hashrange")
    assert "{'pk': {'S': 'a'}}" in environment.run("python", "-c", STORE_AND_READ)
    assert "name='a'" in environment.run("python", "-c", DECLARE)


def test_the_fixtures_need_only_pytest(install):
    environment = install("hashrange", "pytest")
    (environment.folder / "test_something.py").write_text(TESTED, "utf-8")
    assert "1 passed" in environment.run("python", "-m", "pytest", "-q", str(environment.folder / "test_something.py"))


@pytest.mark.parametrize("heading", ["Declare a design", "Use the database alone", "Test"])
def test_an_example_of_the_readme_runs_with_what_its_section_says_to_install(install, heading):
    section = (ROOT / "README.md").read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    [command] = re.findall(r"`(pip install hashrange|pip install '.*?)`", section)
    environment = install(*shlex.split(command)[2:])
    [example] = find_blocks(section, "python")
    (environment.folder / "test_example.py").write_text(example, "utf-8")
    options = ["-m", "pytest", "-q"] if "def test_" in example else ["-W", "error"]
    environment.run("python", *options, str(environment.folder / "test_example.py"))


@pytest.mark.parametrize(("extra", "program"), FEATURES.items(), ids=list(FEATURES))
def test_an_extra_makes_its_feature_work(install, extra, program):
    install(f"hashrange[{extra}]").run("python", "-c", program)


def test_the_bare_library_says_which_extra_to_install(install):
    environment = install("hashrange")
    for extra, program in FEATURES.items():
        assert f"pip install 'hashrange[{extra}]'" in environment.run("python", "-c", program, status=1)
    said = environment.run("hashrange", "--version", status=2)
    assert said == "error: typer is not installed: pip install 'hashrange[cli]'\n"


def test_the_command_says_its_version_and_what_up_needs(install):
    environment = install("hashrange[cli]")
    assert environment.run("hashrange", "--version") == f"hashrange {hashrange.__version__}\n"
    assert "hashrange serve" in environment.run("hashrange", "serve", "--help")
    said = environment.run("hashrange", "up", "--memory", "--port", "0", "--web-port", "0", status=2)
    assert "pip install 'hashrange[server]'" in said


def test_the_extra_server_hosts_a_database(install):
    environment = install("hashrange[server]")
    assert "hashrange up" in environment.run("hashrange", "up", "--help")
    environment.run("python", "-c", "import uvloop")
    port, log = find_free_port(), environment.folder / "log"
    command = [str(environment.folder / "bin" / "hashrange"), "serve", "--memory", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=environment.folder, stdout=output, stderr=output)
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}", process, log)
        finally:
            stop(process)


def test_the_systems_are_commands_once_they_are_installed(install):
    environment = install("hashrange-systems")
    assert "checks" in environment.run("hashrange", "--help")
    assert "hashrange checks" in environment.run("hashrange", "checks", "--help")


def test_every_module_of_a_system_is_importable_with_its_extra(install):
    environment = install("hashrange-systems[aura,kelifax]")
    for system in ("aura", "kelifax"):
        environment.run("python", "-c", IMPORT_ALL, system)
        assert f"hashrange {system}" in environment.run("hashrange", system, "--help")


def test_links_of_the_description_work_outside_the_repository(install):
    environment = install(ALL_EXTRAS, "hashrange-systems[apprise,pdf]")
    program = "from importlib.metadata import metadata; print([metadata(name).json['description'] for name in {}])"
    shown = environment.run("python", "-c", program.format(("hashrange", "hashrange-systems")))
    links = re.findall(r"\]\(([^)]+)\)", shown)
    assert len(links) > 10
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
