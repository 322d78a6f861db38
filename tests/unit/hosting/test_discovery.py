"""Systems are found by their entry points."""

import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hashrange.cli.app import app
from hashrange.hosting.discovery import (
    GROUP,
    ExtraMissing,
    SystemInvalid,
    SystemUnknown,
    find_commands,
    find_entry_points,
    find_summary,
    find_systems,
)

ROOT = Path(__file__).parents[3]
SYSTEM = """
from hashrange import System
SYSTEM = System(name={name!r}, title="T", summary="S", patterns=(), start=None)
"""


@pytest.fixture
def make(tmp_path, monkeypatch):
    """`make("swan", system=...)` installs a package `swans` with these modules, which registers the system `swan`."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("hashrange.hosting.discovery.entry_points", lambda group: find_registered(tmp_path, group))
    made = []

    def add(name, text="", *, package=None, value=None, **modules):
        package = package or f"{name}s"
        made.append(package)
        folder = tmp_path / package
        folder.mkdir()
        (folder / "__init__.py").write_text(text)
        for module, source in modules.items():
            (folder / f"{module}.py").write_text(source)
        register(tmp_path, package, name, value or f"{package}.system:SYSTEM")
        return folder

    yield add
    for name in [name for name in sys.modules if name.partition(".")[0] in made]:
        del sys.modules[name]


def register(folder, package, name, value):
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[hashrange.systems]\n{name} = {value}\n")


def find_registered(folder, group):
    """The entry points of the packages in this folder alone."""
    from importlib.metadata import distributions

    return [each for found in distributions(path=[str(folder)]) for each in found.entry_points.select(group=group)]


def test_a_registered_system_is_found_and_other_packages_are_not(make):
    make("swan", system=SYSTEM.format(name="swan"))
    shutil.rmtree(make("carp").parent / "carps-1.0.dist-info")
    make("bear", system=SYSTEM.format(name="bear"))
    assert [system.name for system in find_systems()] == ["bear", "swan"]


def test_a_package_that_is_removed_is_a_system_no_more(make):
    make("bear", system=SYSTEM.format(name="bear"))
    folder = make("swan", system=SYSTEM.format(name="swan"))
    shutil.rmtree(folder)
    shutil.rmtree(folder.with_name("swans-1.0.dist-info"))
    assert list(find_entry_points()) == ["bear"]


def test_only_those_that_are_asked_for_are_imported(make):
    make("swan", system=SYSTEM.format(name="swan"))
    make("bear", system="raise AssertionError('nobody asked')")
    assert [system.name for system in find_systems({"swan"})] == ["swan"]


def test_an_unknown_name_is_refused_with_those_that_are_installed(make):
    make("swan", system=SYSTEM.format(name="swan"))
    with pytest.raises(SystemUnknown, match=r"no system bear or wolf\. Installed systems: swan\."):
        find_systems({"wolf", "swan", "bear"})


def test_a_system_is_named_by_its_entry_point(make):
    make("swan", system=SYSTEM.format(name="duck"))
    with pytest.raises(SystemInvalid, match="registered by swans as the system swan, has the name 'duck'"):
        find_systems()


@pytest.mark.parametrize("source", ["", "SYSTEM = None", "class SYSTEM: plans = {'get': 1}"])
def test_an_entry_point_must_lead_to_a_system(make, source):
    make("swan", system=source)
    message = r"swans\.system:SYSTEM, registered by swans as the system swan, is not a hashrange\.System"
    with pytest.raises(SystemInvalid, match=message):
        find_systems()


def test_two_packages_cannot_register_the_same_name(make):
    make("swan", system=SYSTEM.format(name="swan"))
    make("swan", package="geese", system=SYSTEM.format(name="swan"))
    with pytest.raises(SystemInvalid, match=r"Two packages register a system swan: (geese and swans|swans and geese)"):
        find_entry_points()


def test_a_name_that_two_packages_register_leaves_the_commands_of_others_alone(make):
    make("bear", text='"""Brown."""', system=SYSTEM.format(name="bear"), cli="import typer\napp = typer.Typer()")
    make("swan", system=SYSTEM.format(name="swan"))
    make("swan", package="geese", system=SYSTEM.format(name="swan"))
    listed = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"})
    assert listed.exit_code == 0
    assert "Brown." in listed.output
    assert "Two packages register a system swan" in listed.output
    called = CliRunner().invoke(app, ["swan"])
    assert (called.exit_code, "Two packages register a system swan" in called.output) == (2, True)


def test_an_error_that_a_systems_command_does_not_handle_is_one_sentence(make):
    commands = """
