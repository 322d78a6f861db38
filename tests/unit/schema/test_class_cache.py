"""What is found out about classes: once, until the next class is declared; and what declaring leaves alone."""

import subprocess
import sys
from typing import Protocol

import pytest

from hashrange import DeclarationError, Get, Item, Patterns, Table
from hashrange.schema.declare import introspection
from hashrange.schema.declare.class_cache import cached_by_class, clear_class_cache

RUNS_ONLY = (
    "hashrange.session.session",
    "hashrange.schema.items.loader",
    "hashrange.schema.lint_rules",
    "hashrange.engine.engine",
)


def test_an_answer_is_worked_out_once_and_again_after_it_was_forgotten():
    asked = []
    response = cached_by_class(lambda cls: asked.append(cls) or cls.__name__)
    assert [response(int), response(int), response(str)] == ["int", "int", "str"]
    assert asked == [int, str]
    clear_class_cache()
    assert response(int) == "int"
    assert asked == [int, str, int]


def test_a_variant_declared_later_is_seen():
    class Note(Item, table=Table("notes", "pk"), pk="NOTE#{name}"):
        name: str

    assert introspection.with_variants(Note) == [Note]

    class Draft(Note):
        text: str

    assert introspection.with_variants(Note) == [Note, Draft]
    assert set(introspection.all_fields(Note)) == {"name", "text"}


def test_a_table_that_was_refused_is_refused_again():
    class Note(Item, table=Table("notes", "pk", "sk"), pk="NOTE#{name}"):
        name: str

    for _ in range(2):
        with pytest.raises(DeclarationError, match="HR130"):

            class Notes(Patterns, Protocol):
                def note(self, name: str) -> Get[Note]: ...


def test_declaring_loads_nothing_that_only_runs_patterns():
    program = f"import sys, hashrange_systems.checks.schema; print(sorted(set({RUNS_ONLY!r}) & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stdout == "[]\n"
