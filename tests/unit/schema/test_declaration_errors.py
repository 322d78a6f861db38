"""The reference of declaration errors, executed: each wrong program raises its code, each mended one does not."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hashrange import DeclarationError, Patterns
from hashrange.expr.functions import condition_functions
from hashrange.session.patterns import reserved_names
from scripts import declaration_errors
from scripts.declaration_errors import IMPORTS, PAGE, read_entries, render

ROOT = Path(__file__).parents[3]
SOURCES = [*(ROOT / "src/hashrange/schema").rglob("*.py"), *(ROOT / "src/hashrange/session").rglob("*.py")]
CODE = re.compile(r"HR\d{3}")
SENTENCE = re.compile(r"(?<=[.)])\s+(?=[A-Z`(])")

ENTRIES = read_entries()
ERRORS = [code for code in ENTRIES if not code.startswith("HR4")]
LINTS = [code for code in ENTRIES if code.startswith("HR4")]


def codes_in_source() -> Iterator[tuple[str, str]]:
    """Yield every code that the source spells out, with its place."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                yield node.value, f"{path.name}:{node.lineno}"


@pytest.fixture
def execute(monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(program: str, name: str) -> ModuleType:
        module = ModuleType(f"declared_{name}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(IMPORTS + program, f"{name}.py", "exec"), module.__dict__)
        return module

    return run


def lints_of(module: ModuleType) -> list[str]:
    declared = [kind for kind in vars(module).values() if isinstance(kind, type) and is_declared_patterns(kind)]
    assert len(declared) == 1
    return [lint.code for lint in declared[0].lint()]  # type: ignore[attr-defined]


def is_declared_patterns(kind: type) -> bool:
    return Patterns in kind.__mro__ and kind is not Patterns


def names_in(program: str) -> set[str]:
    """Return what a message may point at: the classes, and the texts, of a program."""
    nodes = list(ast.walk(ast.parse(program)))
    classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    return classes | {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@pytest.mark.parametrize("code", ERRORS)
def test_the_refused_program_raises_its_code(code, execute):
    with pytest.raises(DeclarationError) as caught:
        execute(ENTRIES[code].wrong, f"{code}_refused")
    assert caught.value.code == code


@pytest.mark.parametrize("code", ERRORS)
def test_the_message_says_where_what_and_how_to_mend_it(code, execute):
    with pytest.raises(DeclarationError) as caught:
        execute(ENTRIES[code].wrong, f"{code}_message")
    error = caught.value
    assert str(error) == f"{code} {error.location}: {error.problem}; {error.remedy}"
    named = set(re.findall(r"[\w.${}:-]+", error.location)) | set(re.findall(r"\w+", error.location)) | {error.location}
    quoted = set(re.findall(r"'([^']*)'", error.location))
    assert (named | quoted) & names_in(ENTRIES[code].wrong), f"{error.location!r} is nothing that the program declares"
    assert len(error.problem) > 5
    assert len(error.remedy) > 5
    assert not error.remedy.endswith((" ", ".", ":"))
    assert "declared_" not in str(error), "the message shows where a type comes from, not what it is"


@pytest.mark.parametrize("code", ERRORS)
def test_the_accepted_program_is_accepted(code, execute):
    execute(ENTRIES[code].right, f"{code}_accepted")


@pytest.mark.parametrize("code", LINTS)
def test_the_reported_program_is_reported(code, execute):
    assert code in lints_of(execute(ENTRIES[code].wrong, f"{code}_reported"))


@pytest.mark.parametrize("code", LINTS)
def test_the_quiet_program_is_not_reported(code, execute):
    assert code not in lints_of(execute(ENTRIES[code].right, f"{code}_quiet"))


@pytest.mark.parametrize("code", ENTRIES)
def test_an_entry_explains_its_code_in_two_to_five_sentences(code):
    entry = ENTRIES[code]
    assert entry.wrong != entry.right
    assert 2 <= len(SENTENCE.split(entry.text)) <= 5


def test_every_code_of_the_source_has_an_entry_and_no_entry_is_left_over():
    assert {code for code, _ in codes_in_source()} == set(ENTRIES)


def test_no_two_places_share_a_code():
    twice = [code for code, count in Counter(code for code, _ in codes_in_source()).items() if count > 1]
    assert twice == [], [place for code, place in codes_in_source() if code in twice]


def test_the_page_is_what_make_docs_writes():
    assert PAGE.read_text("utf-8") == render(ENTRIES)


def test_the_page_has_a_row_and_an_anchor_for_every_code():
    text = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| \[(HR\d{3})\]\(#(hr\d{3})\) \| ([^|]+) \|$", text, re.MULTILINE)
    assert sorted(rows) == sorted((code, code.lower(), entry.title) for code, entry in ENTRIES.items())
    assert re.findall(r"^### (.+)$", text, re.MULTILINE) == list(ENTRIES)


def test_a_page_that_is_out_of_date_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(declaration_errors, "ROOT", tmp_path)
    monkeypatch.setattr(declaration_errors, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(sys, "argv", ["declaration_errors.py", "--check"])
    with pytest.raises(SystemExit, match=r"page\.md is out of date: run make docs"):
        declaration_errors.main()
    monkeypatch.setattr(sys, "argv", ["declaration_errors.py"])
    declaration_errors.main()
    monkeypatch.setattr(sys, "argv", ["declaration_errors.py", "--check"])
    declaration_errors.main()


def test_the_functions_of_conditions_that_the_reference_lists_are_those_that_there_are():
    listed = re.findall(r"`(\w+)`", ENTRIES["HR221"].text.partition(". ")[0])
    assert sorted(listed) == sorted(condition_functions())


def test_the_codes_are_in_order_and_every_reserved_name_is_listed():
    assert list(ENTRIES) == sorted(ENTRIES)
    assert reserved_names() <= set(re.findall(r"`(\w+)`", ENTRIES["HR200"].text))


def test_a_title_that_begins_with_code_is_not_capitalised():
    assert "**former_ttl= without" in render(ENTRIES)
    assert "**The name of" in render(ENTRIES)