import typer
from hashrange import NotFound
app = typer.Typer()

@app.command()
def find() -> None:
    raise NotFound("there is no such bear")

@app.command()
def lose() -> None: ...
"""
    make("bear", text='"""Brown."""', system=SYSTEM.format(name="bear"), cli=commands)
    outcome = CliRunner().invoke(app, ["bear", "find"])
    assert (outcome.exit_code, outcome.output) == (2, "error: there is no such bear\n")


def test_the_summary_is_the_first_line_of_the_package_and_imports_nothing_else(make):
    make("swan", text='"""White and proud.\n\nMore of it.\n"""', cli="raise AssertionError('nobody asked')")
    make("bear")
    found = find_entry_points()
    assert (find_commands(found["swan"]), find_commands(found["bear"])) == ("swans.cli", None)
    assert find_summary(found["swan"]) == "White and proud."
    assert find_summary(found["bear"]) == ""


def test_a_system_in_a_single_module_has_no_commands(make):
    folder = make("swan", value="swan_system:SYSTEM")
    (folder.parent / "swan_system.py").write_text(SYSTEM.format(name="swan"))
    assert find_commands(find_entry_points()["swan"]) is None
    assert [system.name for system in find_systems()] == ["swan"]


def test_a_library_that_is_missing_is_named_with_the_remedy(make):
    make("swan", system="import feathers.soft")
    with pytest.raises(ExtraMissing, match="feathers is not installed: pip install --upgrade swans"):
        find_systems()


def test_a_library_of_an_extra_is_named_with_the_extra(make):
    make("swan", system="import feathers.soft", value="swans.system:SYSTEM [down]", cli="import feathers")
    with pytest.raises(ExtraMissing, match=r"feathers is not installed: pip install 'swans\[down\]'"):
        find_systems()
    warnings = []
    assert find_systems(warn=warnings.append) == []
    assert warnings == ["feathers is not installed: pip install 'swans[down]'. The system swan is not hosted."]
    called = CliRunner().invoke(app, ["swan"])
    assert (called.exit_code, called.output) == (
        2,
        "error: feathers is not installed: pip install 'swans[down]'\n",
    )


def test_a_library_that_a_command_of_a_system_imports_is_named_with_the_extra(make):
    commands = """
import typer
app = typer.Typer()

@app.command()
def fly() -> None:
    import feathers.soft

@app.command()
def swim() -> None:
    import swans.feet
"""
    make("swan", value="swans.system:SYSTEM [down]", cli=commands)
    outcome = CliRunner().invoke(app, ["swan", "fly"])
    assert (outcome.exit_code, outcome.output) == (
        2,
        "error: feathers is not installed: pip install 'swans[down]'\n",
    )
    assert isinstance(CliRunner().invoke(app, ["swan", "swim"]).exception, ModuleNotFoundError)


def test_every_system_with_libraries_of_its_own_names_the_extra_that_installs_them():
    project = tomllib.loads((ROOT / "systems" / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    for name, value in project["entry-points"][GROUP].items():
        assert value.endswith(f"[{name}]") == (name in extras)


def test_a_mistake_in_a_system_is_not_taken_for_a_missing_library(make):
    make("swan", system="import swans.feathers")
    with pytest.raises(SystemInvalid, match=r"cannot be imported: ModuleNotFoundError: .*swans\.feathers"):
        find_systems()


def test_a_system_that_cannot_be_imported_is_reported_and_left_out(make):
    make("swan", system="import swans.feathers")
    make("duck", system=SYSTEM.format(name="duck"))
    warnings = []
    assert [system.name for system in find_systems(warn=warnings.append)] == ["duck"]
    assert len(warnings) == 1
    assert warnings[0].endswith(" The system swan is not hosted.")


def test_the_installed_systems_can_be_loaded():
    assert [system.name for system in find_systems()] == list(find_entry_points())
