"""Systems are found by being there."""

import shutil
import sys

import pytest

from hashrange.hosting.discover import (
    PACKAGE,
    ExtraMissing,
    SystemMismatched,
    SystemUnknown,
    find_names,
    find_summary,
    find_systems,
    load_module,
)

SYSTEM = """
from hashrange.hosting.system import System
SYSTEM = System(name={name!r}, title="T", summary="S", patterns=(), start=None)
"""


@pytest.fixture
def make(tmp_path, monkeypatch):
    """`make("swan", system=...)` puts a system with these modules into the package `zoo`."""
    monkeypatch.syspath_prepend(tmp_path)

    def add(name, text="", **modules):
        folder = tmp_path / "zoo" / name
        folder.mkdir(parents=True)
        (tmp_path / "zoo" / "__init__.py").touch()
        (folder / "__init__.py").write_text(text)
        for module, source in modules.items():
            (folder / f"{module}.py").write_text(source)
        return folder

    yield add
    for name in [name for name in sys.modules if name.partition(".")[0] == "zoo"]:
        del sys.modules[name]


def test_a_folder_with_a_system_is_one_and_others_are_passed_over(make):
    make("swan", system=SYSTEM.format(name="swan"))
    make("carp", schema="raise AssertionError('nobody asked')")
    make("bear", system=SYSTEM.format(name="bear"))
    assert [system.name for system in find_systems("zoo")] == ["bear", "swan"]


def test_a_folder_that_is_deleted_is_a_system_no_more(make):
    make("bear", system=SYSTEM.format(name="bear"))
    folder = make("swan", system=SYSTEM.format(name="swan"))
    shutil.rmtree(folder)
    assert find_names("zoo") == ["bear"]


def test_only_those_that_are_asked_for_are_imported(make):
    make("swan", system=SYSTEM.format(name="swan"))
    make("bear", system="raise AssertionError('nobody asked')")
    assert [system.name for system in find_systems("zoo", {"swan"})] == ["swan"]


def test_a_name_that_is_none_is_refused_with_those_that_are(make):
    make("swan", system=SYSTEM.format(name="swan"))
    with pytest.raises(SystemUnknown, match=r"no system bear or wolf in zoo; there is: swan\."):
        find_systems("zoo", {"wolf", "swan", "bear"})


def test_a_system_is_named_by_its_folder(make):
    make("swan", system=SYSTEM.format(name="duck"))
    with pytest.raises(SystemMismatched, match="calls itself 'duck'"):
        find_systems("zoo")


def test_a_system_module_must_export_one(make):
    make("swan", system="")
    with pytest.raises(SystemMismatched, match=r"zoo\.swan\.system has no SYSTEM"):
        find_systems("zoo")


def test_the_summary_is_the_first_line_of_the_folder_and_imports_nothing_else(make):
    make("swan", text='"""White and proud.\n\nMore of it.\n"""', cli="raise AssertionError('nobody asked')")
    make("bear")
    assert find_names("zoo", "cli") == ["swan"]
    assert find_summary("zoo", "swan") == "White and proud."
    assert find_summary("zoo", "bear") == ""


def test_a_library_that_is_missing_is_named_with_the_remedy(make):
    make("swan", system="import feathers.soft")
    with pytest.raises(ExtraMissing, match=r"feathers is not installed: pip install 'hashrange\[systems\]'"):
        find_systems("zoo")


def test_a_mistake_in_a_system_is_not_taken_for_a_missing_library(make):
    make("swan", system="import zoo.feathers")
    with pytest.raises(ModuleNotFoundError, match=r"zoo\.feathers"):
        find_systems("zoo")


def test_a_package_that_is_not_there_is_said_so():
    with pytest.raises(SystemUnknown, match="There is no package nowhere"):
        find_names("nowhere.at.all")


def test_the_systems_of_hashrange_can_be_loaded():
    assert load_module(PACKAGE).__name__ == PACKAGE
    assert {system.name for system in find_systems()} == set(find_names())
