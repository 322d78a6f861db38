"""A finding about patterns and tables that work and have a known cost or risk. The rules are in `schema.lint_rules`."""

from __future__ import annotations

from msgspec import Struct


class Lint(Struct, frozen=True):
    """Something that works and should be known: a code, where, and what."""

    code: str
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.code} {self.place}: {self.text}"
