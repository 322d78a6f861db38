"""What catches the mistakes that strict typing lets pass: a warning, a conflict, an error at import."""

import json
import re
import sys
from datetime import UTC, datetime
from types import ModuleType

import pytest

import hashrange
from hashrange import Conflict, DeclarationError, NeverRun, NotFound, ValueInvalid
from hashrange_systems.aura.schema import Aura, Crawling, Shop
from hashrange_systems.shuttle.schema import Operator
from tests.typing import unseen
from tests.typing.conftest import HERE, ROOT, run, run_mypy

NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
FILE = HERE / "unseen.py"


@pytest.fixture
def db():
    with hashrange.open() as database:
        hashrange.create_tables(database, Aura)
        opened = Aura.open(database)
        opened.create(Shop(domain="antik.de", core_domain_name="antik")).run()
        yield opened


def find_marked(by):
    lines = FILE.read_text("utf-8").splitlines()
    return {at: line.rsplit(" ", 1)[1] for at, line in enumerate(lines, 1) if f"by {by} " in line}


def test_mypy_sees_what_is_marked_and_no_more(mypy_refusals):
    assert {at: code_of(texts) for at, texts in mypy_refusals[FILE].items()} == find_marked("mypy")


def test_pyright_sees_nothing(pyright_refusals):
    assert dict(pyright_refusals[FILE]) == {}


def test_an_option_of_mypy_finds_operations_that_are_never_run(mypy_findings):
    assert {at: code_of(texts) for at, texts in mypy_findings[FILE].items()} == find_marked("mypy") | find_marked(
        "option"
    )


def test_a_linter_finds_patterns_that_are_not_even_called():
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--ignore-noqa",
        "--select=B018",
        "--output-format=json",
    ]
    found = {finding["location"]["row"]: finding["code"] for finding in json.loads(run([*command, str(FILE)]))}
    assert found == find_marked("ruff")


def code_of(texts):
    [text] = texts
    return re.search(r"\[([a-z-]+)\]$", text)[1]


def test_a_write_that_is_built_and_never_run_warns(db):
    with pytest.warns(NeverRun, match="Aura.rename was built and never run: nothing was written"):
        unseen.build_and_forget(db)
    assert db.shop("antik.de").required().run().shop_name is None


def test_swapped_texts_find_nothing_and_required_says_so(db):
    assert unseen.swap(db) is None
    with pytest.raises(NotFound, match=r"Aura.url: there is no item with the key .*SHOP#https://antik.de/a"):
        db.url("https://antik.de/a", "antik.de").required().run()


def test_the_same_state_left_twice_is_a_conflict_that_carries_what_is_there(db):
    [seen] = db.never_crawled("ZZ").run()
    with pytest.raises(Conflict) as refused:
        unseen.start_twice(db, seen, NOW)
    assert isinstance(refused.value.current, Shop)
    assert isinstance(refused.value.current.crawl, Crawling)
    assert refused.value.current.crawl.crawl_owner == "one"


def test_a_condition_run_alone_is_refused(db):
    with pytest.raises(ValueInvalid, match=r"is a condition for other writes: pass it to transact\(\) together"):
        unseen.check_nothing_else(Operator.open(db.session.transport))


@pytest.mark.parametrize(
    ("declare", "text"),
    [
        (unseen.forget_the_protocol, r"HR199 Pages: is not a Protocol; write class Pages\(Patterns, Protocol\)"),
        (unseen.misspell_a_key, r"HR120 Page: pages has no key attribute 'ks'"),
        (unseen.misspell_a_template, "HR122 Page.pk: '{domian}' names no field 'domian'"),
        (unseen.misspell_a_field, "HR210 Pages.retitle: parameter 'titel' names no field of Page"),
    ],
)
def test_what_only_the_declaration_can_know_is_refused_when_it_is_imported(declare, text):
    with pytest.raises(DeclarationError, match=text):
        declare()


def test_the_how_to_page_says_what_is_refused(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "howto" / "type-check.md").read_text("utf-8")
    example = tmp_path / "example.py"
    example.write_text("\n\n".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)), "utf-8")
    [found] = run_mypy([example]).values()  # mypy's cache may know the file under its last path
    lines = enumerate(example.read_text("utf-8").splitlines(), 1)
    assert sorted(found) == [at for at, line in lines if "# refused: " in line]
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(example.read_text("utf-8"), str(example), "exec"), vars(module))
