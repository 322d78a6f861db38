"""The pages of docs/reference/declarations, run: each refused program raises its code, each accepted one does not."""

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

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "reference" / "declarations"
SOURCES = [*(ROOT / "src/hashrange/schema").glob("*.py"), ROOT / "src/hashrange/session/patterns.py"]
CODE = re.compile(r"HR\d{3}")
FORM = re.compile(
    r"# (?P<code>HR\d{3}): (?P<title>[^\n]+)\n\n(?P<text>[^#\n][^\n]+)\n\n"
    r"## (?P<first>Refused|Reported)\n\n```python\n(?P<wrong>.*?)```\n\n"
    r"## (?P<second>Accepted|Quiet)\n\n```python\n(?P<right>.*?)```\n",
    re.DOTALL,
)
SENTENCE = re.compile(r"(?<=[.)])\s+(?=[A-Z`(])")
HEADS = {"Refused": "Accepted", "Reported": "Quiet"}


def read_page(path: Path) -> dict[str, str]:
    found = FORM.fullmatch(path.read_text())
    assert found, f"{path.name} has not the form of a page"
    return found.groupdict()


PATHS = sorted(PAGES.glob("HR*.md"))
READ = {path.stem: read_page(path) for path in PATHS}
ERRORS = [code for code, page in READ.items() if page["first"] == "Refused"]
LINTS = [code for code, page in READ.items() if page["first"] == "Reported"]


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
        exec(compile(program, f"{name}.md", "exec"), module.__dict__)
        return module

    return run


def lints_of(module: ModuleType) -> list[str]:
    declared = [kind for kind in vars(module).values() if isinstance(kind, type) and is_declared_patterns(kind)]
    assert len(declared) == 1
    return [lint.code for lint in declared[0].lint()]


def is_declared_patterns(kind: type) -> bool:
    return Patterns in kind.__mro__ and kind is not Patterns


def names_in(program: str) -> set[str]:
    """Return what a message may point at: the classes, and the texts, of a program."""
    nodes = list(ast.walk(ast.parse(program)))
    classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    return classes | {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


@pytest.mark.parametrize("code", ERRORS)
def test_the_refused_program_raises_the_code_of_its_page(code, execute):
    with pytest.raises(DeclarationError) as caught:
        execute(READ[code]["wrong"], f"{code}_refused")
    assert caught.value.code == code


@pytest.mark.parametrize("code", ERRORS)
def test_the_message_says_where_what_and_how_to_mend_it(code, execute):
    with pytest.raises(DeclarationError) as caught:
        execute(READ[code]["wrong"], f"{code}_message")
    error = caught.value
    assert str(error) == f"{code} {error.place}: {error.fault}; {error.remedy}"
    named = set(re.findall(r"[\w.${}:-]+", error.place)) | set(re.findall(r"\w+", error.place)) | {error.place}
    quoted = set(re.findall(r"'([^']*)'", error.place))
    assert (named | quoted) & names_in(READ[code]["wrong"]), f"{error.place!r} is nothing that the program declares"
    assert len(error.fault) > 5
    assert len(error.remedy) > 5
    assert not error.remedy.endswith((" ", ".", ":"))
    assert "declared_" not in str(error), "the message shows where a type comes from, not what it is"


@pytest.mark.parametrize("code", ERRORS)
def test_the_accepted_program_is_accepted(code, execute):
    execute(READ[code]["right"], f"{code}_accepted")


@pytest.mark.parametrize("code", LINTS)
def test_the_reported_program_is_reported(code, execute):
    assert code in lints_of(execute(READ[code]["wrong"], f"{code}_reported"))


@pytest.mark.parametrize("code", LINTS)
def test_the_quiet_program_is_not_reported(code, execute):
    assert code not in lints_of(execute(READ[code]["right"], f"{code}_quiet"))


@pytest.mark.parametrize("code", READ)
def test_a_page_has_the_form_of_its_kind(code):
    page = READ[code]
    assert page["code"] == code
    assert page["second"] == HEADS[page["first"]]
    assert page["first"] == ("Reported" if code.startswith("HR4") else "Refused")
    assert page["wrong"] != page["right"]
    assert 2 <= len(SENTENCE.split(page["text"])) <= 5


def test_every_code_of_the_source_has_a_page_and_no_page_is_left_over():
    assert {code for code, _ in codes_in_source()} == set(READ)


def test_no_two_places_share_a_code():
    twice = [code for code, count in Counter(code for code, _ in codes_in_source()).items() if count > 1]
    assert twice == [], [place for code, place in codes_in_source() if code in twice]


def test_the_index_has_a_row_for_every_page():
    rows = re.findall(r"\| \[(HR\d{3})\]\((HR\d{3})\.md\) \| ([^|]+) \|", (PAGES / "README.md").read_text())
    assert rows == [(code, code, page["title"]) for code, page in READ.items()]
