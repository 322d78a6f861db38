"""The public names of hashrange: listed once, in the stub that type checkers read, and imported when first used."""

import builtins
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hashrange

STUB = Path(hashrange.__file__).with_suffix(".pyi").read_text("utf-8")
NAMES = sorted(hashrange._read_public_names())  # type: ignore[attr-defined]
FORMS = (
    r"from [\w.]+ import (\w+) as \1",
    r"from [\w.]+ import \w+",
    r"\w+ = \w+",
    r"__version__: str",
)


def test_every_line_of_the_stub_is_one_that_the_package_understands():
    lines = [line.partition("#")[0].strip() for line in STUB.splitlines()]
    assert [line for line in lines if line and not any(re.fullmatch(form, line) for form in FORMS)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_can_be_imported(name):
    assert getattr(hashrange, name) is not None
    assert name in dir(hashrange)


def test_a_star_import_brings_every_public_name_and_replaces_no_builtin():
    module = {}
    exec("from hashrange import *", module)
    brought = set(module) - {"__builtins__"}
    assert brought == set(hashrange.__all__)  # type: ignore[attr-defined]
    assert {"Table", "Item", "Patterns", "create_tables"} <= brought
    assert brought & set(dir(builtins)) == set()


def test_what_a_star_import_leaves_out_are_other_names():
    left_out = set(NAMES) - set(hashrange.__all__)  # type: ignore[attr-defined]
    assert left_out == {"open", "Change"}
    assert hashrange.Change is hashrange.ItemChange


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'hashrange' has no attribute 'Tabel'"):
        _ = hashrange.Tabel  # type: ignore[attr-defined]


def test_importing_hashrange_imports_nothing_else():
    code = "import sys; before = set(sys.modules); import hashrange; print(*sorted(set(sys.modules) - before))"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout.split() == ["__future__", "hashrange"]
