"""One name means one thing: within an application, classes and modules have different names, save those explained.

Names are those of the field: metaphors that were replaced once do not come back.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.architecture.syntax import ROOT, find_statements

LIBRARY = ROOT / "src" / "hashrange"
SYSTEMS = ROOT / "systems" / "src" / "hashrange_systems"

CONVENTIONAL = {"__init__", "__main__", "cli", "errors", "schema", "settings"}  # what a Python reader looks for by name
EXPLAINED_MODULES = {
    "lexer": "of two languages, expressions and PartiQL",
    "nodes": "of two languages, expressions and PartiQL",
    "table": "schema declares a table, engine stores it",
    "connection": "client and server have one end each",
    "create_table": "operations carries it out, engine checks and completes its request",
    "update_table": "operations carries it out, engine checks and completes its request",
    **dict.fromkeys(
        ["account_commands", "api_keys", "channels", "sign_in"], "of a system, until it moves to those of shared"
    ),
}
EXPLAINED_CLASSES = {
    "Shop": "aura.first is a first, smaller version of aura.schema",
    "Url": "aura.first is a first, smaller version of aura.schema",
    "Table": "schema declares a table, engine stores it",
    "Message": "in checks, the text of an alert before it is written",
    **dict.fromkeys(
        [
            "ApiKey",
            "Channel",
            "Channels",
            "KeyMark",
            "Login",
            "NewKey",
            "Outgoing",
            "Sent",
            "Undeliverable",
            "Waiting",
        ],
        "of a system, until it moves to those of shared",
    ),
}

FORMER_MODULES = {
    "anatomy", "kin", "fit", "fence", "slot", "keymove", "move", "memory", "fastread", "position", "selection",
    "spool", "answer", "extra", "stencil", "door", "desk", "paper", "painter", "picture", "typeface", "allowance",
    "invitation", "month", "patience", "halt", "turn", "visit", "ledger", "disposal", "past", "place", "tell",
    "show", "ponds", "duck", "office", "lobby", "reading",
}  # fmt: skip
FORMER_WORDS = re.compile(
    r"\b_?(settle\w*|weigh|lay_ground|hurr(?:y|ied)|test_parameters|stencil\w*|strangers?|lobby|ponds"
    r"|excuse\w*|shelved(?:_at)?|untold|tell_\w+|Placed|place_(?:stored|tagged)|(?:find|remember)_place)\b"
)


def find_applications() -> dict[str, list[Path]]:
    """The library, and each system with what the systems share: readers and searches stay within one of them."""
    shared = sorted((SYSTEMS / "shared").rglob("*.py"))
    systems = [folder for folder in sorted(SYSTEMS.iterdir()) if (folder / "__init__.py").exists()]
    found = {folder.name: sorted(folder.rglob("*.py")) + shared for folder in systems if folder.name != "shared"}
    return {"hashrange": sorted(LIBRARY.rglob("*.py")), **found}


APPLICATIONS = find_applications()


def find_classes(path: Path) -> list[str]:
    classes = [node.name for node in find_statements(path) if isinstance(node, ast.ClassDef)]
    return [name for name in classes if not name.startswith("_")]


def find_repeated(named: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: paths for name, paths in named.items() if len(paths) > 1}


def group_modules(paths: list[Path]) -> dict[str, list[str]]:
    named = defaultdict(list)
    for path in paths:
        named[path.stem].append(str(path.relative_to(ROOT)))
    return find_repeated(named)


def group_classes(paths: list[Path]) -> dict[str, list[str]]:
    named = defaultdict(list)
    for path in paths:
        for name in find_classes(path):
            named[name].append(str(path.relative_to(ROOT)))
    return find_repeated(named)


def test_the_applications_are_where_these_rules_look():
    assert {"hashrange", "checks", "aura"} <= set(APPLICATIONS)


@pytest.mark.parametrize("application", APPLICATIONS)
def test_no_two_modules_have_one_name(application):
    repeated = group_modules(APPLICATIONS[application])
    allowed = CONVENTIONAL | set(EXPLAINED_MODULES)
    assert {name: paths for name, paths in repeated.items() if name not in allowed} == {}


@pytest.mark.parametrize("application", APPLICATIONS)
def test_no_two_classes_have_one_name(application):
    repeated = group_classes(APPLICATIONS[application])
    allowed = set(EXPLAINED_CLASSES)
    assert {name: paths for name, paths in repeated.items() if name not in allowed} == {}


def test_every_explained_name_is_still_repeated():
    modules = {name for paths in APPLICATIONS.values() for name in group_modules(paths)}
    classes = {name for paths in APPLICATIONS.values() for name in group_classes(paths)}
    assert set(EXPLAINED_MODULES) - modules == set()
    assert set(EXPLAINED_CLASSES) - classes == set()


def test_no_module_has_a_name_that_was_replaced():
    folders = (LIBRARY, SYSTEMS, ROOT / "tests", ROOT / "systems" / "tests")
    paths = [path for folder in folders for path in folder.rglob("*.py") if "node_modules" not in path.parts]
    names = {path: {path.stem.removeprefix("test_"), path.parent.name} for path in paths}
    assert [str(path.relative_to(ROOT)) for path, name in names.items() if name & FORMER_MODULES] == []


@pytest.mark.parametrize("folder", [LIBRARY, SYSTEMS], ids=lambda folder: folder.name)
def test_no_source_has_a_word_that_was_replaced(folder):
    found = {
        str(path.relative_to(ROOT)): words
        for path in sorted(folder.rglob("*.py"))
        if (words := FORMER_WORDS.findall(path.read_text("utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize("folder", [LIBRARY, SYSTEMS], ids=lambda folder: folder.name)
def test_the_type_of_json_objects_is_defined_once(folder):
    """Once in each distribution: the type is no part of hashrange's interface."""
    definition = re.compile(r"^Wire(: TypeAlias)? = ", re.MULTILINE)
    defining = [path for path in folder.rglob("*.py") if definition.search(path.read_text("utf-8"))]
    assert len(defining) == 1


def test_no_production_code_has_a_name_of_pytest():
    named = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for folder in (LIBRARY, SYSTEMS)
        for path in sorted(folder.rglob("*.py"))
        for node in find_statements(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and re.match(r"_?test_|_?Test([A-Z]|$)", node.name)
    ]
    assert named == []
