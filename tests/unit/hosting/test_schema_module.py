"""A module given with --app: hosted, or refused with one sentence."""

import sys

import pytest

from hashrange import System
from hashrange.hosting.schema_module import AppInvalid, load_app, load_declared

SCHEMA = """
from typing import Protocol
from hashrange import Get, Item, Patterns, Table

class Book(Item, table=Table("books", "pk"), pk="BOOK#{isbn}"):
    isbn: str

class Books(Patterns, Protocol):
    def book(self, isbn: str) -> Get[Book]: ...
"""
SYSTEM = """
from hashrange import System
SYSTEM = System(name="library", title="T", summary="S", patterns=(), start=None)
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """`write("library/schema.py", text)` writes a module into the current directory, which is not on the path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    before = set(sys.modules)

    def add(path, text):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)

    yield add
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def test_a_schema_is_found_in_the_current_directory(write):
    write("hosted_a/schema.py", SCHEMA)
    found = load_app("hosted_a.schema")
    assert (found.name, found.tables, len(found.declared)) == ("hosted_a.schema", ["books"], 1)


def test_patterns_that_a_package_exports_are_found(write):
    write("hosted_b/schema.py", SCHEMA)
    write("hosted_b/__init__.py", "from hosted_b.schema import Books")
    assert load_app("hosted_b").tables == ["books"]


def test_a_module_may_declare_tables_only(write):
    write("hosted_tables.py", 'from hashrange import Table\nbooks = Table("books", "id")\n')
    assert load_app("hosted_tables").tables == ["books"]


def test_a_module_that_imports_table_and_patterns_declares_neither(write):
    write("hosted_f.py", f"{SCHEMA}\nfrom hashrange import Session, provision\nfrom typing import Any")
    assert [each.__name__ for each in load_app("hosted_f").declared] == ["Books"]
    write("hosted_g.py", "from hashrange import Item, Patterns, Table\nfrom typing import Protocol")
    with pytest.raises(AppInvalid, match="hosted_g declares no Patterns class"):
        load_app("hosted_g")


def test_a_table_that_no_pattern_uses_belongs_to_the_schema(write):
    write("hosted_h.py", f'{SCHEMA}\ncheckpoints = Table("checkpoints", "consumer", "shard")')
    found = load_app("hosted_h")
    assert found.tables == ["books", "checkpoints"]
    assert load_declared("hosted_h") == list(found.declared)


def test_the_tables_of_a_module_with_a_system_are_those_of_the_system(write):
    write("hosted_i.py", f'{SYSTEM}\nfrom hashrange import Table\nother = Table("other", "pk")')
    assert load_declared("hosted_i") == []


def test_a_module_with_a_system_is_one(write):
    write("hosted_c.py", SYSTEM)
    assert isinstance(load_app("hosted_c"), System)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("no_such_module", "", r"There is no module no_such_module, neither in .* nor where Python finds"),
        ("hosted_d.other", "", r"There is no module hosted_d\.other, neither in"),
        ("hosted_d.py", "", r"There is no module hosted_d\.py, neither in"),
        ("hosted_d.py", "", r"packages\. A module is named without the ending of its file: hosted_d\."),
        ("hosted_d/schema.py", "", r"Write it as in an import: hosted_d\.schema\."),
        ("../schema.py", "", r"Write it as in an import: myapp\.schema\."),
        ("hosted_d/schema.py", "", r"'hosted_d/schema\.py' is not the name of a module\. Write it as in an import"),
        (
            "hosted_d",
            "x = 1",
            r"hosted_d declares no Patterns class and no SYSTEM, so it has no tables: name another module\.",
        ),
        ("hosted_d", "import feathers", r"hosted_d does not import: it needs feathers, which is not installed\."),
        (
            "hosted_d",
            "\nx = y",
            r"hosted_d does not import: NameError: name 'y' is not defined \(hosted_d\.py, line 2\)",
        ),
        ("hosted_d", "\n\nx = = y", r"hosted_d does not import: SyntaxError: invalid syntax \(hosted_d\.py, line 3\)"),
        (
            "hosted_d",
            "class Stop(BaseException): ...\nraise Stop('enough')",
            r"hosted_d does not import: Stop: enough \(hosted_d\.py, line 2\)",
        ),
        ("hosted_d", "raise SystemExit(3)", r"hosted_d does not import: SystemExit: 3 \(hosted_d\.py, line 1\)"),
        ("hosted_d", SCHEMA.replace("isbn: str)", "title: str)"), r"hosted_d has a declaration that cannot work: HR"),
    ],
)
def test_what_cannot_be_hosted_is_said_in_one_sentence(write, name, text, message):
    write("hosted_d.py", text)
    with pytest.raises(AppInvalid, match=message):
        load_app(name)


def test_a_module_that_a_package_of_the_current_directory_lacks_is_not_blamed_on_another_package(write):
    write("hosted_f/__init__.py", "")
    for _ in range(2):  # the second time the package has been imported already
        with pytest.raises(AppInvalid, match=r"There is no module hosted_f\.nosuch, neither in"):
            load_app("hosted_f.nosuch")


def test_a_file_in_the_current_directory_replaces_no_module_of_python(write, monkeypatch):
    write("colorsys.py", "raise AssertionError('imported instead of the module of Python')")
    write("hosted_e.py", f"import colorsys\nassert colorsys.ONE_THIRD\n{SCHEMA}")
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    assert load_app("hosted_e").tables == ["books"]


def test_a_directory_with_the_name_of_an_installed_package_is_explained(write):
    write("json/schema.py", SCHEMA)
    with pytest.raises(
        AppInvalid, match=r"json is a module of Python or of an installed package, which is found before"
    ):
        load_app("json.schema")
